package engine

import (
	"bytes"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// WithHeap is f with less memory, so that a test does not have to fill it all.
func (f Flow) WithHeap(bytes int) Flow {
	f.heapBytes = bytes
	return f
}

// WithCompiled is f with the compiled form of its package, as it travels. A
// package that does not compile stays as it is.
func (f Flow) WithCompiled() Flow {
	var b bytes.Buffer
	if err := compile(&b, f.Package); err != nil {
		return f
	}
	c, err := source.ReadCompiled(b.Bytes())
	if err != nil {
		panic(err)
	}
	f.compiled = c
	return f
}
