package acpframing

import (
	"io"
	"iter"
)

// Frame is one complete frame. It belongs to whoever received it.
//
// A Frame is not safe for concurrent use.
type Frame struct {
	pieces [][]byte
	size   int
}

// Len returns the number of bytes.
func (f *Frame) Len() int { return f.size }

// Bytes returns the frame in one piece. A frame of up to 32 KiB is in one piece
// already; a larger one is copied, once, and for that moment it takes its size
// twice.
func (f *Frame) Bytes() []byte {
	if len(f.pieces) != 1 {
		whole := make([]byte, 0, f.size)
		for i, p := range f.pieces {
			whole = append(whole, p...)
			f.pieces[i] = nil
		}
		f.pieces = [][]byte{whole}
	}
	return f.pieces[0]
}

// Pieces returns the frame piece by piece, without a copy. A piece may end inside
// a Unicode scalar.
func (f *Frame) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, p := range f.pieces {
			if !yield(p) {
				return
			}
		}
	}
}

// WriteTo writes the frame, without a copy.
func (f *Frame) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, p := range f.pieces {
		n, err := w.Write(p)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// pieceBytes is the size of one piece of storage: what a Joiner may hold beyond
// the bytes it has received.
const pieceBytes = 32 << 10

// held returns how many bytes of storage the frame occupies.
func (f *Frame) held() int {
	n := cap(f.pieces) * 24
	for _, p := range f.pieces {
		n += cap(p)
	}
	return n
}
