package nativeinspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// claude makes a file the client under test.
func (m *machine) claude(path string) { m.env["CLAUDE_PATH"] = m.at(path) }

// rule: F-177, F-178, F-179, P-107, P-108, P-109, P-114
func TestClosureFollowsOriginAndLinks(t *testing.T) {
	m := newMachine(t)
	m.elf("app/bin/claude", m.program("$ORIGIN/../lib:${ORIGIN}/own", "liba.so"))
	m.elf("store/liba.so.1", library("$ORIGIN/nested", "libb.so"))
	m.link(m.at("store/liba.so.1"), "app/lib/liba.so")
	m.elf("app/lib/nested/libb.so", library("")) // beside the link, not beside its target
	m.claude("app/bin/claude")
	m.env["LD_LIBRARY_PATH"] = m.at("store") // of no interest to anybody
	i := m.found(Claude)
	require.Equal(t, []string{"app/lib/liba.so", "app/lib/nested/libb.so", "loader/ld.so"}, m.paths(i.Files))
	require.Equal(t, m.at("store/liba.so.1"), i.Files[0].Source)
	require.Equal(t, []Role{RoleLibrary, RoleLibrary, RoleInterpreter}, []Role{i.Files[0].Role, i.Files[1].Role, i.Files[2].Role})
	for _, f := range i.Files {
		st, err := os.Lstat(f.Source)
		require.NoError(t, err)
		require.True(t, st.Mode().IsRegular())
	}

	chain, ok := i.Why(m.at("app/lib/nested/libb.so"))
	require.True(t, ok)
	require.Equal(t, []Link{
		{To: m.at("app/bin/claude"), Role: RoleExecutable, Entry: "CLAUDE_PATH", Found: "override"},
		{From: m.at("app/bin/claude"), To: m.at("app/lib/liba.so"), Role: RoleLibrary, Entry: "DT_NEEDED liba.so", Found: "RUNPATH $ORIGIN/../lib"},
		{From: m.at("app/lib/liba.so"), To: m.at("app/lib/nested/libb.so"), Role: RoleLibrary, Entry: "DT_NEEDED libb.so", Found: "RUNPATH $ORIGIN/nested"},
	}, chain)
	_, ok = i.Why("/etc/passwd")
	require.False(t, ok)
}

// rule: P-110, P-112, P-107
func TestClosureRefusesSearchPathsAndNames(t *testing.T) {
	m := newMachine(t)
	m.elf("lib/liba.so", library(""))
	lib := m.at("lib")
	for _, c := range []struct {
		tag, entry string
		reason     Reason
	}{
		{"runpath", "relative", ReasonSearch},
		{"runpath", lib + "::" + lib, ReasonSearch},
		{"runpath", ":" + lib, ReasonSearch},
		{"runpath", lib + ":", ReasonSearch},
		{"runpath", "$X/lib", ReasonSearch},
		{"runpath", "$LIB", ReasonSearch},
		{"runpath", lib + "/$PLATFORM", ReasonSearch},
		{"runpath", "${ORIGIN", ReasonSearch},
		{"runpath", lib + "/../lib", ReasonSearch},
		{"runpath", lib + "/", ReasonSearch},
		{"rpath", "lib", ReasonSearch},
		{"needed", "lib/liba.so", ReasonDestination},
		{"needed", "./liba.so", ReasonDestination},
		{"needed", lib + "//liba.so", ReasonDestination},
		{"needed", lib + "/../lib/liba.so", ReasonDestination},
		{"needed", "/", ReasonDestination},
		{"needed", "..", ReasonDestination},
	} {
		e := m.program(lib, "liba.so")
		switch c.tag {
		case "runpath":
			e.runpath = &c.entry
		case "rpath":
			e.runpath, e.rpath = nil, &c.entry
		default:
			e.needed = []string{c.entry}
		}
		m.elf("bin/claude", e)
		m.claude("bin/claude")
		m.refuses(Claude, StageInstallation, c.reason)
	}
	m.elf("bin/claude", m.program("", lib+"/liba.so"))
	require.Equal(t, []string{"lib/liba.so", "loader/ld.so"}, m.paths(m.found(Claude).Files))
	// An empty search value says nothing.
	e := m.program("", lib+"/liba.so")
	e.runpath = new("")
	m.elf("bin/claude", e)
	m.found(Claude)
	for _, interpreter := range []string{"ld.so", "/", m.at("loader") + "/../loader/ld.so"} {
		m.elf("bin/claude", elfFile{interpreter: interpreter})
		m.refuses(Claude, StageInstallation, ReasonDestination)
	}
}

// rule: P-105
func TestRunpathIsNotInheritedAndRpathIs(t *testing.T) {
	m := newMachine(t)
	lib := m.at("lib")
	m.elf("lib/liba.so", library("", "libb.so"))
	m.elf("lib/libb.so", library(""))
	m.claude("bin/claude")

	m.elf("bin/claude", m.program(lib, "liba.so"))
	r := m.refuses(Claude, StageInstallation, ReasonMissing)
	require.Equal(t, "libb.so", r.Subject)
	require.Equal(t, RoleLibrary, r.Role)
	require.Len(t, r.Through, 3)

	e := m.program("", "liba.so")
	e.rpath = &lib
	m.elf("bin/claude", e)
	require.Equal(t, []string{"lib/liba.so", "lib/libb.so", "loader/ld.so"}, m.paths(m.found(Claude).Files))

	e.runpath = new("/nowhere") // replaces RPATH, for itself and for its libraries
	m.elf("bin/claude", e)
	m.refuses(Claude, StageInstallation, ReasonMissing)

	// A library with RUNPATH does not look where its ancestors' RPATH points.
	e.runpath = nil
	m.elf("bin/claude", e)
	m.elf("lib/liba.so", library("/nowhere", "libb.so"))
	m.refuses(Claude, StageInstallation, ReasonMissing)
}

// rule: P-113
func TestDirectLibrariesComeFirstAndNamesAreLoadedOnce(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	// liba would not find libb, but the program has loaded it by then.
	m.elf("bin/claude", m.program(m.at("lib"), "liba.so", "libb.so"))
	m.elf("lib/liba.so", library(m.at("other"), "libb.so"))
	m.elf("lib/libb.so", library(""))
	m.elf("other/libb.so", library(""))
	require.Equal(t, []string{"lib/liba.so", "lib/libb.so", "loader/ld.so"}, m.paths(m.found(Claude).Files))

	// A circle ends.
	m.elf("lib/libb.so", library(m.at("lib"), "liba.so", "libb.so"))
	m.found(Claude)

	// The interpreter's libraries have names of their own.
	m.elf("loader/ld.so", library(m.at("other"), "libb.so"))
	require.Equal(t, []string{"lib/liba.so", "lib/libb.so", "loader/ld.so", "other/libb.so"}, m.paths(m.found(Claude).Files))
}

// rule: P-111
func TestLibraryOrder(t *testing.T) {
	m := newMachine(t)
	real := m.elf("realloader/ld-2.so", elfFile{})
	require.NoError(t, os.Remove(m.loader))
	m.link(real, "loader/ld.so")
	m.elf("bin/claude", m.program("/first:/second"))
	in, err := newInspector(m.options(Claude), Claude)
	require.NoError(t, err)
	w := in.newWalk(t.Context())
	v, err := w.start(m.at("bin/claude"), m.at("bin/claude"), RoleExecutable, Link{})
	require.NoError(t, err)
	order := func(inherited ...searchDir) []string {
		search, _, err := w.searchOf(v, inherited)
		require.NoError(t, err)
		var paths []string
		for _, d := range search {
			paths = append(paths, d.path)
		}
		return paths
	}
	system := []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
	require.Equal(t, append([]string{"/first", "/second", m.at("loader"), m.at("realloader")}, system...), order(searchDir{"/inherited", ""}))
	v.loaded.object.hasRunpath, v.loaded.object.rpath = false, "/third"
	require.Equal(t, append([]string{"/third", "/inherited", m.at("loader"), m.at("realloader")}, system...), order(searchDir{"/inherited", ""}))
	v.loaded.object.interpreter = ""
	require.Equal(t, append([]string{"/third"}, system...), order())
}

// The first entry of a name decides, even if it is of no use.
//
// rule: F-179, P-106, P-107, P-108, P-115
func TestClosureRefusesWhatTheFirstEntryIs(t *testing.T) {
	for name, c := range map[string]struct {
		stage  Stage
		reason Reason
		make   func(m *machine)
	}{
		"folder":     {StageInstallation, ReasonNotRegular, func(m *machine) { m.dir("lib/liba.so") }},
		"FIFO":       {StageInstallation, ReasonNotRegular, func(m *machine) { m.fifo("lib/liba.so") }},
		"dangling":   {StageInstallation, ReasonMissing, func(m *machine) { m.link("none", "lib/liba.so") }},
		"loop":       {StageInstallation, ReasonTooManyLinks, func(m *machine) { m.link("liba.so", "lib/liba.so") }},
		"text":       {StageInstallation, ReasonFormat, func(m *machine) { m.file("lib/liba.so", "GROUP ( )", 0o644) }},
		"empty":      {StageInstallation, ReasonFormat, func(m *machine) { m.file("lib/liba.so", "", 0o644) }},
		"script":     {StageWrapper, ReasonScript, func(m *machine) { m.file("lib/liba.so", "#!/bin/sh", 0o644) }},
		"set-user":   {StageInstallation, ReasonSetID, func(m *machine) { m.elf("lib/liba.so", elfFile{}); m.mode("lib/liba.so", 0o755|os.ModeSetuid) }},
		"set-group":  {StageInstallation, ReasonSetID, func(m *machine) { m.elf("lib/liba.so", elfFile{}); m.mode("lib/liba.so", 0o755|os.ModeSetgid) }},
		"in project": {StageInstallation, ReasonProject, func(m *machine) { m.link(m.elf("home/project/liba.so", elfFile{}), "lib/liba.so") }},
		"through project": {StageInstallation, ReasonProject, func(m *machine) {
			m.elf("good/liba.so", elfFile{})
			m.link(m.at("good"), "home/project/lib")
			m.link(m.at("home/project/lib/liba.so"), "lib/liba.so")
		}},
		"above project": {StageInstallation, ReasonProject, func(m *machine) { m.link(m.elf("home/node_modules/liba.so", elfFile{}), "lib/liba.so") }},
		"malformed": {StageInstallation, ReasonMalformed, func(m *machine) {
			m.file("lib/liba.so", string(patched(elfFile{}, func(b []byte, _ elfPlaces) { b[39] = 0x7f })), 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.elf("bin/claude", m.program(m.at("lib")+":"+m.at("second"), "liba.so"))
			m.elf("second/liba.so", elfFile{})
			m.claude("bin/claude")
			c.make(m)
			r := m.refuses(Claude, c.stage, c.reason)
			require.Equal(t, RoleLibrary, r.Role)
			require.Equal(t, m.at("lib/liba.so"), r.Subject)
		})
	}
}

func (m *machine) mode(path string, mode os.FileMode) { require.NoError(m, os.Chmod(m.at(path), mode)) }

// rule: P-106, P-107, P-108
func TestExecutableAndInterpreterAreChecked(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	m.elf("bin/claude", elfFile{})
	m.mode("bin/claude", 0o755|os.ModeSetuid)
	m.refuses(Claude, StageInstallation, ReasonSetID)
	m.file("bin/claude", "#!/bin/sh\n", 0o755)
	m.refuses(Claude, StageWrapper, ReasonScript)
	m.file("bin/claude", "MZ, not ELF at all, whatever else it may be; and long enough to have a header of it", 0o755)
	m.refuses(Claude, StageInstallation, ReasonFormat)
	m.elf("bin/claude", library("", "liba.so")) // libraries, but nobody to load them
	m.refuses(Claude, StageInstallation, ReasonMalformed)
	m.elf("bin/claude", m.program(""))
	m.mode("loader/ld.so", 0o644)
	r := m.refuses(Claude, StageInstallation, ReasonNotExecutable)
	require.Equal(t, RoleInterpreter, r.Role)
	m.link("ld.so", "loader/link.so")
	m.mode("loader/ld.so", 0o755)
	m.elf("bin/claude", elfFile{interpreter: m.at("home/project/ld.so")})
	m.elf("home/project/ld.so", elfFile{})
	m.refuses(Claude, StageInstallation, ReasonProject)
}

// rule: F-180
func TestClosureHas128Destinations(t *testing.T) {
	for n, ok := range map[int]bool{126: true, 127: true, 128: false} { // and the interpreter
		m := newMachine(t)
		m.claude("bin/claude")
		var names []string
		for i := range n {
			name := fmt.Sprintf("lib%d.so", i)
			m.elf("lib/"+name, library(""))
			names = append(names, name)
		}
		m.elf("bin/claude", m.program(m.at("lib"), names...))
		if ok {
			require.Len(t, m.found(Claude).Files, n+1)
		} else {
			m.refuses(Claude, StageInstallation, ReasonTooManyFiles)
		}
	}
}

// A search that never ends by itself is ended.
func TestClosureBoundsTheSearch(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	m.elf("lib/liba.so", library(""))
	e := m.program(strings.Repeat("/n:", 1300)+m.at("lib"), "liba.so")
	for i := range 126 {
		name := fmt.Sprintf("lib%d.so", i)
		m.elf("lib/"+name, library(""))
		e.needed = append(e.needed, name)
	}
	m.elf("bin/claude", e)
	m.refuses(Claude, StageInstallation, ReasonSearch)
}

func TestClosureRefusesProtectedPathsAndLargeFiles(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	m.elf("bin/claude", m.program(m.at("lib"), "liba.so"))
	size := len(library("").bytes())
	m.elf("lib/liba.so", library(""))
	o := m.options(Claude)
	for path, ok := range map[string]bool{"lib": false, "lib/liba.so": false, "li": true, "bin": false, "loader/ld.so": false, "lib/liba.so/x": true} {
		o.Protected = []string{m.at(path)}
		_, err := Inspect(t.Context(), o)
		if ok {
			require.NoError(t, err, path)
		} else {
			m.refused(err, StageInstallation, ReasonProtected)
		}
	}
	o.Protected = nil
	program := len(m.program(m.at("lib"), "liba.so").bytes())
	for n, ok := range map[int]bool{program + 1: true, program: true, program - 1: false} {
		o.Limits = Limits{FileBytes: int64(n)}
		_, err := Inspect(t.Context(), o)
		require.Equal(t, ok, err == nil, n)
	}
	loader := len(elfFile{}.bytes())
	for n, ok := range map[int]bool{1: true, 0: true, -1: false} {
		o.Limits = Limits{TotalBytes: int64(program + size + loader + n)}
		_, err := Inspect(t.Context(), o)
		if ok {
			require.NoError(t, err)
		} else {
			m.refused(err, StageInstallation, ReasonTooLarge)
		}
	}
	require.NoError(t, os.Truncate(filepath.Join(m.root, "lib/liba.so"), 1<<33)) // sparse
	m.refuses(Claude, StageInstallation, ReasonTooLarge)
}
