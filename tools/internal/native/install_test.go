package native

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// place is a tools/native of its own, and an npm that installs what the test says.
type place struct {
	t        *testing.T
	dir      string
	bin      string
	registry string // what npm puts into node_modules
	calls    string // a file with a line for each call of npm
}

func says(version string) string { return "#!/bin/sh\necho 'client " + version + "'\n" }

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), bin: t.TempDir(), registry: t.TempDir()}
	p.calls = filepath.Join(p.bin, "calls")
	p.write(p.dir, "package.json", "{}")
	p.write(p.dir, "package-lock.json", lockFile)
	p.npm(`
echo "$*" >> ` + p.calls + `
test -f package.json && test -f package-lock.json || exit 3
mkdir node_modules && cp -R ` + p.registry + `/. node_modules/`)
	t.Setenv("PATH", p.bin+":"+systemPath)
	for name, text := range packages {
		p.write(p.registry, name, text)
	}
	return p
}

func (p *place) npm(body string) {
	p.write(p.bin, "npm", "#!/bin/sh\n"+body+"\n")
}

func (p *place) write(dir, name, text string) {
	p.t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(p.t, os.WriteFile(file, []byte(text), 0o755))
}

func (p *place) install(change ...func(*Options)) (string, error) {
	var out bytes.Buffer
	o := Options{Dir: p.dir, Out: &out}
	for _, f := range change {
		f(&o)
	}
	err := Install(p.t.Context(), o)
	require.NoDirExists(p.t, filepath.Join(p.dir, ".installing"))
	return out.String(), err
}

func (p *place) count() int {
	data, err := os.ReadFile(p.calls)
	if !os.IsNotExist(err) {
		require.NoError(p.t, err)
	}
	return bytes.Count(data, []byte("\n"))
}

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name)))
	require.NoError(p.t, err)
	return string(data)
}

// What a registry would give: a launcher with its platform package beside it, a
// later one that nests its own, and so on. The programs are scripts.
var packages = map[string]string{
	"@openai/codex/bin/codex.js":                             says("codex-cli 1.0.0"),
	"@openai/codex/package.json":                             "{}",
	"@openai/codex-linux-x64/bin/codex":                      "native",
	"codex-later/bin/codex.js":                               says("codex-cli 2.0.0"),
	"codex-later/node_modules/@openai/codex-linux-x64/codex": "later native",
	"@anthropic-ai/claude-code/bin/claude.exe":               "placeholder",
	"@anthropic-ai/claude-code-linux-x64/claude":             says("3.0.0 (Claude Code)"),
	"@agentclientprotocol/codex-acp/dist/index.js":           "adapter",
	"zod/index.js": "zod of others",
	"@agentclientprotocol/codex-acp/node_modules/zod/index.js": "zod of the adapter",
	"open/index.js": "open",
	"@earendil-works/pi-coding-agent/package.json":                               "{}",
	"@earendil-works/pi-coding-agent/README.md":                                  "readme",
	"@earendil-works/pi-coding-agent/CHANGELOG.md":                               "changes",
	"@earendil-works/pi-coding-agent/dist/modes/interactive/theme/dark.json":     "dark",
	"@earendil-works/pi-coding-agent/dist/modes/interactive/theme/theme.js":      "not wanted",
	"@earendil-works/pi-coding-agent/dist/modes/interactive/assets/a.png":        "png",
	"@earendil-works/pi-coding-agent/dist/core/export-html/template.html":        "html",
	"@earendil-works/pi-coding-agent/dist/core/export-html/vendor/marked.min.js": "marked",
	"@earendil-works/pi-coding-agent/dist/core/export-html/index.js":             "not wanted",
	"@oven/bun-linux-x64/bin/bun":                                                "#!/bin/sh\nfor last; do :; done\nprintf '#!/bin/sh\\necho 4.0.0\\n' > \"$last\"\nchmod 755 \"$last\"\n",
	"@silvia-odwyer/photon-node/photon_rs_bg.wasm":                               "wasm",
	"typescript/bin/tsc": "tsc",
}

const lockFile = `{"lockfileVersion":3,"packages":{
"":{"name":"x"},
"node_modules/@openai/codex":{"version":"1.0.0","bin":{"codex":"bin/codex.js"},
 "optionalDependencies":{"@openai/codex-linux-x64":"npm:x","@openai/codex-darwin-x64":"npm:x"}},
"node_modules/@openai/codex-linux-x64":{"name":"@openai/codex","version":"1.0.0-linux-x64"},
"node_modules/@openai/codex-darwin-x64":{"name":"@openai/codex","version":"1.0.0-darwin-x64"},
"node_modules/codex-later":{"name":"@openai/codex","version":"2.0.0","bin":{"codex":"bin/codex.js"},
 "optionalDependencies":{"@openai/codex-linux-x64":"npm:x"}},
"node_modules/codex-later/node_modules/@openai/codex-linux-x64":{"name":"@openai/codex","version":"2.0.0-linux-x64"},
"node_modules/@anthropic-ai/claude-code":{"version":"3.0.0","bin":{"claude":"bin/claude.exe"},
 "optionalDependencies":{"@anthropic-ai/claude-code-linux-x64":"3.0.0"}},
"node_modules/@anthropic-ai/claude-code-linux-x64":{"version":"3.0.0"},
"node_modules/@agentclientprotocol/codex-acp":{"version":"1.12.0","bin":{"codex-acp":"dist/index.js"},
 "dependencies":{"@openai/codex":"^1.0.0","zod":"^1","open":"^1"}},
"node_modules/@agentclientprotocol/codex-acp/node_modules/zod":{"version":"1.0.0"},
"node_modules/open":{"version":"1.0.0"},
"node_modules/zod":{"version":"2.0.0"},
"node_modules/@earendil-works/pi-coding-agent":{"version":"4.0.0"},
"node_modules/@oven/bun-linux-x64":{"version":"1.4.5"},
"node_modules/@silvia-odwyer/photon-node":{"version":"0.3.4"},
"node_modules/typescript":{"version":"7.0.2"}}}`

func TestEveryAgentGetsAFolderOfItsOwn(t *testing.T) {
	p := newPlace(t)
	said, err := p.install()
	require.NoError(t, err)
	for _, want := range []string{"codex       1.0.0", "codex-later 2.0.0", "claude      3.0.0", "codex-acp   1.12.0", "pi          4.0.0"} {
		require.Contains(t, said, want)
	}
	require.Equal(t, "ci --ignore-scripts --no-audit --no-fund --loglevel=error\n", p.readCalls())

	require.Equal(t, "native", p.read("installed/codex/node_modules/@openai/codex-linux-x64/bin/codex"))
	require.Equal(t, packages["@openai/codex/bin/codex.js"], p.read("installed/codex/node_modules/.bin/codex"))
	// The alias gives way to the package's own name, for what is nested in it also.
	require.Equal(t, packages["codex-later/bin/codex.js"], p.read("installed/codex-later/node_modules/.bin/codex"))
	require.Equal(t, "later native", p.read("installed/codex-later/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/codex"))
	require.NoDirExists(t, filepath.Join(p.dir, "installed/codex-later/node_modules/codex-later"))
	// What Claude's script would do is done, and nowhere is the placeholder left.
	for _, file := range []string{"installed/claude/node_modules/.bin/claude", "node_modules/@anthropic-ai/claude-code/bin/claude.exe"} {
		require.Equal(t, packages["@anthropic-ai/claude-code-linux-x64/claude"], p.read(file))
	}
	require.Equal(t, "placeholder", packages["@anthropic-ai/claude-code/bin/claude.exe"])
	// The adapter has its own dependencies and a Codex without a program.
	require.Equal(t, "zod of the adapter", p.read("installed/codex-acp/node_modules/@agentclientprotocol/codex-acp/node_modules/zod/index.js"))
	require.Equal(t, "open", p.read("installed/codex-acp/node_modules/open/index.js"))
	require.DirExists(t, filepath.Join(p.dir, "installed/codex-acp/node_modules/@openai/codex"))
	require.NoDirExists(t, filepath.Join(p.dir, "installed/codex-acp/node_modules/@openai/codex-linux-x64"))
	require.NoDirExists(t, filepath.Join(p.dir, "installed/codex-acp/node_modules/zod"))
	for _, file := range []string{"pi", "package.json", "README.md", "CHANGELOG.md", "theme/dark.json", "assets/a.png", "export-html/template.html", "export-html/vendor/marked.min.js", "photon_rs_bg.wasm"} {
		require.FileExists(t, filepath.Join(p.dir, "installed/pi", file))
	}
	require.NoFileExists(t, filepath.Join(p.dir, "installed/pi/theme/theme.js"))
	require.NoFileExists(t, filepath.Join(p.dir, "installed/pi/export-html/index.js"))
	require.Equal(t, "tsc", p.read("node_modules/typescript/bin/tsc"))
}

func (p *place) readCalls() string {
	p.t.Helper()
	data, err := os.ReadFile(p.calls)
	require.NoError(p.t, err)
	return string(data)
}

func TestWhatIsThereIsNotInstalledAgain(t *testing.T) {
	p := newPlace(t)
	_, err := p.install()
	require.NoError(t, err)
	for _, demo := range []bool{false, true} {
		said, err := p.install(func(o *Options) { o.Demo = demo })
		require.NoError(t, err)
		require.Empty(t, said)
	}
	require.Equal(t, 1, p.count())

	// Another pin, a removed folder and a wish are reasons.
	p.write(p.dir, "package.json", `{"private":true}`)
	_, err = p.install()
	require.NoError(t, err)
	require.Equal(t, 2, p.count())
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "node_modules")))
	_, err = p.install()
	require.NoError(t, err)
	require.Equal(t, 3, p.count())
	_, err = p.install(func(o *Options) { o.Force = true })
	require.NoError(t, err)
	require.Equal(t, 4, p.count())
}

func TestTheDemonstrationNeedsCodexOnly(t *testing.T) {
	p := newPlace(t)
	_, err := p.install(func(o *Options) { o.Demo = true })
	require.NoError(t, err)
	require.Contains(t, p.readCalls(), " --omit=dev\n")
	entries, err := os.ReadDir(Folder(p.dir))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{".stamp-demo", "codex"}, names)
	_, err = p.install(func(o *Options) { o.Demo = true })
	require.NoError(t, err)
	require.Equal(t, 1, p.count())
	// It is not enough for the tests.
	_, err = p.install()
	require.NoError(t, err)
	require.Equal(t, 2, p.count())
	require.FileExists(t, filepath.Join(Folder(p.dir), "pi", "pi"))
}

func TestAFailedInstallationLeavesTheOneBefore(t *testing.T) {
	p := newPlace(t)
	_, err := p.install()
	require.NoError(t, err)
	before := p.read("installed/.stamp")
	p.write(p.dir, "package.json", `{"private":true}`)
	for _, c := range []struct{ npm, want string }{
		{"echo 404 no such package >&2; exit 1", "404 no such package"},
		{"mkdir node_modules", "npm did not install"},
	} {
		p.npm(c.npm)
		_, err = p.install()
		require.ErrorContains(t, err, c.want)
		require.Equal(t, before, p.read("installed/.stamp"))
		require.Equal(t, "tsc", p.read("node_modules/typescript/bin/tsc"))
	}
}

func TestInstallSaysWhatIsWrong(t *testing.T) {
	t.Run("no npm", func(t *testing.T) {
		p := newPlace(t)
		t.Setenv("PATH", t.TempDir())
		_, err := p.install()
		require.ErrorContains(t, err, "npm is needed")
		require.ErrorContains(t, err, "apt-get install npm")
	})
	t.Run("no pins", func(t *testing.T) {
		p := newPlace(t)
		require.NoError(t, os.Remove(filepath.Join(p.dir, "package-lock.json")))
		_, err := p.install()
		require.ErrorContains(t, err, "the pins of the native agents")
	})
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"another version":     {"@openai/codex/bin/codex.js", says("codex-cli 1.0.1"), "codex says it is version 1.0.1 and not 1.0.0"},
		"no version":          {"@openai/codex/bin/codex.js", says("codex"), "names no version"},
		"a program that dies": {"@anthropic-ai/claude-code-linux-x64/claude", "#!/bin/sh\necho no library >&2\nexit 127\n", "no library"},
		"bun fails":           {"@oven/bun-linux-x64/bin/bun", "#!/bin/sh\necho out of memory >&2\nexit 1\n", "Pi could not be built"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.registry, c.file, c.text)
			_, err := p.install()
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, Folder(p.dir))
		})
	}
	t.Run("a missing package", func(t *testing.T) {
		p := newPlace(t)
		require.NoError(t, os.RemoveAll(filepath.Join(p.registry, "open")))
		_, err := p.install()
		require.ErrorContains(t, err, "npm did not install open, which node_modules/@agentclientprotocol/codex-acp needs")
	})
	t.Run("no program of Claude", func(t *testing.T) {
		p := newPlace(t)
		require.NoError(t, os.RemoveAll(filepath.Join(p.registry, "@anthropic-ai", "claude-code-linux-x64")))
		_, err := p.install()
		require.ErrorContains(t, err, "npm did not install Claude Code for this machine")
	})
	for name, c := range map[string][2]string{
		"no lock":     {`[]`, "package-lock.json"},
		"other lock":  {`{"lockfileVersion":2}`, "version 2; this reads version 3"},
		"out of here": {`{"lockfileVersion":3,"packages":{"../x":{}}}`, "not below node_modules"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.dir, "package-lock.json", c[0])
			_, err := p.install()
			require.ErrorContains(t, err, c[1])
		})
	}
}

func TestOneInstallsWhileOthersWait(t *testing.T) {
	p := newPlace(t)
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() { errs[i] = Install(t.Context(), Options{Dir: p.dir, Out: &bytes.Buffer{}}) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, p.count())
}

func TestWhatACommandPrintedIsBounded(t *testing.T) {
	p := newPlace(t)
	p.npm("i=0; while [ $i -lt 2000 ]; do echo 'line of an error'; i=$((i+1)); done; echo the end; exit 1")
	_, err := p.install()
	require.ErrorContains(t, err, "the end")
	require.Less(t, len(err.Error()), maxSaid+500)
}
