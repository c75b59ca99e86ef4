package nativeinspect

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// swap changes one byte of a file and restores its times.
func (m *machine) swap(path string) {
	before, err := os.Stat(m.at(path))
	require.NoError(m, err)
	f, err := os.OpenFile(m.at(path), os.O_RDWR, 0)
	require.NoError(m, err)
	defer f.Close()
	last := make([]byte, 1)
	_, err = f.ReadAt(last, before.Size()-1)
	require.NoError(m, err)
	_, err = f.WriteAt([]byte{^last[0]}, before.Size()-1)
	require.NoError(m, err)
	require.NoError(m, os.Chtimes(m.at(path), before.ModTime(), before.ModTime()))
}

// whole installs a Codex with a wrapper, libraries and a helper.
func (m *machine) whole() {
	m.elf("lib/liba.so", library(""))
	m.elf("real/libb.so", library(""))
	m.link(m.at("real/libb.so"), "lib/libb.so")
	target := m.elf("store/codex", m.program(m.at("lib"), "liba.so", "libb.so"))
	m.env["CODEX_PATH"] = m.wrap("bin/codex", declared(target, m.at("tools")))
	m.elf("usr/bin/bwrap", m.program(m.at("lib"), "liba.so"))
	m.path(m.at("usr/bin"))
}

// rule: F-186, P-131
func TestRecheckFindsEveryChange(t *testing.T) {
	for name, c := range map[string]struct {
		role Role
		what Difference
		do   func(m *machine)
	}{
		"byte of the executable":  {RoleExecutable, DifferenceContent, func(m *machine) { m.swap("bin/codex") }},
		"byte of the wrapped":     {RoleWrapped, DifferenceContent, func(m *machine) { m.swap("store/codex") }},
		"byte of a library":       {RoleLibrary, DifferenceContent, func(m *machine) { m.swap("lib/liba.so") }},
		"byte behind a link":      {RoleLibrary, DifferenceContent, func(m *machine) { m.swap("real/libb.so") }},
		"byte of the interpreter": {RoleInterpreter, DifferenceContent, func(m *machine) { m.swap("loader/ld.so") }},
		"byte of the helper":      {RoleHelper, DifferenceContent, func(m *machine) { m.swap("usr/bin/bwrap") }},
		"longer":                  {RoleLibrary, DifferenceContent, func(m *machine) { m.write("lib/liba.so", "longer than it was"); m.mode("lib/liba.so", 0o755) }},
		"removed":                 {RoleLibrary, DifferenceMissing, func(m *machine) { m.remove("lib/liba.so") }},
		"a FIFO":                  {RoleLibrary, DifferenceSource, func(m *machine) { m.remove("lib/liba.so"); m.fifo("lib/liba.so") }},
		"a folder":                {RoleLibrary, DifferenceSource, func(m *machine) { m.remove("lib/liba.so"); m.dir("lib/liba.so") }},
		"another target": {RoleLibrary, DifferenceSource, func(m *machine) {
			m.elf("else/libb.so", library(""))
			m.remove("lib/libb.so")
			m.link(m.at("else/libb.so"), "lib/libb.so")
		}},
		"set-user":       {RoleHelper, DifferenceMode, func(m *machine) { m.mode("usr/bin/bwrap", 0o755|os.ModeSetuid) }},
		"not executable": {RoleExecutable, DifferenceMode, func(m *machine) { m.mode("bin/codex", 0o644) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.whole()
			i := m.found(Codex)
			require.NoError(t, i.Recheck(t.Context()))
			c.do(m)
			err := i.Recheck(t.Context())
			var change *Change
			require.ErrorAs(t, err, &change)
			require.Equal(t, c.role, change.Role)
			require.Equal(t, c.what, change.What)
			require.NotContains(t, err.Error(), m.root)
		})
	}
}

// rule: F-186
func TestDigestCoversEveryByteAndPath(t *testing.T) {
	m := newMachine(t)
	m.whole()
	first := m.found(Codex)
	require.Equal(t, first.Digest(), m.found(Codex).Digest())
	require.NoError(t, os.Chtimes(m.at("bin/codex"), time.Unix(1, 0), time.Unix(1, 0)))
	require.Equal(t, first.Digest(), m.found(Codex).Digest())
	seen := map[Digest]string{first.Digest(): "first"}
	for _, path := range []string{"bin/codex", "store/codex", "lib/liba.so", "real/libb.so", "loader/ld.so", "usr/bin/bwrap"} {
		m.swap(path)
		d := m.found(Codex).Digest()
		require.NotContains(t, seen, d, path)
		seen[d] = path
	}
	require.NoError(t, os.Rename(m.at("usr/bin/bwrap"), m.at("usr/bwrap")))
	m.path(m.at("usr"))
	require.NotContains(t, seen, m.found(Codex).Digest()) // the same bytes at another path
}

// rule: P-131
func TestHashCoversWhatWasLookedAt(t *testing.T) {
	m := newMachine(t)
	path := m.elf("bin/claude", m.program("", "liba.so"))
	f, err := openRegular(path)
	require.NoError(t, err)
	defer f.close()
	_, err = readELF(f)
	require.NoError(t, err)
	before, err := os.Stat(path)
	require.NoError(t, err)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = w.WriteAt([]byte("libz.so"), int64(64+3*56+len(m.loader)+1+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
	buffer := make([]byte, 100) // pieces cross the buffer's edges
	_, err = f.hash(t.Context(), buffer)
	require.Equal(t, ReasonChanged, reasonOf(err))
	// The same if the clock had been turned back too: no timestamp tells.
	f.stamp, err = f.stat()
	require.NoError(t, err)
	_, err = f.hash(t.Context(), buffer)
	require.Equal(t, ReasonChanged, reasonOf(err))
	f.looked = nil
	_, err = f.hash(t.Context(), buffer)
	require.NoError(t, err)
}

// A file that shrinks or grows under the reader is refused, and so is one that is
// replaced between the look at its name and its opening.
func TestHashNoticesTheLength(t *testing.T) {
	m := newMachine(t)
	path := m.file("f", "0123456789", 0o644)
	for _, n := range []int64{5, 20} {
		f, err := openRegular(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, n))
		_, err = f.hash(t.Context(), make([]byte, 4))
		require.Equal(t, ReasonChanged, reasonOf(err))
		f.close()
	}
}

// rule: F-173, F-186
func TestOpenSearchesNothing(t *testing.T) {
	m := newMachine(t)
	m.whole()
	first := m.found(Codex)
	m.elf("early/codex", elfFile{})
	m.elf("early/bwrap", elfFile{})
	m.path(m.at("early"), m.at("usr/bin"))
	delete(m.env, "CODEX_PATH")
	again, err := Open(t.Context(), first.Selection(), m.options(Codex))
	require.NoError(t, err)
	require.Equal(t, first.Digest(), again.Digest())
	require.Equal(t, RouteAdmitted, again.Route)
	require.Equal(t, first.Helper.Route, again.Helper.Route)
	require.Equal(t, LayoutWrapper, again.Layout)
	require.NotEqual(t, first.Digest(), m.found(Codex).Digest()) // a search would find the new ones

	s := first.Selection()
	m.remove("usr/bin/bwrap")
	_, err = Open(t.Context(), s, m.options(Codex))
	m.refused(err, StageSandbox, ReasonMissing)
	s.Helper = ""
	_, err = Open(t.Context(), s, m.options(Codex))
	m.refused(err, StageSandbox, ReasonNoHelper)
	s.Executable = m.link("bin/codex", "alias")
	_, err = Open(t.Context(), s, m.options(Codex))
	m.refused(err, StageExecutable, ReasonNotCanonical)
	s.Executable = m.at("none")
	_, err = Open(t.Context(), s, m.options(Codex))
	m.refused(err, StageExecutable, ReasonDoesNotExist)
	s.Executable = m.npm("opt", "opt")
	_, err = Open(t.Context(), s, m.options(Codex))
	m.refused(err, StageWrapper, ReasonLayout)
	s.Executable = "codex"
	_, err = Open(t.Context(), s, m.options(Codex))
	require.ErrorIs(t, err, ErrConfig)
}

func TestContextEndsAnInspection(t *testing.T) {
	m := newMachine(t)
	m.whole()
	i := m.found(Codex)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Inspect(ctx, m.options(Codex))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, i.Recheck(ctx), context.Canceled)
	_, err = Open(ctx, i.Selection(), m.options(Codex))
	require.ErrorIs(t, err, context.Canceled)
}

// complaint: B3.35 anthropics/claude-code#95529 - a bound file that had gone broke every command with a raw line of bubblewrap
// rule: F-186
func TestComplaintB3_35ClaudeCode95529(t *testing.T) {
	for _, do := range []func(m *machine){
		func(m *machine) { m.remove("lib/liba.so") },
		func(m *machine) { m.swap("lib/liba.so") },
	} {
		m := newMachine(t)
		m.whole()
		i := m.found(Codex)
		do(m)
		err := i.Recheck(t.Context())
		var change *Change
		require.ErrorAs(t, err, &change)
		require.Equal(t, RoleLibrary, change.Role)
		require.Equal(t, m.at("lib/liba.so"), change.Path)
		require.Contains(t, err.Error(), "library")
	}
}
