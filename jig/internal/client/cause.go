package client

import (
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// cause is why a login cannot be used. Each is told in a sentence of its own and with
// what mends it.
type cause int

const (
	causeMissing  cause = iota + 1 // there is no login file
	causeClosed                    // this user cannot read it
	causeLink                      // a link leads to it
	causeNoFile                    // it is no regular file
	causeOwner                     // it is somebody else's
	causeNames                     // it has more than one name
	causeMode                      // others can use it
	causeSize                      // it is too large
	causeDamaged                   // it is no JSON object
	causeUnknown                   // its members are not those that are known
	causeKey                       // it holds an API key, and no login
	causeNoEntry                   // it has no login of the provider
	causeToken                     // its token is none that is known
	causeAccount                   // its token is of another account than it says
	causeNoEnd                     // it does not say when it ends
	causeEnded                     // it has ended
	causeEnding                    // it ends too soon
	causeStore                     // Codex keeps it elsewhere than in a file
	causeConfig                    // Codex's config.toml cannot be read
	causeToml                      // Codex's config.toml is no TOML
	causeProvider                  // Pi has no subscription of the provider
)

// loginFile is the login file of a client, as a shell finds it: where that is on this
// machine, nobody is told.
func loginFile(client nativeinspect.Client) string {
	if client == nativeinspect.Pi {
		return `"${PI_CODING_AGENT_DIR:-$HOME/.pi/agent}/auth.json"`
	}
	return `"${CODEX_HOME:-$HOME/.codex}/auth.json"`
}

// signIn makes a new login.
func (p Profile) signIn() string {
	if p.Client == nativeinspect.Pi {
		return "run pi and sign in to " + p.Provider + " with /login"
	}
	return "run codex login"
}

// useKey is the other way to the same provider.
func (p Profile) useKey() string {
	if p.Client == nativeinspect.Pi {
		return "set PI_API_KEY to the key"
	}
	return "set OPENAI_API_KEY to the key and OPENAI_MODEL to a model"
}

// login refuses with stage LOGIN. Its text is fixed, but for the name of a provider.
func (p Profile) login(c cause) error {
	file, again := loginFile(p.Client), p.signIn()
	folder := "CODEX_HOME"
	if p.Client == nativeinspect.Pi {
		folder = "PI_CODING_AGENT_DIR"
	}
	anew := "Move " + file + " away, and " + again
	var reason, fix string
	switch c {
	case causeMissing:
		reason, fix = "there is no login file auth.json", capital(again)
		if p.Client == nativeinspect.Codex {
			fix = `Set cli_auth_credentials_store = "file" in Codex's config.toml, and ` + again
		}
	case causeClosed:
		reason, fix = "this user cannot read the login file auth.json", "Run jig as the user who signed in, or as that user: chmod 600 "+file
	case causeLink:
		reason, fix = "the login file auth.json is reached through a link", "Put the file itself in its place, or set "+folder+" to the real path of its folder"
	case causeNoFile:
		reason, fix = "the login file auth.json is no regular file", anew
	case causeOwner:
		reason, fix = "the login file auth.json belongs to another user", "Run jig as the user who signed in, or "+again+" as the user who runs jig"
	case causeNames:
		reason, fix = "the login file auth.json has more than one name", anew+", which makes one of its own"
	case causeMode:
		reason, fix = "the login file auth.json can be used by others; its permissions have to be 0600", "Run: chmod 600 "+file
	case causeSize:
		reason, fix = "the login file auth.json is larger than 65532 bytes", anew
	case causeDamaged:
		reason, fix = "the login file auth.json is damaged: it is no JSON object", anew
	case causeUnknown:
		reason, fix = "the login file auth.json has not the members that this jig knows", capital(again)+"; if it stays so, use a jig that knows this "+string(p.Client)+", or an API key"
	case causeKey:
		reason, fix = "the login file auth.json holds an API key, and no login of a subscription", capital(again)+" with a subscription, or "+p.useKey()
	case causeNoEntry:
		reason, fix = "the login file auth.json has no login of "+p.Provider+", which PI_PROVIDER names", capital(again)+", or set PI_PROVIDER to the provider that you are signed in to"
	case causeToken:
		reason, fix = "the login's token is not one that this jig knows", capital(again)+"; if it stays so, use a jig that knows this "+string(p.Client)+", or an API key"
	case causeAccount:
		reason, fix = "the login's token is not of the account that auth.json names", "Run codex logout, and "+again
	case causeNoEnd:
		reason, fix = "the login does not say when it ends", capital(again)+" anew"
	case causeEnded:
		reason, fix = "the login has ended", "Run "+string(p.Client)+" once, which renews the login; if that asks for one, "+again
	case causeEnding:
		reason, fix = "the login ends within five minutes", "Run "+string(p.Client)+" once, which renews the login"
	case causeStore:
		reason, fix = "Codex keeps its login elsewhere than in a file", `Set cli_auth_credentials_store = "file" in Codex's config.toml, and run codex login, which writes the file`
	case causeConfig:
		reason, fix = "Codex's config.toml cannot be read, which says where the login is", "Let the user who runs jig read config.toml, a regular file of at most 1 MiB, in Codex's folder"
	case causeToml:
		reason, fix = "Codex's config.toml is not TOML, and says where the login is", "Mend config.toml; codex names the line that is wrong when it starts"
	case causeProvider:
		reason, fix = "subscriptions are supported for the providers anthropic and openai-codex only", "Set PI_PROVIDER to one of the two, or set PI_API_KEY to a key of "+p.Provider
	default:
		return setup(p.Client, StageLogin, "the login cannot be used")
	}
	return p.refuse(reason, fix)
}

// refuse is a refusal of stage LOGIN in words of its own.
func (p Profile) refuse(reason, fix string) error {
	return refusal(Code(p.Client, StageLogin), string(p.Client)+" cannot be used: "+reason, fix)
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// noToken refuses what a variable holds instead of Claude's token.
func (p Profile) noToken(reason string) error {
	const variable = "CLAUDE_CODE_OAUTH_TOKEN"
	fix := "Run claude setup-token and set " + variable + " to what it prints"
	if reason != missing {
		fix = "Set " + variable + " to the token alone, as claude setup-token prints it, without spaces or line ends"
	}
	return p.refuse(variable+" "+reason, fix)
}

// noFolder refuses a variable that names no place.
func (p Profile) noFolder(variable, otherwise string) error {
	fix := "Set " + variable + " to an absolute path"
	if otherwise != "" {
		fix += ", or unset it to use " + otherwise
	}
	return p.refuse(variable+" is not an absolute path", fix)
}
