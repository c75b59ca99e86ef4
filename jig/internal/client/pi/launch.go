package pi

// Argv is the arguments of the program: its line protocol, the reviewed model of the
// reviewed provider, and everything else off (jig.md 7; native-clients 5).
func Argv(provider, model string) []string {
	return []string{
		"--mode", "rpc", "--no-session", "--no-tools", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes",
		"--no-context-files", "--no-approve", "--offline", "--provider", provider, "--model", model,
	}
}

// Env is what the program needs in its environment beside what every client has.
// home is the folder it may write to.
func Env(home string) map[string]string {
	return map[string]string{
		folderVariable: home + "/pi", "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1",
	}
}

// folderVariable names Pi's own folder.
const folderVariable = "PI_CODING_AGENT_DIR"
