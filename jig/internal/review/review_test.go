package review

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// rule: J-018, P-171
func TestAFirstPlanAddsEverythingAuthorityFirst(t *testing.T) {
	p := newPlace(t, fetch)
	plan := p.plan()
	require.Equal(t, []string{
		"! grant add binding:docs#web",
		"environment add bwrap",
		"target add binding:docs",
		"target add flow:flows/fetch",
		"package add flows/fetch",
		"slot add flow:flows/fetch#web",
	}, brief(plan.Changes))
	require.True(t, plan.Authority())
	require.Zero(t, plan.Base)
	require.NotContains(t, string(plan.Changes[0].After), "provider")
}

// rule: P-170
func TestAnUnchangedProjectHasNothingToApprove(t *testing.T) {
	p := newPlace(t, fetch)
	require.Equal(t, int64(1), p.apply(p.plan()))
	again := p.plan()
	require.True(t, again.Unchanged())
	require.False(t, again.Authority())
	require.Equal(t, int64(1), again.Base)
	p.write(map[string]string{"bindings/docs.ts": "\n" + fetch["bindings/docs.ts"]})
	require.True(t, p.plan().Unchanged(), "a declaration that means the same is no change")
}

func TestEachChangeIsReportedAsWhatItIs(t *testing.T) {
	for name, tc := range map[string]struct {
		from   map[string]string
		change func(p *place)
		want   []string
	}{
		"the bytes of a package": {hello, func(p *place) { p.write(map[string]string{"flows/hello/FLOW.ts": "// more\n"}) },
			[]string{"package change flows/hello"}},
		"another Flow": {hello, func(p *place) { p.write(map[string]string{"flows/other/FLOW.ts": code}) },
			[]string{"target add flow:flows/other", "package add flows/other"}},
		"a Flow less": {hello, func(p *place) { require.NoError(p.t, os.RemoveAll(filepath.Join(p.dir, "flows/hello"))) },
			[]string{"target remove flow:flows/hello", "package remove flows/hello"}},
		"another address in a grant": {fetch, func(p *place) {
			p.write(map[string]string{"bindings/docs.ts": strings.Replace(fetch["bindings/docs.ts"], "org/x", "org/y", 1)})
		}, []string{"! grant change binding:docs#web", "! provider change binding:docs#web"}},
		"another bound in a grant": {fetch, func(p *place) {
			p.write(map[string]string{"bindings/docs.ts": strings.Replace(fetch["bindings/docs.ts"], `"method"`, `"timeoutMs":1,"method"`, 1)})
		}, []string{"! grant change binding:docs#web"}},
		"a grant less": {fetch, func(p *place) {
			p.write(map[string]string{"bindings/docs.ts": `{"kind":"package","package":"flows/fetch"}`})
		}, []string{"grant remove binding:docs#web", "target change binding:docs", "slot add binding:docs#web"}},
		"the grant for another package": {fetch, func(p *place) {
			p.write(map[string]string{
				"flows/steal/FLOW.ts": code, "flows/steal/FLOW.meta.json": `{"uses":{"web":{}}}`,
				"bindings/docs.ts": strings.Replace(fetch["bindings/docs.ts"], "flows/fetch", "flows/steal", 1),
			})
		}, []string{"! grant change binding:docs#web", "target change binding:docs", "target add flow:flows/steal", "package add flows/steal", "slot add flow:flows/steal#web"}},
		"the same grant in a file": {fetch, func(p *place) {
			p.write(map[string]string{"grants/docs.json": web, "bindings/docs.ts": `{"kind":"package","package":"flows/fetch","slots":{"web":"grant:docs"}}`})
		}, []string{}},
		"which clients may be chosen": {hello, func(p *place) {
			p.write(map[string]string{"jig.ts": strings.TrimSuffix(found, "}") + `,"agents":["codex"]}`})
		},
			[]string{"agents add agents"}},
		"another sandbox program": {hello, func(p *place) { p.bwrap = "/opt/bwrap" }, []string{"environment change bwrap"}},
		"a proxy without a grant": {hello, func(p *place) { p.env = []string{"JIG_HTTPS_PROXY=http://proxy:1"} }, []string{}},
		"a proxy with a grant": {fetch, func(p *place) { p.env = []string{"JIG_HTTPS_PROXY=http://proxy:1", "JIG_NO_PROXY=x"} },
			[]string{"! provider change binding:docs#web", "! environment change no-proxy", "! environment change proxy"}},
		"settings": {
			map[string]string{"jig.ts": found, "flows/x/FLOW.ts": code, "flows/x/settings.schema.json": `{"$schema":"https://flow.jig.md/schemas/schema-0.json"}`, "bindings/b.ts": `{"kind":"package","package":"flows/x"}`},
			func(p *place) {
				p.write(map[string]string{"bindings/b.ts": `{"kind":"package","package":"flows/x","settings":{"a":1}}`})
			},
			[]string{"settings change binding:b"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, tc.from)
			p.apply(p.plan())
			tc.change(p)
			plan := p.plan()
			require.Equal(t, tc.want, brief(plan.Changes))
			if len(tc.want) > 0 {
				require.Equal(t, int64(2), p.apply(plan))
			}
			require.Empty(t, brief(p.plan().Changes))
		})
	}
}

// rule: J-082
func TestADigestNamesOnePlan(t *testing.T) {
	p := newPlace(t, fetch)
	first := p.plan()
	require.Equal(t, first.Digest, p.plan().Digest, "computed again it is the same")
	digests := map[string]string{first.Digest: "the first"}
	differs := func(name string) {
		t.Helper()
		d := p.plan().Digest
		require.Empty(t, digests[d], "%s has the digest of %s", name, digests[d])
		digests[d] = name
	}
	p.bwrap = "/opt/bwrap"
	differs("another sandbox program")
	p.env = []string{"JIG_HTTPS_PROXY=http://proxy:1"}
	differs("a proxy")
	p.write(map[string]string{"flows/fetch/FLOW.ts": "// changed\n"})
	differs("another byte of a package")
	p.write(map[string]string{"jig.ts": strings.TrimSuffix(found, "}") + `,"agents":["pi"]}`})
	differs("agents")
	p.apply(p.plan())
	p.write(map[string]string{"flows/fetch/FLOW.ts": "// once more\n"})
	differs("another base")
}

// rule: P-174
func TestAPlanAdmitsWhatItShowsWhateverTheSourceSays(t *testing.T) {
	p := newPlace(t, hello)
	plan := p.plan()
	p.write(map[string]string{"flows/hello/FLOW.ts": "// edited while somebody looked at the plan\n", "jig.ts": "nothing"})
	p.apply(plan)
	a, err := p.admitted()
	require.NoError(t, err)
	c, err := ReadContent(a)
	require.NoError(t, err)
	require.Equal(t, plan.Digest, c.Plan)
	captured, err := p.d.Packages().Get(c.Meaning.Packages["flows/hello"])
	require.NoError(t, err)
	b, err := captured.Read("FLOW.ts")
	require.NoError(t, err)
	require.Equal(t, code, string(b))
}

func TestAPlanWhoseBaseHasMovedIsStale(t *testing.T) {
	p := newPlace(t, hello)
	first := p.plan()
	p.write(map[string]string{"flows/hello/FLOW.ts": "// changed\n"})
	second := p.plan()
	p.apply(first)
	lock := p.lock()
	_, err := second.Apply(p.dir, p.d)
	require.ErrorIs(t, err, ErrStale)
	require.Equal(t, lock, p.lock(), "the lock is not touched either")
	_, err = first.Apply(p.dir, p.d)
	require.ErrorIs(t, err, ErrStale)
}

func TestACapturedPackageThatChangedIsNotAdmitted(t *testing.T) {
	p := newPlace(t, hello)
	plan := p.plan()
	captured, err := p.d.Packages().Get(plan.Candidate.Meaning.Packages["flows/hello"])
	require.NoError(t, err)
	file := filepath.Join(captured.Dir, "FLOW.ts")
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, os.WriteFile(file, []byte("export []\n"), 0o644))
	_, err = plan.Apply(p.dir, p.d)
	require.ErrorIs(t, err, flowpkg.ErrChanged)
	a, err := p.admitted()
	require.NoError(t, err)
	require.Zero(t, a.Number)
	require.NoFileExists(t, filepath.Join(p.dir, project.LockName))
}

// rule: P-175, J-067
func TestALockThatDriftedIsRepairedWithoutANewGeneration(t *testing.T) {
	p := newPlace(t, hello)
	p.apply(p.plan())
	lock := p.lock()
	path := filepath.Join(p.dir, project.LockName)
	for name, drift := range map[string]func(){
		"missing": func() { require.NoError(t, os.Remove(path)) },
		"changed": func() { require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o644)) },
		"a link":  func() { require.NoError(t, os.Remove(path)); require.NoError(t, os.Symlink("jig.ts", path)) },
	} {
		drift()
		a, err := p.admitted()
		require.NoError(t, err)
		c, err := ReadContent(a)
		require.NoError(t, err)
		require.True(t, LockDrifted(p.dir, c), name)
		plan := p.plan()
		require.True(t, plan.Repair, name)
		require.False(t, plan.Authority())
		require.Len(t, plan.Changes, 1)
		require.Equal(t, KindLock, plan.Changes[0].Kind)
		require.Equal(t, int64(1), p.apply(plan), name)
		require.Equal(t, lock, p.lock())
		require.False(t, LockDrifted(p.dir, c))
		require.True(t, p.plan().Unchanged())
		text, err := os.ReadFile(filepath.Join(p.dir, "jig.ts"))
		require.NoError(t, err)
		require.Equal(t, found, string(text))
	}
}

// rule: J-098
func TestALockThatCannotBeWrittenAdmitsNothing(t *testing.T) {
	p := newPlace(t, hello)
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, project.LockName), 0o755))
	_, err := p.plan().Apply(p.dir, p.d)
	var lock *LockError
	require.ErrorAs(t, err, &lock)
	require.NotContains(t, err.Error(), p.dir)
	a, err := p.admitted()
	require.NoError(t, err)
	require.Zero(t, a.Number)
	left, err := filepath.Glob(filepath.Join(p.dir, ".jig", ".tmp-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnUnchangedReviewRemembersItsSources(t *testing.T) {
	p := newPlace(t, hello)
	p.apply(p.plan())
	p.write(map[string]string{"jig.ts": found + "\n"})
	plan := p.plan()
	require.True(t, plan.Unchanged())
	require.NoError(t, plan.Refresh(p.d))
	a, err := p.admitted()
	require.NoError(t, err)
	require.Equal(t, int64(1), a.Number)
	c, err := ReadContent(a)
	require.NoError(t, err)
	require.Empty(t, project.Drift(p.dir, c.Sources, c.Meaning.Packages))
}

func TestACopiedStateIsReviewedAnew(t *testing.T) {
	p := newPlace(t, hello)
	p.apply(p.plan())
	copied := &place{t: t, dir: t.TempDir(), bwrap: p.bwrap}
	require.NoError(t, os.CopyFS(copied.dir, os.DirFS(p.dir)))
	require.NoError(t, os.Chmod(filepath.Join(copied.dir, ".jig"), 0o700))
	var err error
	copied.d, err = state.Open(copied.dir)
	require.NoError(t, err)
	plan := copied.plan()
	require.Zero(t, plan.Base)
	require.Contains(t, brief(plan.Changes), "target add flow:flows/hello")
	require.Equal(t, int64(1), copied.apply(plan))
}
