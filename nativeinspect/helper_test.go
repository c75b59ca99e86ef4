package nativeinspect

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// codex selects a native executable of Codex.
func (m *machine) codex(path string) { m.env["CODEX_PATH"] = m.elf(path, elfFile{}) }

// rule: F-183, F-184, F-185, P-124, P-122
func TestHelperIsTheFirstEligibleOnPATH(t *testing.T) {
	m := newMachine(t)
	m.codex("opt/bin/codex")
	m.elf("opt/codex-resources/bwrap", elfFile{})
	m.elf("home/project/bwrap", elfFile{})
	m.elf("home/node_modules/.bin/bwrap", elfFile{})
	m.elf("lib/libcap.so", library(""))
	m.elf("usr/lib/bubble", m.program(m.at("lib"), "libcap.so"))
	m.link("../lib/bubble", "usr/bin/bwrap")
	m.elf("later/bwrap", elfFile{})
	m.env["JIG_BWRAP_PATH"] = m.at("later/bwrap") // has no say
	m.path("", m.at("home/project"), m.at("home/node_modules/.bin"), m.at("usr/bin"), m.at("later"))
	i := m.found(Codex)
	require.Equal(t, m.at("usr/bin/bwrap"), i.Helper.Path)
	require.Equal(t, m.at("usr/lib/bubble"), i.Helper.Source)
	require.Equal(t, RoutePath, i.Helper.Route)
	require.Equal(t, m.at("usr/bin"), i.Helper.Folder())
	bySource, ok := i.Why(m.at("usr/lib/bubble"))
	require.True(t, ok)
	require.Equal(t, []Link{{To: i.Helper.Path, Role: RoleHelper, Entry: "PATH", Found: "path"}}, bySource)
	require.Equal(t, RoleHelper, i.Helper.Role)
	require.Len(t, i.Helper.Rejected, 3)
	require.Equal(t, []string{"lib/libcap.so", "loader/ld.so"}, m.paths(i.Files))
	chain, ok := i.Why(m.at("lib/libcap.so"))
	require.True(t, ok)
	require.Equal(t, m.at("usr/bin/bwrap"), chain[0].To)
}

// rule: F-183, F-185
func TestHelperOfTheWrapperComesFirst(t *testing.T) {
	m := newMachine(t)
	target := m.elf("store/codex", elfFile{})
	m.env["CODEX_PATH"] = m.wrap("bin/codex", declared(target, m.at("none")+":"+m.at("prefix")))
	m.elf("prefix/bwrap", elfFile{})
	m.elf("usr/bin/bwrap", elfFile{})
	m.path(m.at("usr/bin"))
	require.Equal(t, m.at("prefix/bwrap"), m.found(Codex).Helper.Path)
	m.remove("prefix/bwrap")
	require.Equal(t, m.at("usr/bin/bwrap"), m.found(Codex).Helper.Path)
}

// rule: P-122, P-123, F-184, N-004
func TestHelperOfTheInstallation(t *testing.T) {
	for folder, order := range map[string][]string{
		"opt/bin": {"opt/codex-resources/bwrap", "opt/bin/codex-resources/bwrap"},
		"opt/x":   {"opt/x/codex-resources/bwrap", "opt/codex-resources/bwrap"},
	} {
		m := newMachine(t)
		m.codex(folder + "/codex")
		m.path(m.at("none"))
		for _, path := range order {
			m.elf(path, elfFile{})
		}
		for _, path := range order {
			h := m.found(Codex).Helper
			require.Equal(t, m.at(path), h.Path)
			require.Equal(t, h.Path, h.Source)
			require.Equal(t, RouteBundled, h.Route)
			require.Empty(t, h.Folder())
			m.remove(path)
		}
		r := m.refuses(Codex, StageSandbox, ReasonNoHelper)
		require.Len(t, r.Rejected, 1)
	}
}

// rule: P-120, P-121, P-123, F-172
func TestHelperFaultsAreSandbox(t *testing.T) {
	bundled := "opt/codex-resources/bwrap"
	for name, c := range map[string]struct {
		reason Reason
		change func(m *machine)
	}{
		"set-user on PATH":  {ReasonSetID, func(m *machine) { m.elf("usr/bin/bwrap", elfFile{}); m.mode("usr/bin/bwrap", 0o755|os.ModeSetuid) }},
		"set-group on PATH": {ReasonSetID, func(m *machine) { m.elf("usr/bin/bwrap", elfFile{}); m.mode("usr/bin/bwrap", 0o755|os.ModeSetgid) }},
		"script on PATH":    {ReasonScript, func(m *machine) { m.file("usr/bin/bwrap", "#!/bin/sh", 0o755) }},
		"text on PATH":      {ReasonFormat, func(m *machine) { m.file("usr/bin/bwrap", "text", 0o755) }},
		"wrapper on PATH":   {ReasonWrapperForm, func(m *machine) { m.wrap("usr/bin/bwrap", declared(m.at("opt/bin/codex"), "/d")) }},
		"library missing":   {ReasonMissing, func(m *machine) { m.elf("usr/bin/bwrap", m.program("", "libnowhere.so.77")) }},
		"bundled set-user":  {ReasonSetID, func(m *machine) { m.mode(bundled, 0o755|os.ModeSetuid) }},
		"bundled linked":    {ReasonNotCanonical, func(m *machine) { m.remove(bundled); m.link(m.elf("x", elfFile{}), bundled) }},
		"bundled plain":     {ReasonNotExecutable, func(m *machine) { m.mode(bundled, 0o644) }},
		"bundled folder":    {ReasonIsDirectory, func(m *machine) { m.remove(bundled); m.dir(bundled) }},
		"bundled inside":    {ReasonProject, func(m *machine) { m.inProject("opt/codex-resources") }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.codex("opt/bin/codex")
			m.elf(bundled, elfFile{})
			m.elf("opt/bin/codex-resources/bwrap", elfFile{}) // good, and not tried
			m.path(m.at("usr/bin"))
			c.change(m)
			m.refuses(Codex, StageSandbox, c.reason)
		})
	}
}

func TestHelperAndClientMayNotDisagree(t *testing.T) {
	one := File{Path: "/lib/x", Source: "/a", Role: RoleLibrary}
	other := File{Path: "/lib/x", Source: "/b", Role: RoleLibrary}
	walked := func(f File) *walk { return &walk{order: []*visit{{file: f}}} }
	i := &Installation{}
	require.NoError(t, i.merge([]*walk{walked(one), walked(one)}))
	require.Equal(t, []File{one}, i.Files)
	require.Equal(t, ReasonConflict, reasonOf((&Installation{}).merge([]*walk{walked(one), walked(other)})))
}

// rule: J-143, F-185
func TestFindOuter(t *testing.T) {
	m := newMachine(t)
	m.elf("home/project/bwrap", elfFile{})
	m.elf("real/bwrap", elfFile{})
	m.link(m.at("real/bwrap"), "usr/bin/bwrap")
	m.path("", "bin", m.at("home/project"), m.at("none"), m.at("usr/bin"))
	o, err := FindOuter(t.Context(), m.options(""))
	require.NoError(t, err)
	require.Equal(t, m.at("real/bwrap"), o.Path)
	require.Equal(t, m.at("usr/bin/bwrap"), o.Selected)
	require.Equal(t, RoutePath, o.Route)
	require.Equal(t, []string{
		"0 : the entry of PATH is empty", "1 bin: the path is not absolute",
		"2 home/project/bwrap: it lies in the project or in a node_modules folder above it", "3 none/bwrap: it does not exist",
	}, m.rejections(o.Rejected))

	m.env["JIG_BWRAP_PATH"] = m.elf("other/sandbox", elfFile{})
	o, err = FindOuter(t.Context(), m.options(""))
	require.NoError(t, err)
	require.Equal(t, m.at("other/sandbox"), o.Path)
	require.Equal(t, RouteOverride, o.Route)

	delete(m.env, "JIG_BWRAP_PATH")
	m.mode("real/bwrap", 0o755|os.ModeSetuid)
	m.elf("later/bwrap", elfFile{})
	m.path(m.at("usr/bin"), m.at("later"))
	_, err = FindOuter(t.Context(), m.options(""))
	m.refused(err, StageSandbox, ReasonSetID)
	m.path(m.at("none"))
	_, err = FindOuter(t.Context(), m.options(""))
	r := m.refused(err, StageSandbox, ReasonOuterNotFound)
	require.Len(t, r.Rejected, 1)
	require.Contains(t, r.Correction(), "JIG_BWRAP_PATH")
}

// complaint: B3.31 openai/codex#24873 - a missing bwrap made the fallback panic
// rule: J-143
func TestComplaintB3_31Codex24873(t *testing.T) {
	m := newMachine(t)
	m.elf("usr/bin/bwrap", elfFile{})
	m.path(m.at("usr/bin"))
	setuid := m.elf("setuid", elfFile{})
	m.mode("setuid", 0o755|os.ModeSetuid)
	for path, reason := range map[string]Reason{
		m.at("nonexistent"):                     ReasonDoesNotExist,
		"relative":                              ReasonNotAbsolute,
		"":                                      ReasonNotAbsolute,
		m.dir("folder"):                         ReasonIsDirectory,
		setuid:                                  ReasonSetID,
		m.file("text", "bwrap", 0o755):          ReasonOuterNotProgram,
		m.file("plain", "bwrap", 0o644):         ReasonNotExecutable,
		m.fifo("fifo"):                          ReasonNotRegular,
		m.elf("home/project/bwrap", elfFile{}):  ReasonInsideProject,
		m.link("home/project/bwrap", "through"): ReasonInsideProject,
	} {
		m.env["JIG_BWRAP_PATH"] = path
		o, err := FindOuter(t.Context(), m.options(""))
		require.Nil(t, o)
		m.refused(err, StageSandbox, reason)
	}
}
