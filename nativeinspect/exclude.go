package nativeinspect

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// inode is the identity of a file while it exists.
type inode struct{ dev, ino uint64 }

// exclusion is the set of folders that nothing inferred may come from: the project,
// and node_modules of each of its ancestors (finite-acp 5a). It is immutable.
type exclusion struct {
	roots  []string
	inodes []inode // of roots that exist, for other spellings and bind mounts
}

// newExclusion reads where the project lies. The project has to exist.
func newExclusion(project string) (*exclusion, error) {
	x := &exclusion{}
	given := filepath.Clean(project)
	real, err := resolve(given, nil)
	if err != nil {
		return nil, err
	}
	x.add(given)
	x.add(real)
	for _, start := range []string{given, real} {
		for dir := start; ; dir = filepath.Dir(dir) {
			modules := filepath.Join(dir, "node_modules")
			x.add(modules)
			// What cannot be resolved cannot be entered either.
			if target, err := resolve(modules, nil); err == nil {
				x.add(target)
			} else if reasonOf(err) == ReasonInputOutput {
				return nil, err
			}
			if dir == "/" {
				break
			}
		}
	}
	for _, root := range x.roots {
		var st unix.Stat_t
		if err := unix.Stat(root, &st); err == nil {
			x.inodes = append(x.inodes, inode{uint64(st.Dev), st.Ino})
		}
	}
	return x, nil
}

func (x *exclusion) add(root string) {
	if !slices.Contains(x.roots, root) {
		x.roots = append(x.roots, root)
	}
}

// holds reports whether a path, taken as it is written, lies in an excluded folder.
func (x *exclusion) holds(path string) bool {
	if x == nil {
		return false
	}
	for _, root := range x.roots {
		if below(path, root) {
			return true
		}
	}
	return false
}

func (x *exclusion) is(id inode) bool { return x != nil && slices.Contains(x.inodes, id) }

// below reports whether path is root or lies in it.
func below(path, root string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root) && path[len(root)] == '/'
}

// normalised reports whether a path is absolute, in its shortest spelling, and
// without NUL.
func normalised(path string) bool {
	return strings.HasPrefix(path, "/") && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

// missing reports whether an error says that there is no such file.
func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
