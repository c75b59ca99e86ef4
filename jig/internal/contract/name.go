package contract

import (
	"strings"
	"unicode/utf8"
)

// Limits of descriptors.
const (
	MaxBytes     = 262_144   // a descriptor or metadata file
	MaxChannels  = 64        // channel descriptors a contract refers to
	MaxPreimage  = 1_048_576 // bytes under an invocation identity
	MaxReference = 1026      // bytes of a reference
	maxText      = 16_384
	maxEntries   = 256
	maxDefs      = 1024
)

// LocalName says whether s is a LocalName: 1 to 64 of lower-case letters and
// digits in words joined by single hyphens (run-0 2).
func LocalName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for word := range strings.SplitSeq(s, "-") {
		if word == "" || !all(word, lowerOrDigit) {
			return false
		}
	}
	return true
}

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// What is expected of an id and of a version.
const (
	idWords        = `a name in lower case such as "https://example.org/contracts/helper" is needed`
	referenceWords = `a reference is "./" and a plain path downward, such as "./contract.json"`
	versionWords   = `three numbers joined by dots are needed, such as "1.0.0"`
)

// validID says whether s is a contract id: https, at least two lower-case DNS
// labels, at least one plain path segment, and nothing else (run-0 5.3). It is
// a name; nothing is ever fetched from it.
func validID(s string) bool {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		return false
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return false
	}
	labels := strings.Split(host, ".")
	numeric := 0
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || !all(l, func(c byte) bool { return lowerOrDigit(c) || c == '-' }) {
			return false
		}
		if all(l, digit) {
			numeric++
		}
	}
	if len(labels) < 2 || len(labels) == 4 && numeric == 4 {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." ||
			!all(segment, func(c byte) bool { return lowerOrDigit(c) || strings.IndexByte("._~-", c) >= 0 }) {
			return false
		}
	}
	return true
}

// validVersion says whether s is three numbers joined by dots, none with a
// leading zero.
func validVersion(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if p == "" || !all(p, digit) || len(p) > 1 && p[0] == '0' {
			return false
		}
	}
	return len(parts) == 3
}

// ValidReference says whether s refers to a descriptor: "./" and a canonical
// path that goes downward only (run-0 5.4).
func ValidReference(s string) bool {
	rest, ok := strings.CutPrefix(s, "./")
	if !ok || len(s) > MaxReference || !utf8.ValidString(s) || strings.ContainsAny(rest, "\\\x00%?#") {
		return false
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

func validDef(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	return letter(s[0]) && all(s, func(c byte) bool { return letter(c) || digit(c) })
}

func textScalars(s string, most int) bool {
	return s != "" && len(s) <= 4*most && utf8.RuneCountInString(s) <= most
}
