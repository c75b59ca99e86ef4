package text

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

func TestSpecialMarksExactlyTheSpecialBytes(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		var b [8]byte
		for i := range b {
			b[i] = byte(source.Uint32())
			if source.IntN(3) == 0 {
				b[i] = "\x00\x1f\x20\x21\"#[\\]\x7f\x80\xa2\xdc\xff"[source.IntN(14)]
			}
		}
		m := Special(binary.LittleEndian.Uint64(b[:]))
		for i, c := range b {
			if IsSpecial(c) != (byte(m>>(8*i)) == 0x80) {
				t.Fatalf("%x: wrong mark at %d", b, i)
			}
		}
		first := 8
		if m != 0 {
			first = First(m)
		}
		if m&^highs != 0 || Plain(b[:], 0) != first {
			t.Fatalf("%x: %x", b, m)
		}
	}
}

func TestPlainFindsTheFirstSpecialByte(t *testing.T) {
	for length := range 40 {
		for at := range length {
			b := []byte(strings.Repeat("é", length)[:length])
			b[at] = '"'
			for from := range at + 1 {
				if Plain(b, from) != at {
					t.Fatalf("%d of %d from %d", at, length, from)
				}
			}
			require.Equal(t, length, Plain(b, at+1))
		}
	}
}

func TestUnescapeReadsEveryUnit(t *testing.T) {
	for u := range 0x10000 {
		for _, format := range []string{`\u%04x`, `\u%04X`} {
			escape := fmt.Sprintf(format, u)
			r, n := Unescape([]byte(escape + "tail"))
			if utf16.IsSurrogate(rune(u)) {
				if n != Lone {
					t.Fatalf("%s: %d", escape, n)
				}
			} else if n != 6 || r != rune(u) {
				t.Fatalf("%s: %q, %d", escape, r, n)
			}
		}
	}
	for _, pair := range []string{`\ud800\udc00`, `\uD83D\uDC23`, `\udbff\udfff`} {
		var want string
		require.NoError(t, json.Unmarshal([]byte(`"`+pair+`"`), &want))
		r, n := Unescape([]byte(pair + "x"))
		require.Equal(t, 12, n)
		require.Equal(t, want, string(r))
	}
	for _, bad := range []string{``, `\`, `x`, `nn`, `\x`, `\u`, `\u1`, `\u123`, `\u12g4`, `\u-123`, `\u 123`, `\U0041`, `\'`} {
		_, n := Unescape([]byte(bad))
		require.Equal(t, Bad, n, bad)
	}
}
