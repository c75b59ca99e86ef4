package executorauth

import (
	"fmt"
	"time"
)

// The defaults of [Limits], as wire v2 advertises them
// (wire-v2 3: application_callbacks).
const (
	DefaultMaxExecutors    = 256
	DefaultConfirmTimeout  = 60 * time.Second
	DefaultRotationTimeout = 60 * time.Second
	DefaultIdleTimeout     = 15 * time.Minute
)

// Limits bounds an [Authority]. In each field 0 means the default and a negative
// value is an error.
type Limits struct {
	// MaxExecutors is how many executors may live at once, provisional ones
	// counted. Default 256.
	MaxExecutors int
	// ConfirmTimeout is how long an executor may stay provisional. Default 60 s.
	ConfirmTimeout time.Duration
	// RotationTimeout is how long a candidate secret may wait. Default 60 s.
	RotationTimeout time.Duration
	// IdleTimeout is how long a confirmed executor lives with neither a
	// connection nor a pin. Default 15 minutes.
	IdleTimeout time.Duration
}

// withDefaults fills in the zeros.
func (l Limits) withDefaults() (Limits, error) {
	switch {
	case l.MaxExecutors < 0:
		return l, fmt.Errorf("%w: MaxExecutors is negative", ErrConfig)
	case l.ConfirmTimeout < 0:
		return l, fmt.Errorf("%w: ConfirmTimeout is negative", ErrConfig)
	case l.RotationTimeout < 0:
		return l, fmt.Errorf("%w: RotationTimeout is negative", ErrConfig)
	case l.IdleTimeout < 0:
		return l, fmt.Errorf("%w: IdleTimeout is negative", ErrConfig)
	}
	if l.MaxExecutors == 0 {
		l.MaxExecutors = DefaultMaxExecutors
	}
	if l.ConfirmTimeout == 0 {
		l.ConfirmTimeout = DefaultConfirmTimeout
	}
	if l.RotationTimeout == 0 {
		l.RotationTimeout = DefaultRotationTimeout
	}
	if l.IdleTimeout == 0 {
		l.IdleTimeout = DefaultIdleTimeout
	}
	return l, nil
}
