package capture

import (
	"sync"

	"golang.org/x/sys/unix"
)

// passFlags open a folder to pass through it; reading it is not needed.
const passFlags = unix.O_PATH

const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// beneath opens one component with openat2(2) and looks a whole path up in one
// system call. Crossing a mount is allowed, as with openat(2): see the package
// documentation.
var beneath = way{
	name: "openat2",
	folder: func(parent int, name string) (int, error) {
		return openat2(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	},
	file: func(parent int, name string) (int, error) {
		return openat2(parent, name, fileFlags)
	},
	again: func(r Request, _ way) (identity, error) {
		root, err := openWorkspace(r.Workspace)
		if err != nil {
			return identity{}, err
		}
		defer unix.Close(root)
		fd, err := openat2(root, r.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
		if err != nil {
			return identity{}, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return identity{}, err
		}
		return identify(&st), nil
	},
}

func openat2(parent int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags, Resolve: resolve}
	return retry(func() (int, error) { return unix.Openat2(parent, name, &how) })
}

// hasOpenat2 asks the kernel once. Old kernels do not have the call and some
// sandboxes forbid it.
var hasOpenat2 = sync.OnceValue(func() bool {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(root)
	fd, err := openat2(root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
})

func best() way {
	if hasOpenat2() {
		return beneath
	}
	return plain
}
