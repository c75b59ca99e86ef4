package project

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
)

var hello = map[string]string{"jig.ts": found, "flows/hello/FLOW.ts": code}

// rule: P-160, J-077
func TestAProjectIsItsDeclarationsAndWhatTheyFind(t *testing.T) {
	m := meaning(t, with(hello, "bindings/loud.ts", `{"kind":"package","package":"flows/hello"}`))
	require.Equal(t, Format, m.Format)
	require.Len(t, m.Targets, 2)
	require.True(t, m.Targets["flow:flows/hello"].Ready)
	require.True(t, m.Targets["binding:loud"].Ready)
	require.Equal(t, m.Targets["flow:flows/hello"].Request, m.Targets["binding:loud"].Request)
	require.Equal(t, map[string]string{"flows/hello": digestOf(t, "export {}\n")}, m.Packages)
}

func digestOf(t *testing.T, text string) string {
	t.Helper()
	root, err := os.OpenRoot(write(t, map[string]string{"x/FLOW.ts": text}))
	require.NoError(t, err)
	defer root.Close()
	d, err := digestPackage(root, "x")
	require.NoError(t, err)
	return d
}

func TestAPackageDigestComputedFromSourceIsTheCapturedOne(t *testing.T) {
	// The vectors of run-0 5.1.
	require.Equal(t, "sha256:aef50200c829849e0bdd19c6565996da575ed17f6eaf7e57a7357b77f9181fba", digestOf(t, "x\n"))
	root, err := os.OpenRoot(write(t, map[string]string{"x/FLOW.ts": "x\n", "x/FLOW.meta.json": "{}"}))
	require.NoError(t, err)
	defer root.Close()
	d, err := digestPackage(root, "x")
	require.NoError(t, err)
	require.Equal(t, "sha256:c0462d201e1fd79e0ea9633d8d63f818553ba94cc55629863262a812e1698b63", d)
}

func TestAFolderWithoutDeclarationsIsNoProject(t *testing.T) {
	_, err := load(t, map[string]string{"flows/hello/FLOW.ts": code})
	require.ErrorIs(t, err, ErrNotFound)
	_, err = Load(t.Context(), options(t, "/nonexistent"))
	require.ErrorIs(t, err, ErrNotFound)
}

func TestAProjectMayBeWrittenAsData(t *testing.T) {
	m := meaning(t, map[string]string{"jig.json": `{"flows":["flows/hello"]}`, "flows/hello/FLOW.ts": code})
	require.Contains(t, m.Targets, "flow:flows/hello")
	m = meaning(t, map[string]string{"jig.json": found, "flows/hello/FLOW.ts": code})
	require.Contains(t, m.Targets, "flow:flows/hello")
	require.Equal(t, []string{"jig.json PROJECT_DECLARATION_INVALID: a project has jig.ts or jig.json, not both"},
		refused(t, map[string]string{"jig.json": "{}", "jig.ts": "{}"}))
}

// rule: P-187
func TestAnErrorInDataHasItsPlace(t *testing.T) {
	_, err := load(t, map[string]string{"jig.json": "{\n  \"flows\": [\"flows/hello\", 3]\n}"})
	var r *Refusal
	require.True(t, errors.As(err, &r))
	require.Len(t, r.Diagnostics, 1)
	d := r.Diagnostics[0]
	require.Equal(t, CodeDeclarationInvalid, d.Code)
	require.Equal(t, "jig.json", d.Path)
	require.Equal(t, 2, d.Line)
	require.Positive(t, d.Column)

	_, err = load(t, with(hello, "grants/web.json", "{\"kind\":\"http\",\n \"url\":\"https://example.org/x\",\n \"method\":\"PUT\"}"))
	require.True(t, errors.As(err, &r))
	d = r.Diagnostics[0]
	require.Equal(t, "grants/web.json", d.Path)
	require.Equal(t, 3, d.Line)
	require.Equal(t, 2, d.Column)
}

// rule: E-079, E-080
func TestDiscoveryIsShallowExactAndFollowsNoLink(t *testing.T) {
	dir := write(t, map[string]string{
		"jig.ts":                  found,
		"flows/real/FLOW.ts":      code,
		"flows/real/deep/FLOW.ts": code,
		"flows/lower/flow.ts":     code,
		"flows/Mixed/Flow.ts":     code,
		"flows/notes/README.md":   code,
		"flows/FLOW.ts":           code,
		"bindings/deep/x.ts":      "{}",
		"bindings/notes.md":       code,
		"elsewhere/FLOW.ts":       code,
	})
	require.NoError(t, os.Symlink("../elsewhere", filepath.Join(dir, "flows/linked")))
	require.NoError(t, os.Symlink("../elsewhere/FLOW.ts", filepath.Join(dir, "bindings/linked.ts")))
	c, err := Load(t.Context(), options(t, dir))
	require.NoError(t, err)
	require.Equal(t, []string{"flow:flows/real"}, names(c.Meaning))

	m := meaning(t, map[string]string{"jig.ts": found})
	require.Empty(t, m.Targets, "a root that is missing is empty")
}

func names(m *Meaning) []string { return slices.Sorted(maps.Keys(m.Targets)) }

// rule: E-079
func TestAnInvalidMemberThatWasFoundRefusesTheProject(t *testing.T) {
	require.Equal(t, []string{"bindings/Loud.ts PROJECT_DECLARATION_INVALID: the name of a Binding is lower-case words joined by single hyphens"},
		refused(t, with(hello, "bindings/Loud.ts", "{}")))
	require.Equal(t, []string{"flows/two/FLOW.ts PROJECT_DECLARATION_INVALID: a package has one FLOW file, and FLOW.js is there"},
		refused(t, with(hello, "flows/two/FLOW.ts", code, "flows/two/FLOW.js", code)))
	require.Equal(t, "bindings/b/x.ts PROJECT_DECLARATION_INVALID: bindings/a/x.ts is a Binding of the same name",
		refused(t, map[string]string{
			"jig.ts":          `{"bindings":{"kind":"discover","roots":["bindings/a","bindings/b"]}}`,
			"bindings/a/x.ts": "{}", "bindings/b/x.ts": "{}",
		})[0])
}

// rule: P-165
func TestALinkedMemberIsRefused(t *testing.T) {
	files := map[string]string{
		"jig.ts":             `{"flows":{"kind":"members","paths":["flows/linked"]},"bindings":{"kind":"members","paths":["bindings/linked.ts"]},"grants":{"kind":"members","paths":["grants/linked.json"]}}`,
		"elsewhere/FLOW.ts":  code,
		"elsewhere/web.json": web,
		"flows/x":            "", "bindings/x": "", "grants/x": "",
	}
	dir := write(t, files)
	require.NoError(t, os.Symlink("../elsewhere", filepath.Join(dir, "flows/linked")))
	require.NoError(t, os.Symlink("../elsewhere/FLOW.ts", filepath.Join(dir, "bindings/linked.ts")))
	require.NoError(t, os.Symlink("../elsewhere/web.json", filepath.Join(dir, "grants/linked.json")))
	_, err := Load(t.Context(), options(t, dir))
	require.Equal(t, []string{
		"flows/linked PROJECT_DECLARATION_INVALID: jig.ts names it: links are not followed",
		"bindings/linked.ts PROJECT_DECLARATION_INVALID: jig.ts names it: links are not followed",
		"grants/linked.json PROJECT_DECLARATION_INVALID: jig.ts names it: links are not followed",
	}, lines(t, err))

	// A link above a member is one as well.
	dir = write(t, map[string]string{"jig.ts": `{"flows":{"kind":"members","paths":["flows/hello"]}}`, "elsewhere/hello/FLOW.ts": code})
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "flows")))
	_, err = Load(t.Context(), options(t, dir))
	require.Equal(t, []string{"flows/hello PROJECT_DECLARATION_INVALID: jig.ts names it: links are not followed"}, lines(t, err))

	// And so is a declaration itself.
	dir = write(t, map[string]string{"elsewhere.ts": "{}"})
	require.NoError(t, os.Symlink("elsewhere.ts", filepath.Join(dir, "jig.ts")))
	_, err = Load(t.Context(), options(t, dir))
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotFound)
}

func TestAMemberOfAnotherCaseIsNotThere(t *testing.T) {
	require.Equal(t, []string{"flows/Hello PROJECT_DECLARATION_INVALID: jig.ts names it: it is not there: its name is hello, and case matters"},
		refused(t, with(hello, "jig.ts", `{"flows":{"kind":"members","paths":["flows/Hello"]}}`)))
}

// rule: P-164
func TestNothingBelowDotJigIsDeclared(t *testing.T) {
	for _, text := range []string{
		`{"flows":{"kind":"members","paths":[".jig/packages/x"]}}`,
		`{"flows":{"kind":"discover","roots":[".jig"]}}`,
		`{"flows":{"kind":"members","paths":["flows/.JIG/x"]}}`,
	} {
		said := refused(t, map[string]string{"jig.ts": text})
		require.Len(t, said, 1)
		require.Contains(t, said[0], ".jig belongs to the host")
	}
	dir := write(t, map[string]string{"jig.ts": `{"flows":{"kind":"discover","roots":["flows"]}}`, "flows/.jig/FLOW.ts": code})
	c, err := Load(t.Context(), options(t, dir))
	require.NoError(t, err)
	require.Empty(t, c.Meaning.Targets)
}

// rule: P-162
func TestGrantFilesAreBoundedPlainAndAlone(t *testing.T) {
	padded := func(n int) string { return web + strings.Repeat(" ", n-len(web)) }
	meaning(t, with(hello, "grants/web.json", padded(MaxGrantBytes)))
	require.Equal(t, []string{"grants/web.json PROJECT_DECLARATION_INVALID: it is larger than 32768 bytes"},
		refused(t, with(hello, "grants/web.json", padded(MaxGrantBytes+1))))

	files := map[string]string{"jig.ts": found}
	for i := range MaxGrantFiles {
		files[fmt.Sprintf("grants/g%d.json", i)] = web
	}
	meaning(t, files)
	require.Equal(t, []string{"PROJECT_DECLARATION_INVALID: the project has 257 grants; 256 is the most"}, refused(t, with(files, "grants/last.json", web)))

	files = map[string]string{"jig.ts": found}
	for i := range MaxGrantsBytes / MaxGrantBytes {
		files[fmt.Sprintf("grants/g%02d.json", i)] = padded(MaxGrantBytes)
	}
	meaning(t, files)
	require.Equal(t, []string{"grants/last.json PROJECT_DECLARATION_INVALID: the grants are larger than 1048576 bytes together"}, refused(t, with(files, "grants/last.json", web)))

	dir := write(t, with(hello, "grants/web.json", web))
	require.NoError(t, os.Link(filepath.Join(dir, "grants/web.json"), filepath.Join(dir, "other")))
	_, err := Load(t.Context(), options(t, dir))
	require.Equal(t, []string{"grants/web.json PROJECT_DECLARATION_INVALID: it has another hard link"}, lines(t, err))

	dir = write(t, with(hello, "jig.ts", `{"grants":{"kind":"members","paths":["grants/pipe.json"]}}`, "grants/x", ""))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "grants/pipe.json"), 0o600))
	_, err = Load(t.Context(), options(t, dir))
	require.Equal(t, []string{"grants/pipe.json PROJECT_DECLARATION_INVALID: it is not a plain file"}, lines(t, err))

	require.Equal(t, []string{"grants/Web.json PROJECT_DECLARATION_INVALID: the name of a grant is lower-case words joined by single hyphens"},
		refused(t, with(hello, "grants/Web.json", web)))
}

// rule: J-016
func TestWhatThisHostDoesNotOfferIsSaidSo(t *testing.T) {
	for _, tc := range [][2]string{
		{"jig.ts", `{"entrypoint":"flow:flows/hello"}`},
		{"jig.ts", `{"flows":{"kind":"members","paths":["npm:x"]}}`},
		{"jig.ts", `{"defaultProviders":{"https://example.org/x":"npm:x"}}`},
		{"bindings/x.ts", `{"kind":"package","package":"npm:x"}`},
		{"bindings/x.ts", `{"kind":"package","package":"flows/hello","slots":{"a":"npm:x"}}`},
		{"bindings/x.ts", `{"kind":"package","package":"flows/hello","attachments":{"data":"data"}}`},
		{"grants/x.json", `{"kind":"command","test":["a"]}`},
		{"grants/x.json", `{"kind":"checkpoint"}`},
	} {
		said := refused(t, with(hello, tc[0], tc[1]))
		require.Len(t, said, 1, tc[1])
		require.Contains(t, said[0], tc[0]+" FEATURE_UNAVAILABLE: ", tc[1])
	}
}

func TestEverythingThatCanBeMendedIsReportedAtOnce(t *testing.T) {
	said := refused(t, with(hello,
		"bindings/a.ts", `{"kind":"package"}`,
		"bindings/b.ts", `{}`,
		"grants/c.json", `{}`))
	require.Len(t, said, 3)
}

func TestARefusedDeclarationStopsOnlyItself(t *testing.T) {
	dir := write(t, with(hello, "bindings/a.ts", "{}", "bindings/b.ts", `{"kind":"package","package":"flows/hello"}`))
	o := options(t, dir)
	e := &plain{fail: map[string]error{"bindings/a.ts": &declare.RefusedError{Refusals: []declare.Refusal{{Path: "bindings/a.ts", Line: 3, Column: 7, Message: "no"}}}}}
	o.Evaluator = e
	_, err := Load(t.Context(), o)
	var r *Refusal
	require.True(t, errors.As(err, &r))
	require.Equal(t, []Diagnostic{{Code: CodeDeclarationInvalid, Path: "bindings/a.ts", Line: 3, Column: 7, Message: "no"}}, r.Diagnostics)
	require.Equal(t, []string{"jig.ts", "bindings/a.ts", "bindings/b.ts"}, e.asked)
}

func TestAnEndedEvaluationEndsTheReview(t *testing.T) {
	dir := write(t, with(hello, "bindings/a.ts", "{}", "bindings/b.ts", "{}"))
	o := options(t, dir)
	e := &plain{fail: map[string]error{"bindings/a.ts": limit("bindings/a.ts", "too long")}}
	o.Evaluator = e
	_, err := Load(t.Context(), o)
	require.Equal(t, []string{"bindings/a.ts PROJECT_EVALUATION_LIMIT: too long"}, lines(t, err))
	require.Equal(t, []string{"jig.ts", "bindings/a.ts"}, e.asked)
}

func TestABrokenPackageIsReportedWithItsFile(t *testing.T) {
	_, err := load(t, with(hello, "flows/hello/FLOW.meta.json", "{\n  \"name\": \"hello\",\n  \"name\": \"x\"\n}"))
	var r *Refusal
	require.True(t, errors.As(err, &r))
	require.Equal(t, "flows/hello/FLOW.meta.json", r.Diagnostics[0].Path)
	require.Equal(t, 3, r.Diagnostics[0].Line)
	require.Equal(t, []string{"bindings/x.ts PROJECT_DECLARATION_INVALID: package flows/none: it is not there"},
		refused(t, with(hello, "bindings/x.ts", `{"kind":"package","package":"flows/none"}`)))
}

func TestACapturedFileIsReadOnce(t *testing.T) {
	dir := write(t, map[string]string{"a.ts": "one"})
	f, err := openFiles(dir)
	require.NoError(t, err)
	defer f.close()
	first, err := f.read("a.ts", 100, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.ts"), []byte("two"), 0o644))
	again, err := f.read("a.ts", 100, false)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, digestBytes([]byte("one")), f.digests()["a.ts"])
	_, err = f.read("../a.ts", 100, false)
	require.Error(t, err)
	_, err = f.read(".jig/state.db", 100, false)
	require.ErrorContains(t, err, "belongs to the host")
}

// rule: J-066
func TestDriftNamesWhatIsNotWhatWasReviewed(t *testing.T) {
	dir := write(t, hello)
	c, err := Load(t.Context(), options(t, dir))
	require.NoError(t, err)
	drift := func() []string { return Drift(dir, c.Sources, c.Meaning.Packages) }
	require.Empty(t, drift())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flows/hello/FLOW.ts"), []byte("changed"), 0o644))
	require.Equal(t, []string{"flows/hello"}, drift())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jig.ts"), []byte("changed"), 0o644))
	require.Equal(t, []string{"jig.ts", "flows/hello"}, drift())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flows/hello/FLOW.ts"), []byte(code), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flows/hello/more.ts"), nil, 0o644))
	require.NoError(t, os.Remove(filepath.Join(dir, "jig.ts")))
	require.Equal(t, []string{"jig.ts", "flows/hello"}, drift())
	require.NoError(t, os.Remove(filepath.Join(dir, "flows/hello/more.ts")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jig.ts"), []byte(found), 0o644))
	require.Empty(t, drift())
}
