package engine

import (
	"io/fs"
	"syscall"
)

// maxEntries is the most files and folders that a Flow has at a time: an empty one
// takes no byte of its folder, but some of the host's memory.
const maxEntries = 16 << 10

// room says whether n more entries may be made.
func (f *files) room(n int) error {
	if f.made += n; f.made <= maxEntries {
		return nil
	}
	f.made = n
	for _, m := range f.mounts {
		if m.writable {
			fs.WalkDir(m.root.FS(), ".", func(at string, _ fs.DirEntry, _ error) error {
				if at != "." {
					f.made++
				}
				return nil
			})
		}
	}
	if f.made > maxEntries {
		f.made = maxEntries // so that the next one counts again
		return syscall.ENOSPC
	}
	return nil
}
