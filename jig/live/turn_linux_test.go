package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// some are the clients that a heavy test takes: Codex, and the others too in the
// whole suite.
func some() []string {
	if *long {
		return clients
	}
	return clients[:1]
}

// rule: J-205, J-206, F-035, P-199, J-235, F-108, P-216, F-205
func TestTheOrdinaryAgentHasOneTurnWithEachClient(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			o := p.agent("Say HELLO").ends(0, "succeeded")
			require.Equal(t, `{"text":"Hello from a script."}`, o.member("output"))
			posts := p.model.posts()
			require.Len(t, posts, 1, "requests to the model")
			require.Contains(t, posts[0].Header.Get("Authorization")+posts[0].Header.Get("X-Api-Key"), p.key)
			for _, name := range p.model.names.list() {
				require.Equal(t, pi+" api.openai.com", client+" "+name, "a name was looked up")
			}
		})
	}
}

// rule: F-058, F-081, F-082, P-215, P-064, F-113, N-014, N-018, F-029, J-178, J-193
func TestSeveralTurnsWithACancelledOneAmongThem(t *testing.T) {
	for _, client := range some() {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, ", maxTurns: 3")
			o := p.probe(`{"prompts":[{"text":"ECHO one"},{"text":"SLOW","cancel":true},{"text":"HELLO"}]}`).ends(0, "succeeded")
			require.JSONEq(t, `[{"stop":"end_turn","text":"one"},{"stop":"cancelled","text":"Wait. "},{"stop":"end_turn","text":"Hello from a script."}]`, o.member("output", "turns"))
			require.JSONEq(t, `{"stopReason":"exited","exitCode":0,"signal":null,"cleanup":"complete"}`, o.member("output", "result"))
			ready := gjson.Parse(o.member("output", "ready"))
			require.EqualValues(t, 3, ready.Get("maxTurns").Int())
			switch client {
			case codex:
				require.JSONEq(t, `[{"configId":"model","value":"gpt-5.1"}]`, ready.Get("configuration").Raw)
				require.Equal(t, "read-only", ready.Get("modeId").Str)
			case claude:
				require.Equal(t, "default", ready.Get("modeId").Str)
			case pi:
				require.JSONEq(t, `[{"configId":"model","value":"openai/gpt-5.1"}]`, ready.Get("configuration").Raw)
				require.False(t, ready.Get("modeId").Exists())
			}
			require.Len(t, p.model.posts(), 3)
			if client == codex {
				require.Empty(t, p.model.names.list())
				for _, post := range p.model.posts() {
					require.Equal(t, "false", gjson.Get(post.Body, "store").Raw)
				}
			}
		})
	}
}

// rule: J-212, J-213, F-121, P-204, F-096
func TestATurnThatFailedAtTheProvider(t *testing.T) {
	for _, client := range some() {
		t.Run(client, func(t *testing.T) { failAtTheProvider(t, client) })
	}
}

func failAtTheProvider(t *testing.T, client string) {
	p := newPlace(t, client, "")
	for status, says := range map[string]string{
		"400": "the provider of the native client failed", "401": "the provider refused the credential of the native client", "500": "the provider of the native client failed",
	} {
		t.Run(status, func(t *testing.T) {
			before := len(p.model.posts())
			o := p.agent("FAIL" + status)
			o.ends(1, "failed")
			require.Equal(t, `"EXECUTION_FAILED"`, o.member("code"))
			require.Len(t, p.model.posts(), before+1, "the request was repeated")
			if client == codex && status == "400" {
				says = "the provider of the native client refused its request or could not serve it; the client did not say which"
			}
			require.Equal(t, `"NATIVE_PROVIDER"`, o.member("diagnostics", "0", "code"), "%s", o)
			require.Equal(t, `"`+says+`"`, o.member("diagnostics", "0", "message"))
			require.Contains(t, o.stderr, "warning: "+says)
		})
	}
	t.Run("to the Flow", func(t *testing.T) {
		o := p.probe(`{"prompts":[{"text":"FAIL400"}]}`).ends(0, "succeeded")
		require.JSONEq(t, `[{"error":{"code":-32603,"message":"Native ACP request failed"},"text":""}]`, o.member("output", "turns"))
		require.JSONEq(t, `{"stopReason":"exited","exitCode":0,"signal":null,"cleanup":"complete"}`, ifClaude(client, o.member("output", "result")))
	})
}

// ifClaude: Claude Code exits 1 after a turn that failed, and that is what is
// reported.
func ifClaude(client, result string) string {
	if client == claude {
		return strings.Replace(result, `"exitCode":1`, `"exitCode":0`, 1)
	}
	return result
}

// A Flow that does not wait for its call leaves an answer that explains nothing: the
// operator is told what was open, and that nothing of it is.
func TestAFlowThatReturnsBeforeItsConversationHasEnded(t *testing.T) {
	p := newPlace(t, codex, "")
	o := p.probe(`{"leave":true,"prompts":[{"text":"SILENT"}]}`)
	o.ends(1, "failed")
	require.Equal(t, `"EXECUTION_FAILED"`, o.member("code"), "%s", o)
	require.Equal(t, `"NATIVE_CONVERSATION"`, o.member("diagnostics", "0", "code"), "%s", o)
	require.Contains(t, o.member("diagnostics"), "was still open (", "%s", o)
	require.Contains(t, o.stderr, "jig killed the client and everything in its scope")
}

// rule: J-218, P-073, F-115
func TestAModelThatSaysNothingIsWaitedForUntilTheDeadline(t *testing.T) {
	p := newPlace(t, codex, "")
	o := p.agent("SILENT", "--timeout", "12s")
	o.ends(1, "failed")
	require.Equal(t, `"DEADLINE_EXCEEDED"`, o.member("code"), "%s", o)
	require.Greater(t, o.took, 12*time.Second)
	require.Len(t, p.model.posts(), 1)
}

// rule: F-208, P-072, J-024
func TestASignalEndsTheConversationAndEverythingOfIt(t *testing.T) {
	p := newPlace(t, codex, "")
	for _, signals := range []int{1, 2} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			r := p.startProbe(`{"prompts":[{"text":"SLOW"}]}`)
			r.says("| first text")
			require.NotEmpty(t, strangers(t))
			for range signals {
				require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
			}
			o := r.wait()
			require.Equal(t, 2, o.exit, "%s", o)
			require.Equal(t, `"CANCELLED"`, o.member("code"))
			require.JSONEq(t, `{"status":"interrupted"}`, o.member("command"))
		})
	}
}

// What jig started dies with it, whatever ends it. The call that was under way
// is not made again: its owner's end is proved first, and then its run is lost,
// which is how a dead run says that its effects are uncertain (jig.md 5).
//
// rule: J-129, P-216, P-074
func TestNothingOutlivesAJigThatIsKilled(t *testing.T) {
	p := newPlace(t, codex, "")
	r := p.startProbe(`{"prompts":[{"text":"SLOW"}]}`)
	r.says("| first text")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGKILL))
	<-r.done
	require.Eventually(t, func() bool { return len(strangers(t)) == 0 }, 30*time.Second, 20*time.Millisecond, "%v", strangers(t))
	asked := len(p.model.posts())
	o := p.agent("Say HELLO").ends(0, "succeeded")
	require.Contains(t, o.stderr, "was lost")
	require.Len(t, p.model.posts(), asked+1, "only the new run asked")
}

// rule: J-171, F-060
func TestALongAnswerComesWhole(t *testing.T) {
	for _, client := range some() {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			o := p.probe(`{"prompts":[{"text":"LONG 20000"}]}`).ends(0, "succeeded")
			var text string
			require.NoError(t, json.Unmarshal([]byte(o.member("output", "turns", "0", "text")), &text))
			var want strings.Builder
			for i := range 20000 {
				fmt.Fprintf(&want, "%07d ", i)
			}
			require.True(t, text == want.String(), "%d bytes", len(text))
		})
	}
}

// rule: F-200, N-026
func TestACertificateThatNobodyTrustsFailsTheTurn(t *testing.T) {
	for _, client := range some() {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			other := newPlaceFor(t, p, "/etc/ssl/certs/ca-certificates.crt")
			o := other.agent("Say HELLO").ends(1, "failed")
			require.Equal(t, `"EXECUTION_FAILED"`, o.member("code"))
			require.Empty(t, p.model.requests())
		})
	}
}

// newPlaceFor is p with another bundle of certificates, reviewed.
func newPlaceFor(t *testing.T, p *place, bundle string) *place {
	other := *p
	other.TB = t
	other.env = nil
	for _, e := range p.env {
		if strings.HasPrefix(e, "SSL_CERT_FILE=") {
			e = "SSL_CERT_FILE=" + bundle
		}
		other.env = append(other.env, e)
	}
	o := other.agent("Say HELLO")
	require.Equal(t, 2, o.exit, "%s", o)
	require.Equal(t, `"REVIEW_REQUIRED"`, o.member("code"), "another bundle has to be reviewed")
	o = other.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(t, 0, o.exit, "%s", o)
	return &other
}

// Claude Code exits 1 after a turn that was refused. That is what is reported, and
// what the ordinary Agent does not take for an answer.
//
// rule: F-114, N-036, P-043
func TestARefusalIsTheClientsLastWordAndItsExitCodeStands(t *testing.T) {
	p := newPlace(t, claude, "")
	o := p.probe(`{"prompts":[{"text":"REFUSE"}]}`).ends(0, "succeeded")
	require.JSONEq(t, `[{"stop":"refusal","text":"No. "}]`, o.member("output", "turns"))
	require.JSONEq(t, `{"stopReason":"exited","exitCode":1,"signal":null,"cleanup":"complete"}`, o.member("output", "result"))
	o = p.agent("REFUSE").ends(1, "failed")
	require.Equal(t, `"EXECUTION_FAILED"`, o.member("code"))
	require.Len(t, p.model.posts(), 2)
}

// What docs/agents.md says of each client: how the Agent ends when a model refuses, and
// when its answer hits the model's limit again and again.
func TestHowAModelEndedIsToldAsFarAsTheClientTellsIt(t *testing.T) {
	refusal := []string{"reply", "refusal No.", "finish content_filter", "done"}
	limit := []string{"loop", "reply", "text As much as", "finish length", "usage 3 3", "done"}
	for _, tc := range []struct {
		client  string
		script  []string
		outcome string // or the code of a failure
	}{
		{codex, []string{"reply", "refusal No.", "finish stop", "done"}, `"done"`}, {codex, limit, `"EXECUTION_FAILED"`},
		{claude, refusal, `"EXECUTION_FAILED"`}, {claude, limit, `"EXECUTION_FAILED"`},
		{pi, []string{"reply", "refusal No.", "finish stop", "done"}, `"done"`}, {pi, limit, `"limit"`},
	} {
		t.Run(tc.client+" "+tc.script[1]+" "+tc.script[2], func(t *testing.T) {
			p := emptyPlace(t, tc.client, tc.script...)
			o := p.in(filepath.Dir(p.dir)).jig("init", p.dir, "--client", tc.client)
			require.Equal(t, 0, o.exit, "%s", o)
			o = p.jig("review", "--yes", "--allow-authority-changes")
			require.Equal(t, 0, o.exit, "%s", o)
			o = p.agent("Do it.")
			if o.member("status") == `"succeeded"` {
				require.Equal(t, tc.outcome, o.member("outcome"), "%s", o)
			} else {
				require.Equal(t, tc.outcome, o.member("code"), "%s", o)
			}
		})
	}
}
