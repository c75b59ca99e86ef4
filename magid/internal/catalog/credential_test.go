package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: M-061, M-062
func TestCredentialPaths(t *testing.T) {
	for path, want := range map[string]bool{
		".env": true, ".env.local": true, ".envrc": true, "env": false, "x.env": false, ".en": false,
		".git": true, ".git/config": true, ".gitignore": false, "a/.git/b": true, "git": false,
		".ssh": true, ".gnupg": true, ".aws": true, ".azure": true, ".kube": true, ".docker": true,
		".ssh2": false, "docker": false, "Dockerfile": false,
		".netrc": true, ".npmrc": true, ".pypirc": true, ".magi": true, ".magic": false, "magi": false,
		"id_rsa": true, "id_rsa.pub": true, "id_ed25519": true, "id_ed25519_sk": true, "id_ecdsa": true, "id_dsa": false, "my_id_rsa": false,
		"a.pem": true, ".pem": true, "a.pem.txt": false, "a.key": true, "keys": false, "a.p12": true, "a.pfx": true, "a.kdbx": true,
		"credentials": true, "credentials.json": true, "my_credentials": false, "secrets": true, "secrets.yaml": true, "secret": false,
		"auth.json": true, "auth.json5": false, "oauth.json": false,
		".ENV": true, ".Git/x": true, "ID_RSA": true, "A.PEM": true, "Credentials": true, "AUTH.JSON": true, ".MAGI": true,
		"\u017fecrets": true, "a.\u212aey": true, // names that a file system without case takes for secrets and a.key
		"": false, ".": false, "src/main.go": false, "a/b/c/credentials/d": true, "/.env": true,
	} {
		require.Equal(t, want, CredentialPath(path), path)
	}
}

// rule: M-050
func TestToolsRefuseCredentialLikePaths(t *testing.T) {
	dir := tree(t, map[string]string{
		".env": "canary", ".git/config": "canary", "sub/id_rsa": "canary", "sub/Secrets.txt": "canary", "sub/ok.txt": "canary",
		"harmless": "-> .env", "sub/harmless": "-> ../.git", "deep/.aws/x/y": "canary",
	})
	for _, path := range []string{
		".env", "./.env", "sub/../.env", ".git/config", ".git/missing", "sub/id_rsa", "sub/Secrets.txt", "harmless", "sub/harmless/config", "deep/.aws/x/y",
	} {
		_, err := run(t, dir, ToolReadFile, args{"path": path})
		require.Equal(t, CodePermissionDenied, err.Code, path)
		_, err = run(t, dir, ToolFindText, args{"path": path, "text": "canary"})
		require.Equal(t, CodePermissionDenied, err.Code, path)
	}
	for _, path := range []string{".git", "sub/harmless", "deep/.aws/x"} {
		_, err := run(t, dir, ToolListFiles, args{"path": path})
		require.Equal(t, CodePermissionDenied, err.Code, path)
	}
	top := ok[listReply](t, dir, ToolListFiles, args{})
	require.Equal(t, []string{"deep", "harmless", "sub"}, top.names())
	require.Equal(t, 2, top.Withheld)
	found := ok[findReply](t, dir, ToolFindText, args{"text": "canary"})
	require.Equal(t, []match{{"sub/ok.txt", 1, "canary"}}, found.Matches)
}

// rule: M-063
func TestTheStateFolderIsRefusedWhereverItLies(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/state/sessions/x/journal.jsonl": "canary", "a/other": "canary", "link": "-> a/state", "a/state2/f": "canary",
	})
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(dir, alias))
	for _, state := range []string{dir + "/a/state", alias + "/a/state", dir + "/a/state/"} {
		c := New(Config{StateDir: state})
		for path, want := range map[string]bool{
			"a/state/sessions/x/journal.jsonl": true, "a/state": true, "link/sessions/x/journal.jsonl": true, "a/state2/f": false, "a/other": false,
		} {
			_, err := c.Run(t.Context(), dir, ToolFindText, encoded(t, args{"path": path, "text": "canary"}))
			require.Equal(t, want, err != nil && err.Code == CodePermissionDenied, path)
		}
		list, err := c.Run(t.Context(), alias, ToolListFiles, encoded(t, args{"path": "a"}))
		require.Nil(t, err)
		require.Contains(t, string(list), `"withheld":1`)
		require.NotContains(t, string(list), `"state"`)
		found, err := c.Run(t.Context(), alias, ToolFindText, encoded(t, args{"text": "canary"}))
		require.Nil(t, err)
		require.NotContains(t, string(found), "journal")
		// A workspace inside the state folder is all refused.
		_, err = c.Run(t.Context(), dir+"/a/state/sessions", ToolListFiles, encoded(t, args{}))
		require.Equal(t, CodePermissionDenied, err.Code)

		require.True(t, c.Refused(dir, "a/state/x"))
		require.True(t, c.Refused(dir, "a/state"))
		require.True(t, c.Refused(dir, "a/.env"))
		require.False(t, c.Refused(dir, "a/state2/f"))
		require.False(t, c.Refused(dir, "a"))
	}
	// A folder that is made later is known by its name until then.
	c := New(Config{StateDir: dir + "/later"})
	require.True(t, c.Refused(dir, "later/x"))
	require.False(t, New(Config{}).Refused(dir, "later/x"))
}
