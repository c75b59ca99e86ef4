package catalog

import (
	"strings"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/wirev2"
)

// MaxResultBytes is the most a result takes as the daemon encodes it. (magid: Catalog)
const MaxResultBytes = 16384

// frameBytes is kept of MaxResultBytes for the members around the text, the entries or the matches.
const frameBytes = 512

// fit returns as much of s, whole characters, as encodes in budget bytes between its quotes.
func fit(s string, budget int) string {
	if wirev2.EncodedStringLen(s) <= budget {
		return s
	}
	end, used := 0, 0
	for i, r := range s {
		size := utf8.RuneLen(r)
		used += wirev2.EncodedStringLen(s[i : i+size])
		if used > budget {
			break
		}
		end = i + size
	}
	return s[:end]
}

// text makes bytes of a file a string: what is not UTF-8 becomes U+FFFD, and replaced says so.
func text(b []byte) (s string, replaced bool) {
	if utf8.Valid(b) {
		return string(b), false
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), true
}
