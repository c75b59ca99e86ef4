package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

// Each fault is what the table says it is, when acpprofile decides and the streams
// are bounded; and of what the agent has to hide, nothing comes through.
// rule: F-070, F-083, F-087, F-089, F-091, F-092, F-093, F-094, F-095, F-096, F-107
func TestEveryFault(t *testing.T) {
	for _, f := range faults {
		ways := []bool{false}
		if strings.HasSuffix(f.at, methodPrompt) && !among(ceilingFaults, f) {
			ways = append(ways, true)
		}
		for _, byText := range ways {
			t.Run(fmt.Sprintf("%s by text %t", f.name, byText), func(t *testing.T) {
				t.Parallel()
				got, h := converse(t, f, byText)
				require.Equal(t, f.want, got, f.what)
				for _, frame := range h.Shown {
					if len(frame) > 10_000 {
						continue // one of many pieces of text
					}
					require.NotContains(t, string(frame), "canary")
					require.NotContains(t, string(frame), "forged")
					require.NotContains(t, string(frame), "history")
					require.NotContains(t, string(frame), "jetbrains")
				}
				for _, line := range h.Answers {
					require.Contains(t, string(line), `"result":{"outcome":{"outcome":"cancelled"}}`)
				}
				if strings.Contains(f.name, "permission") && f.want == fine {
					require.NotEmpty(t, h.Answers)
				}
			})
		}
	}
}

func TestAGoodAgent(t *testing.T) {
	for n, start := range []func(*testing.T, acpprofile.Config, ...string) *host{process, process, inside} {
		h := start(t, reviewed(), "-pieces", strconv.Itoa([]int{0, 7, 1}[n]))
		require.True(t, h.opened(""))
		require.True(t, h.prompt("äöü"))
		require.Equal(t, "You said: äöü", h.Text())
		require.NoError(t, h.Send(methodPrompt, h.Prompt("SLOW")))
		require.NoError(t, h.Cancel())
		h.Pump()
		require.Contains(t, h.Last(), `"stopReason":"cancelled"`)
		require.True(t, h.close())
		require.Equal(t, fine, h.end())
		require.Equal(t, sessionID, h.Machine.Session())
	}
}

// rule: F-097, F-098, F-099
func TestOnlyTheExactFailureHasAReason(t *testing.T) {
	for _, c := range []struct{ client, name string }{
		{"codex", "managed-preferences"}, {"claude", "managed-preferences"}, {"pi", "managed-preferences"},
		{"codex", "managed-object"}, {"codex", "managed-code"}, {"codex", "managed-message"}, {"codex", "managed-prefix"},
		{"codex", "resume-managed"}, {"codex", "session-error"},
	} {
		f, ok := find(c.name)
		require.True(t, ok)
		config := reviewed()
		config.Client = c.client
		_, h := converseAs(t, config, f, false)
		last := h.Last()
		require.Contains(t, last, `"message":"Native ACP request failed"`)
		require.Equal(t, c.client == "codex" && c.name == "managed-preferences",
			strings.Contains(last, `"data":{"reason":"managed-preferences-unavailable"}`), last)
		require.Equal(t, c.client == "codex" && c.name == "managed-preferences", strings.Contains(last, `"data"`), last)
	}
}

// rule: F-103, F-104, F-105
func TestWarningsBecomeOneClosedNotice(t *testing.T) {
	for _, name := range []string{"early-warnings", "warning", "warning-with-text", "warning-on-result", "late-warning"} {
		f, ok := find(name)
		require.True(t, ok)
		_, h := converse(t, f, false)
		var notices []string
		for _, frame := range h.Shown {
			if strings.Contains(string(frame), "NATIVE_WARNING") {
				notices = append(notices, string(frame))
			}
		}
		require.Equal(t, []string{`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + sessionID +
			`","update":{"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}}}`}, notices, name)
	}
}

// What the host gave it, an agent can read; a test of a host looks there for keys.
func TestTheEnvironmentCanBeRead(t *testing.T) {
	f, _ := find("environment")
	_, h := converse(t, f, false)
	require.Contains(t, h.Text(), "FAKEAGENT=yes\nHOST_VARIABLE=value")
}

func TestHowItEnds(t *testing.T) {
	end := func(name string) *host {
		f, ok := find(name)
		require.True(t, ok, name)
		_, h := converse(t, f, false)
		return h
	}
	require.Equal(t, 77, end("exit-77").status().ExitStatus())
	require.Equal(t, syscall.SIGKILL, end("kill").status().Signal())
	require.Equal(t, syscall.SIGTERM, end("kill-at-end").status().Signal())
	require.Zero(t, end("slow-exit").status().ExitStatus())
	require.Zero(t, end("exit-in-turn").status().ExitStatus())

	lingering := end("linger")
	require.NoError(t, lingering.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, syscall.SIGTERM, lingering.status().Signal())
	polite := end("polite")
	require.NoError(t, polite.cmd.Process.Signal(syscall.SIGTERM))
	require.True(t, polite.status().Exited())
	require.Zero(t, polite.status().ExitStatus())
}

func TestAnOrphanHoldsTheStreams(t *testing.T) {
	h := process(t, reviewed(), "-fault", "orphan")
	require.True(t, h.opened(""))
	require.True(t, h.prompt("hello"))
	pid, ok := h.child()
	require.True(t, ok)
	require.Equal(t, lingers, h.end(), "the child has lost its input and stays")
	require.Zero(t, h.status().ExitStatus())
	require.NoError(t, syscall.Kill(pid, 0))
	select {
	case <-h.Drained():
		require.Fail(t, "the child holds the agent's streams")
	default:
	}
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	<-h.Drained() // only now do the streams end
	require.Empty(t, h.Failed)
}

func TestTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-list"}, 0, "permissions-257"},
		{[]string{"-fault", "none"}, 2, `no fault is called "none"`},
		{[]string{"-fault", "exit-256"}, 2, `no fault is called "exit-256"`},
		{[]string{"-fault", "exit-+1x"}, 2, "no fault"},
		{[]string{"-pieces", "-1"}, 2, "positive number"},
		{[]string{"more"}, 2, "no arguments"},
		{[]string{"-loud"}, 2, "-loud"},
		{[]string{"-h"}, 0, "-fault"},
	} {
		var out bytes.Buffer
		require.Equal(t, c.code, run(c.args, strings.NewReader(""), &out, &out))
		require.Contains(t, out.String(), c.want)
	}
	var out bytes.Buffer
	require.Equal(t, 3, run(nil, strings.NewReader("nonsense\n"), &out, &out))
	require.Contains(t, out.String(), "no message")
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults {
		require.False(t, seen[f.name], f.name)
		seen[f.name] = true
		require.NotEmpty(t, f.what)
		require.NotEmpty(t, f.want)
		_, ok := find(f.name)
		require.True(t, ok)
	}
	require.NotContains(t, os.Environ(), "FAKEAGENT=yes")
}
