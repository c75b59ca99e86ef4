package appresources

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestStringsAreEscapedAsTheWireSays(t *testing.T) {
	for in, want := range map[string]string{
		"":                         `""`,
		"aé日🎈":                     `"aé日🎈"`,
		"\"\\/":                    `"\"\\/"`,
		"\b\f\n\r\t":               `"\b\f\n\r\t"`,
		"\x00\x01\x1f\x7f":         `"\u0000\u0001\u001f\u007f"`,
		"\u2027\u2028\u2029\u202a": "\"\u2027\\u2028\\u2029\u202a\"",
		"<>&'\u0080\u00a8":         "\"<>&'\u0080\u00a8\"",
		"\ue2a8\u0080":             "\"\ue2a8\u0080\"",
	} {
		require.Equal(t, want, string(appendString(nil, in)))
	}
}

// Every scalar comes back as itself, and nothing is escaped but what must be.
func TestEveryScalarRoundTrips(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if 0xd800 <= r && r <= 0xdfff {
			continue
		}
		s := "a" + string(r) + "z"
		b := appendString(nil, s)
		got, err := jsontext.AppendUnquote(nil, b)
		if err != nil || string(got) != s {
			t.Fatalf("%U: %s %v", r, b, err)
		}
		escaped := strings.Contains(string(b), `\`)
		if must := r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == 0x2028 || r == 0x2029; must != escaped {
			t.Fatalf("%U: %s", r, b)
		}
	}
}

// rule, M-078
func TestDescriptorHasTheSeedsMembersInItsOrder(t *testing.T) {
	d := Descriptor{
		ResourceID: "r", RevisionID: "v", Kind: KindSkill, Name: "n", Description: "d\n\u2028", ContentSHA256: "c", RevisionSHA256: "h",
		CapturedBytes: 3, RegisteredBy: Attribution{InstanceID: "i", ConnectionID: "k", OperationID: "o", GrantGeneration: 7},
	}
	require.Equal(t, `{"resource_id":"r","revision_id":"v","kind":"skill","name":"n","description":"d\n\u2028","content_sha256":"c",`+
		`"revision_sha256":"h","captured_bytes":3,"registered_by":{"instance_id":"i","connection_id":"k","operation_id":"o",`+
		`"grant_generation":7}}`, string(appendDescriptor(nil, &d)))
}
