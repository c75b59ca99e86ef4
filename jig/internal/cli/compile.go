package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// Limits of compiling, which only saves time and so may not take much.
const (
	compileTime = 5 * time.Second  // one package
	compileAll  = 15 * time.Second // all of a review
	compileMost = 4                // at once

	// formBytes is how much of compiled forms jig has in memory, whatever a project
	// holds; a package whose form goes beyond it is compiled by its run.
	formBytes = 64 << 20
)

// compile has the packages of a plan compiled, each in a scope without any power,
// so that a run finds its code ready. What fails is left out: the run that needs
// it compiles it, and names what an author has to change; a warning says so
// already. An error is a scope whose end could not be proved.
func (a *app) compile(ctx context.Context, d *state.Dir, held *state.Reviewing, p *review.Plan) error {
	launcher, _, err := a.launcher()
	if err != nil {
		return nil
	}
	var binary state.KnownBinary
	var known state.KnownCompiled
	err = d.View(func(t *state.Tx) (err error) {
		if binary, err = t.KnownBinary(); err == nil {
			known, err = t.KnownCompiled()
		}
		return err
	})
	if err != nil {
		return nil
	}
	jig, digest, err := d.Binary(a.self, binary)
	if err != nil {
		return nil
	}
	var wanted, broken []string
	for _, pkg := range slices.Compact(slices.Sorted(maps.Values(p.Candidate.Meaning.Packages))) {
		b, err := d.Compiled(known, digest, pkg)
		if err != nil {
			broken = append(broken, pkg)
		}
		if err != nil || b == nil && !known.Tried(digest, pkg) {
			wanted = append(wanted, pkg)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	c := compiler{launcher: launcher, jig: jig, lock: held.Lock(), room: formBytes, forms: map[string][]byte{}, wrong: map[string]engine.Diagnostic{}}
	c.all(ctx, d, wanted)
	for _, path := range slices.Sorted(maps.Keys(p.Candidate.Meaning.Packages)) {
		if wrong, ok := c.wrong[p.Candidate.Meaning.Packages[path]]; ok {
			a.warn("%s does not compile: %s; a run of it will fail", escape(path), wrongText(wrong))
		}
	}
	if len(c.forms)+len(broken) > 0 {
		_ = d.KeepCompiled(digest, broken, c.forms) // without them runs take longer
	}
	return c.unproved
}

// compiler compiles packages side by side.
type compiler struct {
	launcher *sandbox.Launcher
	jig      string
	lock     *os.File // of the review

	mu       sync.Mutex
	room     int                          // guarded by mu; bytes that forms may still have
	forms    map[string][]byte            // guarded by mu; nil: the package does not compile
	wrong    map[string]engine.Diagnostic // guarded by mu: what its author has to change
	unproved error                        // guarded by mu
}

// wrongText says what is wrong in a package, and where.
func wrongText(d engine.Diagnostic) string {
	switch {
	case d.Path == "":
		return escape(d.Message)
	case d.Line == 0:
		return escape(d.Path) + ": " + escape(d.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", escape(d.Path), d.Line, d.Column, escape(d.Message))
}

func (c *compiler) all(ctx context.Context, d *state.Dir, packages []string) {
	ctx, cancel := context.WithTimeout(ctx, compileAll)
	defer cancel()
	turns := make(chan struct{}, compileMost)
	var all sync.WaitGroup
	for _, pkg := range packages {
		captured, err := d.Packages().Get(pkg)
		if err != nil {
			continue // a run says so
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			b, wrong, err := c.one(ctx, captured.Dir)
			c.mu.Lock()
			defer c.mu.Unlock()
			switch {
			case errors.Is(err, sandbox.ErrUnconfirmed):
				c.unproved = err
			case err == nil && c.fits(b):
				c.forms[pkg] = b
				if wrong.Code != "" {
					c.wrong[pkg] = wrong
				}
			}
		})
	}
	all.Wait()
}

// fits says whether there is room for a form, and takes it. The caller holds mu.
func (c *compiler) fits(form []byte) bool {
	if len(form) > c.room {
		return false
	}
	c.room -= len(form)
	return true
}

// one compiles a package in a scope of its own. Where that package has no form,
// because an author has to change it or because it takes too long, the form is nil;
// the first of these has a diagnostic.
func (c *compiler) one(ctx context.Context, dir string) (_ []byte, wrong engine.Diagnostic, err error) {
	if err := ctx.Err(); err != nil {
		return nil, wrong, err
	}
	short, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	s := sandbox.FlowSpec(c.jig, dir, CompileCommand)
	s.Sync = c.lock
	p, err := c.launcher.Start(short, s)
	if err != nil {
		return nil, wrong, err
	}
	// The fence ends the streams also where it cannot prove the end of the scope,
	// which a kill alone does not.
	stop := context.AfterFunc(short, func() { p.Fence() })
	defer stop()
	p.Stdin.Close()
	told := make(chan engine.Diagnostic, 1)
	go func() { told <- firstProblem(p.Stderr) }()
	b, err := io.ReadAll(io.LimitReader(p.Stdout, engine.MaxCompiledBytes+1))
	p.Wait(short)
	select {
	case wrong = <-told:
	case <-short.Done():
	}
	exit, fenced := p.Fence()
	if closed := p.Close(); fenced == nil {
		fenced = closed
	}
	switch {
	case fenced != nil:
		return nil, engine.Diagnostic{}, fenced
	case err != nil:
		return nil, engine.Diagnostic{}, err
	case ctx.Err() != nil:
		return nil, engine.Diagnostic{}, ctx.Err() // whoever is asked next time may have more
	case exit.Code != 0 || exit.Killed || len(b) > engine.MaxCompiledBytes:
		return nil, wrong, nil
	}
	return b, engine.Diagnostic{}, nil
}

// firstProblem reads what a compiler says to the end, and returns the first of what
// an author has to change.
func firstProblem(r io.Reader) (first engine.Diagnostic) {
	told := engine.Stderr{Text: io.Discard, Each: func(d engine.Diagnostic) {
		if first.Code == "" && (d.Code == engine.CodeSyntax || d.Code == engine.CodeModuleRefused || d.Code == engine.CodeStack) {
			first = d
		}
	}}
	_, _ = io.Copy(&told, r)
	_ = told.Close()
	return first
}

// compiledForms are those that a run of packages may need, as far as room bytes go.
func compiledForms(d *state.Dir, known state.KnownCompiled, jig string, packages []string, room int) (map[string][]byte, error) {
	forms := map[string][]byte{}
	for _, pkg := range packages {
		b, err := d.Compiled(known, jig, pkg)
		if err != nil {
			return nil, err
		}
		if b != nil && len(b) <= room {
			forms[pkg] = b
			room -= len(b)
		}
	}
	return forms, nil
}
