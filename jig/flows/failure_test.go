package flows_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

const preferences = `,"data":{"reason":"managed-preferences-unavailable"}`

func TestNativeErrors(t *testing.T) {
	// rule: P-204, F-100, F-101
	w := newWorld(t)
	methods := []string{"initialize", "session/new", "session/set_config_option", "session/set_mode", "session/prompt"}
	for i, method := range methods {
		g := w.ask(task, func(p *play) {
			for _, step := range opening(1)[:i+1] {
				step(p)
			}
			p.refuse(method, "")
			p.end() // the Flow ends in order, and asks nothing more
		})
		g.fails("EXECUTION_FAILED", "The native agent answered with an error. Its cause is not available.")
		require.NotContains(t, g.err.Message+g.stderr, "Native ACP request failed")
	}
	explained := func(code int, method, data string) bool {
		t.Helper()
		g := w.ask(task, func(p *play) {
			if method == "session/resume" {
				p.raw(strings.Replace(ready, `"maxTurns":1`, `"maxTurns":1,"restoreSessionId":"owned"`, 1))
				p.answer("initialize", "", `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`)
			} else {
				for _, step := range opening(1)[:map[string]int{"session/new": 2, "session/prompt": 5}[method]] {
					step(p)
				}
			}
			id, _ := p.request(method)
			p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Native ACP request failed"%s}}`, id, code, data))
			p.end()
		}, func(o *tree.Options) {
			if method == "session/resume" {
				o.Input = jsontext.Value(`{"instructions":"x","session":{"restore":"` + strings.Repeat("0", 36) + `"}}`)
			}
		})
		require.Equal(t, fault.ExecutionFailed, g.err.Code)
		if strings.Contains(g.err.Message, "managed preferences") {
			require.Equal(t, "The native agent could not begin a session, because the managed preferences of this machine could not be synchronised. Whoever operates this installation should check that managed preferences are configured and available.", g.err.Message)
			return true
		}
		require.Contains(t, g.err.Message, "not available")
		return false
	}
	require.True(t, explained(-32603, "session/new", preferences))
	require.False(t, explained(-32602, "session/new", preferences))
	require.False(t, explained(-32603, "session/prompt", preferences))
	require.False(t, explained(-32603, "session/resume", preferences))
	require.False(t, explained(-32603, "session/new", `,"data":{"reason":"managed-preferences-unavailable","more":1}`))
	require.False(t, explained(-32603, "session/new", `,"data":{"reason":"other"}`))
	require.False(t, explained(-32603, "session/new", `,"data":"managed-preferences-unavailable"`))
	require.False(t, explained(-32603, "session/new", `,"data":["managed-preferences-unavailable"]`))
}

func TestANativeErrorDoesNotHideAWorseEnd(t *testing.T) {
	// rule: P-204, P-212
	w := newWorld(t)
	w.ask(task, func(p *play) {
		p.open()
		p.refuse("session/prompt", "")
		p.eof()
		p.fail(fault.Uncertain, "the fence is not confirmed")
	}).fails("UNCERTAIN", "the fence is not confirmed")
	w.ask(task, func(p *play) {
		p.open()
		p.refuse("session/prompt", "")
		p.frame(`{"jsonrpc":"2.0","id":5,"result":{"stopReason":"end_turn"}}`)
		p.abandoned()
	}).fails("EXECUTION_FAILED", "answered with an error")
	w.ask(task, func(p *play) {
		p.open()
		p.refuse("session/prompt", "")
		p.end()
		p.result = strings.Replace(exited, `"exitCode":0`, `"exitCode":1`, 1)
	}).fails("EXECUTION_FAILED", "answered with an error")
}

func TestWarnings(t *testing.T) {
	// rule: F-106
	w := newWorld(t)
	const line = "The native agent gave a warning. What it says is not passed on.\n"
	g := w.ask(task, func(p *play) {
		p.open()
		p.warn()
		id, _ := p.prompt()
		p.say("Hel")
		p.warn()
		p.say("lo.")
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.warn()
		p.eof()
		p.warn() // after the last answer too
		require.NoError(t, p.call.Senders["responses"].Close(false))
	}, watched)
	g.is("done", `{"text":"Hello."}`)
	require.Equal(t, line, g.stderr)
	require.Len(t, g.items, 2, "it is no event")
	w.ask(task, func(p *play) {
		for _, step := range opening(1)[:3] {
			step(p)
		}
		p.warn() // right behind the reply that names the session
		p.fail(fault.Uncertain, "enough")
	}).fails("UNCERTAIN", "enough")
}

// places are the moments of a conversation at which something can go wrong. Each
// leads up to one and returns.
func places() map[string]func(*play) {
	all := map[string]func(*play){"before ready": func(*play) {}}
	for i, name := range []string{"after ready", "after initialize", "after session/new", "after the configuration", "after the mode"} {
		all[name] = func(p *play) {
			for _, step := range opening(1)[:i+1] {
				step(p)
			}
		}
	}
	if !*long {
		for _, name := range []string{"after ready", "after initialize", "after the configuration", "after the mode"} {
			delete(all, name)
		}
	}
	all["in the prompt"] = func(p *play) { p.open(); p.prompt(); p.say("so far") }
	if *long {
		all["after the prompt"] = func(p *play) { p.open(); p.turn("x", "end_turn") }
	}
	all["at the end"] = func(p *play) { p.open(); p.turn("x", "end_turn"); p.eof() }
	return all
}

func TestAnEndTooEarly(t *testing.T) {
	// rule: P-212, F-120
	for name, lead := range places() {
		w := newWorld(t)
		if name != "at the end" {
			// Whichever channel shows it first: it is no success.
			g := w.ask(task, func(p *play) { lead(p); p.call.Senders["responses"].Close(false) })
			require.NotNil(t, g.err, name)
			require.Contains(t, []fault.Code{fault.ExecutionFailed, fault.Disconnected}, g.err.Code, name)
		}
		w.ask(task, func(p *play) {
			lead(p)
			p.call.Senders["responses"].Fail(fault.New(fault.Disconnected, "the native conversation has ended"))
			p.fail(fault.Uncertain, "what it did is not known")
		}).fails("UNCERTAIN", "what it did is not known")
		w.ask(task, func(p *play) { lead(p); p.fail(fault.Uncertain, "what it did is not known") }).fails("UNCERTAIN", "what it did is not known")
	}
}

// The channel breaks, and only later the call tells why.
func TestTheCallKnowsMoreThanItsChannels(t *testing.T) {
	// rule: P-212, F-115
	for name, lead := range places() {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			for _, broke := range []func(*play){
				func(p *play) { p.call.Senders["responses"].Fail(fault.New(fault.Disconnected, "gone")) },
				func(p *play) { p.call.Receivers["requests"].Release() },
				func(p *play) {
					p.call.Senders["responses"].Fail(fault.New(fault.Lagged, "gone"))
					p.call.Receivers["requests"].Release()
				},
			} {
				g := w.ask(task, func(p *play) {
					lead(p)
					broke(p)
					waited := time.NewTimer(2 * time.Minute)
					select {
					case <-waited.C:
						p.failure = fault.New(fault.Uncertain, "a closed explanation")
						p.failure.Details = jsontext.Value(`{"explanation":"native-session"}`)
						panic(errStop)
					case <-p.ctx.Done():
						// The Flow waits in a turn that nothing breaks, or it gave up.
						p.fail(fault.Cancelled, "nobody waited")
					}
				}, func(o *tree.Options) { o.Deadline = time.Now().Add(10 * time.Minute) })
				g.fails("UNCERTAIN", "a closed explanation")
				require.JSONEq(t, `{"explanation":"native-session"}`, string(g.err.Details), name)
			}
		})
	}
}

func TestAHostThatBreaksTheProtocolIsGivenUp(t *testing.T) {
	// rule: P-199
	for name, c := range map[string]func(p *play){
		"no ready record":        func(p *play) { p.frame(`{}`) },
		"a second ready record":  func(p *play) { p.raw(ready); p.raw(ready) },
		"a session to restore":   func(p *play) { p.raw(strings.Replace(ready, `"maxTurns":1`, `"maxTurns":1,"restoreSessionId":"x"`, 1)) },
		"another protocol":       func(p *play) { p.raw(ready); p.answer("initialize", "", `{"protocolVersion":2}`) },
		"no session id":          func(p *play) { opening(1)[0](p); opening(1)[1](p); p.answer("session/new", "", `{}`) },
		"an unconfirmed setting": func(p *play) { openTo(p, 3); p.answer("session/set_config_option", "", `{"configOptions":[]}`) },
		"a setting confirmed otherwise": func(p *play) {
			openTo(p, 3)
			p.answer("session/set_config_option", "", `{"configOptions":[{"id":"model","currentValue":"other"}]}`)
		},
		"a setting confirmed twice": func(p *play) {
			openTo(p, 3)
			p.answer("session/set_config_option", "", `{"configOptions":[{"id":"model","currentValue":"reviewed"},{"id":"model","currentValue":"reviewed"}]}`)
		},
		"a reply to nothing": func(p *play) { p.open(); p.reply("4", `{}`) },
		"a reply to another": func(p *play) { p.open(); p.prompt(); p.reply("6", `{"stopReason":"end_turn"}`) },
		"a reply to a text":  func(p *play) { p.open(); p.prompt(); p.reply(`"5"`, `{"stopReason":"end_turn"}`) },
		"a result and an error": func(p *play) {
			p.open()
			id, _ := p.prompt()
			p.frame(`{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":{"code":1,"message":""}}`)
		},
		"neither":                 func(p *play) { p.open(); id, _ := p.prompt(); p.frame(`{"jsonrpc":"2.0","id":` + id + `}`) },
		"a result that is a text": func(p *play) { p.open(); id, _ := p.prompt(); p.reply(id, `"end_turn"`) },
		"no stop reason":          func(p *play) { p.open(); id, _ := p.prompt(); p.reply(id, `{}`) },
		"another version":         func(p *play) { p.open(); id, _ := p.prompt(); p.frame(`{"jsonrpc":"1.0","id":` + id + `,"result":{}}`) },
		"no JSON":                 func(p *play) { p.open(); p.prompt(); p.frame(`{"jsonrpc"`) },
		"a list":                  func(p *play) { p.open(); p.prompt(); p.frame(`[]`) },
		"a request": func(p *play) {
			p.open()
			p.prompt()
			p.frame(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{}}`)
		},
		"another notification": func(p *play) { p.open(); p.prompt(); p.frame(`{"jsonrpc":"2.0","method":"other","params":{}}`) },
		"another session": func(p *play) {
			p.open()
			p.prompt()
			p.frame(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":` + warning + `}}`)
		},
		"an update of no session": func(p *play) { openTo(p, 2); p.warn() },
		"another notice":          func(p *play) { p.open(); p.prompt(); p.notify(strings.Replace(warning, "NATIVE_WARNING", "OTHER", 1)) },
		"another update":          func(p *play) { p.open(); p.prompt(); p.notify(`{"sessionUpdate":"tool_call"}`) },
		"text that is none": func(p *play) {
			p.open()
			p.prompt()
			p.notify(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}`)
		},
		"a plan that is none":      func(p *play) { p.open(); p.prompt(); p.notify(`{"sessionUpdate":"plan","entries":[1]}`) },
		"text before the prompt":   func(p *play) { openTo(p, 4); p.say("x") },
		"text after the prompt":    func(p *play) { p.open(); p.turn("x", "end_turn"); p.say("more") },
		"a plan after the prompt":  func(p *play) { p.open(); p.turn("x", "end_turn"); p.notify(`{"sessionUpdate":"plan","entries":[]}`) },
		"a frame in pieces, ended": func(p *play) { p.open(); p.prompt(); p.raw(`{"kind":"data","text":"x","end":true}`) },
	} {
		w := newWorld(t)
		g := w.ask(task, func(p *play) { c(p); p.abandoned() })
		require.NotNil(t, g.err, name)
		require.Equal(t, fault.ExecutionFailed, g.err.Code, "%s: %s", name, g.err.Message)
		require.Equal(t, "The native conversation did not follow its protocol.", g.err.Message, name)
	}
	w := newWorld(t)
	w.ask(task, func(p *play) { // an end inside a frame
		p.open()
		p.turn("x", "end_turn")
		p.eof()
		p.raw(`{"kind":"data","text":"{","end":false}`)
		p.call.Senders["responses"].Close(false)
	}).fails("EXECUTION_FAILED", "protocol")
	w.ask(task, func(p *play) { // an end, and a result that says that all is well
		p.open()
		p.prompt()
		p.call.Senders["responses"].Close(false)
	}).fails("EXECUTION_FAILED", "protocol")
}

func openTo(p *play, n int) {
	for _, step := range opening(1)[:n] {
		step(p)
	}
}

func TestTheBoundsOfWhatAHostSends(t *testing.T) {
	// rule: P-199
	frames := func(n int) func(*play) {
		return func(p *play) {
			p.open()
			id, _ := p.prompt()
			for range n - 5 { // one a step, and the reply
				p.warn()
			}
			p.reply(id, `{"stopReason":"end_turn"}`)
			p.end()
		}
	}
	if *long {
		newWorld(t).ask(task, frames(8192)).is("done", `{"text":""}`)
	}
	fragments := func(n int) func(*play) {
		return func(p *play) {
			p.open() // four frames in a fragment each
			id, _ := p.prompt()
			reply := `{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"end_turn"}}`
			for range n - 5 {
				p.raw(`{"kind":"data","text":" ","end":false}`)
			}
			p.raw(`{"kind":"data","text":` + string(quoted(reply)) + `,"end":true}`)
			p.end()
		}
	}
	if *long {
		newWorld(t).ask(task, fragments(16384)).is("done", `{"text":""}`)
		newWorld(t).ask(task, func(p *play) {
			defer p.abandoned()
			p.open()
			p.prompt()
			for range 16384 - 4 {
				p.raw(`{"kind":"data","text":" ","end":false}`)
			}
			p.raw(`{"kind":"data","text":" ","end":false}`)
		}).fails("EXECUTION_FAILED", "protocol")
	}
	newWorld(t).ask(task, frames(100)).is("done", `{"text":""}`)
	newWorld(t).ask(task, fragments(100)).is("done", `{"text":""}`)
}

func quoted(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return b
}

func TestARefusalBeforeTheConversationBegins(t *testing.T) {
	// rule: F-140, P-212
	w := newWorld(t)
	for _, code := range []fault.Code{fault.Unavailable, fault.InvalidInput, fault.ResourceExhausted} {
		r := &native{t: t, script: func(p *play) { p.wrong("a dispatch") }, admit: func(tree.ResourceCall) *fault.Error { return fault.New(code, "it is not admitted") }}
		w.ask(task, nil, func(o *tree.Options) { o.Resources = map[string]tree.Resource{"acp": r} }).fails(code, "it is not admitted")
	}
	empty := *w.agent
	empty.Slots = map[string]tree.Slot{}
	w.run(t.Context(), &empty, task, nil).fails("UNAVAILABLE", "nothing fills the slot")
}

func TestCancellation(t *testing.T) {
	// rule: F-115, F-121
	for name, lead := range places() {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			w.run(ctx, w.agent, task, func(p *play) {
				lead(p)
				time.AfterFunc(time.Second, cancel)
				p.abandoned()
			}).fails("CANCELLED", "")
			w.ask(task, func(p *play) {
				lead(p)
				<-p.ctx.Done()
				p.fail(fault.DeadlineExceeded, "the deadline has passed")
			}, func(o *tree.Options) { o.Deadline = time.Now().Add(time.Minute) }).fails("DEADLINE_EXCEEDED", "")
		})
		_ = name
	}
}

func TestTheSettlementIsReadStrictly(t *testing.T) {
	// rule: F-114, F-122
	w := newWorld(t)
	for result, c := range map[string]struct {
		code fault.Code
		text string
	}{
		closed: {}, exited: {},
		strings.Replace(closed, `"exitCode":null`, `"exitCode":1`, 1):                                               {}, // a controlled end tells what it saw
		strings.Replace(exited, `"exitCode":0`, `"exitCode":1`, 1):                                                  {fault.ExecutionFailed, "process failed"},
		strings.Replace(exited, `"exitCode":0`, `"exitCode":null`, 1):                                               {fault.ExecutionFailed, "process failed"},
		strings.Replace(exited, `"signal":null`, `"signal":"SIGKILL"`, 1):                                           {fault.ExecutionFailed, "process failed"},
		strings.Replace(exited, `"cleanup"`, `"session":{"status":"unavailable","reason":"capacity"},"cleanup"`, 1): {fault.InvalidResult, "receipt"},
		strings.Replace(exited, `"complete"`, `"partial"`, 1):                                                       {fault.InvalidResult, "contract"},
	} {
		g := w.ask(task, func(p *play) { one("x", "end_turn")(p); p.result = result })
		if c.code == "" {
			g.is("done", `{"text":"x"}`)
		} else {
			g.fails(c.code, c.text)
		}
	}
}
