package capture

import (
	"strings"
	"unicode/utf8"
)

// MaxPathBytes is the longest path of a source.
const MaxPathBytes = 1024

// CheckPath reports whether path has the form of a source's: relative, 1 to
// 1,024 bytes of UTF-8 without NUL, no empty, "." or ".." component. What the
// path names is not judged here: [Read] does. The error is an [*Error].
func CheckPath(path string) error {
	if len(path) > MaxPathBytes {
		return refuse(RulePathLength)
	}
	if !utf8.ValidString(path) || strings.IndexByte(path, 0) >= 0 {
		return refuse(RulePathText)
	}
	for c := range strings.SplitSeq(path, "/") {
		if c == "" || c == "." || c == ".." {
			return refuse(RulePath)
		}
	}
	return nil
}
