package nativeinspect

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// resolve follows an absolute path hop by hop and returns the path without links.
// Every prefix that it passes and every link's target is compared with the excluded
// folders, so a route through the project is noticed even when it ends elsewhere
// (finite-acp 5a). ".." is resolved where it stands, after the link before it.
func resolve(path string, outside *exclusion) (string, error) {
	if !filepath.IsAbs(path) {
		return "", unix.EINVAL
	}
	at, links := "/", 0
	rest := path
	for rest != "" {
		name, after, slash := strings.Cut(rest, "/")
		rest = after
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if outside.holds(next) {
			return "", &excluded{next}
		}
		var st unix.Stat_t
		if err := unix.Lstat(next, &st); err != nil {
			return "", err
		}
		switch uint32(st.Mode) & unix.S_IFMT {
		case unix.S_IFLNK:
			if links++; links > MaxLinks {
				return "", errTooManyLinks
			}
			target, err := readlink(next)
			if err != nil {
				return "", err
			}
			full := target
			if strings.HasPrefix(target, "/") {
				at = "/"
			} else {
				full = at + "/" + target
			}
			if outside.holds(filepath.Clean(full)) {
				return "", &excluded{next}
			}
			if slash {
				target += "/" + rest
			}
			rest = target
		case unix.S_IFDIR:
			if outside.is(inode{uint64(st.Dev), st.Ino}) {
				return "", &excluded{next}
			}
			at = next
		default:
			if slash { // something follows a file, if only a slash
				return "", unix.ENOTDIR
			}
			at = next
		}
	}
	return at, nil
}

func readlink(path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	if n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}
