package client

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// Each code of a setup, once, with a correction of its own.
//
// rule: F-202, J-092, P-188, P-189, P-191, P-192
func TestEachStageOfEachClientHasItsCodeAndItsCorrection(t *testing.T) {
	seen := map[string]string{} // correction by code
	for code, spoil := range map[string]func(o *operator){
		"CODEX_EXECUTABLE":    func(o *operator) { require.NoError(o, os.Remove(o.at("bin/codex"))) },
		"CODEX_INSTALLATION":  func(o *operator) { o.file("bin/codex", elf("")[:40], 0o755) },
		"CODEX_WRAPPER":       func(o *operator) { o.file("bin/codex", "#!/bin/sh\nexec codex\n", 0o755) },
		"CODEX_SANDBOX":       func(o *operator) { require.NoError(o, os.Remove(o.at("bin/bwrap"))) },
		"CODEX_LOGIN":         func(o *operator) { require.NoError(o, os.Remove(o.at("home/.codex/auth.json"))) },
		"CODEX_API":           func(o *operator) { o.set("OPENAI_MODEL", "m") },
		"CODEX_MODEL":         func(o *operator) { o.set("OPENAI_API_KEY", canary) },
		"CLAUDE_EXECUTABLE":   func(o *operator) { o.set("CLAUDE_PATH", "relative") },
		"CLAUDE_INSTALLATION": func(o *operator) { require.NoError(o, os.Chmod(o.at("bin/claude"), 0o755|os.ModeSetuid)) },
		"CLAUDE_WRAPPER":      func(o *operator) { o.file("bin/claude", "#!/usr/bin/env node\n", 0o755) },
		"CLAUDE_LOGIN":        func(o *operator) { o.unset("CLAUDE_CODE_OAUTH_TOKEN") },
		"CLAUDE_API":          func(o *operator) { o.set("ANTHROPIC_API_KEY", canary, "ANTHROPIC_AUTH_TOKEN", canary) },
		"CLAUDE_MODEL":        func(o *operator) { o.set("ANTHROPIC_API_KEY", canary) },
		"PI_EXECUTABLE":       func(o *operator) { o.set("PATH", "") },
		"PI_INSTALLATION":     func(o *operator) { require.NoError(o, os.Remove(o.at("bin/theme/dark.json"))) },
		"PI_WRAPPER":          func(o *operator) { o.file("bin/pi", "#!/usr/bin/env node\n", 0o755) },
		"PI_LOGIN":            func(o *operator) { o.set("PI_PROVIDER", "openai") },
		"PI_API":              func(o *operator) { o.set("PI_API_KEY", "") },
		"PI_MODEL":            func(o *operator) { o.unset("PI_MODEL") },
	} {
		o := newOperator(t).install().subscribe()
		client := strings.ToLower(strings.Split(code, "_")[0])
		o.opened(client, "")
		spoil(o)
		_, err := o.open(client, "")
		require.Equal(t, "PROJECT_ACP_"+code, o.codeOf(err))
		var r *project.Refusal
		require.ErrorAs(t, err, &r)
		require.Equal(t, "flows/agent/FLOW.ts", r.Diagnostics[0].Path)
		require.Contains(t, r.Diagnostics[0].Message, client+" cannot be used: ")
		for other, hint := range seen {
			if strings.HasPrefix(other, strings.ToUpper(client)) {
				require.NotEqual(t, hint, r.Diagnostics[0].Hint, "%s and %s", code, other)
			}
		}
		seen[code] = r.Diagnostics[0].Hint
	}
	// The rest of the closed list concerns macOS.
	for _, c := range everyClient {
		for _, s := range Stages(c) {
			name := strings.ToUpper(string(c)) + "_" + string(s)
			if s == StagePreferences || s == StagePolicy {
				require.Equal(t, nativeinspect.Codex, c)
				seen[name] = correction(c, s)
			}
			require.NotEmpty(t, seen[name], name)
			require.Equal(t, "PROJECT_ACP_"+name, Code(c, s))
		}
	}
	require.Len(t, seen, 9+6+6)
}

// A refusal of an installation names the file by its role and its own name, and says
// what shows where it is.
func TestTheFileOfARefusedInstallationIsNamed(t *testing.T) {
	const show = "; jig inspect %s shows where the file is; then retry review; no Flow was started"
	for name, c := range map[string]struct {
		client string
		spoil  func(o *operator)
		says   string
	}{
		"a theme":      {"pi", func(o *operator) { require.NoError(o, os.Remove(o.at("bin/theme/dark.json"))) }, "theme dark.json: " + string(nativeinspect.ReasonMissing)},
		"a manifest":   {"pi", func(o *operator) { o.file("bin/package.json", "{", 0o644) }, "manifest package.json: " + string(nativeinspect.ReasonManifest)},
		"its headers":  {"codex", func(o *operator) { o.file("bin/codex", elf("")[:40], 0o755) }, "executable codex: "},
		"a bad helper": {"codex", func(o *operator) { require.NoError(o, os.Chmod(o.at("bin/bwrap"), 0o755|os.ModeSetuid)) }, "helper bwrap: " + string(nativeinspect.ReasonSetID)},
	} {
		o := newOperator(t).install().subscribe()
		c.spoil(o)
		_, err := o.open(c.client, "")
		o.codeOf(err) // which looks for paths
		var r *project.Refusal
		require.ErrorAs(t, err, &r)
		require.Contains(t, r.Diagnostics[0].Message, c.client+" cannot be used: "+c.says, name)
		require.Contains(t, r.Diagnostics[0].Hint, fmt.Sprintf(show, c.client), name)
		_, err = Inspect(t.Context(), nativeinspect.Client(c.client), o.environment(), o.project)
		require.ErrorAs(t, Refused(nativeinspect.Client(c.client), err), &r)
		require.NotContains(t, r.Diagnostics[0].Hint, "jig inspect", "which is where it is said")
	}
}

func TestAFileIsNamedWithoutItsFolders(t *testing.T) {
	long := strings.Repeat("é", maxFileName)
	for path, want := range map[string]string{
		"": "library", "/": "library", "libx.so.1": "library libx.so.1", "/opt/secret/libx.so": "library libx.so",
		"/a/" + long[:maxFileName]: "library " + long[:maxFileName], "/a/" + long: "library " + long[:maxFileName] + "…", "/a/x" + long: "library x" + long[:maxFileName-2] + "…",
		"/a/x\xff": "library x\ufffd",
	} {
		require.Equal(t, want, named("library", path))
	}
}

// What is said first of several faults is what has to be mended first.
func TestTheExecutableIsReportedBeforeItsConfiguration(t *testing.T) {
	o := newOperator(t)
	require.Equal(t, "PROJECT_ACP_CLAUDE_EXECUTABLE", o.set("ANTHROPIC_API_KEY", canary).code("claude", ""))
	require.Equal(t, "PROJECT_ACP_CLAUDE_MODEL", o.install().code("claude", ""))
	require.Equal(t, "PROJECT_ACP_CLAUDE_LOGIN", o.unset("ANTHROPIC_API_KEY").code("claude", ""))
}

// rule: J-013
func TestADiagnosisGoesThroughTheStagesOfAReview(t *testing.T) {
	o := newOperator(t).install().subscribe()
	stages := func(c nativeinspect.Client) (fine, bad []Stage) {
		t.Helper()
		found, err := Diagnose(t.Context(), c, o.environment(), o.project, now)
		require.NoError(t, err)
		for _, f := range found {
			require.NotContains(t, f.Detail, canary)
			if f.Problem == nil {
				fine = append(fine, f.Stage)
				continue
			}
			bad = append(bad, f.Stage)
			require.Equal(t, Code(c, f.Stage), f.Problem.Code)
			require.NotContains(t, f.Problem.Hint, "retry review")
			require.NotEmpty(t, f.Problem.Hint)
		}
		return fine, bad
	}
	fine, bad := stages(nativeinspect.Codex)
	require.Equal(t, []Stage{StageExecutable, StageWrapper, StageInstallation, StageSandbox, StageModel, StageLogin}, fine)
	require.Empty(t, bad)
	fine, bad = stages(nativeinspect.Pi)
	require.Equal(t, []Stage{StageExecutable, StageWrapper, StageInstallation, StageModel, StageLogin}, fine)
	require.Empty(t, bad)
	// One fault does not hide another.
	require.NoError(t, os.Remove(o.at("bin/bwrap")))
	require.NoError(t, os.Remove(o.at("home/.codex/auth.json")))
	fine, bad = stages(nativeinspect.Codex)
	require.Equal(t, []Stage{StageModel}, fine)
	require.Equal(t, []Stage{StageSandbox, StageLogin}, bad)
	o.set("ANTHROPIC_API_KEY", canary, "CLAUDE_PATH", "relative")
	fine, bad = stages(nativeinspect.Claude)
	require.Empty(t, fine)
	require.Equal(t, []Stage{StageExecutable, StageModel}, bad)
	o.set("OPENAI_API_KEY", canary, "OPENAI_MODEL", "m", "OPENAI_API", "chat-completions")
	_, bad = stages(nativeinspect.Codex)
	require.Equal(t, []Stage{StageSandbox, StageAPI}, bad)
	o.unset("OPENAI_API")
	fine, _ = stages(nativeinspect.Codex)
	require.Equal(t, []Stage{StageModel, StageAPI}, fine)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Diagnose(ctx, nativeinspect.Pi, o.environment(), o.project, now)
	require.ErrorIs(t, err, context.Canceled)
}

// complaint: B4.41 openai/codex#15282 - an agent of the project's own folder was run, or refused with a misleading word
//
// rule: P-008
func TestComplaintB4_41Codex15282NothingOfAProjectIsTaken(t *testing.T) {
	o := newOperator(t).install().subscribe()
	o.file("project/bin/codex", elf("mine"), 0o755)
	o.file("project/node_modules/.bin/codex", elf("mine"), 0o755)
	o.file("node_modules/.bin/codex", elf("mine"), 0o755)
	require.NoError(t, os.Symlink(o.at("project/bin"), o.at("link")))
	good := o.env["PATH"]
	o.set("PATH", strings.Join([]string{"", "./bin", o.at("project/bin"), o.at("project/node_modules/.bin"), o.at("node_modules/.bin"), o.at("link"), o.at("project") + "/../project/bin", good}, ":"))
	c := o.opened("codex", "")
	require.Equal(t, o.at("bin/codex"), c.Executable)
	i, err := Inspect(t.Context(), nativeinspect.Codex, o.environment(), o.project)
	require.NoError(t, err)
	require.Len(t, i.Rejected, 7)
	for _, r := range i.Rejected[2:] {
		require.Equal(t, nativeinspect.ReasonInsideProject, r.Reason, r.Path)
	}
	o.set("PATH", o.at("project/bin"))
	require.Equal(t, "PROJECT_ACP_CODEX_EXECUTABLE", o.code("codex", ""))
}

// complaint: B4.44 Xuanwo/acp-claude-code#47 - a shim of a version manager failed without a word about what it is
//
// rule: P-188
func TestComplaintB4_44AcpClaudeCode47AShimIsNamedAndNotRun(t *testing.T) {
	for name, c := range map[string]struct{ link, script, says string }{
		"asdf": {"", "#!/usr/bin/env bash\n# asdf-plugin: nodejs 22.0.0\nexec asdf exec claude \"$@\"\n", "asdf which claude"},
		"node": {"", "#!/usr/bin/env node\n", "script for Node"},
		"mise": {"tools/mise", "", "mise which claude"},
	} {
		o := newOperator(t).install().subscribe()
		require.NoError(t, os.Remove(o.at("bin/claude")))
		if c.link != "" {
			o.file(c.link, elf("mise"), 0o755)
			require.NoError(t, os.Symlink(o.at(c.link), o.at("bin/claude")))
		} else {
			o.file("bin/claude", c.script+"touch "+o.at("ran")+"\n", 0o755)
		}
		_, err := o.open("claude", "")
		require.Equal(t, "PROJECT_ACP_CLAUDE_WRAPPER", o.codeOf(err), name)
		var r *project.Refusal
		require.ErrorAs(t, err, &r)
		require.Contains(t, r.Diagnostics[0].Hint, c.says, name)
		require.Contains(t, r.Diagnostics[0].Hint, "CLAUDE_PATH", name)
		require.NoFileExists(t, o.at("ran"))
	}
}

func TestAnOpenerNeedsTheProgramThatWillDriveTheClient(t *testing.T) {
	for _, o := range []Options{{}, {JigPath: "/x"}, {JigDigest: jigDigest}} {
		_, err := New(o)
		require.Error(t, err)
	}
	o, err := New(Options{JigPath: "/x", JigDigest: jigDigest})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), o.o.Now(), time.Minute)
}

func TestAnInspectionSpeaksOfNoReview(t *testing.T) {
	var refused *project.Refusal
	require.ErrorAs(t, Refused(nativeinspect.Codex, &nativeinspect.Refusal{Client: nativeinspect.Codex, Stage: nativeinspect.StageExecutable}), &refused)
	require.Len(t, refused.Diagnostics, 1)
	require.NotEmpty(t, refused.Diagnostics[0].Hint)
	require.NotContains(t, refused.Diagnostics[0].Hint, "review")
}
