package client

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// rule: J-089, P-218
func TestWhatOfAClientHasChangedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		client string
		change func(o *operator)
		part   string
		why    string
	}{
		"bytes of the executable":    {"codex", func(o *operator) { o.file("bin/codex", elf("c0dex"), 0o755) }, PartExecutable, ""},
		"a missing executable":       {"claude", func(o *operator) { require.NoError(o, os.Remove(o.at("bin/claude"))) }, PartExecutable, "executable claude: "},
		"a script for an executable": {"claude", func(o *operator) { o.file("bin/claude", "#!/bin/sh\n", 0o755) }, PartExecutable, "script"},
		"an executable nobody may":   {"claude", func(o *operator) { o.file("bin/claude", elf("claude"), 0o644) }, PartExecutable, ""},
		"bytes of a theme":           {"pi", func(o *operator) { o.file("bin/theme/dark.json", "[]", 0o644) }, PartSupport, "theme dark.json is another one"},
		"a missing theme":            {"pi", func(o *operator) { require.NoError(o, os.Remove(o.at("bin/theme/light.json"))) }, PartSupport, "theme"},
		"bytes of the helper":        {"codex", func(o *operator) { o.file("bin/bwrap", elf("bwrap2"), 0o755) }, PartHelper, ""},
		"a missing helper":           {"codex", func(o *operator) { require.NoError(o, os.Remove(o.at("bin/bwrap"))) }, PartHelper, ""},
		"a link to another": {"claude", func(o *operator) {
			o.file("other/claude", elf("claude"), 0o755)
			require.NoError(o, os.Remove(o.at("bin/claude")))
			require.NoError(o, os.Symlink(o.at("other/claude"), o.at("bin/claude")))
		}, PartExecutable, ""},
		"a manifest of another": {"pi", func(o *operator) { o.file("bin/package.json", `{"name":"x","version":"0.84.4"}`, 0o644) }, PartSupport, "manifest package.json: "},
		"same size, same time":  {"codex", func(o *operator) { rewrite(o, "bin/codex", elf("xedoc")) }, PartExecutable, ""},
		"a set-id executable":   {"codex", func(o *operator) { require.NoError(o, os.Chmod(o.at("bin/codex"), 0o755|os.ModeSetuid)) }, PartExecutable, ""},
		"a set-id helper":       {"codex", func(o *operator) { require.NoError(o, os.Chmod(o.at("bin/bwrap"), 0o755|os.ModeSetuid)) }, PartHelper, ""},
	} {
		o := newOperator(t).install().subscribe()
		admitted := o.opened(c.client, "")
		c.change(o)
		parts, why := o.changed(c.client, "", admitted)
		require.Equal(t, []string{c.part}, parts, name)
		require.Contains(t, why, c.why, name)
	}
}

// rewrite changes bytes and leaves size and time.
func rewrite(o *operator, path, content string) {
	before, err := os.Stat(o.at(path))
	require.NoError(o, err)
	require.Len(o, content, int(before.Size()))
	require.NoError(o, os.WriteFile(o.at(path), []byte(content), 0o755))
	require.NoError(o, os.Chtimes(o.at(path), before.ModTime(), before.ModTime()))
}

// complaint: B3.35 anthropics/claude-code#95529 - a file removed after the snapshot broke every start with a raw line of the sandbox
//
// rule: J-089
func TestComplaintB3_35ClaudeCode95529AMissingSupportFileIsNamedByItsRole(t *testing.T) {
	o := newOperator(t).install().subscribe()
	admitted := o.opened("pi", "")
	require.NoError(t, os.Remove(o.at("bin/theme/dark.json")))
	_, err := o.prepare("pi", "", admitted, time.Time{})
	require.EqualError(t, err, "pi is not as it was reviewed: support files (theme dark.json: "+string(nativeinspect.ReasonMissing)+")")
}

// rule: J-090
func TestWhatOfAConfigurationHasChangedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		client string
		before []string
		after  []string
		parts  []string
	}{
		"model":                        {"codex", []string{"CODEX_MODEL", "a"}, []string{"CODEX_MODEL", "b"}, []string{PartModel}},
		"a model where there was none": {"codex", nil, []string{"CODEX_MODEL", "b"}, []string{PartModel}},
		"endpoint":                     {"claude", []string{"ANTHROPIC_API_KEY", canary, "ANTHROPIC_MODEL", "m"}, []string{"ANTHROPIC_BASE_URL", "https://x.example"}, []string{PartEndpoint}},
		"endpoint of Codex":            {"codex", []string{"OPENAI_API_KEY", canary, "OPENAI_MODEL", "m"}, []string{"OPENAI_BASE_URL", "https://x.example"}, []string{PartEndpoint}},
		"mode":                         {"claude", []string{"ANTHROPIC_API_KEY", canary, "ANTHROPIC_MODEL", "m"}, []string{"ANTHROPIC_API_KEY", "", "ANTHROPIC_AUTH_TOKEN", canary}, []string{PartMode}},
		"mode of Pi":                   {"pi", nil, []string{"PI_API_KEY", canary}, []string{PartMode}},
		"mode, model and endpoint":     {"codex", nil, []string{"OPENAI_API_KEY", canary, "OPENAI_MODEL", "m"}, []string{PartEndpoint, PartModel, PartMode}},
		"provider of Pi":               {"pi", []string{"PI_API_KEY", canary}, []string{"PI_PROVIDER", "mistral"}, []string{PartModel}},
		"proxy":                        {"pi", nil, []string{"JIG_HTTPS_PROXY", "http://p.example:1"}, []string{PartProxy}},
		"exceptions of the proxy":      {"pi", []string{"JIG_HTTPS_PROXY", "http://p.example:1"}, []string{"JIG_NO_PROXY", "x.example"}, []string{PartProxy}},
	} {
		o := newOperator(t).install().subscribe().set(c.before...)
		admitted := o.opened(c.client, "")
		_, err := o.prepare(c.client, "", admitted, time.Time{})
		require.NoError(t, err, name)
		parts, _ := o.set(c.after...).changed(c.client, "", admitted)
		require.Equal(t, c.parts, parts, name)
	}
}

// rule: J-091
func TestAnUpgradeOfJigIsSaidToBeOne(t *testing.T) {
	o := newOperator(t).install().subscribe()
	admitted := o.opened("codex", "")
	older := "sha256:" + strings.Repeat("0", 64)
	admitted.Provider.Adapter = &older
	parts, why := o.changed("codex", "", admitted)
	require.Equal(t, []string{PartAdapter}, parts)
	require.Contains(t, why, "a jig upgrade does this")
	// Where another jig also starts the client differently, that is the same news.
	admitted.Provider.Argv = []string{"app-server", "--more"}
	parts, _ = o.changed("codex", "", admitted)
	require.Equal(t, []string{PartAdapter}, parts)
	// Without another jig it is news of its own.
	admitted.Provider.Adapter = text(jigDigest)
	parts, _ = o.changed("codex", "", admitted)
	require.Equal(t, []string{PartLaunch}, parts)
}

// A new program on PATH, or another override, changes nothing of what was admitted.
func TestARunSearchesNothing(t *testing.T) {
	o := newOperator(t).install().subscribe()
	for _, c := range everyClient {
		admitted := o.opened(string(c), "")
		bin := o.env["PATH"]
		for _, name := range []string{"codex", "claude", "pi", "bwrap"} {
			o.file("first/"+name, elf("another "+name), 0o755)
		}
		o.set("PATH", o.at("first")+":"+bin, c.Override(), o.at("first/"+string(c)))
		p, err := o.prepare(string(c), "", admitted, time.Time{})
		require.NoError(t, err)
		require.Equal(t, o.at("bin/"+string(c)), p.Plan.Native)
		o.set("PATH", bin).unset(c.Override())
	}
}

// complaint: B5.51 CherryHQ/stella#722 - a login that ended during the run made the agent hang
//
// rule: J-210
func TestComplaintB5_51Stella722ALoginThatEndsBeforeTheDeadlineIsWarnedAbout(t *testing.T) {
	o := newOperator(t).install().subscribe()
	o.file("home/.codex/auth.json", codexLogin(token(now.Add(6*time.Minute).Unix(), "acct"), "acct"), 0o600)
	o.file("home/.pi/agent/auth.json", piLogin("anthropic", now.Add(6*time.Minute)), 0o600)
	for _, client := range []string{"codex", "pi"} {
		admitted := o.opened(client, "")
		for deadline, warned := range map[time.Duration]bool{6*time.Minute - time.Second: false, 6 * time.Minute: false, 6*time.Minute + time.Second: true, time.Hour: true} {
			p, err := o.prepare(client, "", admitted, now.Add(deadline))
			require.NoError(t, err)
			i := slices.IndexFunc(p.Warnings, func(d project.Diagnostic) bool {
				return strings.Contains(d.Message, "ends at 2026-11-30T12:06:00Z, before the run's deadline")
			})
			require.Equal(t, warned, i >= 0, "%s %s", client, deadline)
			if warned {
				require.NotEmpty(t, p.Warnings[i].Hint)
			}
		}
	}
	admitted := o.opened("claude", "")
	p, err := o.prepare("claude", "", admitted, now.Add(24*time.Hour))
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(p.Warnings, func(d project.Diagnostic) bool { return strings.Contains(d.Message, "deadline") }), "nobody knows when it ends")
}

// rule: F-188, P-189
func TestACredentialThatIsGoneAtARunIsASetupFault(t *testing.T) {
	o := newOperator(t).install().subscribe()
	codex, claude, pi := o.opened("codex", ""), o.opened("claude", ""), o.opened("pi", "")
	o.file("home/.codex/auth.json", "{}", 0o600)
	o.file("home/.pi/agent/auth.json", "{}", 0o600)
	o.unset("CLAUDE_CODE_OAUTH_TOKEN")
	for client, admitted := range map[string]*project.Client{"codex": codex, "claude": claude, "pi": pi} {
		_, err := o.prepare(client, "", admitted, time.Time{})
		require.Equal(t, "PROJECT_ACP_"+strings.ToUpper(client)+"_LOGIN", o.codeOf(err))
	}
}

func TestWhatWasNeverAdmittedIsNotOpened(t *testing.T) {
	o := newOperator(t).install().subscribe()
	admitted := o.opened("codex", "")
	for name, spoil := range map[string]func(p *project.Provider){
		"no executable":       func(p *project.Provider) { p.Executable = nil },
		"no client":           func(p *project.Provider) { p.Client = nil },
		"another client":      func(p *project.Provider) { p.Client = text("pi") },
		"an odd path":         func(p *project.Provider) { p.Executable = &project.ProviderExecutable{Path: "relative"} },
		"another contract":    func(p *project.Provider) { p.Contract = "sha256:0" },
		"another digest of a": func(p *project.Provider) { p.Files = nil },
	} {
		c := *admitted
		spoil(&c.Provider)
		_, err := o.prepare("codex", "", &c, time.Time{})
		if name == "another contract" {
			require.NoError(t, err, "the contract is the slot's")
			continue
		}
		require.Error(t, err, name)
	}
}

// rule: J-217
func TestAnExaminationEndsAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Opener{o: Options{JigPath: "/x", JigDigest: jigDigest, Now: time.Now}}
		hang := func(ctx context.Context) (*nativeinspect.Installation, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		o.inspect = func(ctx context.Context, _ nativeinspect.Options) (*nativeinspect.Installation, error) {
			return hang(ctx)
		}
		o.reopen = func(ctx context.Context, _ nativeinspect.Selection, _ nativeinspect.Options) (*nativeinspect.Installation, error) {
			return hang(ctx)
		}
		e := env("HOME", "/", "CLAUDE_CODE_OAUTH_TOKEN", "t")
		for _, open := range []func(ctx context.Context) error{
			func(ctx context.Context) error {
				_, err := o.Open(ctx, project.ClientRequest{Client: "claude", Environment: e, Reach: &project.Reach{}})
				return err
			},
			func(ctx context.Context) error {
				_, err := o.Prepare(ctx, PrepareRequest{
					Client: "claude", Environment: e, Reach: &project.Reach{},
					Admitted: project.Provider{Client: text(nativeinspect.Claude.Identity()), Executable: &project.ProviderExecutable{Path: "/x"}},
				})
				return err
			},
		} {
			began := time.Now()
			err := open(t.Context())
			require.Equal(t, 60*time.Second, time.Since(began))
			var r *project.Refusal
			require.True(t, errors.As(err, &r), "%v", err)
			require.Equal(t, project.CodeACPUnavailable, r.Diagnostics[0].Code)
			// Who asked may give up before.
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, open(ctx), context.DeadlineExceeded)
			cancel()
		}
	})
}
