package attempt

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// phase is one part of an attempt that has a time of its own.
type phase string

// The phases, each as what did not happen in its time.
const (
	phaseConnect    phase = "no connection to the provider"
	phaseHeaders    phase = "no header from the provider"
	phaseFirstEvent phase = "no event from the provider"
	phaseIdle       phase = "nothing more from the provider"
	phaseRefusal    phase = "no end of the provider's refusal"
	phaseTotal      phase = "no end of the provider's reply"
)

// timeout is the cause of an attempt whose phase took too long.
type timeout struct {
	phase phase
	after time.Duration
}

func (t *timeout) Error() string {
	return fmt.Sprintf("%s within %s", t.phase, t.after)
}

// phases bounds one phase after the other. Entering one ends the one before.
//
// It is safe for concurrent use: net/http tells of connections from where it
// likes.
type phases struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // guarded by mu; nil between phases
}

func (p *phases) enter(next phase, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(after, func() { p.cancel(&timeout{next, after}) })
}

// leave ends the phase without beginning another.
func (p *phases) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}
