package review

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// plain takes a declaration's text for its value.
type plain struct{}

func (plain) Evaluate(_ context.Context, path string, source func(string) ([]byte, error)) (jsontext.Value, error) {
	return source(path)
}

func (plain) Close() error { return nil }

const (
	found = `{"flows":{"kind":"discover","roots":["flows"]},"bindings":{"kind":"discover","roots":["bindings"]},"grants":{"kind":"discover","roots":["grants"]}}`
	code  = "export {}\n"
	web   = `{"kind":"http","url":"https://example.org/x","method":"GET"}`
)

// fetch is a project with one grant.
var fetch = map[string]string{
	"jig.ts": found, "flows/fetch/FLOW.ts": code, "flows/fetch/FLOW.meta.json": `{"uses":{"web":{}}}`,
	"bindings/docs.ts": `{"kind":"package","package":"flows/fetch","slots":{"web":` + web + `}}`,
}

var hello = map[string]string{"jig.ts": found, "flows/hello/FLOW.ts": code}

// place is a project on disk.
type place struct {
	t     *testing.T
	dir   string
	d     *state.Dir
	env   []string
	bwrap string
}

func newPlace(t *testing.T, files map[string]string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), bwrap: "/usr/bin/bwrap"}
	p.write(files)
	var err error
	p.d, err = state.Create(p.dir)
	require.NoError(t, err)
	return p
}

func (p *place) write(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(p.t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (p *place) plan() *Plan {
	p.t.Helper()
	plan, err := p.tryPlan()
	require.NoError(p.t, err)
	return plan
}

func (p *place) tryPlan() (*Plan, error) {
	env := project.NewEnvironment(p.env)
	c, err := project.Load(context.Background(), project.Options{
		Dir: p.dir, Evaluator: plain{}, Store: p.d.Packages(), Environment: env, Bwrap: p.bwrap,
		Reach: func() (*project.Reach, error) { return project.NewReach(env) },
	})
	if err != nil {
		return nil, err
	}
	a, err := p.admitted()
	if err != nil {
		return nil, err
	}
	return New(p.dir, a, c)
}

func (p *place) admitted() (a state.Admission, err error) {
	err = p.d.View(func(t *state.Tx) (err error) {
		a, err = t.Admission()
		return err
	})
	return a, err
}

func (p *place) apply(plan *Plan) int64 {
	p.t.Helper()
	n, err := plan.Apply(p.dir, p.d)
	require.NoError(p.t, err)
	return n
}

func (p *place) lock() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, project.LockName))
	require.NoError(p.t, err)
	return string(b)
}

// brief is each change in short.
func brief(changes []Change) []string {
	all := []string{}
	for _, c := range changes {
		line := c.Kind + " " + c.Op + " " + c.Subject
		if c.Authority() {
			line = "! " + line
		}
		all = append(all, line)
	}
	return all
}
