package nativeinspect

// Link says which entry of one file brought another.
type Link struct {
	From  string // path of the file that has the entry; empty at the start
	To    string // path of the file it brought
	Role  Role
	Entry string // "PT_INTERP", "DT_NEEDED libc.so.6", …
	Found string // which part of the search found it, such as "RUNPATH $ORIGIN/../lib"
}

type origin Link

type place struct{}

// Why returns the chain of entries that brought a file, from the executable or the
// helper on, and whether the installation has that file.
func (i *Installation) Why(path string) ([]Link, bool) { return nil, false }
