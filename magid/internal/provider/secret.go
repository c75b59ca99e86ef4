package provider

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// MaxKeyBytes bounds an API key.
const MaxKeyBytes = 4096

const redacted = "[redacted]"

// Secret is an API key. However it is printed, encoded or logged, it shows
// [redacted]; only Reveal gives the value. The zero Secret is no key.
//
// A Secret is safe for concurrent use.
type Secret struct {
	// value is behind a pointer, nil for no key, because fmt falls back on fields
	// where a verb does not fit (%s of a pointer to a struct that holds a Secret),
	// and does not ask for methods then.
	value *string
}

// NewSecret takes a key. It must be fit for a header: at most MaxKeyBytes of
// printable ASCII without a space. Empty is no key and no error.
func NewSecret(value string) (Secret, error) {
	if len(value) > MaxKeyBytes {
		return Secret{}, fmt.Errorf("provider: the API key is longer than %d bytes", MaxKeyBytes)
	}
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return Secret{}, errors.New("provider: the API key holds a space, a line end or a character that is no printable ASCII")
		}
	}
	if value == "" {
		return Secret{}, nil
	}
	return Secret{&value}, nil
}

// IsZero reports whether there is no key.
func (s Secret) IsZero() bool { return s.value == nil }

// Reveal gives the key itself, for the one header it is made for.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String, GoString, Format, MarshalJSON, MarshalText and LogValue hide the key,
// and hide too whether there is one.
func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
