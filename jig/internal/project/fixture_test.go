package project

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// plain takes a declaration's text for its value, so that tests of everything
// around evaluation need none.
type plain struct {
	asked []string
	fail  map[string]error
}

func (p *plain) Evaluate(_ context.Context, path string, source func(string) ([]byte, error)) (jsontext.Value, error) {
	p.asked = append(p.asked, path)
	if err := p.fail[path]; err != nil {
		return nil, err
	}
	return source(path)
}

func (p *plain) Close() error { return nil }

const (
	// everything is found below these roots.
	found = `{"flows":{"kind":"discover","roots":["flows"]},"bindings":{"kind":"discover","roots":["bindings"]},"grants":{"kind":"discover","roots":["grants"]}}`

	code = "export {}\n"
)

// write writes files below a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return dir
}

func options(t *testing.T, dir string) Options {
	t.Helper()
	store := t.TempDir()
	return Options{
		Dir: dir, Evaluator: &plain{}, Store: flowpkg.OpenStore(store), Bwrap: "/usr/bin/bwrap",
		Environment: NewEnvironment([]string{"TOKEN=x"}),
		Reach:       func() (*Reach, error) { return NewReach(NewEnvironment(nil)) },
	}
}

func load(t *testing.T, files map[string]string) (*Candidate, error) {
	t.Helper()
	return Load(t.Context(), options(t, write(t, files)))
}

func meaning(t *testing.T, files map[string]string) *Meaning {
	t.Helper()
	c, err := load(t, files)
	require.NoError(t, err)
	return c.Meaning
}

// refused loads files and returns the diagnostics, one line each.
func refused(t *testing.T, files map[string]string) []string {
	t.Helper()
	_, err := load(t, files)
	return lines(t, err)
}

func lines(t *testing.T, err error) []string {
	t.Helper()
	var r *Refusal
	require.True(t, errors.As(err, &r), "%v", err)
	var all []string
	for _, d := range r.Diagnostics {
		all = append(all, strings.TrimSpace(d.Path+" "+d.Code+": "+d.Message))
	}
	return all
}

// with is base and more.
func with(base map[string]string, more ...string) map[string]string {
	all := maps.Clone(base)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// named is a contract with an id, whose result is text.
func named(id, extra string) string {
	return `{"$schema":"` + contract.InvocationSchema + `","id":"https://example.org/` + id + `","version":"1.0.0"` + extra + `}`
}

// caller is a package with one slot that asks for a contract.
func caller(dir, id string) map[string]string {
	return map[string]string{
		dir + "/FLOW.ts":        code,
		dir + "/FLOW.meta.json": `{"uses":{"helper":{"contract":"./helper.json"}}}`,
		dir + "/helper.json":    named(id, ""),
	}
}

// provider is a package that provides a contract.
func provider(dir, id string) map[string]string {
	return map[string]string{dir + "/FLOW.ts": code, dir + "/FLOW.contract.json": named(id, "")}
}

// resource is a package with a slot for a resource of the host.
func resource(dir, slot string, id contract.ResourceID) map[string]string {
	files := map[string]string{
		dir + "/FLOW.ts":        code,
		dir + "/FLOW.meta.json": `{"uses":{"` + slot + `":{"contract":"./contracts/` + slot + `/contract.json"}}}`,
	}
	for name, b := range contract.BundleFiles(id) {
		files[dir+"/contracts/"+slot+"/"+name] = string(b)
	}
	return files
}

func join(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

const web = `{"kind":"http","url":"https://example.org/x","method":"GET"}`
