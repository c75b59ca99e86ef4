package json0

import (
	"errors"
	"fmt"
)

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

var defaultLimits = Limits{
	Bytes: MaxBytes, Depth: MaxDepth, Nodes: MaxNodes, Entries: MaxEntries,
	StringBytes: MaxStringBytes, NameBytes: MaxNameBytes, NumberBytes: MaxNumberBytes,
}

// withDefaults fills in the zeros.
func (l Limits) withDefaults() (Limits, error) {
	if l == (Limits{}) {
		return defaultLimits, nil
	}
	err := errors.Join(
		fill(&l.Bytes, MaxBytes, "Bytes"),
		fill(&l.Depth, MaxDepth, "Depth"),
		fill(&l.Nodes, MaxNodes, "Nodes"),
		fill(&l.Entries, MaxEntries, "Entries"),
		fill(&l.StringBytes, MaxStringBytes, "StringBytes"),
		fill(&l.NameBytes, MaxNameBytes, "NameBytes"),
		fill(&l.NumberBytes, MaxNumberBytes, "NumberBytes"),
	)
	return l, err
}

func fill(field *int, most int, name string) error {
	switch {
	case *field < 0:
		return fmt.Errorf("%w: %s is negative", ErrConfig, name)
	case *field > most:
		return fmt.Errorf("%w: %s is beyond the %d of JSON/0", ErrConfig, name, most)
	case *field == 0:
		*field = most
	}
	return nil
}
