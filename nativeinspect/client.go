package nativeinspect

// Client is a native client that can be inspected.
type Client string

// The clients.
const (
	Codex  Client = "codex"
	Claude Client = "claude"
	Pi     Client = "pi"
)

// Identity returns the name that stands for the client in a provider's identity
// (finite-acp 5h). It is empty for an unknown client.
func (c Client) Identity() string {
	switch c {
	case Codex:
		return "openai-codex"
	case Claude:
		return "anthropic-claude-code"
	case Pi:
		return "pi"
	}
	return ""
}

// Override returns the name of the variable that selects the client's executable.
// It is empty for an unknown client.
func (c Client) Override() string {
	switch c {
	case Codex:
		return "CODEX_PATH"
	case Claude:
		return "CLAUDE_PATH"
	case Pi:
		return "PI_PATH"
	}
	return ""
}

// Names of the other variables that are read.
const (
	pathVariable  = "PATH"
	voltaVariable = "VOLTA_HOME"
	outerVariable = "JIG_BWRAP_PATH"
)

// Platform is what a client has to be made for.
type Platform string

// The platforms. Only LinuxX64 and DarwinX64 have supported clients; a file for
// another one is refused at stage INSTALLATION.
const (
	LinuxX64    Platform = "linux-x64"
	DarwinX64   Platform = "darwin-x64"
	DarwinARM64 Platform = "darwin-arm64"
)

// triple is the folder of the platform in the npm package of Codex.
func (p Platform) triple() string {
	switch p {
	case LinuxX64:
		return "x86_64-unknown-linux-musl"
	case DarwinX64:
		return "x86_64-apple-darwin"
	case DarwinARM64:
		return "aarch64-apple-darwin"
	}
	return ""
}

// names returns the os and cpu of the platform as npm writes them.
func (p Platform) names() (system, cpu string) {
	switch p {
	case LinuxX64:
		return "linux", "x64"
	case DarwinX64:
		return "darwin", "x64"
	case DarwinARM64:
		return "darwin", "arm64"
	}
	return "", ""
}

func (p Platform) darwin() bool { return p == DarwinX64 || p == DarwinARM64 }
