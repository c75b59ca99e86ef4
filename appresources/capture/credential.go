package capture

import (
	"slices"
	"strings"
	"unicode"
)

// What credentials are commonly called (magid: Catalog), in lower case.
var (
	credentialNames = []string{
		".git", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
		".netrc", ".npmrc", ".pypirc", "auth.json", ".magi",
	}
	credentialPrefixes = []string{".env", "id_rsa", "id_ed25519", "id_ecdsa", "credentials", "secrets"}
	credentialSuffixes = []string{".pem", ".key", ".p12", ".pfx", ".kdbx"}
)

// CredentialPath reports whether any component of a slash-separated path has a
// name that is commonly a credential's or private to a tool. Case does not
// matter, in the sense of the filesystems that ignore it: letters that fold to
// ASCII count as ASCII, and characters that such filesystems skip are skipped.
func CredentialPath(path string) bool {
	for c := range strings.SplitSeq(path, "/") {
		if credentialName(fold(c)) {
			return true
		}
	}
	return false
}

func credentialName(name string) bool {
	if slices.Contains(credentialNames, name) {
		return true
	}
	for _, p := range credentialPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, s := range credentialSuffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// fold maps a name to the one that a filesystem without case would compare:
// U+017F and U+212A are an s and a k there, and HFS+ does not see the
// formatting characters.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 0x200c <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r && r <= 0x206f, r == 0xfeff:
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r < 0x80:
			return r
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if 'a' <= f && f <= 'z' {
				return f
			}
		}
		return r
	}, name)
}
