package nativeinspect

import "context"

// PiVersion is the one version of Pi that is supported.
const PiVersion = "0.84.4"

// Outer is the bubblewrap that contains a client or a Flow.
type Outer struct {
	Path     string // the regular file, no link
	Selected string // as it was found or named
	Route    Route  // RouteOverride or RoutePath
	Rejected []Rejection
}

// FindOuter finds the bubblewrap that JIG_BWRAP_PATH names, or else the first
// eligible one on PATH.
func FindOuter(ctx context.Context, o Options) (*Outer, error) { return nil, ErrConfig }
