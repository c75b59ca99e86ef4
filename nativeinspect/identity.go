package nativeinspect

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Digest returns one digest of everything that Recheck compares: client, executable,
// helper with its route, and all files with path, role and digest. It depends on no
// timestamp, no inode, and not on how the client was found. It is for comparing two
// inspections; a provider's identity is the caller's and takes the same fields.
func (i *Installation) Digest() Digest {
	h := sha256.New()
	h.Write([]byte("nativeinspect/0\x00"))
	text(h, i.Client.Identity())
	add(h, i.Executable)
	if i.Helper == nil {
		text(h, "")
	} else {
		text(h, string(i.Helper.Route))
		add(h, i.Helper.File)
	}
	for _, f := range i.Files {
		add(h, f)
	}
	return Digest(h.Sum(nil))
}

func add(h hash.Hash, f File) {
	text(h, f.Path)
	text(h, string(f.Role))
	h.Write(f.Digest[:])
}

// text writes a string so that no two sequences of strings look alike.
func text(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}
