package config

import (
	"os"
	"strconv"
	"time"
)

// Kind is a provider format.
type Kind string

// The accepted kinds. Only KindOpenAIChat has a provider in this version.
const (
	KindOpenAIChat      Kind = "openai-chat"
	KindOpenAIResponses Kind = "openai-responses"
	KindAnthropic       Kind = "anthropic"
)

// Defaults of what the file leaves out. (magid: Configuration)
const (
	DefaultMaxReplies      = 64
	DefaultMaxHistoryBytes = 400000
	DefaultConnect         = 10 * time.Second
	DefaultHeaders         = 60 * time.Second
	DefaultFirstEvent      = 120 * time.Second
	DefaultIdle            = 120 * time.Second
	DefaultTotal           = 600 * time.Second
	DefaultIdleTimeout     = 30 * time.Minute
)

// Config is the whole configuration with its defaults filled in.
type Config struct {
	File     string // the file that was looked for; it need not exist; "" where there is no place for one
	Provider Provider
	Tools    Tools
	Skills   Skills
	MCP      map[string]MCPServer
	Daemon   Daemon
	Warnings []string // for a person, one line each

	origins map[string]origin // where a value came from, by its key
}

// Provider says which model server the daemon talks to.
type Provider struct {
	Kind            Kind   // "" where nothing is configured
	BaseURL         string // without a slash at its end
	Model           string
	APIKey          Secret // may be empty
	MaxOutputTokens int    // 0 means the provider's own default
	MaxReplies      int    // provider replies a turn, 1 to 64
	MaxHistoryBytes int
	AllowPlainHTTP  bool
	Timeouts        Timeouts
}

// Timeouts bound one attempt at the provider.
type Timeouts struct {
	Connect, Headers, FirstEvent, Idle, Total time.Duration
}

// Unconfigured returns "" where a turn can run, else one line that says what to set, fit for provider_unconfigured: it
// names no path.
func (p Provider) Unconfigured() string {
	switch {
	case p.BaseURL == "" && p.Model == "":
		return "no provider is configured: set MAGI_BASE_URL and MAGI_MODEL, or base_url and model under [provider] in the configuration file, and run `magid restart`"
	case p.BaseURL == "":
		return "the provider has no base URL: set MAGI_BASE_URL, or base_url under [provider] in the configuration file, and run `magid restart`"
	case p.Model == "":
		return "the provider has no model: set MAGI_MODEL, or model under [provider] in the configuration file, and run `magid restart`"
	}
	return ""
}

// Tools is [tools].
type Tools struct{ Disabled []string }

// Skills is [skills].
type Skills struct{ Dirs, Disabled []string }

// MCPServer is [mcp.NAME]: a command with arguments and environment, or a URL.
type MCPServer struct {
	Command string
	Args    []string
	Env     map[string]Secret
	URL     string
}

// Daemon is [daemon].
type Daemon struct {
	IdleTimeout time.Duration // of a daemon that may exit when it is idle; 0 means never
	Socket      string        // "" where neither MAGI_SOCKET nor [daemon] socket is set
}

// Env is the environment the configuration reads.
type Env struct {
	Get   func(string) string
	Unset func(string) error // called for MAGI_API_KEY where it is set; optional
}

// OSEnv is the environment of the process.
func OSEnv() Env { return Env{os.Getenv, os.Unsetenv} }

// Error says what is wrong with the configuration and where.
type Error struct {
	Source       string // a file, or the name of an environment variable
	Line, Column int    // from 1; 0 where the source has none
	Text         string
}

// Error returns "source:line:column: text".
func (e *Error) Error() string {
	at := e.Source
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column)
	}
	return at + ": " + e.Text
}

// origin is where a value was set.
type origin struct {
	source       string
	line, column int
}

func (o origin) fault(text string) error { return &Error{o.source, o.line, o.column, text} }
