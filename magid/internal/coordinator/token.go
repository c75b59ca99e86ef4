package coordinator

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/magi-jig/magi-jig/wirev2"
)

// digest is what is kept of a control token. Comparing digests takes the same
// time whatever was received, however long it is (wire-v2 2: IDs).
type digest [sha256.Size]byte

func newDigest(token wirev2.Secret) digest { return sha256.Sum256([]byte(token.Reveal())) }

func (d digest) matches(token wirev2.Secret) bool {
	other := newDigest(token)
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}
