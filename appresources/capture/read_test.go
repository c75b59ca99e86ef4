//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestReadReturnsTheExactBytes(t *testing.T) {
	text := "one\r\ntwo \u2028 \U0001f388\n\ufeff"
	root := folder(t, map[string]string{"a": text, "d/e/f.md": text, "empty": ""})
	eachWay(t, func(t *testing.T, w way) {
		for _, path := range []string{"a", "d/e/f.md"} {
			got, err := read(Request{Workspace: root, Path: path, MaxBytes: len(text)}, w, nil)
			require.NoError(t, err)
			require.Equal(t, text, string(got))
		}
		got, err := read(Request{Workspace: root, Path: "empty", MaxBytes: 10}, w, nil)
		require.NoError(t, err)
		require.Empty(t, got)
	})
	got, err := Read(Request{Workspace: root, Path: "a", MaxBytes: 100})
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// rule: A-042
func TestReadStopsAtTheLimit(t *testing.T) {
	const limit = 16384
	root := folder(t, map[string]string{
		"under": strings.Repeat("a", limit-1), "at": strings.Repeat("a", limit), "over": strings.Repeat("a", limit+1),
	})
	eachWay(t, func(t *testing.T, w way) {
		for path, size := range map[string]int{"under": limit - 1, "at": limit} {
			got, err := read(Request{Workspace: root, Path: path, MaxBytes: limit}, w, nil)
			require.NoError(t, err)
			require.Len(t, got, size)
		}
		got, err := read(Request{Workspace: root, Path: "over", MaxBytes: limit}, w, nil)
		requireRule(t, RuleSize, err, root)
		require.Nil(t, got)
	})
}

// rule: A-042
func TestReadRefusesAFileThatGrowsPastTheLimitWhileItIsRead(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		root := folder(t, map[string]string{"a": strings.Repeat("a", 100)})
		_, err := read(Request{Workspace: root, Path: "a", MaxBytes: 100}, w, func(s stage) {
			if s == stageOpened {
				f, err := os.OpenFile(filepath.Join(root, "a"), os.O_WRONLY|os.O_APPEND, 0)
				require.NoError(t, err)
				_, err = f.WriteString(strings.Repeat("b", 1000))
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
		})
		requireRule(t, RuleSize, err, root)
	})
}

// rule: A-038
func TestReadRefusesALinkInAnyComponent(t *testing.T) {
	root := folder(t, map[string]string{"real/sub/file": "inside"})
	for from, to := range map[string]string{
		"folder":    "real",
		"real/in":   "sub",
		"real/leaf": "sub/file",
		"absolute":  filepath.Join(root, "real/sub/file"),
		"dangling":  "nowhere",
		"loop":      "loop",
		"self":      ".",
		"up":        "..",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, from)))
	}
	eachWay(t, func(t *testing.T, w way) {
		for _, path := range []string{
			"folder/sub/file", "real/in/file", "real/leaf", "absolute", "dangling", "dangling/a", "loop", "loop/a",
			"self/real/sub/file", "up/a", "folder",
		} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleLink, err, root, path)
		}
	})
}

// A link to the workspace itself is the owner's choice.
func TestReadFollowsTheWorkspacePathItself(t *testing.T) {
	root := folder(t, map[string]string{"a": "inside"})
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(root, link))
	eachWay(t, func(t *testing.T, w way) {
		got, err := read(Request{Workspace: link, Path: "a", MaxBytes: 100}, w, nil)
		require.NoError(t, err)
		require.Equal(t, "inside", string(got))
	})
}

// rule: A-039
func TestReadRefusesASecondHardLink(t *testing.T) {
	root := folder(t, map[string]string{"a": "inside"})
	eachWay(t, func(t *testing.T, w way) {
		require.NoError(t, os.Link(filepath.Join(root, "a"), filepath.Join(root, "b")))
		for _, path := range []string{"a", "b"} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleHardLink, err, root)
		}
		require.NoError(t, os.Remove(filepath.Join(root, "b")))
		_, err := read(Request{Workspace: root, Path: "a", MaxBytes: 100}, w, nil)
		require.NoError(t, err)
	})
}

// rule: A-040
func TestReadRefusesWhatIsNoRegularFileWithoutWaiting(t *testing.T) {
	root := folder(t, map[string]string{"dir/": "", "file": "x"})
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	socket := filepath.Join(root, "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	eachWay(t, func(t *testing.T, w way) {
		for _, path := range []string{"dir", "fifo", "s"} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleRegular, err, root)
		}
		for _, path := range []string{"null", "zero"} {
			_, err := read(Request{Workspace: "/dev", Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleRegular, err)
		}
		for _, path := range []string{"file/a", "fifo/a", "s/a"} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleFolder, err, root)
		}
	})
}

// rule: A-041
func TestReadRefusesInvalidTextAndNUL(t *testing.T) {
	root := folder(t, map[string]string{
		"nul": "a\x00b", "high": "a\xff", "cut": "a\xe2\x82", "surrogate": "\xed\xa0\x80", "overlong": "\xc0\x80",
	})
	eachWay(t, func(t *testing.T, w way) {
		for _, path := range []string{"nul", "high", "cut", "surrogate", "overlong"} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleText, err, root, path)
		}
	})
}

// rule: M-061, M-062, M-088
func TestReadRefusesCredentialPathsEvenWhereNothingLies(t *testing.T) {
	root := folder(t, map[string]string{".env": "KEY=1", "conf/Server.KEY": "k", ".git/config": "x"})
	eachWay(t, func(t *testing.T, w way) {
		for _, path := range []string{".env", "conf/Server.KEY", ".git/config", ".aws/none"} {
			_, err := read(Request{Workspace: root, Path: path, MaxBytes: 100}, w, nil)
			requireRule(t, RuleCredential, err, root, path)
		}
	})
}

// rule: M-063
func TestReadRefusesTheExcludedFolderWhereverItLies(t *testing.T) {
	root := folder(t, map[string]string{"state/sessions/a/j": "x", "free/f": "free"})
	state := filepath.Join(root, "state")
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(state, alias))
	eachWay(t, func(t *testing.T, w way) {
		for _, excluded := range []string{state, alias} {
			for _, c := range []struct{ workspace, path string }{
				{root, "state/sessions/a/j"},
				{state, "sessions/a/j"},
				{filepath.Join(state, "sessions"), "a/j"},
				{filepath.Join(state, "sessions", "a"), "j"},
				{alias, "sessions/a/j"},
			} {
				_, err := read(Request{Workspace: c.workspace, Path: c.path, MaxBytes: 10, Excluded: []string{excluded}}, w, nil)
				requireRule(t, RuleExcluded, err, root)
			}
			got, err := read(Request{Workspace: root, Path: "free/f", MaxBytes: 10, Excluded: []string{excluded}}, w, nil)
			require.NoError(t, err)
			require.Equal(t, "free", string(got))
		}
		got, err := read(Request{Workspace: root, Path: "free/f", MaxBytes: 10, Excluded: []string{filepath.Join(root, "none")}}, w, nil)
		require.NoError(t, err)
		require.Equal(t, "free", string(got))
		_, err = read(Request{Workspace: root, Path: "free/f", MaxBytes: 10, Excluded: []string{filepath.Join(root, "free/f/x")}}, w, nil)
		requireRule(t, RuleExcluded, err, root)
	})
}

// rule: M-088
func TestReadNamesTheRuleAndNotThePath(t *testing.T) {
	root := folder(t, map[string]string{"a": "x"})
	name := strings.Repeat("n", 300)
	eachWay(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			workspace, path string
			rule            Rule
		}{
			{root, "missing", RuleMissing},
			{root, "missing/a", RuleMissing},
			{root, name, RuleMissing},
			{root, name + "/a", RuleMissing},
			{root, "a/b", RuleFolder},
			{root, "../a", RulePath},
			{filepath.Join(root, "gone"), "a", RuleWorkspace},
			{filepath.Join(root, "a"), "a", RuleWorkspace},
			{"relative", "a", RuleWorkspace},
			{"", "a", RuleWorkspace},
			{root + "\x00", "a", RuleWorkspace},
		} {
			_, err := read(Request{Workspace: c.workspace, Path: c.path, MaxBytes: 10}, w, nil)
			requireRule(t, c.rule, err, root, "missing", name)
		}
	})
}

// A kernel file says that it is empty and is not.
func TestReadRefusesAFileWhoseSizeIsNotItsOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		root := folder(t, map[string]string{"a": "ab"})
		fd, err := unix.Open(filepath.Join(root, "a"), unix.O_RDONLY, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		_, err = readAll(fd, 1, 10)
		requireRule(t, RuleChanged, err)
		return
	}
	eachWay(t, func(t *testing.T, w way) {
		_, err := read(Request{Workspace: "/proc/sys/kernel", Path: "ostype", MaxBytes: 4096}, w, nil)
		requireRule(t, RuleChanged, err)
	})
}

func TestExplainTellsAFullSystemFromARefusedFile(t *testing.T) {
	root := folder(t, map[string]string{"a": "x"})
	fd, err := unix.Open(root, unix.O_RDONLY, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	for errno, rule := range map[unix.Errno]Rule{
		unix.EACCES: RuleUnreadable, unix.EIO: RuleUnreadable, unix.EPERM: RuleUnreadable,
		unix.EMFILE: RuleUnavailable, unix.ENFILE: RuleUnavailable, unix.ENOMEM: RuleUnavailable,
		unix.ELOOP: RuleLink, unix.EXDEV: RuleLink, unix.ENOENT: RuleMissing, unix.EAGAIN: RuleChanged,
	} {
		got := explain(fd, "a", errno)
		requireRule(t, rule, got, root)
		require.ErrorIs(t, got, errno)
	}
}
