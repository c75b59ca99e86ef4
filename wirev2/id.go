package wirev2

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// ID is a canonical lowercase UUID. In an envelope the empty ID stands for null; in a payload a member that may be null
// is a *ID, and an empty ID does not encode. (wire-v2 2)
type ID string

var errIDForm = errors.New("want a canonical lowercase UUID")

// NewID returns a fresh random ID, a version 4 UUID. (wire-v2 2)
func NewID() ID { return ID(uuid.NewString()) }

// ParseID returns s as an ID, or an error when s is not a canonical lowercase UUID of any version.
func ParseID(s string) (ID, error) {
	if !validID(s) {
		return "", errIDForm
	}
	return ID(s), nil
}

// Valid reports whether id is a canonical lowercase UUID.
func (id ID) Valid() bool { return validID(id) }

// Ptr returns nil for the empty ID and a pointer to a copy of id otherwise, for payload members that may be null.
func (id ID) Ptr() *ID {
	if id == "" {
		return nil
	}
	return &id
}

// MarshalJSONTo writes id, and refuses one that is not an ID.
func (id ID) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !validID(id) {
		return errIDForm
	}
	return enc.WriteToken(jsontext.String(string(id)))
}

// UnmarshalJSONFrom reads an ID and nothing else.
func (id *ID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var s *string
	if err := json.UnmarshalDecode(dec, &s); err != nil {
		return err
	}
	if s == nil || !validID(*s) {
		return errIDForm
	}
	*id = ID(*s)
	return nil
}

func validID[S ~string | ~[]byte](s S) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// Secret is a control token or a resume secret. It prints as [redacted] everywhere but on the wire; compare it with
// Equal. (wire-v2 2)
type Secret string

const redacted = "[redacted]"

// Reveal returns the secret's characters, for the wire and for a credential store.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// Format prints "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }
