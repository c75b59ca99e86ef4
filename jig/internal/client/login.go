package client

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Bounds of logins.
const (
	MaxLoginBytes  = 64<<10 - 4 // of a login file
	MaxConfigBytes = 1 << 20    // of Codex's config.toml
	// MinLifetime is how long a login has to be good for.
	MinLifetime = 5 * time.Minute

	maxAccountChars = 1024
	authClaim       = "https://api.openai.com/auth"
)

// read returns the credential of a profile, cut down. env is the operator's.
func (p Profile) read(env project.Environment, now time.Time) (*Credential, error) {
	switch p.Mode {
	case ModeOpenAIKey:
		return p.keep([]string{env.Get("OPENAI_API_KEY")}, time.Time{}, struct {
			Type   string `json:"type"`
			APIKey string `json:"apiKey"`
		}{"apiKey", env.Get("OPENAI_API_KEY")})
	case ModeOpenAISubscription:
		return p.codexLogin(env, now)
	case ModeClaudeSubscription:
		token := env.Get("CLAUDE_CODE_OAUTH_TOKEN")
		if reason := checkSecret(token); reason != "" {
			return nil, p.noToken(reason)
		}
		return p.variable("CLAUDE_CODE_OAUTH_TOKEN", token)
	case ModeAnthropicKey:
		return p.variable("ANTHROPIC_API_KEY", env.Get("ANTHROPIC_API_KEY"))
	case ModeAnthropicToken:
		return p.variable("ANTHROPIC_AUTH_TOKEN", env.Get("ANTHROPIC_AUTH_TOKEN"))
	case ModePiKey:
		key := env.Get("PI_API_KEY")
		return p.keep([]string{key}, time.Time{}, map[string]any{p.Provider: struct {
			Type string `json:"type"`
			Key  string `json:"key"`
		}{"api_key", key}})
	case ModePiSubscription:
		return p.piLogin(env, now)
	}
	return nil, unclassified(p.Client)
}

func (p Profile) keep(values []string, expires time.Time, v any) (*Credential, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, unclassified(p.Client)
	}
	return &Credential{payload: b, values: values, expires: expires}, nil
}

func (p Profile) variable(name, value string) (*Credential, error) {
	return p.keep([]string{value}, time.Time{}, struct {
		Variable string `json:"variable"`
		Value    string `json:"value"`
	}{name, value})
}

// folder is where a client keeps its login.
func (p Profile) folder(env project.Environment, variable string, below ...string) (string, error) {
	if dir := env.Get(variable); dir != "" {
		if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
			return "", p.noFolder(variable, "~/"+filepath.Join(below...))
		}
		return filepath.Clean(dir), nil
	}
	home := env.Get("HOME")
	if !filepath.IsAbs(home) || strings.ContainsRune(home, 0) {
		return "", p.noFolder("HOME", "")
	}
	return filepath.Join(append([]string{home}, below...)...), nil
}

// file reads a login file. Each way in which it is not the operator's own private
// file has a reason of its own.
func (p Profile) file(path string) ([]byte, error) {
	b, err := readPrivate(path)
	var bad *fileError
	switch {
	case errors.As(err, &bad):
		return nil, p.login(bad.cause)
	case errors.Is(err, fs.ErrNotExist):
		return nil, p.login(causeMissing)
	case errors.Is(err, syscall.ELOOP): // it became one between two looks
		return nil, p.login(causeLink)
	case err != nil:
		return nil, p.login(causeClosed)
	}
	return b, nil
}

// decode reads a closed JSON object with exactly the members of into.
func decode(b []byte, into any, members ...string) bool {
	var all map[string]jsontext.Value
	if json.Unmarshal(b, &all) != nil || len(all) != len(members) {
		return false
	}
	for _, m := range members {
		if _, there := all[m]; !there {
			return false
		}
	}
	return json.Unmarshal(b, into, json.RejectUnknownMembers(true)) == nil
}

func (p Profile) codexLogin(env project.Environment, now time.Time) (*Credential, error) {
	dir, err := p.folder(env, "CODEX_HOME", ".codex")
	if err != nil {
		return nil, err
	}
	if err := p.codexStore(dir); err != nil {
		return nil, err
	}
	raw, err := p.file(filepath.Join(dir, "auth.json"))
	if err != nil {
		return nil, err
	}
	return p.parseCodex(raw, now)
}

// parseCodex reads Codex's login file and zeroes it.
func (p Profile) parseCodex(raw []byte, now time.Time) (*Credential, error) {
	defer clear(raw)
	var login struct {
		Key     jsontext.Value `json:"OPENAI_API_KEY"`
		Mode    string         `json:"auth_mode"`
		Refresh string         `json:"last_refresh"`
		Tokens  jsontext.Value `json:"tokens"`
	}
	var tokens struct {
		Access  string `json:"access_token"`
		Account string `json:"account_id"`
		ID      string `json:"id_token"`
		Refresh string `json:"refresh_token"`
	}
	if c := codexKind(raw); c != 0 {
		return nil, p.login(c)
	}
	if !decode(raw, &login, "OPENAI_API_KEY", "auth_mode", "last_refresh", "tokens") {
		return nil, p.login(causeUnknown)
	}
	defer clear(login.Tokens)
	if login.Mode != "chatgpt" || login.Key.Kind() != 'n' {
		return nil, p.login(causeUnknown)
	}
	if !decode(login.Tokens, &tokens, "access_token", "account_id", "id_token", "refresh_token") || tokens.Account == "" || len([]rune(tokens.Account)) > maxAccountChars {
		return nil, p.login(causeUnknown)
	}
	claims, err := p.claims(tokens.Access)
	if err != nil {
		return nil, err
	}
	if claims.account != tokens.Account {
		return nil, p.login(causeAccount)
	}
	expires, err := p.lifetime(claims.expires, now)
	if err != nil {
		return nil, err
	}
	// The account goes over too, and is as little a history's as the token.
	return p.keep([]string{tokens.Access, tokens.Account}, expires, struct {
		Type    string `json:"type"`
		Token   string `json:"accessToken"`
		Account string `json:"chatgptAccountId"`
		Plan    string `json:"chatgptPlanType,omitzero"`
	}{"chatgptAuthTokens", tokens.Access, tokens.Account, claims.plan})
}

// codexKind tells a file that is damaged, and one that holds a key, from one that may
// be a login; 0: it may.
func codexKind(raw []byte) cause {
	var all map[string]jsontext.Value
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return causeDamaged
	}
	defer func() {
		for _, v := range all {
			clear(v)
		}
	}()
	if all["OPENAI_API_KEY"].Kind() == '"' || string(all["auth_mode"]) == `"apikey"` {
		return causeKey
	}
	return 0
}

// codexStore refuses a Codex that keeps its login elsewhere than in a file.
func (p Profile) codexStore(dir string) error {
	b, err := readBounded(filepath.Join(dir, "config.toml"), MaxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Codex's own choice is the file
	}
	var config struct {
		Store any `toml:"cli_auth_credentials_store"`
	}
	switch {
	case err != nil:
		return p.login(causeConfig)
	case toml.Unmarshal(b, &config) != nil:
		return p.login(causeToml)
	case config.Store != nil && config.Store != "file":
		return p.login(causeStore)
	}
	return nil
}

// claims are what a token says of itself, as far as it matters.
type claims struct {
	expires       jsontext.Value
	account, plan string
}

// claims reads a token. Its signature is the provider's to check.
func (p Profile) claims(token string) (c claims, err error) {
	bad := p.login(causeToken)
	parts := strings.Split(token, ".")
	if checkSecret(token) != "" || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return c, bad
	}
	body, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var all, auth map[string]jsontext.Value
	if err != nil || json.Unmarshal(body, &all) != nil || json.Unmarshal(all[authClaim], &auth) != nil || json.Unmarshal(auth["chatgpt_account_id"], &c.account) != nil {
		return c, bad
	}
	c.expires = all["exp"]
	// A plan that is no plain word is not handed on; nothing depends on it.
	if json.Unmarshal(auth["chatgpt_plan_type"], &c.plan) != nil || len(c.plan) > 64 ||
		strings.ContainsFunc(c.plan, func(r rune) bool { return r >= 0x80 || !alphanumeric(byte(r)) && r != '_' && r != '-' }) {
		c.plan = ""
	}
	return c, nil
}

// lifetime reads a time in seconds and refuses one that is too soon.
func (p Profile) lifetime(seconds jsontext.Value, now time.Time) (time.Time, error) {
	var at int64
	if seconds.Kind() != '0' || json.Unmarshal(seconds, &at) != nil || at < 0 || at > 1<<40 {
		return time.Time{}, p.login(causeNoEnd)
	}
	return p.lasting(time.Unix(at, 0), now)
}

func (p Profile) lasting(expires, now time.Time) (time.Time, error) {
	switch {
	case expires.Before(now):
		return time.Time{}, p.login(causeEnded)
	case expires.Before(now.Add(MinLifetime)):
		return time.Time{}, p.login(causeEnding)
	}
	return expires, nil
}

func (p Profile) piLogin(env project.Environment, now time.Time) (*Credential, error) {
	dir, err := p.folder(env, "PI_CODING_AGENT_DIR", ".pi", "agent")
	if err != nil {
		return nil, err
	}
	raw, err := p.file(filepath.Join(dir, "auth.json"))
	if err != nil {
		return nil, err
	}
	return p.parsePi(raw, now)
}

// parsePi reads Pi's login file and zeroes it.
func (p Profile) parsePi(raw []byte, now time.Time) (*Credential, error) {
	defer clear(raw)
	var all map[string]jsontext.Value
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return nil, p.login(causeDamaged)
	}
	defer func() {
		for _, entry := range all {
			clear(entry)
		}
	}()
	entry, there := all[p.Provider]
	if !there {
		return nil, p.login(causeNoEntry)
	}
	var login struct {
		Type    string         `json:"type"`
		Access  string         `json:"access"`
		Refresh string         `json:"refresh"`
		Expires jsontext.Value `json:"expires"`
		Account string         `json:"accountId"`
	}
	members := []string{"type", "access", "refresh", "expires"}
	if p.Provider == "openai-codex" && bytes.Contains(entry, []byte(`"accountId"`)) {
		members = append(members, "accountId")
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(entry, &kind) == nil && kind.Type == "api_key" {
		return nil, p.login(causeKey)
	}
	if !decode(entry, &login, members...) || login.Type != "oauth" {
		return nil, p.login(causeUnknown)
	}
	if checkSecret(login.Access) != "" {
		return nil, p.login(causeToken)
	}
	var ms int64
	if login.Expires.Kind() != '0' || json.Unmarshal(login.Expires, &ms) != nil || ms < 0 || ms > 1<<50 {
		return nil, p.login(causeNoEnd)
	}
	expires, err := p.lasting(time.UnixMilli(ms), now)
	if err != nil {
		return nil, err
	}
	return p.keep([]string{login.Access}, expires, map[string]any{p.Provider: struct {
		Type    string `json:"type"`
		Access  string `json:"access"`
		Refresh string `json:"refresh"`
		Expires int64  `json:"expires"`
	}{"oauth", login.Access, "", ms}})
}
