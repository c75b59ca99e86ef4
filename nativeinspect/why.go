package nativeinspect

// Link says which entry of one file brought another. It is a value.
type Link struct {
	From  string // path of the file that has the entry; empty at the start
	To    string // path of the file it brought
	Role  Role
	Entry string // such as "PT_INTERP", "DT_NEEDED libc.so.6" or "PATH"
	Found string // which part of the search found it, such as "RUNPATH $ORIGIN/../lib"
}

// Why returns the chain of entries that brought a file, from what was selected on,
// and whether the installation has a file at that path.
func (i *Installation) Why(path string) ([]Link, bool) {
	if _, ok := i.links[path]; !ok {
		return nil, false
	}
	return chainOf(path, func(p string) (Link, bool) {
		l, ok := i.links[p]
		return l, ok
	}), true
}
