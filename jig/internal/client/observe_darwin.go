package client

import "github.com/magi-jig/magi-jig/nativeinspect"

// observe looks for managed policy that would reach into Codex's scope. This
// version of jig has no observer for it, and what cannot be observed is not taken
// for absent (seed: Native client profiles).
func observe(c nativeinspect.Client) error {
	if c != nativeinspect.Codex {
		return nil
	}
	return setup(c, StagePreferences, "whether this Mac has a managed policy cannot be observed")
}
