package nativeinspect

import (
	"context"
	"errors"
)

// Change is a difference that [Installation.Recheck] found. Its text names the role
// of the file and holds no path. It is immutable and safe for concurrent use.
type Change struct {
	Role  Role
	Path  string
	What  Difference
	cause error
}

// Difference says what is no longer as it was, as a closed phrase.
type Difference string

// Differences.
const (
	DifferenceMissing    Difference = "the file is missing"
	DifferenceSource     Difference = "another file is at its path"
	DifferenceContent    Difference = "its content has changed"
	DifferenceMode       Difference = "its permissions have changed"
	DifferenceUnreadable Difference = "it cannot be read"
)

// Error describes the change for people.
func (c *Change) Error() string { return string(c.Role) + ": " + string(c.What) }

// Unwrap returns the cause, if the file system reported one. Its text may hold a
// path.
func (c *Change) Unwrap() error { return c.cause }

// Recheck resolves and hashes every file again, and compares. It returns a
// [*Change] for the first difference and the context's error if that ended first.
// Size and timestamps are not trusted: every byte is read (finite-acp 5h).
func (i *Installation) Recheck(ctx context.Context) error {
	files := append([]File{i.Executable}, i.Files...)
	if i.Helper != nil {
		files = append(files, i.Helper.File)
	}
	buffer := make([]byte, hashBufferBytes)
	checked := map[string]bool{}
	for _, f := range files {
		if err := f.recheck(ctx, buffer, checked); err != nil {
			return err
		}
	}
	return nil
}

func (f File) recheck(ctx context.Context, buffer []byte, checked map[string]bool) error {
	change := func(what Difference, cause error) error {
		return &Change{Role: f.Role, Path: f.Path, What: what, cause: cause}
	}
	source, err := resolve(f.Path, nil)
	switch {
	case err != nil && missing(err):
		return change(DifferenceMissing, err)
	case err != nil:
		return change(DifferenceUnreadable, err)
	case source != f.Source:
		return change(DifferenceSource, nil)
	case checked[source]:
		return nil
	}
	o, err := openRegular(source)
	var fault *fault
	switch {
	case errors.As(err, &fault):
		return change(DifferenceSource, err)
	case err != nil && missing(err):
		return change(DifferenceMissing, err)
	case err != nil:
		return change(DifferenceUnreadable, err)
	}
	defer o.close()
	if o.executable() != f.Executable || o.setID() {
		return change(DifferenceMode, nil)
	}
	if o.size != f.Size {
		return change(DifferenceContent, nil)
	}
	digest, err := o.hash(ctx, buffer)
	switch {
	case errors.As(err, &fault):
		return change(DifferenceContent, err)
	case err != nil && cancelled(err):
		return err
	case err != nil:
		return change(DifferenceUnreadable, err)
	case digest != f.Digest:
		return change(DifferenceContent, nil)
	}
	checked[source] = true
	return nil
}
