package coordinator

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"

	"github.com/magi-jig/magi-jig/wirev2"
)

// tokenBytes is the randomness of a control token (wire-v2 2: IDs).
const tokenBytes = 32

// newToken issues a control token.
func newToken() wirev2.Secret {
	var raw [tokenBytes]byte
	rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return wirev2.Secret(base64.RawURLEncoding.EncodeToString(raw[:]))
}

// digest is what is kept of a control token. Comparing digests takes the same
// time whatever was received, however long it is.
type digest [sha256.Size]byte

func newDigest(token wirev2.Secret) digest { return sha256.Sum256([]byte(token.Reveal())) }

func (d digest) matches(token wirev2.Secret) bool {
	other := newDigest(token)
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}
