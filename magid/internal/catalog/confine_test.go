package catalog

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// each calls the three tools with one path.
func each(t *testing.T, dir, path string) (errs []*ToolError, results string) {
	t.Helper()
	for _, name := range []string{ToolReadFile, ToolListFiles, ToolFindText} {
		a := args{"path": path}
		if name == ToolFindText {
			a["text"] = "canary"
		}
		result, err := run(t, dir, name, a)
		errs = append(errs, err)
		results += string(result)
	}
	return errs, results
}

// rule: M-048
func TestAbsolutePathsAndParentsAreRefused(t *testing.T) {
	parent := tree(t, map[string]string{"outside": "canary", "work/inside": "canary", "work/sub/x": "y"})
	dir := filepath.Join(parent, "work")
	for _, path := range []string{
		"/", "/etc/passwd", dir + "/inside", dir, "//x", "..", "../outside", "sub/../inside", "sub/..", "./../outside", "sub/../../outside", "a/../..", "inside\x00",
	} {
		errs, _ := each(t, dir, path)
		for _, err := range errs {
			require.NotNil(t, err, path)
			require.Equal(t, CodePermissionDenied, err.Code, path)
		}
	}
	// Dots that are no parent are ordinary.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "..."), []byte("dots"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "..x"), []byte("dots"), 0o600))
	for _, path := range []string{"...", "..x", "./inside", "sub//x", "./sub/./x"} {
		require.NotEmpty(t, ok[readReply](t, dir, ToolReadFile, args{"path": path}).Text)
	}
}

// rule: M-049
func TestNoLinkLeadsOutOfTheWorkspace(t *testing.T) {
	outside := tree(t, map[string]string{"file": "canary", "folder/file": "canary"})
	dir := tree(t, map[string]string{
		"abs": "-> " + outside + "/file", "rel": "-> ../../../../../../.." + outside + "/file", "folder": "-> " + outside + "/folder",
		"chain": "-> abs", "root": "-> /", "loop": "-> loop", "sub/up": "-> ../..", "dangling": "-> nothing",
		"inside": "-> sub/real", "sub/real": "harmless canary", "inner": "-> sub", "proc": "-> /proc/self/root" + outside + "/file",
	})
	for _, path := range []string{"abs", "rel", "folder", "folder/file", "chain", "root", "root/etc/passwd", "loop", "sub/up", "sub/up/x", "dangling", "proc"} {
		errs, results := each(t, dir, path)
		for _, err := range errs {
			require.NotNil(t, err, path)
		}
		require.NotContains(t, results, "canary")
	}
	// Links inside the workspace are followed, except by the search, which comes to their targets anyway.
	require.Equal(t, "harmless canary", ok[readReply](t, dir, ToolReadFile, args{"path": "inside"}).Text)
	require.Equal(t, "harmless canary", ok[readReply](t, dir, ToolReadFile, args{"path": "inner/real"}).Text)
	require.Equal(t, []string{"real", "up"}, ok[listReply](t, dir, ToolListFiles, args{"path": "inner"}).names())
	require.Equal(t, []match{{"sub/real", 1, "harmless canary"}}, ok[findReply](t, dir, ToolFindText, args{"text": "canary"}).Matches)
	list := ok[listReply](t, dir, ToolListFiles, args{})
	require.Equal(t, "link", list.Entries[0].Type)
	// The workspace itself may be named through a link.
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(dir, alias))
	require.Equal(t, "harmless canary", ok[readReply](t, alias, ToolReadFile, args{"path": "inside"}).Text)
}

// rule: M-049, M-050
func TestASwappedFolderOpensNothingOutsideAndNoCredential(t *testing.T) {
	outside := tree(t, map[string]string{"f": "canary"})
	dir := tree(t, map[string]string{"real/f": "harmless", ".ssh/f": "canary"})
	swap := filepath.Join(dir, "swap")
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			tmp := filepath.Join(dir, "tmp")
			_ = os.Symlink([]string{"real", outside, ".ssh"}[i%3], tmp)
			_ = os.Rename(tmp, swap)
		}
	}()
	for range 300 {
		_, results := each(t, dir, "swap/f")
		require.NotContains(t, results, "canary")
	}
	stop.Store(true)
	<-done
}

func TestFIFOsSocketsAndDevicesNeverBlock(t *testing.T) {
	dir := tree(t, map[string]string{"plain": "canary"})
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	ln, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer ln.Close()
	paths := []string{"fifo", "socket"}
	if unix.Mknod(filepath.Join(dir, "zero"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))) == nil {
		paths = append(paths, "zero")
	}
	for _, path := range paths {
		errs, _ := each(t, dir, path)
		for _, err := range errs {
			require.Equal(t, &ToolError{CodeExecutionFailed, "it is neither a file nor a folder"}, err, path)
		}
	}
	require.Len(t, ok[findReply](t, dir, ToolFindText, args{"text": "canary"}).Matches, 1)
	for _, e := range ok[listReply](t, dir, ToolListFiles, args{}).Entries {
		require.Equal(t, e.Name != "plain", e.Type == "other")
	}
}

// rule: M-053
func TestToolsWriteNothing(t *testing.T) {
	dir := tree(t, map[string]string{"a": "one\ntwo", "sub/b": "x", ".env": "k", "l": "-> a"})
	before := snapshot(t, dir)
	for _, path := range []string{"", ".", "a", "sub", "sub/b", "new", "sub/new/x", ".env", "l", "../x"} {
		each(t, dir, path)
	}
	require.Equal(t, before, snapshot(t, dir))
}

func snapshot(t *testing.T, dir string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		content := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			content = string(b)
		}
		out = append(out, strings.Join([]string{path, info.Mode().String(), info.ModTime().String(), content}, "|"))
		return nil
	}))
	return out
}

func TestAStoppedCallEnds(t *testing.T) {
	dir := tree(t, map[string]string{"a": strings.Repeat("x\n", 1000), "sub/b": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, a := range map[string]args{ToolReadFile: {"path": "a"}, ToolListFiles: {}, ToolFindText: {"text": "x"}} {
		_, err := New(Config{}).Run(ctx, dir, name, encoded(t, a))
		require.NotNil(t, err, name)
		require.Equal(t, CodeCancelled, err.Code, name)
	}
}

func TestAnUnreadableFileIsAToolError(t *testing.T) {
	dir := tree(t, map[string]string{"a/b": "x"})
	for path, want := range map[string]string{
		"none": "no such file", "a/b/c": "no such file", "a/none/x": "no such file", strings.Repeat("n", 256): "too long",
	} {
		errs, _ := each(t, dir, path)
		for _, err := range errs {
			require.Equal(t, CodeExecutionFailed, err.Code)
			require.Contains(t, err.Message, want, path)
		}
	}
	_, err := run(t, dir, ToolReadFile, args{"path": "a"})
	require.Equal(t, &ToolError{CodeExecutionFailed, "it is a folder: use list_files"}, err)
	_, err = run(t, dir, ToolReadFile, args{"path": ""})
	require.Equal(t, &ToolError{CodeExecutionFailed, "it is a folder: use list_files"}, err)
	_, err = run(t, dir, ToolListFiles, args{"path": "a/b"})
	require.Equal(t, &ToolError{CodeExecutionFailed, "it is a file: use read_file"}, err)
}
