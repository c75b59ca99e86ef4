//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import (
	"strings"

	"golang.org/x/sys/unix"
)

// way is how one component is opened from its folder. Neither function follows
// a link, whatever the name has become.
type way struct {
	name   string
	folder func(parent int, name string) (int, error)
	file   func(parent int, name string) (int, error) // for reading; never waits for a writer
	// again looks the whole path up once more, from the workspace.
	again func(r Request, w way) (identity, error)
}

// identity is everything that must not change while a file is read.
type identity struct {
	dev, ino, links uint64
	size            int64
	mtime, ctime    unix.Timespec
	regular         bool
}

func identify(st *unix.Stat_t) identity {
	return identity{
		dev:     uint64(st.Dev),
		ino:     uint64(st.Ino),
		links:   uint64(st.Nlink),
		size:    st.Size,
		mtime:   st.Mtim,
		ctime:   st.Ctim,
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}
}

// capture reads the file that the path names before and after.
func capture(r Request, w way, at func(stage)) ([]byte, error) {
	parent, name, err := locate(r, w)
	if err != nil {
		return nil, err
	}
	defer unix.Close(parent)
	at(stageLocated)
	before, err := see(parent, name)
	if err != nil {
		return nil, err
	}
	switch {
	case !before.regular:
		return nil, refuse(RuleRegular)
	case before.links != 1:
		return nil, refuse(RuleHardLink)
	case before.size > int64(r.MaxBytes):
		return nil, refuse(RuleSize)
	}
	at(stageSeen)
	// A FIFO or device was refused above without being opened. One that takes
	// the file's place now is opened without waiting and fails the comparison.
	fd, err := w.file(parent, name)
	if err != nil {
		return nil, explain(parent, name, err)
	}
	defer unix.Close(fd)
	if err := unchanged(fd, before); err != nil {
		return nil, err
	}
	at(stageOpened)
	text, err := readAll(fd, int(before.size), r.MaxBytes)
	if err != nil {
		return nil, err
	}
	at(stageRead)
	if err := unchanged(fd, before); err != nil {
		return nil, err
	}
	at(stageSame)
	if after, err := w.again(r, w); err != nil || after != before {
		return nil, refuse(RuleChanged)
	}
	return text, nil
}

// readAll reads one byte more than the file should have, to see it grow.
func readAll(fd, size, limit int) ([]byte, error) {
	buf := make([]byte, size+1)
	n := 0
	for n < len(buf) {
		got, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &Error{Rule: RuleUnreadable, cause: err}
		}
		if got == 0 {
			break
		}
		n += got
	}
	switch {
	case n > limit:
		return nil, refuse(RuleSize)
	case n != size:
		return nil, refuse(RuleChanged)
	}
	return buf[:n], nil
}

func unchanged(fd int, before identity) error {
	var st unix.Stat_t
	if err := steady(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &Error{Rule: RuleUnreadable, cause: err}
	}
	if identify(&st) != before {
		return refuse(RuleChanged)
	}
	return nil
}

// see looks at a name without opening or following it.
func see(parent int, name string) (identity, error) {
	var st unix.Stat_t
	err := steady(func() error { return unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return identity{}, explain(parent, name, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return identity{}, refuse(RuleLink)
	}
	return identify(&st), nil
}

// locate opens the folder that holds the path's last component and returns the
// folder and that component.
func locate(r Request, w way) (int, string, error) {
	forbidden, err := exclusions(r.Excluded)
	if err != nil {
		return -1, "", err
	}
	fd, err := openWorkspace(r.Workspace)
	if err != nil {
		return -1, "", err
	}
	if err := climb(fd, forbidden); err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	rest := r.Path
	for {
		name, tail, more := strings.Cut(rest, "/")
		if !more {
			return fd, name, nil
		}
		next, err := w.folder(fd, name)
		if err != nil {
			err = explain(fd, name, err)
			unix.Close(fd)
			return -1, "", err
		}
		unix.Close(fd)
		fd, rest = next, tail
		if err := forbidden.check(fd); err != nil {
			unix.Close(fd)
			return -1, "", err
		}
	}
}

func openWorkspace(path string) (int, error) {
	if !strings.HasPrefix(path, "/") {
		return -1, refuse(RuleWorkspace)
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(path, passFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, busyOr(RuleWorkspace, err)
	}
	return fd, nil
}

// relook is the plain way to look a path up again.
func relook(r Request, w way) (identity, error) {
	parent, name, err := locate(r, w)
	if err != nil {
		return identity{}, err
	}
	defer unix.Close(parent)
	return see(parent, name)
}

// plain opens one component with openat(2).
var plain = way{
	name: "openat",
	folder: func(parent int, name string) (int, error) {
		return retry(func() (int, error) {
			return unix.Openat(parent, name, passFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
	},
	file: func(parent int, name string) (int, error) {
		return retry(func() (int, error) { return unix.Openat(parent, name, fileFlags, 0) })
	},
	again: relook,
}

const fileFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// retry and steady repeat a call that a signal interrupted.
func retry(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func steady(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
