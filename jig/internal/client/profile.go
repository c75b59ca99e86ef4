package client

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// Modes of authentication, as they enter identities (finite-acp 5h).
const (
	ModeOpenAISubscription = "openai-subscription"
	ModeOpenAIKey          = "openai-responses-api-key"
	ModeClaudeSubscription = "claude-subscription"
	ModeAnthropicKey       = "anthropic-api-key"
	ModeAnthropicToken     = "anthropic-auth-token"
	ModePiSubscription     = "pi-subscription"
	ModePiKey              = "pi-api-key"
)

// Endpoints that the clients' own API modes go to unless a variable names another.
const (
	openAIEndpoint    = "https://api.openai.com/v1"
	anthropicEndpoint = "https://api.anthropic.com"
)

// Bounds of what an operator configures.
const (
	maxKeyBytes        = 16 << 10 // of a key or a token
	maxEndpointChars   = 4096
	maxModelChars      = 256 // of a model; for Pi with its provider
	maxPiProviderChars = 128
)

// Profile is how a client would run, as far as the operator's environment and a
// grant decide. It holds no secret and is safe for concurrent use.
type Profile struct {
	Client    nativeinspect.Client
	Mode      string
	Model     string // what the client is told; empty: nothing, so its own default
	ModelFrom string // one of project.ModelFrom…
	Provider  string // Pi's built-in provider; else empty
	Endpoint  string // empty: the client's own
}

// Resolve decides a client's mode, model and endpoint (finite-acp 1c, 1d). grant is
// a grant's model, empty without one. A refusal is a [*project.Refusal].
func Resolve(client nativeinspect.Client, grant string, env project.Environment) (Profile, error) {
	p := Profile{Client: client}
	var err error
	switch client {
	case nativeinspect.Codex:
		err = p.codex(grant, env)
	case nativeinspect.Claude:
		err = p.claude(grant, env)
	case nativeinspect.Pi:
		err = p.pi(grant, env)
	default:
		return p, unclassified(client)
	}
	if err == nil && p.Model != "" && !validModel(p.Model) {
		err = setup(client, StageModel, reasonModelForm)
	}
	return p, err
}

// defined says whether any of the variables is set, even if it is empty.
func defined(env project.Environment, names ...string) bool {
	for _, name := range names {
		if _, set := env.Lookup(name); set {
			return true
		}
	}
	return false
}

// model chooses the grant's model, else the variable's.
func (p *Profile) model(grant, variable string, env project.Environment) {
	switch {
	case grant != "":
		p.Model, p.ModelFrom = grant, project.ModelFromGrant
	case env.Get(variable) != "":
		p.Model, p.ModelFrom = env.Get(variable), project.ModelFromOperator
	default:
		p.ModelFrom = project.ModelFromClient
	}
}

func (p *Profile) codex(grant string, env project.Environment) error {
	if !defined(env, "OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL", "OPENAI_API") {
		p.Mode = ModeOpenAISubscription
		p.model(grant, "CODEX_MODEL", env)
		return nil
	}
	p.Mode = ModeOpenAIKey
	p.model(grant, "OPENAI_MODEL", env)
	if p.Model == "" {
		return setup(p.Client, StageModel, "the OpenAI API is selected, and no model is")
	}
	if reason := checkSecret(env.Get("OPENAI_API_KEY")); reason != "" {
		return setup(p.Client, StageAPI, "OPENAI_API_KEY "+reason)
	}
	if api, set := env.Lookup("OPENAI_API"); set && api != "responses" {
		return setup(p.Client, StageAPI, "OPENAI_API names another API than responses, and Codex has no other")
	}
	return p.endpoint("OPENAI_BASE_URL", openAIEndpoint, env)
}

func (p *Profile) claude(grant string, env project.Environment) error {
	key, token := env.Get("ANTHROPIC_API_KEY"), env.Get("ANTHROPIC_AUTH_TOKEN")
	if !defined(env, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL") {
		p.Mode = ModeClaudeSubscription
		if p.model(grant, "CLAUDE_MODEL", env); p.Model == "" {
			p.Model = "default" // Claude Code's own word for its own choice
		}
		return nil
	}
	variable := "ANTHROPIC_API_KEY"
	p.Mode = ModeAnthropicKey
	if token != "" {
		p.Mode, variable = ModeAnthropicToken, "ANTHROPIC_AUTH_TOKEN"
	}
	if key != "" && token != "" {
		return setup(p.Client, StageAPI, "ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are both set, and only one of them can be meant")
	}
	p.model(grant, "ANTHROPIC_MODEL", env)
	if p.Model == "" {
		return setup(p.Client, StageModel, "the Anthropic API is selected, and no model is")
	}
	if reason := checkSecret(key + token); reason != "" {
		return setup(p.Client, StageAPI, variable+" "+reason)
	}
	return p.endpoint("ANTHROPIC_BASE_URL", anthropicEndpoint, env)
}

func (p *Profile) pi(grant string, env project.Environment) error {
	p.Mode, p.Provider = ModePiSubscription, env.Get("PI_PROVIDER")
	if p.Provider == "" {
		return setup(p.Client, StageModel, "no provider is selected")
	}
	if !validProvider(p.Provider) {
		return setup(p.Client, StageModel, "PI_PROVIDER is not lower-case letters, digits and . _ -, at most 128 of them")
	}
	p.model(grant, "PI_MODEL", env)
	if p.Model == "" {
		return setup(p.Client, StageModel, "no model is selected")
	}
	if len(p.Provider)+1+len(p.Model) > maxModelChars {
		return setup(p.Client, StageModel, "provider and model have more than 256 characters together")
	}
	key, set := env.Lookup("PI_API_KEY")
	switch {
	case set:
		p.Mode = ModePiKey
		if reason := checkSecret(key); reason != "" {
			return setup(p.Client, StageAPI, "PI_API_KEY "+reason)
		}
		if strings.HasPrefix(key, "!") { // which Pi would take for a command
			return setup(p.Client, StageAPI, "PI_API_KEY begins with an exclamation mark, which no key does")
		}
	case p.Provider != "anthropic" && p.Provider != "openai-codex":
		return p.login(causeProvider)
	}
	return nil
}

// endpoint reads a base URL: https, and nothing but where to.
func (p *Profile) endpoint(variable, otherwise string, env project.Environment) error {
	raw := env.Get(variable)
	if raw == "" {
		p.Endpoint = otherwise
		if _, set := env.Lookup(variable); set {
			return setup(p.Client, StageAPI, variable+" is set and empty")
		}
		return nil
	}
	u, err := url.Parse(raw)
	reason := ""
	switch {
	case utf8.RuneCountInString(raw) > maxEndpointChars:
		reason = "has more than 4096 characters"
	case err != nil || u.Opaque != "" || u.Hostname() == "" || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		reason = "is no absolute URL"
	case u.Scheme != "https":
		reason = "is not https"
	case u.User != nil:
		reason = "holds credentials"
	case strings.Contains(raw, "?"):
		reason = "has a query"
	case strings.Contains(raw, "#"):
		reason = "has a fragment"
	}
	if reason != "" {
		return setup(p.Client, StageAPI, variable+" "+reason)
	}
	p.Endpoint = strings.TrimSuffix(raw, "/")
	return nil
}

const missing = "is missing or blank"

// checkSecret says why s could not be sent as a credential, or "".
func checkSecret(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return missing
	case len(s) > maxKeyBytes:
		return "has more than 16384 bytes"
	case strings.TrimSpace(s) != s:
		return "has white space around it"
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "holds a control character or is no text"
	}
	return ""
}

// validModel: the form of a grant's model, which every model has.
func validModel(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && (i == 0 || strings.IndexByte("._:/+-", c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= maxModelChars
}

func validProvider(s string) bool {
	for i := range len(s) {
		c := s[i]
		if lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'; !lower && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxPiProviderChars
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
