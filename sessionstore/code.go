package sessionstore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Rows and claims are written as a version, fields one after the other, and a
// checksum: text with its length, numbers as varints. Any changed byte shows.

const (
	formatVersion = 1
	sumBytes      = 8
)

type writer struct{ b []byte }

func newWriter() *writer { return &writer{[]byte{formatVersion}} }

func (w *writer) text(s string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) number(n int64) { w.b = binary.AppendVarint(w.b, n) }

func (w *writer) bytes() []byte {
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:sumBytes]...)
}

type reader struct {
	b   []byte
	bad bool
}

// newReader checks the sum and the version.
func newReader(raw []byte) *reader {
	r := &reader{}
	if len(raw) < 1+sumBytes {
		r.bad = true
		return r
	}
	body := raw[:len(raw)-sumBytes]
	sum := sha256.Sum256(body)
	r.bad = string(sum[:sumBytes]) != string(raw[len(raw)-sumBytes:]) || body[0] != formatVersion
	r.b = body[1:]
	return r
}

func (r *reader) text() string {
	n, used := binary.Uvarint(r.b)
	if used <= 0 || n > uint64(len(r.b)-used) {
		r.bad = true
		return ""
	}
	s := string(r.b[used : used+int(n)])
	r.b = r.b[used+int(n):]
	return s
}

func (r *reader) number() int64 {
	n, used := binary.Varint(r.b)
	if used <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[used:]
	return n
}

// end says whether everything was there and nothing more.
func (r *reader) end() error {
	if r.bad || len(r.b) > 0 {
		return errors.New("unreadable")
	}
	return nil
}
