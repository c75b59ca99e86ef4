package capture

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever CheckPath accepts stays below the workspace by its text alone.
func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{
		"a", "a/b.json", "/a", "a//b", "../a", "a/..", "a/./b", "", "a\x00", "\xff", ".env", "ſecrets/x", ".g\u200cit/a",
		"..a", strings.Repeat("a/", 511) + "ab", strings.Repeat("a/", 511) + "abc",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		credential := CredentialPath(path)
		if upper := strings.ToUpper(path); utf8.ValidString(path) && isASCII(path) && CredentialPath(upper) != credential {
			t.Errorf("case decides for %q", path)
		}
		if CheckPath(path) != nil {
			return
		}
		if len(path) == 0 || len(path) > MaxPathBytes || !utf8.ValidString(path) || strings.Contains(path, "\x00") {
			t.Errorf("accepted %q", path)
		}
		if !filepath.IsLocal(path) || filepath.Clean(path) != path || strings.HasPrefix(path, "/") {
			t.Errorf("accepted %q, which is not clean and local", path)
		}
		if !credential && CredentialPath("a/"+path+"/b") {
			t.Errorf("components of %q are judged by their place", path)
		}
		if !CredentialPath(path + "/id_rsa") {
			t.Errorf("a credential below %q is not seen", path)
		}
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
