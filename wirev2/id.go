package wirev2

import (
	"crypto/rand"
	"errors"

	"github.com/google/uuid"
)

// ID is a canonical lowercase UUID. In an envelope the empty ID stands for null; in a payload a member that may be null
// is a *ID, and an empty ID does not encode. (wire-v2 2)
type ID string

var errIDForm = errors.New("want a canonical lowercase UUID")

// NewID returns a fresh random ID, a version 4 UUID. (wire-v2 2)
func NewID() ID {
	var u uuid.UUID
	_, _ = rand.Read(u[:]) // never fails, and unlike uuid.NewRandom leaves u on the stack
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return ID(u.String())
}

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
