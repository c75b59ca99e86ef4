//go:build !linux

package sandbox

import (
	"context"
	"os"
)

// ApplyRlimits refuses: scopes exist on Linux only.
func ApplyRlimits(uint64) error { return notHere() }

// Identity has nothing to say outside Linux.
func Identity(_, _, _ string) (uid, gid int) { return 0, 0 }

// Config says what a Launcher starts with.
type Config struct {
	Bwrap    string
	UID, GID int
}

// Launcher refuses every start outside Linux. It is safe for concurrent use.
type Launcher struct{}

// NewLauncher refuses.
func NewLauncher(Config) (*Launcher, error) { return nil, notHere() }

// Bounds says that nothing is bounded.
func (*Launcher) Bounds() string { return "none" }

// Start refuses.
func (*Launcher) Start(context.Context, Spec) (*Process, error) { return nil, notHere() }

// Process never exists outside Linux. It is safe for concurrent use.
type Process struct {
	Stdin, Stdout, Stderr *os.File
}

// Ended is closed.
func (*Process) Ended() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// Wait refuses.
func (*Process) Wait(context.Context) (Exit, error) { return Exit{Code: -1}, notHere() }

// Kill does nothing.
func (*Process) Kill() {}

// Fence refuses.
func (*Process) Fence() (Exit, error) { return Exit{Code: -1}, notHere() }

// Close does nothing.
func (*Process) Close() error { return nil }

// Sealed refuses.
func Sealed(string, []byte) (*os.File, error) { return nil, notHere() }

func notHere() error {
	return &UnavailableError{Reason: "it exists on Linux only", Fix: "run jig on Linux"}
}
