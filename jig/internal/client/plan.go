package client

import (
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// Plan is everything that is needed to start one native scope. It holds no secret.
// It is immutable and safe for concurrent use.
type Plan struct {
	Client string // codex, claude or pi
	Model  string // empty: the client's own default
	Mode   string // such as openai-subscription, see the constants

	Provider project.Provider
	Digest   string // of Provider

	// Of the launch frame.
	Native string            // path of the executable in the scope
	Argv   []string          // its arguments, without the program's own name
	Env    map[string]string // its whole environment but for a credential

	// Of the scope. The first bind is the jig binary at [AdapterPath].
	Binds        []sandbox.Bind
	Tmpfs        []sandbox.Tmpfs
	Data         []sandbox.Data
	NestedUserns bool

	// Of the ready record.
	Configuration []acpprofile.Setting
	ModeID        string // empty: none

	Startup bool // the credential goes over at start
}

// Paths in a native scope.
const (
	AdapterPath  = "/agent/jig"
	WorkPath     = "/work"
	HomePath     = "/home/agent"
	CodexHome    = "/codex"
	SessionsPath = "/codex/sessions"
)
