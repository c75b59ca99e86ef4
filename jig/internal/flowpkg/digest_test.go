package flowpkg_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// independentDigest writes the preimage out the long way round.
func independentDigest(order []string, files map[string]string) string {
	var b bytes.Buffer
	b.WriteString("FLOW-Package/0\x00")
	binary.Write(&b, binary.BigEndian, uint64(len(order)))
	for _, name := range order {
		b.WriteByte(1)
		binary.Write(&b, binary.BigEndian, uint32(len(name)))
		b.WriteString(name)
		binary.Write(&b, binary.BigEndian, uint64(len(files[name])))
		b.WriteString(files[name])
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(b.Bytes()))
}
