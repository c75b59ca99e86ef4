package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// Scopes starts native scopes with bubblewrap. It is safe for concurrent use.
type Scopes struct {
	Launcher *sandbox.Launcher // required
	Lock     *os.File          // of the run; every scope keeps it until it is dead

	unclean atomic.Bool
}

// Unclean says whether the end of a scope was not proved, or not put away.
func (s *Scopes) Unclean() bool { return s.unclean.Load() }

// StartNative implements [Starter].
func (s *Scopes) StartNative(ctx context.Context, p *client.Plan) (Scope, error) {
	evidence, adapters, err := launch.New()
	if err != nil {
		return nil, err
	}
	spec := sandbox.NativeSpec(sandbox.Native{Binds: p.Binds, Tmpfs: p.Tmpfs, Data: p.Data, NestedUserns: p.NestedUserns})
	spec.Extra, spec.Sync = []*os.File{adapters}, s.Lock
	process, err := s.Launcher.Start(ctx, spec)
	adapters.Close() // its end of file tells of the adapter's, so no copy stays here
	if err != nil {
		evidence.Close()
		if errors.Is(err, sandbox.ErrUnconfirmed) {
			s.unclean.Store(true)
			err = fmt.Errorf("%w: %w", ErrUnproved, err)
		}
		return nil, err
	}
	return &nativeScope{s: s, p: process, evidence: evidence}, nil
}

// nativeScope is one bubblewrap with an adapter in it.
type nativeScope struct {
	s        *Scopes
	p        *sandbox.Process
	evidence *launch.Evidence
	sessions *os.File // taken over by Evidence
}

func (n *nativeScope) Input() io.WriteCloser  { return n.p.Stdin }
func (n *nativeScope) Output() io.Reader      { return n.p.Stdout }
func (n *nativeScope) Errors() io.Reader      { return n.p.Stderr }
func (n *nativeScope) Kill()                  { n.p.Kill() }
func (n *nativeScope) Ended() <-chan struct{} { return n.p.Ended() }

// Terminate asks. An adapter that does not hear it any more is killed in a
// moment, so the error says nothing new.
func (n *nativeScope) Terminate() { _ = n.evidence.Terminate() }

func (n *nativeScope) Fence() (Exit, error) {
	exit, err := n.p.Fence()
	if errors.Is(err, sandbox.ErrUnconfirmed) {
		n.s.unclean.Store(true)
		return Exit{Code: -1}, fmt.Errorf("%w: %w", ErrUnproved, err)
	}
	// A bubblewrap that broke is an end like another: nothing of it is alive, and
	// what it was to carry is judged by what its adapter has said.
	e := Exit{Code: exit.Code, Limit: exit.Limit}
	if err != nil {
		e.Broken = err.Error()
	}
	return e, nil
}

// evidenceTimeout bounds the wait for the end of a dead scope's socket.
const evidenceTimeout = time.Second

func (n *nativeScope) Evidence() Evidence {
	timer := time.NewTimer(evidenceTimeout)
	defer timer.Stop()
	select {
	case <-n.evidence.Ended():
	case <-timer.C:
	}
	if n.sessions == nil {
		n.sessions = n.evidence.Sessions()
	}
	exit, seen := n.evidence.Exited()
	return Evidence{
		Categories: n.evidence.Categories(), Seen: seen, Code: exit.Code, Signal: exit.Signal, Terminated: exit.Terminated, Sessions: n.sessions,
	}
}

func (n *nativeScope) Close() error {
	err := n.p.Close()
	n.evidence.Close()
	if n.sessions != nil {
		// What a descriptor holds is gone with it: one that cannot be closed holds
		// a session that nobody accounts for.
		if cerr := n.sessions.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrUnproved, cerr))
		}
	}
	if errors.Is(err, sandbox.ErrUnconfirmed) {
		err = fmt.Errorf("%w: %w", ErrUnproved, err)
	}
	if err != nil {
		n.s.unclean.Store(true)
	}
	return err
}
