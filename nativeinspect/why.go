package nativeinspect

import "slices"

// Link says which entry of one file brought another. It is a value.
type Link struct {
	From  string // path of the file that has the entry; empty at the start
	To    string // path of the file it brought
	Role  Role
	Entry string // such as "PT_INTERP", "DT_NEEDED libc.so.6" or "PATH"
	Found string // which part of the search found it, such as "RUNPATH $ORIGIN/../lib"
}

// Why returns the chain of entries that brought a file, from what was selected on,
// and whether the installation has that file. The file is named by its path, or by
// its source.
func (i *Installation) Why(path string) ([]Link, bool) {
	if _, ok := i.links[path]; !ok {
		at := slices.IndexFunc(i.Files, func(f File) bool { return f.Source == path })
		switch {
		case at >= 0:
			path = i.Files[at].Path
		case i.Helper != nil && i.Helper.Source == path:
			path = i.Helper.Path
		default:
			return nil, false
		}
	}
	return chainOf(path, func(p string) (Link, bool) {
		l, ok := i.links[p]
		return l, ok
	}), true
}
