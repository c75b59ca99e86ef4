package client

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// Stage says which part of a client's setup failed. The list is closed (jig.md 4);
// the last two concern Codex on macOS only.
type Stage string

// The stages.
const (
	StageExecutable   Stage = "EXECUTABLE"
	StageInstallation Stage = "INSTALLATION"
	StageWrapper      Stage = "WRAPPER"
	StageSandbox      Stage = "SANDBOX"
	StageLogin        Stage = "LOGIN"
	StageAPI          Stage = "API"
	StageModel        Stage = "MODEL"
	StagePreferences  Stage = "PREFERENCES"
	StagePolicy       Stage = "MANAGED_POLICY"
)

// Stages are the stages of a client, in the order in which they are looked at.
func Stages(client nativeinspect.Client) []Stage {
	all := []Stage{StageExecutable, StageWrapper, StageInstallation}
	if client == nativeinspect.Codex {
		all = append(all, StageSandbox, StagePreferences, StagePolicy)
	}
	return append(all, StageModel, StageAPI, StageLogin)
}

const (
	codePrefix = "PROJECT_ACP_"
	// afterwards ends every correction.
	afterwards = "; then retry review; no Flow was started"
)

// Reasons that more than one client has.
const reasonModelForm = "the model is not 1 to 256 of A-Z a-z 0-9 . _ : / + -, the first a letter or digit"

// Code is the code of a failed stage.
func Code(client nativeinspect.Client, s Stage) string {
	return codePrefix + strings.ToUpper(string(client)) + "_" + string(s)
}

// setup is a failed stage. reason is fixed text: nothing of a file or a secret.
func setup(client nativeinspect.Client, s Stage, reason string) error {
	return refusal(Code(client, s), string(client)+" cannot be used: "+reason, correction(client, s))
}

func refusal(code, message, correction string) *project.Refusal {
	return &project.Refusal{Diagnostics: []project.Diagnostic{{
		Code: code, Message: message, Hint: strings.TrimSuffix(correction, ".") + afterwards,
	}}}
}

// unclassified is a failure whose cause is not known. It is not guessed.
func unclassified(client nativeinspect.Client) error {
	return refusal(project.CodeACPUnavailable, string(client)+" could not be examined", "Check that the machine's files can be read, and see jig doctor "+string(client))
}

// inspection is the refusal of an installation. What is no refusal of a client
// says nothing about it. The file concerned is named by its role and its own name;
// where it lies is for jig inspect to say.
func inspection(client nativeinspect.Client, err error) error { return inspected(client, err, true) }

func inspected(client nativeinspect.Client, err error, point bool) error {
	var r *nativeinspect.Refusal
	if !errors.As(err, &r) {
		return unclassified(client)
	}
	stage := Stage(r.Stage)
	switch r.Stage {
	case nativeinspect.StageExecutable, nativeinspect.StageInstallation, nativeinspect.StageWrapper, nativeinspect.StageSandbox:
	default:
		return unclassified(client)
	}
	fix := r.Correction()
	if r.Reason == nativeinspect.ReasonProtected {
		stage, fix = StageInstallation, "Install "+string(client)+" and what it needs outside /tmp, /work, /codex, /agent, /home/agent, /proc, /sys and /dev, which its sandbox keeps for itself."
	}
	if point && r.Subject != "" {
		fix = strings.TrimSuffix(fix, ".") + "; jig inspect " + string(client) + " shows where the file is."
	}
	return refusal(Code(client, stage), string(client)+" cannot be used: "+about(r), fix)
}

// about is what was wrong, with the role and the name of the file concerned.
func about(r *nativeinspect.Refusal) string {
	if r.Role == "" {
		return string(r.Reason)
	}
	return named(string(r.Role), r.Subject) + ": " + string(r.Reason)
}

// maxFileName bounds, in bytes, what of a file's name a sentence holds.
const maxFileName = 128

// named is a file's role and its name without the folders on the way to it.
func named(role, path string) string {
	name := filepath.Base(path)
	if path == "" || name == "/" || name == "." {
		return role
	}
	if len(name) > maxFileName {
		name = strings.ToValidUTF8(name[:maxFileName], "") + "…"
	}
	return role + " " + strings.ToValidUTF8(name, "\ufffd")
}

// correction is what an operator can do about a stage of a client's configuration.
func correction(client nativeinspect.Client, s Stage) string {
	switch client {
	case nativeinspect.Codex:
		switch s {
		case StageLogin:
			return "Run codex login, and run codex once when the login is older than an hour; or set OPENAI_API_KEY and OPENAI_MODEL to use a key"
		case StageAPI:
			return "Set OPENAI_API_KEY to a key, leave OPENAI_BASE_URL out or make it https without credentials, query and fragment, and leave OPENAI_API out or make it responses"
		case StageModel:
			return "Name a model in the grant, in CODEX_MODEL for a subscription or in OPENAI_MODEL for the API, or unset every OPENAI_ variable to use the subscription"
		}
	case nativeinspect.Claude:
		switch s {
		case StageLogin:
			return "Run claude setup-token and set CLAUDE_CODE_OAUTH_TOKEN to what it prints"
		case StageAPI:
			return "Set exactly one of ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN, and leave ANTHROPIC_BASE_URL out or make it https without credentials, query and fragment"
		case StageModel:
			return "Name a model in the grant, in CLAUDE_MODEL for a subscription or in ANTHROPIC_MODEL for the API, or unset every ANTHROPIC_ variable to use the subscription"
		}
	case nativeinspect.Pi:
		switch s {
		case StageLogin:
			return "Run pi, sign in with /login to the provider that PI_PROVIDER names (anthropic or openai-codex), and run pi once when the login is older than an hour"
		case StageAPI:
			return "Set PI_API_KEY to a key of the provider that PI_PROVIDER names, or unset it to use a subscription"
		case StageModel:
			return "Set PI_PROVIDER to a provider of Pi, and name a model in the grant or in PI_MODEL"
		}
	}
	switch s {
	case StagePreferences:
		return "Check that the preferences of this Mac can be read"
	case StagePolicy:
		return "Remove the managed policy for " + string(client) + " from this Mac, or use another machine"
	}
	return "See jig doctor " + string(client)
}
