package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// workspace is the open workspace of one call.
type workspace struct {
	root  *os.Root
	real  string // the workspace without links
	state string // the state folder without links
}

func failed(text string) *ToolError { return &ToolError{CodeExecutionFailed, text} }

func denied(text string) *ToolError { return &ToolError{CodePermissionDenied, text} }

// stopped is the error of a call whose context ended, or nil.
func stopped(ctx context.Context) *ToolError {
	if ctx.Err() != nil {
		return &ToolError{CodeCancelled, "the call was stopped"}
	}
	return nil
}

func (c *Catalog) openWorkspace(dir string) (*workspace, *ToolError) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("the workspace cannot be opened")
	}
	w := &workspace{root: root, state: c.state()}
	f, err := root.Open(".")
	if err == nil {
		w.real, err = realPath(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.close()
		return nil, failed("the workspace cannot be opened")
	}
	return w, nil
}

func (w *workspace) close() { _ = w.root.Close() }

// clean turns the path of a call into one that os.Root takes.
func clean(p string) (string, *ToolError) {
	switch {
	case strings.ContainsRune(p, 0):
		return "", denied("a path holds no NUL")
	case path.IsAbs(p):
		return "", denied("paths are relative to the workspace")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", denied(`a path holds no ".."`)
	}
	return path.Clean(p), nil // "" becomes "."
}

// open opens a file or folder of the workspace for reading. Links are followed inside the workspace and never out of
// it, and what is opened is judged by where it lies, not by what the path was called: a link to a credential is refused
// as the credential is.
//
// A FIFO or a device is not opened, and where one takes a file's place at the last moment the open does not block.
func (w *workspace) open(rel string) (*os.File, fs.FileInfo, *ToolError) {
	if CredentialPath(rel) {
		return nil, nil, denied("credential-like paths are refused")
	}
	info, err := w.root.Stat(rel)
	if err != nil {
		return nil, nil, openError(err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, nil, failed("it is neither a file nor a folder")
	}
	f, err := w.root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, openError(err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		_ = f.Close()
		return nil, nil, failed("it is neither a file nor a folder")
	}
	var real string
	if err == nil {
		real, err = realPath(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, failed("it cannot be read")
	}
	if toolErr := w.judge(real); toolErr != nil {
		_ = f.Close()
		return nil, nil, toolErr
	}
	return f, info, nil
}

// judge refuses a resolved path that no tool reads.
func (w *workspace) judge(real string) *ToolError {
	switch {
	case !inside(w.real, real):
		return denied("the path leads out of the workspace")
	case CredentialPath(strings.TrimPrefix(real, w.real)):
		return denied("credential-like paths are refused")
	case inside(w.state, real):
		return denied("the daemon's own state is refused")
	}
	return nil
}

// withheld reports whether an entry of a folder is not shown: its name looks like a credential, or it is the state
// folder.
func (w *workspace) withheld(rel string) bool {
	return CredentialPath(path.Base(rel)) || inside(w.state, filepath.Join(w.real, rel))
}

func openError(err error) *ToolError {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return failed("there is no such file or folder in the workspace")
	case errors.Is(err, fs.ErrPermission):
		return failed("the daemon's user may not read it")
	case errors.Is(err, unix.ENAMETOOLONG):
		return failed("the path is too long")
	case errors.Is(err, unix.ELOOP):
		return failed("the path has too many links")
	}
	return denied("the path leads out of the workspace, or cannot be opened")
}

// realPath is where an open file lies. The kernel knows it of the file itself, so no link that is put into its way
// meanwhile changes the answer.
func realPath(f *os.File) (string, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var real string
	var linkErr error
	if err := conn.Control(func(fd uintptr) { real, linkErr = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }); err != nil {
		return "", err
	}
	return real, linkErr
}
