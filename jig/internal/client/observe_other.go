//go:build !darwin

package client

import "github.com/magi-jig/magi-jig/nativeinspect"

// observe looks for managed policy that would reach into a client's scope: only
// macOS has it.
func observe(nativeinspect.Client) error { return nil }
