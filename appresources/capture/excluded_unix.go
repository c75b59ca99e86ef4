//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import "golang.org/x/sys/unix"

// place is a folder by device and inode: a path may lead to it by any name.
type place struct{ dev, ino uint64 }

type places []place

// exclusions resolves the excluded folders now. One that cannot be looked at,
// for another reason than that it does not exist, refuses everything.
func exclusions(folders []string) (places, error) {
	var out places
	for _, f := range folders {
		var st unix.Stat_t
		err := steady(func() error { return unix.Stat(f, &st) })
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return nil, busyOr(RuleExcluded, err)
		}
		out = append(out, place{uint64(st.Dev), uint64(st.Ino)})
	}
	return out, nil
}

func (p places) has(st *unix.Stat_t) bool {
	for _, q := range p {
		if q.dev == uint64(st.Dev) && q.ino == uint64(st.Ino) {
			return true
		}
	}
	return false
}

func (p places) check(fd int) error {
	if len(p) == 0 {
		return nil
	}
	var st unix.Stat_t
	if err := steady(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &Error{Rule: RuleUnreadable, cause: err}
	}
	if p.has(&st) {
		return refuse(RuleExcluded)
	}
	return nil
}

// maxClimb bounds the way from a workspace to the root of the filesystem.
const maxClimb = 4096

// climb refuses a workspace that lies in an excluded folder, however deep.
func climb(workspace int, p places) error {
	if len(p) == 0 {
		return nil
	}
	fd := workspace
	defer func() {
		if fd != workspace {
			unix.Close(fd)
		}
	}()
	var here unix.Stat_t
	if err := steady(func() error { return unix.Fstat(fd, &here) }); err != nil {
		return &Error{Rule: RuleWorkspace, cause: err}
	}
	for range maxClimb {
		if p.has(&here) {
			return refuse(RuleExcluded)
		}
		up, err := retry(func() (int, error) {
			return unix.Openat(fd, "..", passFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return busyOr(RuleWorkspace, err)
		}
		if fd != workspace {
			unix.Close(fd)
		}
		fd = up
		var above unix.Stat_t
		if err := steady(func() error { return unix.Fstat(fd, &above) }); err != nil {
			return &Error{Rule: RuleWorkspace, cause: err}
		}
		if above.Dev == here.Dev && above.Ino == here.Ino {
			return nil
		}
		here = above
	}
	return refuse(RuleWorkspace)
}
