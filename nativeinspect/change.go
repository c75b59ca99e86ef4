package nativeinspect

import "context"

// Change is a difference that [Installation.Recheck] found. Its text names the role
// of the file and no path.
type Change struct {
	Role Role
	Path string
	What string // a closed phrase
	cause error
}

// Error describes the change for people.
func (c *Change) Error() string { return string(c.Role) + ": " + c.What }

// Unwrap returns the cause, if the file system reported one.
func (c *Change) Unwrap() error { return c.cause }

// Recheck resolves and hashes every file again and compares. It returns a [*Change]
// for the first difference. Timestamps are not trusted.
func (i *Installation) Recheck(ctx context.Context) error { return ErrConfig }
