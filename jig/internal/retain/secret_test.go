package retain

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestASecretIsFoundHoweverItIsWritten(t *testing.T) {
	// rule: P-135, F-127
	said := func(text string) []byte {
		return []byte(written(after(atUser, event(`{"type":"user_message","message":"`+text+`"}`))))
	}
	const secret = `sk-"proj"/\Ä` + "\t"
	for name, c := range map[string]struct {
		text, secret string
		found        bool
	}{
		"raw":                           {"xx sk-proj-1 yy", "sk-proj-1", true},
		"as JSON writes it":             {`sk-\"proj\"/\\Ä\t`, secret, true},
		"with other escapes":            {`\u0073k-\u0022proj\u0022\/\u005c\u00c4\u0009`, secret, true},
		"with upper case escapes":       {`sk-\"proj\"/\u005C\u00C4\t`, secret, true},
		"a token without its scheme":    {"the token abc.def.ghi", "Bearer abc.def.ghi", true},
		"a token with its scheme":       {"Bearer abc.def.ghi", "Bearer abc.def.ghi", true},
		"an escaped token":              {`\u0061bc.def.ghi`, "Bearer abc.def.ghi", true},
		"a pair of surrogates":          {`\ud83d\ude00key`, "😀key", true},
		"only the scheme":               {"Bearer is a word", "Bearer abc", false},
		"a part of it":                  {"sk-proj-", "sk-proj-1", false},
		"another case":                  {"SK-PROJ-1", "sk-proj-1", false},
		"a backslash that is one":       {`\\u0073k-proj-1`, "sk-proj-1", false},
		"no secret":                     {"anything", "", false},
		"a scheme with nothing":         {"anything", "Bearer ", false},
		"bytes that are no text":        {"anything", "\xff\xfe", false},
		"a secret that is a whole line": {`x`, `"type":"user_message"`, true},
	} {
		require.Equal(t, c.found, Holds(said(c.text), []string{"", "not-there", c.secret}), name)
	}
	require.True(t, Holds([]byte("{\"sk-\\u0031\":1}\n"), []string{"sk-1"}), "in a name")
	require.True(t, Holds([]byte("{\"a\":\"\\q\"\n"), []string{"sk-1"}), "what cannot be read may hold anything")
	require.False(t, Holds(said("x"), nil))
}

// FuzzHolds writes a secret into a text with escapes chosen at random.
func FuzzHolds(f *testing.F) {
	f.Add("sk-proj-1", "before ", uint64(1))
	f.Add(`a"b\c/`, "\\u0061", uint64(2))
	f.Add("Bearer x.y", "😀", uint64(3))
	f.Fuzz(func(t *testing.T, secret, before string, seed uint64) {
		if secret == "" || !utf8.ValidString(secret) || !utf8.ValidString(before) || len(secret)+len(before) > 1<<12 {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		line := `{"x":"` + spelled(random, before+secret) + `"}` + "\n"
		require.True(t, jsontext.Value(line).IsValid(), line)
		require.True(t, Holds([]byte(line), []string{secret}), line)
	})
}

// spelled writes text inside of a JSON string, each character in one of its forms.
func spelled(random *rand.Rand, text string) string {
	var b strings.Builder
	for _, r := range text {
		switch form := random.IntN(3); {
		case form == 0 && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case form == 0:
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case form == 1 && r == '/':
			b.WriteString(`\/`)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
