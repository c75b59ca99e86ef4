package nativeinspect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// nativeFolder holds the real clients of the repository's tests.
const nativeFolder = "../tools/native"

// pinned returns the folder of a real package. What tools/native/package.json lists
// has to be installed; what it does not list is not part of the repository, and the
// test has nothing to say about it.
func pinned(t *testing.T, name string) (string, bool) {
	data, err := os.ReadFile(filepath.Join(nativeFolder, "package.json"))
	if os.IsNotExist(err) {
		return "", false
	}
	require.NoError(t, err)
	listed := false
	for _, section := range []string{"dependencies", "devDependencies", "optionalDependencies"} {
		listed = listed || gjson.GetBytes(data, section+"."+gjson.Escape(name)).Exists()
	}
	if !listed {
		return "", false
	}
	dir, err := filepath.Abs(filepath.Join(nativeFolder, "node_modules", name))
	require.NoError(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err, "%s is pinned but not installed: run tools/setup", name)
	return dir, true
}

// real inspects with a project that no installation lies in.
func (m *machine) real(c Client, path string) (*Installation, error) {
	m.env[c.Override()] = path
	return m.inspect(c)
}

// rule: N-001
func TestRealCodexFromNPM(t *testing.T) {
	dir, ok := pinned(t, "@openai/codex")
	if !ok {
		return
	}
	m := newMachine(t)
	m.path(m.at("none"))
	i, err := m.real(Codex, filepath.Join(dir, "bin", "codex.js"))
	require.NoError(t, err)
	require.Equal(t, LayoutNPM, i.Layout)
	require.Empty(t, i.Files) // static-pie, and so is its helper
	require.Equal(t, RouteBundled, i.Helper.Route)
	require.NoError(t, i.Recheck(t.Context()))
	if i.Version == "0.154.0" {
		require.Equal(t, "3188814c35471432d4123203e0eb38e5bddc60226e3d7ddf0e59e649ea140022", i.Executable.Digest.String())
		require.Equal(t, "01fb705f067bd5365b63d8ad2323a61c8d007733ca5e649437e086f3fb9935d8", i.Helper.Digest.String())
	}
	again, err := Open(t.Context(), i.Selection(), m.options(Codex))
	require.NoError(t, err)
	require.Equal(t, i.Digest(), again.Digest())
}

func TestRealClaudeFromNPM(t *testing.T) {
	dir, ok := pinned(t, "@anthropic-ai/claude-code")
	if !ok {
		return
	}
	m := newMachine(t)
	i, err := m.real(Claude, filepath.Join(filepath.Dir(dir), "claude-code-linux-x64", "claude"))
	require.NoError(t, err)
	roles := map[Role]int{}
	for _, f := range i.Files {
		roles[f.Role]++
		chain, ok := i.Why(f.Path)
		require.True(t, ok)
		require.Equal(t, i.Executable.Path, chain[0].To)
	}
	require.Equal(t, 1, roles[RoleInterpreter])
	require.Positive(t, roles[RoleLibrary])
}

func TestRealPiFromNPMIsRefused(t *testing.T) {
	dir, ok := pinned(t, "@earendil-works/pi-coding-agent")
	if !ok {
		return
	}
	m := newMachine(t)
	_, err := m.real(Pi, filepath.Join(dir, "dist", "bundle", "cli.js"))
	r := m.refused(err, StageWrapper, ReasonScript)
	require.Equal(t, ManagerNode, r.Manager)
}

func TestRealMachOCodexFromNPM(t *testing.T) {
	dir, ok := pinned(t, "@openai/codex-darwin-x64")
	if !ok {
		return
	}
	m := newMachine(t)
	o := m.options(Codex)
	var asked []string
	o.Platform, o.SharedCache = DarwinX64, func(path string) (bool, error) { asked = append(asked, path); return true, nil }
	m.env["CODEX_PATH"] = filepath.Join(dir, "vendor", DarwinX64.triple(), "bin", "codex")
	i, err := Inspect(t.Context(), o)
	require.NoError(t, err)
	require.Empty(t, i.Files)
	require.True(t, slices.Contains(asked, "/usr/lib/libSystem.B.dylib"))
}

// A small module of npm that a real linker made for both processors of a Mac. As it
// is, it is no program and no library; its load commands are those of one.
//
// rule: J-236
func TestRealMachOFromNPM(t *testing.T) {
	dir, ok := pinned(t, "@earendil-works/pi-coding-agent")
	if !ok {
		return
	}
	modules := filepath.Join(filepath.Dir(dir), "pi-tui", "native", "darwin", "prebuilds")
	for processor, native := range map[string]bool{"darwin-x64": true, "darwin-arm64": false} {
		b, err := os.ReadFile(filepath.Join(modules, processor, "darwin-modifiers.node"))
		require.NoError(t, err)
		_, err = readMachO(memory(b), DarwinX64)
		require.Equal(t, ReasonFormat, reasonOf(err), "a bundle is loaded by a program, not by dyld")
		b[12] = machDylib
		i, err := readMachO(memory(b), DarwinX64)
		if !native {
			require.Equal(t, ReasonFormat, reasonOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, &image{dylibs: []dylib{
			{"/System/Library/Frameworks/CoreGraphics.framework/Versions/A/CoreGraphics", false}, {"/usr/lib/libSystem.B.dylib", false},
		}}, i)
		for _, n := range []int{31, 32, 100} { // within the header, behind it, within the commands
			_, err := readMachO(memory(b[:n]), DarwinX64)
			require.Error(t, err, "cut at %d", n)
		}
	}
}
