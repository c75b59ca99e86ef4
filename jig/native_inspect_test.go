package main

import (
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// rule: J-008, J-009, J-043
func TestAnInspectionShowsEverythingAndRunsNothing(t *testing.T) {
	n := install(t)
	p := newPlace(t, nil).with(n)
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(n.at("claude"), filepath.Join(p.dir, "bin/claude")))
	shim := n.at("shim")
	require.NoError(t, os.Mkdir(shim, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(shim, "pi"), []byte("#!/bin/sh\nmkdir "+n.at("ran")+"\n"), 0o755))
	p.env[0] = "PATH=:relative:" + filepath.Join(p.dir, "bin") + ":/nonexistent:" + n.dir
	for _, client := range []string{"codex", "claude", "pi"} {
		o := p.jig("inspect", client, "--json").is(0, "status", `"succeeded"`)
		var found struct {
			Route      string `json:"route"`
			Executable struct {
				Path   string `json:"path"`
				Digest string `json:"digest"`
			} `json:"executable"`
			Rejected []struct {
				Entry  int    `json:"entry"`
				Reason string `json:"reason"`
			} `json:"rejected"`
		}
		require.NoError(t, json.Unmarshal(o.record()["installation"], &found))
		require.Equal(t, "path", found.Route)
		require.Equal(t, n.at(client), found.Executable.Path)
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, found.Executable.Digest)
		require.Len(t, found.Rejected, 4, "%s", o)
		require.Contains(t, found.Rejected[1].Reason, "not absolute")
		p.jig("inspect", client, "--why", n.at(client)).is(0)
		p.jig("inspect", client, "--why", "/etc/passwd").is(1, "code", `"JIG_TARGET_NOT_FOUND"`)
	}
	o := p.jig("inspect", "codex", "--why", n.at("bwrap")).is(0)
	require.Equal(t, `[{"entry":"PATH","found":"path","role":"helper","to":"`+n.at("bwrap")+`"}]`, string(o.record()["why"]))
	o = p.jig("inspect", "pi", "--why", n.at("theme/dark.json")).is(0)
	require.Contains(t, string(o.record()["why"]), `"from":"`+n.at("pi")+`"`)

	// The link that was selected is why its executable is.
	links := n.at("links")
	require.NoError(t, os.Mkdir(links, 0o755))
	require.NoError(t, os.Symlink(n.at("claude"), filepath.Join(links, "claude")))
	p.env[0] = "PATH=" + links
	o = p.jig("inspect", "claude", "--why", filepath.Join(links, "claude")).is(0)
	require.Equal(t, `[{"entry":"PATH","found":"path","role":"executable","to":"`+n.at("claude")+`"}]`, string(o.record()["why"]))
	p.jig("inspect", "claude", "--why", filepath.Join(links, "codex")).is(1, "code", `"JIG_TARGET_NOT_FOUND"`)

	p.env[0] = "PATH=" + shim
	o = p.jig("inspect", "pi").is(1, "code", `"PROJECT_ACP_PI_WRAPPER"`)
	require.Contains(t, o.stdout, filepath.Join(shim, "pi"))
	require.NoDirExists(t, n.at("ran"))
	for _, args := range [][]string{{"inspect"}, {"inspect", "gemini"}, {"inspect", "pi", "codex"}} {
		p.jig(args...).is(2, "code", `"JIG_USAGE"`)
	}
	// It needs no project.
	cmd := p.command("inspect", "claude")
	cmd.Dir = shim
	p.env[0] = "PATH=" + n.dir
	cmd.Env = p.env
	p.start(cmd).wait().is(0)
}

// rule: J-004
func TestAFirstProjectWithAnAgentCanBeReviewed(t *testing.T) {
	n := install(t)
	for _, client := range []string{"codex", "claude", "pi"} {
		p := newPlace(t, nil).with(n)
		o := p.jig("init", "new", "--client", client).is(0)
		for _, name := range []string{"bindings/agent.ts", "flows/agent/FLOW.ts", "flows/hello/FLOW.ts", "jig.ts"} {
			require.Contains(t, string(o.record()["files"]), `"`+name+`"`)
			require.FileExists(t, filepath.Join(p.dir, "new", name))
		}
		b, err := os.ReadFile(filepath.Join(p.dir, "new/bindings/agent.ts"))
		require.NoError(t, err)
		require.Contains(t, string(b), `client: "`+client+`"`)
		p.dir = filepath.Join(p.dir, "new")
		o = p.approve()
		require.Equal(t, client, grants(o)[0]["client"])
		require.Equal(t, "agent", grants(o)[0]["binding"])
		require.Contains(t, string(o.record()["targets"]), `{"ready":true,"target":"binding:agent"}`)
	}
	p := newPlace(t, nil)
	p.jig("init", "new", "--client", "gemini").is(2, "code", `"JIG_USAGE"`)
	require.NoDirExists(t, filepath.Join(p.dir, "new"))
	p.jig("init", "plain").is(0)
	require.NoDirExists(t, filepath.Join(p.dir, "plain/flows/agent"))
	require.NoDirExists(t, filepath.Join(p.dir, "plain/bindings"))
}

// rule: F-205
func TestAReviewAsksNoEndpoint(t *testing.T) {
	n := install(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var asked atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			c.Close()
		}
	}()
	endpoint := "https://" + l.Addr().String()
	p := newPlace(t, agents(`{ kind: "acp", client: "codex" }`, `{ kind: "acp", client: "claude" }`)).with(n,
		"OPENAI_BASE_URL="+endpoint+"/v1", "ANTHROPIC_BASE_URL="+endpoint, "ANTHROPIC_API_KEY=k-"+canary, "ANTHROPIC_MODEL=m", "JIG_HTTPS_PROXY=http://"+l.Addr().String())
	p.approve()
	p.jig("inspect", "codex").is(0)
	p.jig("doctor", "claude").is(0)
	n.program("claude", "another")
	p.jig("run", "binding:two").is(2, "code", `"REVIEW_REQUIRED"`)
	require.NoError(t, l.Close())
	<-done
	require.Zero(t, asked.Load())
}

// complaint: B6.56 kovyrin/agent-secret#66 - a path with control characters wrote what the terminal showed of an approval
//
// rule: J-019
func TestComplaintB6_56AgentSecret66AnExecutablesPathActsOnNoTerminal(t *testing.T) {
	n := install(t)
	odd := n.at("a\x1b[2K\u202eb")
	require.NoError(t, os.Mkdir(odd, 0o755))
	require.NoError(t, os.Rename(n.at("claude"), filepath.Join(odd, "claude")))
	p := newPlace(t, agents("", `{ kind: "acp", client: "claude" }`)).with(n, "CLAUDE_PATH="+filepath.Join(odd, "claude"))
	for _, o := range []outcome{p.approve(), p.jig("inspect", "claude", "--why", "/x"), p.jig("doctor", "claude"), p.jig("review", "--details", "--plan")} {
		require.NotContains(t, o.String(), "\x1b")
		require.NotContains(t, o.stderr, "\u202e")
	}
	require.Contains(t, p.jig("doctor", "claude").stderr, `a\u{1b}[2K\u{202e}b`)
}

// rule: J-013, J-209
func TestADoctorLooksAtAClientAsAReviewDoes(t *testing.T) {
	n := install(t)
	p := newPlace(t, nil).with(n)
	for _, client := range []string{"codex", "claude", "pi"} {
		o := p.jig("doctor", client).is(0, "status", `"succeeded"`)
		require.Contains(t, o.stdout, `"check":"`+client+` EXECUTABLE"`)
		require.Contains(t, o.stdout, `"check":"native scope (with the network)"`)
		p.clean(o)
	}
	p.env = append(p.env, "OPENAI_API=chat-completions", "HTTPS_PROXY=http://ambient.example:1")
	require.Contains(t, p.jig("doctor", "pi").stdout, "HTTPS_PROXY is set and is not used")
	require.NoError(t, os.Remove(n.at("codex")))
	o := p.jig("doctor", "codex").is(1, "status", `"failed"`)
	for _, code := range []string{"PROJECT_ACP_CODEX_EXECUTABLE", "PROJECT_ACP_CODEX_API"} {
		require.Contains(t, o.stdout, `"code":"`+code+`"`)
	}
	p.jig("doctor", "gemini").is(2, "code", `"JIG_USAGE"`)
}

// PATH may hold bytes that are not UTF-8, and a record is text.
//
// rule: J-008
func TestAnInspectionShowsAPathThatIsNotUTF8(t *testing.T) {
	n := install(t)
	p := newPlace(t, nil).with(n)
	latin := n.at("caf\xe9")
	if err := os.Mkdir(latin, 0o755); err != nil {
		t.Skip("this file system has no such name: ", err)
	}
	p.env[0] = "PATH=" + latin + ":" + n.dir
	o := p.jig("inspect", "claude").is(0)
	require.Contains(t, o.stdout, "caf\ufffd/claude")

	require.NoError(t, os.Link(n.at("claude"), filepath.Join(latin, "claude")))
	for _, args := range [][]string{{"inspect", "claude"}, {"doctor", "claude"}} {
		o = p.jig(args...).is(1)
		require.Contains(t, o.stdout, "at a path that is not UTF-8", "%s", o)
	}
}
