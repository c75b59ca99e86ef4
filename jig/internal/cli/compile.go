package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// Limits of compiling, which only saves time and so may not take much.
const (
	compileTime = 3 * time.Second  // one package
	compileAll  = 10 * time.Second // all of a review
	compileMost = 4                // at once
)

// compile has the admitted packages compiled, each in a scope without any power,
// so that a run finds its code ready. What fails is left out: the run that needs
// it compiles it, and names what an author has to change.
func (a *app) compile(ctx context.Context, d *state.Dir, p *review.Plan) {
	launcher, _, err := a.launcher()
	if err != nil {
		return
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
		return
	}
	jig, digest, err := d.Binary(a.self, binary)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, compileAll)
	defer cancel()
	var mu sync.Mutex
	forms, wanted := map[string][]byte{}, map[string]bool{} // both guarded by mu
	turns := make(chan struct{}, compileMost)
	var all sync.WaitGroup
	for _, pkg := range p.Candidate.Meaning.Packages {
		if wanted[pkg] || whole(d, known, digest, pkg) {
			continue
		}
		wanted[pkg] = true
		captured, err := d.Packages().Get(pkg)
		if err != nil {
			continue // a run says so
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			b, err := compilePackage(ctx, launcher, jig, captured.Dir)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				forms[pkg] = b
			}
		})
	}
	all.Wait()
	if len(forms) > 0 {
		_ = d.KeepCompiled(digest, forms) // without them runs take longer
	}
}

// whole says whether the form of a package is there and as it was made.
func whole(d *state.Dir, known state.KnownCompiled, jig, pkg string) bool {
	b, err := d.Compiled(known, jig, pkg)
	return err == nil && b != nil
}

// compilePackage compiles one in a scope of its own.
func compilePackage(ctx context.Context, l *sandbox.Launcher, jig, dir string) (_ []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	p, err := l.Start(ctx, sandbox.FlowSpec(jig, dir, CompileCommand))
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := p.Close(); err == nil {
			err = closed
		}
	}()
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	p.Stdin.Close()
	go io.Copy(io.Discard, p.Stderr)
	b, err := io.ReadAll(io.LimitReader(p.Stdout, engine.MaxCompiledBytes+1))
	if err != nil {
		return nil, err
	}
	exit, err := p.Wait(ctx)
	if err == nil && (exit.Code != 0 || exit.Killed || len(b) > engine.MaxCompiledBytes) {
		err = errors.New("the package does not compile")
	}
	return b, err
}

// compiledForms are those that the run may need.
func compiledForms(p *prepared, known state.KnownCompiled, jig string) (map[string][]byte, error) {
	forms := map[string][]byte{}
	for _, pkg := range p.closure.Packages {
		b, err := p.d.Compiled(known, jig, pkg)
		if err != nil {
			return nil, err
		}
		if b != nil {
			forms[pkg] = b
		}
	}
	return forms, nil
}
