package contract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// rule: R-049
func TestLocalNames(t *testing.T) {
	for _, good := range []string{"a", "7", "house-style", "a-b-c", "0-0", strings.Repeat("a", 64), strings.Repeat("a-", 31) + "aa"} {
		require.True(t, contract.LocalName(good), good)
	}
	for _, bad := range []string{
		"", strings.Repeat("a", 65), "worker\n", "-a", "a-", "a--b", "-", "A", "aB", "a_b", "a.b", "a b", " a", "a\x00", "é", "a/b", "a-B", "ａ",
	} {
		require.False(t, contract.LocalName(bad), "%q", bad)
		// Wherever one stands it is checked, so that no other reader of the same
		// file takes a name for something else.
		for _, raw := range []string{
			`,"outcomes":{%q:"x"}}`, `,"channels":{%q:{"direction":"send"}}}`, `,"id":"https://example.org/a","version":"1.0.0","features":{%q:"x"}}`,
		} {
			refused(t, invocationHead+strings.Replace(raw, "%q", quoted(bad), 1))
		}
		_, err := contract.ParseMetadata([]byte(`{"uses":{` + quoted(bad) + `:{}}}`))
		require.Error(t, err, "%q", bad)
		_, err = contract.ParseMetadata([]byte(`{"name":` + quoted(bad) + `}`))
		require.Error(t, err, "%q", bad)
	}
}

func quoted(s string) string {
	return `"` + strings.NewReplacer("\n", `\n`, "\x00", `\u0000`).Replace(s) + `"`
}
