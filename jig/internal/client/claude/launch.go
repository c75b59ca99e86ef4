package claude

import "errors"

// Argv is the arguments of the program: streams of JSON lines, the reviewed model,
// and everything else off (jig.md 7; native-clients 4).
func Argv(model string) []string {
	return []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--model", model,
		"--max-turns", "1", // a tool the model invents gets no second request
		"--strict-mcp-config", "--setting-sources", "", "--permission-prompt-tool", "stdio", "--tools", "",
		"--disable-slash-commands", "--no-session-persistence",
	}
}

// Env is what the program needs in its environment beside what every client has.
// home is the folder it may write to; endpoint is empty for the client's own.
func Env(home, endpoint string) map[string]string {
	env := map[string]string{
		"CLAUDE_CONFIG_DIR":                         home + "/claude",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":  "1",
		"DISABLE_AUTOUPDATER":                       "1",
		"CLAUDE_CODE_MAX_RETRIES":                   "0",
		"CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1", // a cut stream is not asked for again
		"CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK":      "1", // nor a refused answer, of this or another model
		"CLAUDE_CODE_DISABLE_REFUSAL_RETRY":         "1",
		"CLAUDE_CODE_NO_MODEL_FALLBACK":             "1",
		"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS":    "1", // each of which is taken back one by one after a 400
		"CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP":    "1", // the reviewed model, and not its successor
		"DISABLE_COMPACT":                           "1", // a summary is a request of its own
	}
	if endpoint != "" {
		env["ANTHROPIC_BASE_URL"] = endpoint
	}
	return env
}

// The variables that may hold a credential.
const (
	varToken  = "CLAUDE_CODE_OAUTH_TOKEN"
	varKey    = "ANTHROPIC_API_KEY"
	varBearer = "ANTHROPIC_AUTH_TOKEN"
)

var errCredential = errors.New("claude: the credential is not of a mode that Claude Code has")
