package json0

import "fmt"

// The limits of JSON/0 (run-0 2). A host may set narrower ones, never wider.
const (
	MaxBytes       = 16 << 20
	MaxDepth       = 128
	MaxNodes       = 262_144
	MaxEntries     = 65_536
	MaxStringBytes = 8 << 20
	MaxNameBytes   = 1024
	MaxNumberBytes = 128
)

// Limits bounds a document. In each field 0 means the limit of JSON/0; a negative
// value or one beyond JSON/0 is an error.
type Limits struct {
	Bytes       int // encoded bytes of the document; default 16,777,216
	Depth       int // nesting, the root is 1; default 128
	Nodes       int // values, the root included; default 262,144
	Entries     int // members of one object, items of one array; default 65,536
	StringBytes int // decoded UTF-8 bytes of one string value; default 8,388,608
	NameBytes   int // decoded UTF-8 bytes of one member name; default 1,024
	NumberBytes int // bytes of one number as written; default 128
}

// withDefaults fills in the zeros.
func (l Limits) withDefaults() (Limits, error) {
	for _, f := range []struct {
		field *int
		most  int
		name  string
	}{
		{&l.Bytes, MaxBytes, "Bytes"},
		{&l.Depth, MaxDepth, "Depth"},
		{&l.Nodes, MaxNodes, "Nodes"},
		{&l.Entries, MaxEntries, "Entries"},
		{&l.StringBytes, MaxStringBytes, "StringBytes"},
		{&l.NameBytes, MaxNameBytes, "NameBytes"},
		{&l.NumberBytes, MaxNumberBytes, "NumberBytes"},
	} {
		switch {
		case *f.field < 0:
			return l, fmt.Errorf("%w: %s is negative", ErrConfig, f.name)
		case *f.field > f.most:
			return l, fmt.Errorf("%w: %s is beyond the %d of JSON/0", ErrConfig, f.name, f.most)
		case *f.field == 0:
			*f.field = f.most
		}
	}
	return l, nil
}
