package wirev2

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
)

// Secret is a control token or a resume secret: any string of 1 to 128 bytes. It prints as [redacted] everywhere;
// only the records that AppendRequest and AppendPayload write hold its characters. (wire-v2 2)
type Secret string

const (
	redacted       = "[redacted]"
	maxSecretBytes = 128
)

// NewSecret returns a fresh secret as the daemon issues them: 32 random bytes in unpadded base64url, 43 characters.
func NewSecret() Secret {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return Secret(base64.RawURLEncoding.EncodeToString(b[:]))
}

// Valid reports whether the secret has a length that the wire takes.
func (s Secret) Valid() bool { return len(s) >= 1 && len(s) <= maxSecretBytes }

// Equal compares in a time that depends on the lengths only.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(other)) == 1
}

// Reveal returns the secret's characters, for a credential store.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// Format prints "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON returns "[redacted]": no JSON but the wire's own holds a secret.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
