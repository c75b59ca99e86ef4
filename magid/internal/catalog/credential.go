package catalog

import "strings"

// Names that hold credentials on many machines, in lower case: whole components, beginnings and ends. (magid: Catalog)
var (
	credentialNames = map[string]bool{
		".git": true, ".ssh": true, ".gnupg": true, ".aws": true, ".azure": true, ".kube": true, ".docker": true,
		".netrc": true, ".npmrc": true, ".pypirc": true, "auth.json": true, ".magi": true,
	}
	credentialPrefixes = []string{".env", "id_rsa", "id_ed25519", "id_ecdsa", "credentials", "secrets"}
	credentialSuffixes = []string{".pem", ".key", ".p12", ".pfx", ".kdbx"}
)

// CredentialPath reports whether a component of the slash-separated path looks like a place of credentials, whatever
// its case. It is the one rule of capture and of the built-in tools; it looks at names only.
func CredentialPath(rel string) bool {
	for component := range strings.SplitSeq(rel, "/") {
		if credentialName(component) {
			return true
		}
	}
	return false
}

func credentialName(name string) bool {
	name = fold(name)
	if credentialNames[name] {
		return true
	}
	for _, prefix := range credentialPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, suffix := range credentialSuffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// fold makes names that a file system without case takes for one another equal. Lowering alone would leave the long s
// (U+017F) as it is, which such a file system reads as an s.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }
