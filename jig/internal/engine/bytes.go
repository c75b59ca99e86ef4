package engine

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

var std = base64.StdEncoding

// hashes are what node:crypto and subtle.digest can compute. The weak ones are
// there for formats that ask for them.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

func digest(h hash.Hash, data string) any {
	b, err := std.DecodeString(data)
	if err != nil {
		return nil
	}
	h.Write(b)
	return std.EncodeToString(h.Sum(nil))
}

func init() {
	maps.Copy(ops, map[string]func(r *runner, a args) any{
		"bytesOf":    func(_ *runner, a args) any { return std.EncodeToString([]byte(a.text(0))) },
		"byteLength": func(_ *runner, a args) any { return len(a.text(0)) },
		"textOf": func(_ *runner, a args) any {
			b, err := std.DecodeString(a.text(0))
			if err != nil || a.bool(1) && !utf8.Valid(b) {
				return nil
			}
			return text(b)
		},
		"json0":  func(_ *runner, a args) any { return json0.Check([]byte(a.text(0))) == nil },
		"base64": func(_ *runner, a args) any { return lenient(a.text(0)) },
		"random": func(_ *runner, a args) any {
			b := make([]byte, min(max(a.int(0), 0), 1<<24))
			rand.Read(b)
			return std.EncodeToString(b)
		},
		"uuid": func(*runner, args) any { return uuid.NewString() },
		"hash": func(_ *runner, a args) any {
			if h, ok := hashes[a.text(0)]; ok {
				return digest(h(), a.text(1))
			}
			return nil
		},
		"hmac": func(_ *runner, a args) any {
			key, err := std.DecodeString(a.text(2))
			if h, ok := hashes[a.text(0)]; ok && err == nil {
				return digest(hmac.New(h, key), a.text(1))
			}
			return nil
		},
	})
}

// text decodes UTF-8 as the encoding standard does: each longest beginning of a
// character that does not go on becomes one U+FFFD.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b) + 16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n > 1 {
			out.Write(b[:n])
			b = b[n:]
			continue
		}
		out.WriteRune(utf8.RuneError)
		b = b[broken(b):]
	}
	return out.String()
}

// broken is the length of the beginning of a character in b that does not go on.
func broken(b []byte) int {
	need, low, high := 0, byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			low = 0xa0
		}
		if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			low = 0x90
		}
		if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for ; n <= need && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}

// lenient rewrites what Buffer.from takes for base64, of either alphabet and with
// anything in between, as strict base64.
func lenient(s string) string {
	s, _, _ = strings.Cut(s, "=")
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '+', r == '/':
			return r
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		}
		return -1
	}, s)
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return std.EncodeToString(b)
}
