package flowpkg

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of the format and of this host's store.
const (
	MaxFiles        = 65_536
	MaxFileBytes    = 1 << 30
	MaxTreeBytes    = 4 << 30
	MaxPackageBytes = 64 << 20
	MaxStoreBytes   = 1 << 30

	maxSegments     = 64
	maxSegmentBytes = 255
	maxPathBytes    = 1024
)

// Error says what is wrong with a package. Path is relative to the package.
type Error struct {
	Path         string
	Line, Column int // from 1; 0 where there is none
	Reason       string
	cause        error
}

func (e *Error) Error() string {
	switch {
	case e.Path == "":
		return e.Reason
	case e.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Reason)
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns what is under the error, or nil.
func (e *Error) Unwrap() error { return e.cause }

func refuse(path, reason string) error { return &Error{Path: path, Reason: reason} }

// CheckPath says whether p may be the path of a file in a package. It returns a
// reason, or "".
func CheckPath(p string) string {
	switch {
	case !utf8.ValidString(p):
		return "a path is UTF-8"
	case p == "" || path.IsAbs(p):
		return "a path is relative"
	case len(p) > maxPathBytes:
		return fmt.Sprintf("a path has at most %d bytes", maxPathBytes)
	case strings.ContainsAny(p, "\\\x00"):
		return "a path holds no backslash and no NUL"
	case !norm.NFC.IsNormalString(p):
		return "a path is in normal form C"
	}
	segments := strings.Split(p, "/")
	if len(segments) > maxSegments {
		return fmt.Sprintf("a path has at most %d segments", maxSegments)
	}
	for _, s := range segments {
		switch {
		case s == "" || s == "." || s == "..":
			return `a path has no empty, "." or ".." segment`
		case len(s) > maxSegmentBytes:
			return fmt.Sprintf("a segment has at most %d bytes", maxSegmentBytes)
		}
	}
	return ""
}

var folder = cases.Fold()

// collisions finds paths that some file system would take for one.
type collisions struct{ seen map[string]string }

func newCollisions() *collisions { return &collisions{map[string]string{}} }

// add returns the path that p collides with, or "".
func (c *collisions) add(p string) string {
	for end := 0; end < len(p); end++ {
		if next := strings.IndexByte(p[end:], '/'); next >= 0 {
			end += next
		} else {
			end = len(p)
		}
		prefix := p[:end]
		key := norm.NFC.String(folder.String(norm.NFD.String(prefix)))
		if other, known := c.seen[key]; known && other != prefix {
			return other
		}
		c.seen[key] = prefix
	}
	return ""
}
