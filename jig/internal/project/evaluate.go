package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// DeclareCommand is the first argument of the jig binary that evaluates
// declarations inside a scope.
const DeclareCommand = "__declare"

// Evaluator evaluates the declarations of one review.
type Evaluator interface {
	// Evaluate returns the default export of the declaration at path. source
	// gives the bytes of a project file, or an error that wraps fs.ErrNotExist.
	Evaluate(ctx context.Context, path string, source func(string) ([]byte, error)) (jsontext.Value, error)
	// Close ends what evaluated. Its error means that this is not proved.
	Close() error
}

// Starter starts scopes.
type Starter interface {
	Start(ctx context.Context, s sandbox.Spec) (*sandbox.Process, error)
}

// ScopeEvaluator evaluates in one scope, which it starts for the first
// declaration. Its times are those of the package where they are 0.
type ScopeEvaluator struct {
	Launcher Starter  // required
	Jig      string   // path of the jig binary; required
	Lock     *os.File // kept by the scope until it is dead; optional

	Each time.Duration
	All  time.Duration

	process *sandbox.Process
	client  *declare.Client
	source  func(string) ([]byte, error)
	started time.Time

	drained chan struct{}       // closed when standard error has ended
	notes   []engine.Diagnostic // what stood there; complete when drained is closed
}

// endTime is how long a process that closed its output has to end.
const endTime = time.Second

// Evaluate implements [Evaluator].
func (e *ScopeEvaluator) Evaluate(ctx context.Context, path string, source func(string) ([]byte, error)) (jsontext.Value, error) {
	each, all := e.Each, e.All
	if each == 0 {
		each = DeclarationTime
	}
	if all == 0 {
		all = ReviewTime
	}
	if e.process == nil {
		if err := e.start(ctx); err != nil {
			return nil, err
		}
	}
	e.source = source
	left := min(each, all-time.Since(e.started))
	// Both run on goroutines of their own, which stopping them does not wait
	// for: they hold the process by itself and touch nothing of e.
	timer := time.AfterFunc(left, e.process.Kill)
	stop := context.AfterFunc(ctx, e.process.Kill)
	value, err := e.client.Evaluate(path)
	late, cancelled := !timer.Stop(), !stop()
	var refused *declare.RefusedError
	switch {
	case cancelled:
		return nil, ctx.Err()
	case late:
		// Its process is killed: an answer that came at that very moment must
		// not make the next declaration look like the one that was too slow.
		what := fmt.Sprintf("it took longer than %v to evaluate", each)
		if left < each {
			what = fmt.Sprintf("all declarations together took longer than %v to evaluate", all)
		}
		return nil, limit(path, what)
	case err == nil:
		return value, nil
	case errors.As(err, &refused):
		return nil, err
	}
	return nil, e.ended(path, err)
}

func limit(path, what string) error {
	return &Refusal{[]Diagnostic{{Code: CodeEvaluationLimit, Path: path, Message: what, Hint: "declarations describe; they do not compute"}}}
}

// ended says why the process is gone, or does not answer as it should.
func (e *ScopeEvaluator) ended(path string, cause error) error {
	alone := true
	select {
	case <-e.process.Ended():
	case <-time.After(endTime):
		alone = false // what comes now, we do
	}
	exit, err := e.process.Fence()
	if err != nil {
		return err
	}
	<-e.drained
	for _, d := range e.notes {
		switch d.Code {
		case engine.CodeMemory, engine.CodeStack:
			return limit(path, d.Message)
		case engine.CodeEngine:
			return errors.New("declarations cannot be evaluated: " + d.Message)
		}
	}
	if exit.Limit != "" {
		return limit(path, exit.Limit+" above the limit")
	}
	if exit.Killed && alone {
		return limit(path, "its evaluation was ended from outside")
	}
	return fmt.Errorf("declarations cannot be evaluated: %w", cause)
}

func (e *ScopeEvaluator) start(ctx context.Context) error {
	s := sandbox.FlowSpec(e.Jig, "", DeclareCommand)
	s.Sync = e.Lock
	p, err := e.Launcher.Start(ctx, s)
	if err != nil {
		return err
	}
	e.process, e.started = p, time.Now()
	e.client = &declare.Client{In: p.Stdin, Out: p.Stdout, Source: func(path string) ([]byte, error) { return e.source(path) }}
	e.drained = make(chan struct{})
	go func() {
		defer close(e.drained)
		s := &engine.Stderr{Text: io.Discard, Each: func(d engine.Diagnostic) {
			if len(e.notes) < maxDiagnostics {
				e.notes = append(e.notes, d)
			}
		}}
		io.Copy(s, p.Stderr)
		s.Close()
	}()
	return nil
}

// Close implements [Evaluator].
func (e *ScopeEvaluator) Close() error {
	if e.process == nil {
		return nil
	}
	p := e.process
	e.process = nil
	_, err := p.Fence()
	<-e.drained
	return errors.Join(ignoreUnavailable(err), p.Close())
}

// ignoreUnavailable: that a scope could not work has been reported already.
func ignoreUnavailable(err error) error {
	if errors.Is(err, sandbox.ErrUnavailable) {
		return nil
	}
	return err
}

// sourceOf lets a declaration read the project, and keeps what may not be read
// for a message of its own.
func sourceOf(f *files, refusals *[]Diagnostic) func(string) ([]byte, error) {
	return func(p string) ([]byte, error) {
		b, err := f.read(p, declare.MaxSourceBytes, false)
		if err == nil {
			return b, nil
		}
		var r *unreadable
		if errors.As(err, &r) {
			*refusals = append(*refusals, Diagnostic{Code: CodeDeclarationInvalid, Path: p, Message: r.reason})
		}
		return nil, fmt.Errorf("%w: %v", fs.ErrNotExist, err)
	}
}
