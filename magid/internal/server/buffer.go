package server

import (
	"sync"

	"github.com/magi-jig/magi-jig/wirev2"
)

// buffer holds an encoded response on its way out. A response that leaves in the ordinary way gives its buffer back; one
// that is thrown away leaves it to the garbage collector.
type buffer struct{ bytes []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func encodedResponse(r *wirev2.Response) (*buffer, error) {
	b := buffers.Get().(*buffer) //nolint:forcetypeassert // nothing else is put there
	var err error
	if b.bytes, err = wirev2.AppendResponse(b.bytes[:0], r); err != nil {
		b.giveBack()
		return nil, err
	}
	return b, nil
}

// giveBack must be called once, and by who uses the bytes last. A nil buffer is none.
func (b *buffer) giveBack() {
	if b != nil {
		buffers.Put(b)
	}
}
