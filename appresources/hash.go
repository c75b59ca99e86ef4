package appresources

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

const revisionDomain = "magi-application-resource-v1"

// ContentSHA256 returns the lowercase hex SHA-256 of the exact captured bytes.
func ContentSHA256(content string) string {
	h := sha256.New()
	h.Write([]byte(content))
	return hex.EncodeToString(h.Sum(nil))
}

// RevisionSHA256 returns the lowercase hex SHA-256 of the domain
// "magi-application-resource-v1" followed by kind, name, description and
// captured bytes, each prefixed by its byte length as an unsigned 64-bit
// big-endian integer (seed: Captured sources). The domain has no prefix.
func RevisionSHA256(kind Kind, name, description, content string) string {
	h := sha256.New()
	h.Write([]byte(revisionDomain))
	var length [8]byte
	for _, part := range []string{string(kind), name, description, content} {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}
