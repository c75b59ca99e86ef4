package client

import (
	"maps"

	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/codex"
	"github.com/magi-jig/magi-jig/jig/internal/client/pi"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// environment is the whole environment of a client but for a credential (jig.md
// 7). helper is the folder of a helper that was found on PATH, else empty.
func (p Profile) environment(helper string, reach *project.Reach) map[string]string {
	env := map[string]string{"HOME": HomePath, "LANG": "C.UTF-8", "TMPDIR": "/tmp", "SSL_CERT_FILE": BundlePath, "PATH": noPath}
	if helper != "" {
		env["PATH"] = helper
	}
	if reach.Proxy != "" {
		env["HTTPS_PROXY"] = reach.Proxy
		if reach.NoProxy != "" {
			env["NO_PROXY"] = reach.NoProxy
		}
	}
	switch p.Client {
	case nativeinspect.Codex:
		env["CODEX_HOME"] = CodexHome
	case nativeinspect.Claude:
		maps.Copy(env, claude.Env(HomePath, p.Endpoint))
	case nativeinspect.Pi:
		maps.Copy(env, pi.Env(HomePath))
	}
	return env
}

// arguments are those of the native program.
func (p Profile) arguments() []string {
	switch p.Client {
	case nativeinspect.Codex:
		return codex.Arguments(p.Endpoint, p.Model)
	case nativeinspect.Claude:
		return claude.Argv(p.Model)
	case nativeinspect.Pi:
		return pi.Argv(p.Provider, p.Model)
	}
	return nil
}
