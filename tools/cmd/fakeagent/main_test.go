package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

// converse has the whole conversation with an agent of one fault, given by flag
// or by the first prompt's text, and tells what became of it.
func converse(t *testing.T, f fault, byText bool) (string, *host) {
	t.Helper()
	return converseAs(t, reviewed(), f, byText)
}

func converseAs(t *testing.T, c acpprofile.Config, f fault, byText bool) (string, *host) {
	t.Helper()
	args := []string{"-fault", f.name}
	restore := strings.HasSuffix(f.at, methodResume)
	if restore {
		c.RestoreSessionID = kept
	}
	if byText {
		args = nil
	}
	start := hostInside
	if needsProcess(f) {
		start = newHost
	}
	h := start(t, c, args...)
	// What never answers is not waited for: the end of its input ends it.
	hurry := f.want == unsettled
	if hurry && f.at != methodPrompt && f.at != methodClose {
		return h.hurried(f), h
	}
	if !h.opened(restore) {
		return h.end(), h
	}
	text := "hello"
	if byText {
		text = "please\nFAULT " + f.name
	}
	params := `{"sessionId":` + quote(h.owned) + `,"prompt":[{"type":"text","text":` + quote(text) + `}]}`
	switch {
	case hurry && f.at == methodPrompt:
		require.True(t, h.send(methodPrompt, params))
		require.NoError(t, h.stdin.Close())
		h.pump()
		return h.failed, h
	case f.at == methodCancel:
		require.True(t, h.send(methodPrompt, strings.Replace(params, "hello", "SLOW", 1)))
		require.True(t, h.frame(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":`+quote(h.owned)+`}}`))
		h.pump()
	default:
		h.ask(methodPrompt, params)
	}
	if strings.HasPrefix(f.at, after) {
		return h.end(), h // what comes next comes between two turns
	}
	if h.failed == "" && !h.refused {
		h.prompt("ECHO second")
	}
	if h.failed == "" && !h.refused && offersClose(f) {
		if hurry {
			require.True(t, h.send(methodClose, `{"sessionId":`+quote(h.owned)+`}`))
			require.NoError(t, h.stdin.Close())
			h.pump()
			return h.failed, h
		}
		h.close()
	}
	return h.end(), h
}

// needsProcess tells the faults of a process from those of what it says.
func needsProcess(f fault) bool {
	return strings.HasPrefix(f.name, "exit-") || f.name == "environment" ||
		slices.ContainsFunc(endFaults, func(e fault) bool { return e.name == f.name })
}

func offersClose(f fault) bool { return f.name != "no-close" && f.name != "capabilities-null" }

// hurried sends requests up to the one that is never answered.
func (h *host) hurried(f fault) string {
	h.t.Helper()
	require.True(h.t, h.send(methodInit, hello))
	if f.at == methodNew {
		require.True(h.t, h.pump())
		require.True(h.t, h.send(methodNew, work))
	}
	require.NoError(h.t, h.stdin.Close())
	h.pump()
	return h.failed
}

// Each fault is what the table says it is, when acpprofile decides and the streams
// are bounded; and of what the agent has to hide, nothing comes through.
// rule: F-070, F-083, F-087, F-089, F-091, F-092, F-093, F-094, F-095, F-096, F-107
func TestEveryFault(t *testing.T) {
	for _, f := range faults {
		ways := []bool{false}
		if strings.HasSuffix(f.at, methodPrompt) && !slices.ContainsFunc(ceilingFaults, func(c fault) bool { return c.name == f.name }) {
			ways = append(ways, true)
		}
		for _, byText := range ways {
			t.Run(fmt.Sprintf("%s by text %t", f.name, byText), func(t *testing.T) {
				t.Parallel()
				got, h := converse(t, f, byText)
				require.Equal(t, f.want, got, f.what)
				for _, frame := range h.shown {
					if len(frame) > 10_000 {
						continue // one of many pieces of text
					}
					require.NotContains(t, string(frame), "canary")
					require.NotContains(t, string(frame), "forged")
					require.NotContains(t, string(frame), "history")
					require.NotContains(t, string(frame), "jetbrains")
				}
				for _, line := range h.answers {
					require.Contains(t, string(line), `"result":{"outcome":{"outcome":"cancelled"}}`)
				}
				if strings.Contains(f.name, "permission") && f.want == fine {
					require.NotEmpty(t, h.answers)
				}
			})
		}
	}
}

func TestAGoodAgent(t *testing.T) {
	for n, start := range []func(*testing.T, acpprofile.Config, ...string) *host{newHost, newHost, hostInside} {
		pieces := []int{0, 7, 1}[n]
		h := start(t, reviewed(), "-pieces", strconv.Itoa(pieces))
		require.True(t, h.opened(false))
		require.True(t, h.prompt("äöü"))
		require.Equal(t, "You said: äöü", h.text())
		require.True(t, h.send(methodPrompt, `{"sessionId":`+quote(h.owned)+`,"prompt":[{"type":"text","text":"SLOW"}]}`))
		require.True(t, h.frame(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":`+quote(h.owned)+`}}`))
		require.True(t, h.pump())
		require.Contains(t, string(h.shown[len(h.shown)-1]), `"stopReason":"cancelled"`)
		require.True(t, h.close())
		require.Equal(t, fine, h.end())
		require.Equal(t, sessionID, h.machine.Session())
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
		last := string(h.shown[len(h.shown)-1])
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
		for _, frame := range h.shown {
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
	require.Contains(t, h.text(), "FAKEAGENT=yes\nHOST_VARIABLE=value")
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
	h := newHost(t, reviewed(), "-fault", "orphan")
	require.True(t, h.opened(false))
	require.True(t, h.prompt("hello"))
	pid, ok := h.child()
	require.True(t, ok)
	require.NoError(t, h.machine.AdapterEOF())
	require.NoError(t, h.stdin.Close())
	require.Zero(t, h.status().ExitStatus())
	<-h.stderr.lingering // the child's: it has lost its input and stays
	require.NoError(t, syscall.Kill(pid, 0))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.False(t, h.one(), "only now do the streams end")
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
