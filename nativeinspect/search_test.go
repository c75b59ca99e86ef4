package nativeinspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// rejections returns reason by candidate, without the machine's root.
func (m *machine) rejections(list []Rejection) []string {
	var said []string
	for _, r := range list {
		said = append(said, fmt.Sprintf("%d %s: %s", r.Entry, strings.TrimPrefix(r.Path, m.root+"/"), r.Reason))
	}
	return said
}

// rule: F-158, F-159, F-160, P-091, P-092, P-094
func TestSearchTakesTheFirstEligibleCandidate(t *testing.T) {
	m := newMachine(t)
	m.elf("home/project/bin/claude", elfFile{})
	m.elf("home/node_modules/.bin/claude", elfFile{})
	m.elf("real/native", elfFile{})
	m.dir("folder/claude")
	m.file("plain/claude", "x", 0o644)
	m.fifo("fifo/claude")
	m.file("file", "x", 0o755)
	m.link(m.at("home/project/bin/claude"), "link/claude")
	m.link(m.at("home"), "alias")
	m.link("../real/native", "good/claude")
	m.elf("later/claude", elfFile{})
	m.path("", "bin", "./bin", m.at("nothing"), m.at("nul\x00"), m.at("home/project/bin"), m.root+"/home/project/../project/bin",
		m.at("home/node_modules/.bin"), m.at("alias/node_modules/.bin"), m.at("link"), m.at("folder"), m.at("plain"), m.at("fifo"), m.at("file"),
		m.at("good"), m.at("later"))
	i := m.found(Claude)
	require.Equal(t, m.at("good/claude"), i.Selected)
	require.Equal(t, m.at("real/native"), i.Executable.Path)
	require.Equal(t, RoutePath, i.Route)
	require.Equal(t, LayoutDirect, i.Layout)
	require.Equal(t, []string{
		"0 : the entry of PATH is empty",
		"1 bin: the path is not absolute",
		"2 ./bin: the path is not absolute",
		"3 nothing/claude: it does not exist",
		"4 nul?: the path contains a NUL byte",
		"5 home/project/bin/claude: it lies in the project or in a node_modules folder above it",
		"6 home/project/../project/bin/claude: it lies in the project or in a node_modules folder above it",
		"7 home/node_modules/.bin/claude: it lies in the project or in a node_modules folder above it",
		"8 alias/node_modules/.bin/claude: it lies in the project or in a node_modules folder above it",
		"9 link/claude: it lies in the project or in a node_modules folder above it",
		"10 folder/claude: it is a folder",
		"11 plain/claude: it is not executable",
		"12 fifo/claude: it is not a regular file",
		"13 file/claude: a part of its path is not a folder",
	}, m.rejections(i.Rejected))
	require.Equal(t, m.project, i.Rejected[5].Through)
	require.Equal(t, m.at("link/claude"), i.Rejected[9].Through)

	m.path(m.at("folder"), m.at("plain"))
	r := m.refuses(Claude, StageExecutable, ReasonNotFound)
	require.Len(t, r.Rejected, 2)
	delete(m.env, "PATH")
	m.refuses(Claude, StageExecutable, ReasonNotFound)
}

// What the system refuses to the operator is passed over; what it cannot tell is
// not.
//
// rule: P-092
func TestSearchTellsErrnosApart(t *testing.T) {
	for errno, reason := range map[unix.Errno]Reason{
		unix.ENOENT: ReasonDoesNotExist, unix.ENOTDIR: ReasonNotDirectory, unix.EACCES: ReasonPermission,
		unix.EIO: ReasonInputOutput, unix.ESTALE: ReasonInputOutput, unix.ENAMETOOLONG: ReasonInputOutput,
	} {
		require.Equal(t, reason, reasonOf(errno))
	}
	m := newMachine(t)
	m.elf("bin/pi", elfFile{})
	m.path(m.at(strings.Repeat("n", 300)), m.at("bin"))
	m.refuses(Pi, StageUnavailable, ReasonInputOutput)
}

// The route matters, not only where it ends.
//
// rule: F-159, P-090
func TestSearchFollowsLinksHopByHop(t *testing.T) {
	m := newMachine(t)
	m.elf("real/claude", elfFile{})
	m.link(m.at("real"), "home/project/out") // leaves the project again
	m.link("home/project/out", "through")
	m.link(m.root+"/home/project/../../real", "dots")
	for _, entry := range []string{"home/project/out", "through", "dots", "home/project/../../real"} {
		m.path(m.root + "/" + entry)
		r := m.refuses(Claude, StageExecutable, ReasonNotFound)
		require.Equal(t, ReasonInsideProject, r.Rejected[0].Reason, entry)
	}
	// ".." behind a link is the parent of its target.
	m.dir("deep/er/bin")
	m.link(m.at("deep/er/bin"), "short")
	m.elf("deep/er/claude", elfFile{})
	m.path(m.at("short") + "/..")
	require.Equal(t, m.at("deep/er/claude"), m.found(Claude).Executable.Path)
}

// The project counts as it was given and as it really is, and node_modules of all
// folders above both, wherever they are.
//
// rule: P-091
func TestSearchExcludesEverySpellingOfTheProject(t *testing.T) {
	m := newMachine(t)
	m.link(m.at("home/project"), "given/project")
	m.elf("home/project/bin/claude", elfFile{})
	m.elf("given/node_modules/claude", elfFile{})
	m.elf("home/node_modules/claude", elfFile{})
	m.elf("store/claude", elfFile{})
	m.link(m.at("store"), "node_modules")
	m.elf("given/bin/claude", elfFile{})
	m.project = m.at("given/project")
	for _, dir := range []string{"home/project/bin", "given/project/bin", "given/node_modules", "home/node_modules", "node_modules", "store"} {
		m.path(m.at(dir))
		r := m.refuses(Claude, StageExecutable, ReasonNotFound)
		require.Equal(t, ReasonInsideProject, r.Rejected[0].Reason, dir)
	}
	m.path(m.at("given/bin")) // beside the project
	m.found(Claude)
}

// rule: P-090
func TestSearchGivesUpAfterFortyLinks(t *testing.T) {
	m := newMachine(t)
	m.elf("bin/claude", elfFile{})
	last := "bin/claude"
	for i := range MaxLinks + 1 {
		next := fmt.Sprintf("hop%d", i+1)
		m.link(m.at(last), next)
		last = next
	}
	for _, n := range []int{MaxLinks - 1, MaxLinks} {
		m.env["CLAUDE_PATH"] = m.at(fmt.Sprintf("hop%d", n))
		m.found(Claude)
	}
	m.env["CLAUDE_PATH"] = m.at(fmt.Sprintf("hop%d", MaxLinks+1))
	m.refuses(Claude, StageExecutable, ReasonOverride)
	delete(m.env, "CLAUDE_PATH")
	m.link(m.at("hop41"), "many/claude")
	m.link(m.at("loop/claude"), "loop/claude")
	for _, dir := range []string{"many", "loop"} { // an error, not the next entry
		m.path(m.at(dir), m.at("bin"))
		m.refuses(Claude, StageUnavailable, ReasonTooManyLinks)
	}
}

// rule: F-157, P-089
func TestOverrideIsTheOnlyCandidate(t *testing.T) {
	m := newMachine(t)
	good := m.elf("bin/codex", elfFile{})
	m.elf("bin/claude", elfFile{})
	m.elf("bin/bwrap", elfFile{})
	m.path(m.at("bin"))
	plain := m.file("plain", "x", 0o644)
	folder := m.dir("folder")
	for _, bad := range []string{"", "codex", "./bin/codex", m.at("none"), m.at("none\x00"), plain, folder, m.fifo("fifo"), good + "/", good + "/x"} {
		m.env["CODEX_PATH"] = bad
		r := m.refuses(Codex, StageExecutable, ReasonOverride)
		require.Contains(t, r.Correction(), "CODEX_PATH", bad)
	}
	m.found(Claude) // its own variable is another one

	// The project does not matter to an override, and links are followed.
	inside := m.elf("home/project/tools/mine", elfFile{})
	m.env["CODEX_PATH"] = m.link(inside, "home/project/link")
	i := m.found(Codex)
	require.Equal(t, inside, i.Executable.Path)
	require.Equal(t, RouteOverride, i.Route)
	require.Equal(t, m.at("home/project/link"), i.Selected)
}

// rule: P-093
func TestWrapperRefusalEndsTheSearch(t *testing.T) {
	m := newMachine(t)
	m.file("first/claude", "#!/bin/sh\n", 0o755)
	m.elf("second/claude", elfFile{})
	m.path(m.at("first"), m.at("second"))
	r := m.refuses(Claude, StageWrapper, ReasonScript)
	require.Equal(t, m.at("first/claude"), r.Subject)
}

func TestSearchBoundsTheEntriesOfPATH(t *testing.T) {
	m := newMachine(t)
	m.elf("bin/claude", elfFile{})
	for n, ok := range map[int]bool{1: true, 2: true, 3: false} {
		m.env["PATH"] = strings.Repeat(":", n-1) + m.at("bin")
		o := m.options(Claude)
		o.Limits.PathEntries = 2
		_, err := Inspect(t.Context(), o)
		if ok {
			require.NoError(t, err, n)
		} else {
			m.refused(err, StageExecutable, ReasonTooManyEntries)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	m := newMachine(t)
	for name, change := range map[string]func(*Options){
		"client":      func(o *Options) { o.Client = "other" },
		"environment": func(o *Options) { o.Lookup = nil },
		"project":     func(o *Options) { o.Project = "." },
		"protected":   func(o *Options) { o.Protected = []string{"/tmp/"} },
		"limits":      func(o *Options) { o.Limits.FileBytes = -1 },
	} {
		o := m.options(Claude)
		change(&o)
		_, err := Inspect(t.Context(), o)
		require.ErrorIs(t, err, ErrConfig, name)
	}
	o := m.options(Claude)
	o.Project = m.at("none")
	_, err := Inspect(t.Context(), o)
	m.refused(err, StageUnavailable, ReasonDoesNotExist)
	o = m.options(Claude)
	o.Platform = DarwinARM64
	_, err = Inspect(t.Context(), o)
	m.refused(err, StageInstallation, ReasonPlatform)
}

// The environment is read before the first file, once for each name.
//
// rule: J-088
func TestEnvironmentIsReadFirst(t *testing.T) {
	m := newMachine(t)
	m.elf("bin/claude", elfFile{})
	m.path(m.at("bin"))
	project := m.project
	reads := map[string]int{}
	o := m.options(Claude)
	o.Project = m.at("moved")
	o.Lookup = func(name string) (string, bool) {
		reads[name]++
		if name == "CLAUDE_PATH" { // the last one: only now does the project exist
			require.NoError(t, os.Rename(project, filepath.Join(m.root, "moved")))
		}
		v, ok := m.env[name]
		return v, ok
	}
	_, err := Inspect(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"PATH": 1, "VOLTA_HOME": 1, "CLAUDE_PATH": 1}, reads)
}

// A bind mount, or another spelling on a file system that takes several, leads to
// the same folder.
//
// rule: F-159
func TestExclusionKnowsFoldersByInode(t *testing.T) {
	m := newMachine(t)
	m.elf("home/project/bin/claude", elfFile{})
	m.elf("home/node_modules/claude", elfFile{})
	x, err := newExclusion(m.project)
	require.NoError(t, err)
	x.roots = nil // no spelling helps
	for _, path := range []string{"home/project/bin/claude", "home/node_modules/claude"} {
		_, err = resolve(m.at(path), x)
		require.Equal(t, ReasonInsideProject, reasonOf(err), path)
	}
	_, err = resolve(m.loader, x)
	require.NoError(t, err)
}

func TestPlatformIsThisMachines(t *testing.T) {
	m := newMachine(t)
	m.env["CLAUDE_PATH"] = m.elf("bin/claude", elfFile{})
	o := m.options(Claude)
	o.Platform = ""
	i, err := Inspect(t.Context(), o)
	if thisPlatform() != LinuxX64 {
		m.refused(err, StageInstallation, map[bool]Reason{true: ReasonFormat, false: ReasonPlatform}[thisPlatform() == DarwinX64])
		return
	}
	require.NoError(t, err)
	require.Regexp(t, "^[0-9a-f]{64}$", i.Executable.Digest.String())
}

// Every stage has a correction that names what the operator can set or install.
func TestRefusalsSayWhatHelps(t *testing.T) {
	for _, c := range []Client{Codex, Claude, Pi} {
		for _, s := range []Stage{StageExecutable, StageInstallation, StageWrapper, StageSandbox, StageUnavailable} {
			r := &Refusal{Client: c, Stage: s, Reason: ReasonMissing, Role: RoleLibrary, Subject: "/home/secret/path"}
			require.Equal(t, string(c)+": "+string(s)+": library: a file that it needs is missing", r.Error())
			require.NotContains(t, r.Correction(), "/home/secret")
			require.NotEmpty(t, r.Correction())
			for _, m := range []Manager{ManagerNode, ManagerVolta, ManagerAsdf, ManagerMise} {
				r.Stage, r.Manager = StageWrapper, m
				require.Contains(t, r.Correction(), c.Override())
			}
		}
	}
}

// A folder from another time may have a name that is not UTF-8. It is passed over as
// any other; what is found in it could not be named in a review.
func TestAPathThatIsNotUTF8(t *testing.T) {
	m := newMachine(t)
	latin := m.at("caf\xe9")
	if err := os.Mkdir(latin, 0o755); err != nil {
		t.Skip("this file system has no such name: ", err)
	}
	m.elf("usr/bin/claude", elfFile{})
	m.path(latin, m.at("usr/bin"))
	i := m.found(Claude)
	require.Equal(t, []Rejection{{Entry: 0, Path: latin + "/claude", Reason: ReasonDoesNotExist}}, i.Rejected)

	m.elf("caf\xe9/claude", elfFile{})
	r := m.refuses(Claude, StageInstallation, ReasonEncoding)
	require.Equal(t, latin+"/claude", r.Subject)
	m.env["CLAUDE_PATH"] = latin + "/claude"
	m.refuses(Claude, StageInstallation, ReasonEncoding)

	// A library is no different; only what a link leads to is nobody's name.
	delete(m.env, "CLAUDE_PATH")
	m.path(m.at("usr/bin"))
	m.elf("usr/bin/claude", elfFile{interpreter: m.loader, needed: []string{"liba.so"}, runpath: new("$ORIGIN/../lib")})
	m.elf("caf\xe9/liba.so", elfFile{})
	m.link(latin+"/liba.so", "usr/lib/liba.so")
	require.Equal(t, []string{"loader/ld.so", "usr/lib/liba.so"}, m.paths(m.found(Claude).Files))
	m.elf("caf\xe9/bin/claude", elfFile{interpreter: m.loader, needed: []string{"liba.so"}, runpath: new("$ORIGIN/..")})
	m.link(latin+"/bin/claude", "usr/bin2/claude")
	m.path(m.at("usr/bin2"))
	m.refuses(Claude, StageInstallation, ReasonEncoding)
}
