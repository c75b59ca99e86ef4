package executorauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
)

const (
	secretBytes = 32
	// MaxSecretBytes is the most that a received secret may have.
	MaxSecretBytes = 128
	redacted       = "[redacted]"
)

// Secret is the proof that belongs to an executor. It prints as "[redacted]" with
// every verb and encoder. Its zero value proves nothing.
//
// A Secret is safe for concurrent use.
type Secret struct {
	// A function, because package fmt and reflective dumpers look into strings,
	// slices and pointers of fields whose methods they cannot call, and because
	// functions do not compare: there is no == that leaks timing.
	text func() string
}

// ParseSecret takes a secret as it was received. Any 1 to 128 bytes are a secret;
// only comparison tells whether it is the right one. Otherwise the error is
// [ErrSecret].
func ParseSecret(s string) (Secret, error) {
	if len(s) == 0 || len(s) > MaxSecretBytes {
		return Secret{}, ErrSecret
	}
	return Secret{text: func() string { return s }}, nil
}

// Reveal returns the secret itself: for the one reply that discloses it, or for
// a client that presents it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return s.text()
}

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON returns "[redacted]" as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// newSecret reads a fresh secret.
func newSecret(random io.Reader) (Secret, error) {
	var b [secretBytes]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return Secret{}, randomError{err}
	}
	return ParseSecret(base64.RawURLEncoding.EncodeToString(b[:]))
}

// verifier is what remains of a secret: the SHA-256 of its text. The text and not
// the bytes it may encode, so that exactly one string proves.
type verifier [sha256.Size]byte

func newVerifier(s Secret) verifier {
	var b [MaxSecretBytes]byte
	return sha256.Sum256(b[:copy(b[:], s.Reveal())])
}

// equal takes the same time whatever it compares.
func (v verifier) equal(w verifier) bool {
	return subtle.ConstantTimeCompare(v[:], w[:]) == 1
}
