package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/httpres"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// FlowCommand is the first argument of the jig binary that runs a Flow inside a
// scope.
const FlowCommand = "__flow"

// CompileCommand is the one that compiles a package for it, which also happens
// inside a scope.
const CompileCommand = "__compile"

// launcher starts Flow processes in scopes.
type launcher struct {
	l    *sandbox.Launcher
	jig  string
	lock *os.File // of the run; every scope keeps it until it is dead

	compiled map[string][]byte // forms by the digest of their package, where there are

	unfenced atomic.Bool // the end of a scope was not proved, or not put away
}

func (l *launcher) unclean() bool { return l.unfenced.Load() }

// StartFlow implements [tree.Launcher].
func (l *launcher) StartFlow(ctx context.Context, p *flowpkg.Package) (tree.Process, error) {
	s := sandbox.FlowSpec(l.jig, p.Dir, FlowCommand)
	s.Sync = l.lock
	if b := l.compiled[p.Digest]; b != nil {
		f, err := sandbox.Sealed("compiled", b)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		s.Command, s.Extra = append(s.Command, engine.Compiled), []*os.File{f}
	}
	process, err := l.l.Start(ctx, s)
	if err != nil {
		return nil, l.failed(err)
	}
	return &flowProcess{l: l, p: process}, nil
}

// failed is a start that failed. That scopes cannot be had is for the operator to
// mend.
func (l *launcher) failed(err error) error {
	var unusable *sandbox.UnavailableError
	switch {
	case errors.Is(err, sandbox.ErrUnconfirmed):
		l.unfenced.Store(true)
		return fmt.Errorf("%w: %w", tree.ErrUnproved, err)
	case errors.As(err, &unusable):
		return fault.New(fault.Unavailable, unusable.Error())
	}
	return err
}

type flowProcess struct {
	l *launcher
	p *sandbox.Process
}

func (f *flowProcess) Input() io.WriteCloser  { return f.p.Stdin }
func (f *flowProcess) Output() io.Reader      { return f.p.Stdout }
func (f *flowProcess) Errors() io.Reader      { return f.p.Stderr }
func (f *flowProcess) Kill()                  { f.p.Kill() }
func (f *flowProcess) Ended() <-chan struct{} { return f.p.Ended() }

func (f *flowProcess) Fence() (tree.Exit, error) {
	exit, err := f.p.Fence()
	if errors.Is(err, sandbox.ErrUnconfirmed) {
		f.l.unfenced.Store(true)
		return tree.Exit{Code: exit.Code, Killed: exit.Killed}, err
	}
	// A bubblewrap that broke is an end like another: nothing of it is alive. What
	// the system killed, as it does when it has no memory left, was killed too.
	killed := exit.Killed || exit.Code == 128+int(syscall.SIGKILL)
	return tree.Exit{Code: exit.Code, Killed: killed, Limit: exit.Limit}, nil
}

func (f *flowProcess) Close() error {
	err := f.p.Close()
	if err != nil {
		f.l.unfenced.Store(true)
	}
	return err
}

// resources are what grants can be of.
func (a *app) resources(p *prepared) (map[string]tree.Resource, error) {
	all := map[string]tree.Resource{}
	if len(p.closure.Grants) == 0 {
		return all, nil
	}
	http, err := a.http(p.reach)
	if err != nil {
		return nil, err
	}
	all[project.KindHTTP] = http
	return all, nil
}

func (a *app) http(reach *project.Reach) (*httpres.Resource, error) {
	http, err := httpres.New(a.env.Lookup)
	if err != nil {
		return nil, err
	}
	http.Roots, http.Proxy = reach.Roots, reach.For
	return http, nil
}

// ready checks what a grant needs of the operator before anything starts.
func (a *app) ready(p *prepared) error {
	for _, s := range p.closure.Grants {
		if s.Kind != project.KindHTTP {
			continue
		}
		http, err := a.http(p.reach)
		if err != nil {
			return err
		}
		if err := http.Ready(s.Grant); err != nil {
			return &refusal{code: project.CodeHTTPUnavailable, message: err.Error(), hint: "no Flow was started"}
		}
	}
	return nil
}

// lookForDrift tells a person that the source is not what was reviewed. It looks
// while the run is under way; the returned function waits for it.
func (a *app) lookForDrift(p *prepared) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		packages := map[string]string{}
		for _, path := range p.closure.Paths {
			packages[path] = p.content.Meaning.Packages[path]
		}
		if differ := project.Drift(a.dir, p.content.Sources, packages); len(differ) > 0 {
			a.warn("the source differs from what was reviewed (%s); what was reviewed runs, and jig review takes the change in", escape(list(differ, 5)))
		}
		if lockDrifted(a.dir, p.content) {
			a.warn("jig.lock is missing or differs; jig review repairs it")
		}
	}()
	return func() { <-done }
}
