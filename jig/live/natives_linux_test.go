package live_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	claudeclient "github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	piclient "github.com/magi-jig/magi-jig/jig/internal/client/pi"
)

// native is a real client below an adapter, without a scope: what is looked at is
// the protocol, and how often a client asks its model.
type native struct {
	*adaptertest.Process
	config acpprofile.Config
	home   string
	model  *model
	posts  int // seen so far
}

func startNative(t *testing.T, client string, m *model, spoil func(*launch.Frame)) *native {
	t.Helper()
	home := t.TempDir()
	n := &native{config: acpprofile.Config{Client: client, MaxTurns: 8}, home: home, model: m}
	f := &launch.Frame{Client: client}
	switch client {
	case claude:
		f.Native = filepath.Join(base, "native/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude")
		f.Argv, f.Env = claudeclient.Argv("claude-scripted-1"), claudeclient.Env(home, m.origin)
		f.Credential = []byte(`{"variable":"ANTHROPIC_API_KEY","value":"sk-canary"}`)
		n.config.ModeID = "default"
	case pi:
		f.Native = filepath.Join(base, "native/pi/pi")
		f.Argv, f.Env = piclient.Argv("openai", "gpt-5.1"), piclient.Env(home)
		f.Credential = []byte(`{"openai":{"type":"api_key","key":"sk-canary-$HOME-$$"}}`)
	}
	maps.Copy(f.Env, map[string]string{"HOME": home, "LANG": "C.UTF-8", "TMPDIR": home, "PATH": "/nonexistent", "SSL_CERT_FILE": m.authority})
	if spoil != nil {
		spoil(f)
	}
	if last := len(f.Argv) - 1; client == pi {
		n.config.Configuration = []acpprofile.Setting{{ID: "model", Value: f.Argv[last-2] + "/" + f.Argv[last]}}
	}
	n.Process = adaptertest.Start(t, adaptertest.Spec{
		Command: []string{filepath.Join(base, "jig"), adapter.Command}, Frame: f, Dir: home, Config: n.config,
	})
	return n
}

func openNative(t *testing.T, client string) *native {
	t.Helper()
	n := startNative(t, client, newModel(t), nil)
	require.NoError(t, n.Open(n.config))
	return n
}

// asked is how many requests for an answer reached the model since the last call.
func (n *native) asked() int {
	all := len(n.model.posts())
	seen := n.posts
	n.posts = all
	return all - seen
}

// reported are the kinds of failure that the host has heard of. They come beside
// the conversation, so they may come a little later.
func (n *native) reported(t *testing.T) []launch.Category {
	t.Helper()
	require.Eventually(t, func() bool { return len(n.Evidence.Categories()) > 0 }, 30*time.Second, time.Millisecond)
	return n.Evidence.Categories()
}

// turn is a prompt, and how it has to end: with a reason, or as a failed request.
func (n *native) turn(t *testing.T, prompt, ends, answer string, requests int) {
	t.Helper()
	stop, text, err := n.Prompt(prompt)
	if ends == "" {
		require.ErrorContains(t, err, "answered with the error -32603", prompt)
	} else {
		require.NoError(t, err, "%s: %v", prompt, n.Evidence.Categories())
	}
	require.Equal(t, ends, stop, prompt)
	require.Equal(t, answer, text, prompt)
	if asked := n.asked(); strings.HasPrefix(prompt, "TOOL") {
		// Pi may ask once more before it hears that the turn is over.
		require.LessOrEqual(t, asked, requests+1, "requests of %s", prompt)
	} else {
		require.Equal(t, requests, asked, "requests of %s", prompt)
	}
}

// rule: J-188, J-191, J-193, J-206, N-045
func TestATurnOfClaudeAndPiIsOneRequest(t *testing.T) {
	for _, client := range []string{claude, pi} {
		t.Run(client, func(t *testing.T) {
			n := openNative(t, client)
			require.Zero(t, n.asked(), "before the first prompt")
			n.turn(t, "HELLO", "end_turn", "Hello from a script.", 1)
			n.turn(t, "ECHO zwei Wörter 😀", "end_turn", "zwei Wörter 😀", 1)
			n.turn(t, "LONG 3000", "end_turn", numbers(3000), 1)
			n.CloseInput()
			require.True(t, n.Exit().Clean())
			code, _ := n.Wait()
			require.Zero(t, code)
			for _, name := range n.model.names.list() {
				require.Equal(t, "api.openai.com", name, "and no other name is looked up")
			}
		})
	}
}

// rule: J-206, N-029, N-036, N-041, N-045
func TestARequestThatFailedIsAskedOnceAndNothingOfItIsAnAnswer(t *testing.T) {
	for _, client := range []string{claude, pi} {
		t.Run(client, func(t *testing.T) {
			m := newModel(t)
			for _, c := range []struct {
				word     string
				category launch.Category
				long     bool
			}{
				{"FAIL400", launch.Service, false}, {"FAIL401", launch.Auth, true}, {"FAIL404", launch.Model, false},
				{"FAIL429", launch.Rate, true}, {"FAIL500", launch.Service, true}, {"FAIL529", launch.Service, true},
			} {
				if c.long && !*long {
					continue
				}
				n := startNative(t, client, m, nil) // a failed request is the end of a conversation
				require.NoError(t, n.Open(n.config))
				n.asked()
				requests := 1
				if client == claude && c.word == "FAIL404" {
					requests = 2 // it asks again by itself, see package claude
				}
				n.turn(t, c.word, "", "", requests)
				n.CloseInput()
				x := n.Exit()
				require.False(t, x.Terminated)
				require.Equal(t, map[string]int{claude: 1, pi: 0}[client], *x.Code, "as the client says it")
				require.Equal(t, []launch.Category{c.category}, n.Evidence.Categories(), c.word)
			}
		})
	}
}

func TestEveryOtherEndOfATurn(t *testing.T) {
	for client, turns := range map[string][]struct {
		prompt, ends, answer string
		requests             int
	}{
		claude: {
			{"REFUSE", "refusal", "No. ", 1},
			{"LIMIT", "end_turn", "As much as This is a script.", 2}, // it goes on by itself, see package claude
			{"TOOL touch /tmp/canary", "max_turn_requests", "", 1},
		},
		pi: {
			{"REFUSE", "end_turn", "No. ", 1}, // the format has no other end for it
			{"LIMIT", "max_tokens", "As much as ", 1},
			{"TOOL touch /tmp/canary", "max_turn_requests", "", 1},
		},
	} {
		t.Run(client, func(t *testing.T) {
			m := newModel(t)
			for _, c := range turns {
				n := startNative(t, client, m, nil)
				require.NoError(t, n.Open(n.config))
				n.asked()
				n.turn(t, c.prompt, c.ends, c.answer, c.requests)
			}
			for _, cut := range []string{"CUT", "GARBAGE"} {
				n := startNative(t, client, m, nil)
				require.NoError(t, n.Open(n.config))
				n.asked()
				_, _, err := n.Prompt(cut)
				require.ErrorContains(t, err, "answered with the error -32603", cut)
				require.Equal(t, 1, n.asked(), "requests of %s", cut)
			}
			require.NoFileExists(t, "/tmp/canary")
		})
	}
}

// rule: N-031, N-040, N-037
func TestACancelledTurnSettlesAndTheNextOneIsNotAffected(t *testing.T) {
	for _, client := range []string{claude, pi} {
		t.Run(client, func(t *testing.T) {
			n := openNative(t, client)
			for _, word := range []string{"SLOW", "SILENT", "SLOW"} {
				n.Text.Reset()
				id := n.BeginPrompt(word)
				if word == "SLOW" {
					require.NoError(t, n.Until("Wait. "))
				} else {
					require.Eventually(t, func() bool { return len(n.model.posts()) > n.posts }, 30*time.Second, 10*time.Millisecond)
				}
				n.Cancel()
				reply, err := n.Reply(id)
				require.NoError(t, err)
				require.Equal(t, "cancelled", reply.Get("stopReason").Str)
				require.Equal(t, 1, n.asked())
				if client == pi {
					break // see package pi: what follows an abort may fail
				}
				n.turn(t, "HELLO", "end_turn", "Hello from a script.", 1)
			}
			n.CloseInput()
			require.True(t, n.Exit().Clean())
		})
	}
}

// A cancel may be on its way before the client has begun anything.
//
// rule: F-082, N-031, N-040
func TestACancelRightBehindItsPromptStopsTheTurn(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, `, maxTurns: 4`)
			at := `{"text":"SLOW","cancel":"at once"}`
			if client == pi { // see package pi: what follows an abort may fail
				o := p.probe(`{"prompts":[`+at+`]}`).ends(0, "succeeded")
				require.JSONEq(t, `[{"stop":"cancelled","text":""}]`, o.member("output", "turns"), "%s", o)
				return
			}
			o := p.probe(`{"prompts":[`+at+`,`+at+`,`+at+`,{"text":"HELLO"}]}`).ends(0, "succeeded")
			for i := range 3 {
				require.Equal(t, `"cancelled"`, o.member("output", "turns", strconv.Itoa(i), "stop"), "%s", o)
			}
			require.JSONEq(t, `{"stop":"end_turn","text":"Hello from a script."}`, o.member("output", "turns", "3"), "%s", o)
		})
	}
}

// rule: J-189
func TestClaudeThatRunsAnotherModelThanTheReviewedOneBreaksTheConversation(t *testing.T) {
	m := newModel(t)
	for remap, runs := range map[string]bool{"1": true, "": false} {
		n := startNative(t, claude, m, func(f *launch.Frame) {
			// A model that Claude Code takes for out of date, and runs the successor of.
			f.Argv = claudeclient.Argv("claude-opus-4-1")
			f.Env["CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP"] = remap
		})
		require.NoError(t, n.Open(n.config))
		stop, _, err := n.Prompt("HELLO")
		if runs {
			require.NoError(t, err)
			require.Equal(t, "end_turn", stop)
			require.Contains(t, m.posts()[len(m.posts())-1].Body, `"model":"claude-opus-4-1"`)
			continue
		}
		var f *acpprofile.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, acpprofile.ReasonNative, f.Reason)
		require.Equal(t, []launch.Category{launch.Model}, n.reported(t))
	}
}

// rule: J-193
func TestPiThatMakesAnotherModelOfANameBeginsNoConversation(t *testing.T) {
	m := newModel(t)
	for _, name := range []string{"GPT-5.1", "gpt-5.1:high"} { // it finds gpt-5.1 for either
		n := startNative(t, pi, m, func(f *launch.Frame) { f.Argv = piclient.Argv("openai", name) })
		require.ErrorContains(t, n.Open(n.config), "initialize: answered with the error -32603", name)
	}
	require.Empty(t, m.posts())
}

// rule: J-194, J-196
func TestNoSessionAndNoCredentialIsLeftWhereItDoesNotBelong(t *testing.T) {
	for _, client := range []string{claude, pi} {
		t.Run(client, func(t *testing.T) {
			n := openNative(t, client)
			n.turn(t, "HELLO", "end_turn", "Hello from a script.", 1)
			n.CloseInput()
			require.True(t, n.Exit().Clean())
			n.Wait()
			require.NoError(t, filepath.WalkDir(n.home, func(name string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				content, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				if filepath.Base(name) != "auth.json" {
					require.NotContains(t, string(content), "sk-canary", name)
				}
				require.NotContains(t, string(content), "Hello from a script.", name)
				return nil
			}))
			key := n.model.posts()[0].Header
			require.Contains(t, []string{"sk-canary", "Bearer sk-canary-$HOME-$$"}, key.Get("X-Api-Key")+key.Get("Authorization"), "as it was given")
		})
	}
}

// rule: N-034, J-190
func TestATokenOfClaudeTravelsAlone(t *testing.T) {
	for _, variable := range []string{"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		t.Run(variable, func(t *testing.T) {
			m := newModel(t)
			n := startNative(t, claude, m, func(f *launch.Frame) { f.Credential = []byte(`{"variable":"` + variable + `","value":"tok"}`) })
			require.NoError(t, n.Open(n.config))
			n.turn(t, "HELLO", "end_turn", "Hello from a script.", 1)
			h := m.requests()[0].Header
			require.Equal(t, "Bearer tok", h.Get("Authorization"))
			require.Empty(t, h.Values("X-Api-Key"))
			n.CloseInput()
			require.True(t, n.Exit().Clean())
			require.Empty(t, m.names.list(), "no name is looked up")
			require.Len(t, m.requests(), 1, "nothing else is asked of the server")
		})
	}
}

// rule: J-205, J-194
func TestASubscriptionOfPiIsOneRequestWithItsTokenAlone(t *testing.T) {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	token := part(`{"alg":"none"}`) + "." + part(`{"exp":4102444800,"https://api.openai.com/auth":{"chatgpt_account_id":"account-1"}}`) + "." + part("none")
	m := newModel(t)
	n := startNative(t, pi, m, func(f *launch.Frame) {
		f.Argv = piclient.Argv("openai-codex", "gpt-5.1")
		f.Credential = []byte(`{"openai-codex":{"type":"oauth","access":"` + token + `","refresh":"","expires":4102444800000}}`)
	})
	require.NoError(t, n.Open(n.config))
	n.turn(t, "HELLO", "end_turn", "This is a script.", 1) // the request is compressed, so that its words are not seen
	require.Len(t, m.requests(), 1, "nothing else is asked of the server")
	h := m.requests()[0].Header
	require.Equal(t, "Bearer "+token, h.Get("Authorization"))
	require.Equal(t, "account-1", h.Get("Chatgpt-Account-Id"))
	require.Equal(t, []string{"chatgpt.com"}, m.names.list())
}

// numbers is the answer to LONG n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%07d ", i)
	}
	return b.String()
}
