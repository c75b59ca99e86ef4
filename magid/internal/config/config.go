package config

import (
	"errors"
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

// Config is the whole configuration with its defaults filled in.
type Config struct {
	File     string // the file that was looked for; it need not exist
	Provider Provider
	Tools    Tools
	Skills   Skills
	MCP      map[string]MCPServer
	Daemon   Daemon
	Warnings []string // for a person, one line each
}

// Provider says which model server the daemon talks to.
type Provider struct {
	Kind            Kind   // "" where nothing is configured
	BaseURL         string // without a slash at its end
	Model           string
	APIKey          Secret // may be empty
	MaxOutputTokens int    // 0 means the provider's own default
	MaxReplies      int    // 1 to 64
	MaxHistoryBytes int
	AllowPlainHTTP  bool
	Timeouts        Timeouts
}

// Timeouts bound one attempt at the provider.
type Timeouts struct {
	Connect, Headers, FirstEvent, Idle, Total time.Duration
}

// Unconfigured returns "" where a turn can run, else one line that says what to set, fit for provider_unconfigured.
func (p Provider) Unconfigured() string { return "" }

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
	IdleTimeout time.Duration // 0 means never
	Socket      string        // "" where neither MAGI_SOCKET nor [daemon] socket is set
}

// Env is the environment the configuration reads. Unset is called for MAGI_API_KEY.
type Env struct {
	Get   func(string) string
	Unset func(string) error // optional
}

// OSEnv is the environment of the process.
func OSEnv() Env { return Env{} }

// Load reads the configuration. A missing file is an empty configuration. A bad one is an *Error.
func Load(env Env) (Config, error) { return Config{}, errors.New("config: not yet") }

// Supported refuses what is accepted in the file and has no implementation in this version: the daemon calls it
// before it serves.
func (c Config) Supported() error { return nil }

// Error says what is wrong with the configuration and where.
type Error struct {
	File         string // or the environment variable
	Line, Column int    // 0 where there is none
	Text         string
}

func (e *Error) Error() string { return e.Text }
