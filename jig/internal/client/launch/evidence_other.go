//go:build !linux

package launch

import (
	"errors"
	"os"
)

var errHere = errors.New("launch: native scopes exist on Linux only")

// Evidence never exists outside Linux. It is safe for concurrent use.
type Evidence struct{}

// New refuses.
func New() (*Evidence, *os.File, error) { return nil, nil, errHere }

// Started is never closed.
func (*Evidence) Started() <-chan struct{} { return nil }

// Ended is closed.
func (*Evidence) Ended() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// Exited has nothing to say.
func (*Evidence) Exited() (Exit, bool) { return Exit{}, false }

// Categories are none.
func (*Evidence) Categories() []Category { return nil }

// Sessions is nil.
func (*Evidence) Sessions() *os.File { return nil }

// Terminate refuses.
func (*Evidence) Terminate() error { return errHere }

// Close does nothing.
func (*Evidence) Close() error { return nil }

// Reporter never exists outside Linux. It is safe for concurrent use.
type Reporter struct{}

// NewReporter refuses.
func NewReporter(int) (*Reporter, error) { return nil, errHere }

// Terminate is never closed.
func (*Reporter) Terminate() <-chan struct{} { return nil }

// Sessions refuses.
func (*Reporter) Sessions(*os.File) error { return errHere }

// Started refuses.
func (*Reporter) Started(int) error { return errHere }

// Failed refuses.
func (*Reporter) Failed(Category) error { return errHere }

// Exited refuses.
func (*Reporter) Exited(Exit) error { return errHere }

// Close does nothing.
func (*Reporter) Close() error { return nil }
