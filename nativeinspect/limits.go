package nativeinspect

import "fmt"

// Bounds that the rules fix.
const (
	MaxLinks        = 40     // symbolic links on the way to one file
	MaxDestinations = 128    // files that one executable may need
	MaxAncestors    = 32     // folders above a launcher that are searched for its native package
	MaxRecordBytes  = 65_536 // one JSON record of an installation
	maxStringBytes  = 4_096  // one name in an ELF or Mach-O file
	maxReadBytes    = 1 << 20
	maxWrapperBytes = 1 << 20 // larger files are not searched for a wrapper's declaration
)

// Limits bound what one call reads. The zero value of a field is its default; a
// negative one is an error. Limits is a value and safe for concurrent use.
type Limits struct {
	FileBytes   int64 // one file that is hashed; default 1 GiB
	TotalBytes  int64 // all files of a call; default 4 GiB
	PathEntries int   // entries of PATH; default 1,024
}

func (l Limits) resolve() (Limits, error) {
	if l.FileBytes < 0 || l.TotalBytes < 0 || l.PathEntries < 0 {
		return l, fmt.Errorf("%w: a limit is negative", ErrConfig)
	}
	if l.FileBytes == 0 {
		l.FileBytes = 1 << 30
	}
	if l.TotalBytes == 0 {
		l.TotalBytes = 4 << 30
	}
	if l.PathEntries == 0 {
		l.PathEntries = 1_024
	}
	return l, nil
}
