package capture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule
func TestCheckPathAcceptsOnlyRelativeCleanPaths(t *testing.T) {
	long := strings.Repeat("a/", 512)
	for _, path := range []string{"a", "a/b.json", "..a/b..", "...", "a b/ü.md", "-", "~", `a\b`, long[:1023], long[:1022] + "aa"} {
		require.NoError(t, CheckPath(path), "%q", path)
	}
	for _, c := range []struct {
		path string
		rule Rule
	}{
		{"", RulePath},
		{"/", RulePath},
		{"/a", RulePath},
		{"a/", RulePath},
		{"a//b", RulePath},
		{".", RulePath},
		{"./a", RulePath},
		{"a/./b", RulePath},
		{"a/.", RulePath},
		{"..", RulePath},
		{"../a", RulePath},
		{"a/../b", RulePath},
		{"a/..", RulePath},
		{long[:1022] + "aaa", RulePathLength},
		{"a\x00b", RulePathText},
		{"a/\xff", RulePathText},
		{"a/\xed\xa0\x80", RulePathText},
	} {
		err := CheckPath(c.path)
		require.EqualError(t, err, string(c.rule), "%q", c.path)
	}
	require.Len(t, long[:1022]+"aa", MaxPathBytes)
}

// rule: M-061, M-062
func TestCredentialPathKnowsEveryName(t *testing.T) {
	names := []string{
		".env", ".env.local", ".envrc", ".git", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc",
		".pypirc", ".magi", "id_rsa", "id_rsa.pub", "id_ed25519", "id_ed25519_work", "id_ecdsa", "id_ecdsa.old", "a.pem",
		".pem", "server.key", "x.p12", "x.pfx", "x.kdbx", "credentials", "credentials.json", "secrets", "secrets.yaml",
		"auth.json",
	}
	for _, name := range names {
		for _, path := range []string{name, strings.ToUpper(name), "a/" + name, name + "/b", "a/" + name + "/b"} {
			require.True(t, CredentialPath(path), "%q", path)
		}
	}
	for _, path := range []string{
		"env", "a.env", ".gitignore", ".github/x", "git", ".sshd", "my_id_rsa", "pem", "a.pemx", "key", "keys", "mykey",
		"my-credentials", "topsecrets", "auth.json5", "oauth.json", "magi", ".magic", "a/b/c.json", "",
	} {
		require.False(t, CredentialPath(path), "%q", path)
	}
}

// rule: M-061, M-062
func TestCredentialPathFoldsAsFilesystemsWithoutCaseDo(t *testing.T) {
	for _, path := range []string{
		".\u017f\u017fh/config",      // long s
		"\u017fecrets",               // long s
		"server.\u212aey",            // kelvin sign
		".g\u200cit/config",          // skipped by HFS+
		"\ufeff.env", "a/.a\u202ews", // skipped by HFS+
	} {
		require.True(t, CredentialPath(path), "%q", path)
	}
	require.False(t, CredentialPath("ſtyle/kelvin-K.md"))
}
