//go:build unix

package retain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Rollout is a history that was collected and has passed [Check].
type Rollout struct {
	Path    string // sessions/YYYY/MM/DD/rollout-….jsonl
	Content []byte
}

// ErrMissing: there is no history at all.
var ErrMissing = errors.New("there is no history")

// Collect reads the one rollout of nativeID below sessions, the open folder that
// the client kept its sessions in. Nobody writes there any more. It gives
// [ErrMissing] where there is no file, [ErrUnsupported] where there is anything
// but one rollout that may be kept, and any other error where it cannot tell.
func Collect(ctx context.Context, sessions *os.File, nativeID string, secrets []string) (*Rollout, error) {
	switch {
	case sessions == nil:
		return nil, errors.New("the folder of the client's sessions was not handed over")
	case nativeID == "":
		return nil, errors.New("the client's session has no name")
	}
	w := &walk{ctx: ctx}
	err := control(sessions, func(fd int) error { return w.folder(fd, "sessions", 0) })
	if err != nil {
		return nil, err
	}
	defer w.close()
	switch {
	case len(w.files) == 0:
		return nil, ErrMissing
	case len(w.files) > 1:
		return nil, unsupported(-1, "there is more than one file")
	}
	path := w.files[0].path
	for _, folder := range w.folders {
		if !strings.HasPrefix(path, folder+"/") {
			return nil, unsupported(-1, "there is a folder beside the path of the file")
		}
	}
	content, err := w.files[0].read()
	if err != nil {
		return nil, err
	}
	if err := Check(path, content, nativeID); err != nil {
		return nil, err
	}
	if Holds(content, secrets) {
		return nil, unsupported(-1, "it holds a credential")
	}
	return &Rollout{Path: path, Content: content}, nil
}

// control calls f with the descriptor of file, which stays open meanwhile.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("the folder of the client's sessions: %w", err)
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return fmt.Errorf("the folder of the client's sessions: %w", err)
	}
	return inner
}

// walk is what has been seen below the folder of the sessions. Every name is
// opened by itself below the descriptor of its folder, and no link is followed.
type walk struct {
	ctx     context.Context
	entries int
	folders []string
	files   []found
}

type found struct {
	path string
	file *os.File
}

func (w *walk) close() {
	for _, f := range w.files {
		f.file.Close()
	}
}

// levels are the forms of the names of folders: YYYY, MM, DD.
var levels = []int{4, 2, 2}

func (w *walk) folder(fd int, path string, level int) (err error) {
	defer func() {
		if err != nil {
			w.close()
			w.files = nil
		}
	}()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	names, err := w.names(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		var st unix.Stat_t
		if err := again(func() error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
			return fmt.Errorf("an entry of the client's sessions: %w", err)
		}
		kind := uint32(st.Mode) & unix.S_IFMT
		switch {
		case kind == unix.S_IFREG && level == len(levels):
			f, err := open(fd, name, 0)
			if err != nil {
				return err
			}
			w.files = append(w.files, found{path + "/" + name, f})
		case kind == unix.S_IFDIR && level < len(levels) && digits(name, levels[level]):
			f, err := open(fd, name, unix.O_DIRECTORY)
			if err != nil {
				return err
			}
			w.folders = append(w.folders, path+"/"+name)
			err = w.folder(int(f.Fd()), path+"/"+name, level+1)
			f.Close()
			if err != nil {
				return err
			}
		default:
			return unsupported(-1, "there is an entry that is no folder of a day and no history")
		}
	}
	return nil
}

// names lists a folder anew, whatever was read of its descriptor before.
func (w *walk) names(fd int) ([]string, error) {
	f, err := open(fd, ".", unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(MaxEntries - w.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a folder of the client's sessions: %w", err)
	}
	if w.entries += len(names); w.entries > MaxEntries {
		return nil, unsupported(-1, "there are more than 16 entries")
	}
	return names, nil
}

func digits(name string, n int) bool {
	for _, c := range []byte(name) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(name) == n
}

// open opens one name below a folder and follows nothing.
func open(fd int, name string, flags int) (f *os.File, err error) {
	err = again(func() error {
		n, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
		if err == nil {
			f = os.NewFile(uintptr(n), "sessions")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("an entry of the client's sessions cannot be opened: %w", err)
	}
	return f, nil
}

// again calls f until no signal interrupts it.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// read returns the content of the file, which has one name and a bounded size.
func (f found) read() ([]byte, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(int(f.file.Fd()), &st) }); err != nil {
		return nil, fmt.Errorf("the history: %w", err)
	}
	switch {
	case uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG:
		return nil, unsupported(-1, "it is no regular file")
	case st.Nlink != 1:
		return nil, unsupported(-1, "the file has another name too")
	case st.Size > MaxBytes:
		return nil, unsupported(-1, "it has 1 to 8,388,608 bytes")
	}
	content, err := io.ReadAll(io.LimitReader(f.file, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the history cannot be read: %w", err)
	}
	return content, nil
}
