package flowpkg

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// digester computes the identity of a package: files in the order of their
// paths' UTF-8 bytes, each with its lengths (run-0 5.1).
type digester struct{ h hash.Hash }

func newDigester(files int) *digester {
	d := &digester{sha256.New()}
	d.h.Write([]byte("FLOW-Package/0\x00"))
	d.h.Write(binary.BigEndian.AppendUint64(nil, uint64(files)))
	return d
}

// file begins the next file; its content is to be written to the digester.
func (d *digester) file(path string, size int64) {
	d.h.Write([]byte{1})
	d.h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(path))))
	d.h.Write([]byte(path))
	d.h.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
}

func (d *digester) Write(b []byte) (int, error) { return d.h.Write(b) }

func (d *digester) sum() string { return "sha256:" + hex.EncodeToString(d.h.Sum(nil)) }
