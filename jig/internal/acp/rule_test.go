package acp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// hints are the rules that the operator was told of.
func (r *rig) hints() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		if e.Diagnostic.Code == acp.CodeConversation && e.Diagnostic.Hint != "" {
			all = append(all, e.Diagnostic.Hint)
		}
	}
	return strings.Join(all, "\n")
}

// Several violations of the Flow have one text; the operator learns over what it was,
// and which rule.
func TestTheOperatorLearnsWhichRuleAFlowBroke(t *testing.T) {
	// rule: F-116
	seen := map[string]bool{}
	for name, c := range map[string]struct{ frame, note, hint string }{
		"not JSON":         {`canary`, "the Flow: a frame is no JSON-RPC message", "strict JSON"},
		"no JSON-RPC":      {`{"jsonrpc":"2.0","id":3,"method":7,"params":{"canary":1}}`, "the Flow: a frame is neither", "strict JSON"},
		"another method":   {request(3, "canary/method", `{}`), "the Flow: this method is not part of the conversation", "a Flow may send initialize"},
		"initialize again": {request(3, "initialize", initialize), "(in its initialize)", "comes once, with protocolVersion 1"},
		"a second session": {request(3, "session/new", newSession), "(in its session/new)", "with the cwd /work and no mcpServers"},
		"a restored one":   {request(3, "session/resume", `{"sessionId":"canary","cwd":"/work","mcpServers":[]}`), "(in its session/resume)", "where the ready record names the session to restore"},
		"a setting":        {request(3, "session/set_config_option", `{"sessionId":"`+native+`","configId":"canary","value":"x"}`), "(in its session/set_config_option)", "each reviewed setting is sent once"},
		"a mode":           {request(3, "session/set_mode", `{"sessionId":"`+native+`","modeId":"canary"}`), "(in its session/set_mode)", "the reviewed mode is set once"},
		"a slash":          {request(3, "session/prompt", prompt("/canary")), "the Flow: a prompt does not begin with a slash (in its session/prompt)", "at most maxTurns times"},
		"a cancel":         {cancel, "the Flow: a cancel is not due (in its session/cancel)", "it comes once a prompt"},
		"a close":          {request(3, "session/close", session), "the Flow: a close is not due (in its session/close)", "where the client offers it"},
	} {
		bubble(t, func(r *rig) {
			r.start()
			r.open()
			r.send(c.frame)
			require.Equal(t, fault.Disconnected, r.lost())
			f := r.fails(fault.Uncertain)
			require.Equal(t, `{"explanation":"protocol"}`, string(f.Details), "a Flow learns no more than before")
			require.Contains(t, r.notes(), c.note, name)
			require.Contains(t, r.hints(), c.hint, name)
			require.NotContains(t, f.Message+r.notes()+r.hints(), "canary", name)
			seen[r.notes()+"\n"+r.hints()] = true
		})
	}
	require.Len(t, seen, 11, "no two of them read the same")
}

// What a client answers wrong is told by what it was asked.
func TestTheOperatorLearnsWhichRuleAClientBroke(t *testing.T) {
	// rule: F-116
	seen := map[string]bool{}
	for _, c := range []struct{ asked, line, note, hint string }{
		{"initialize", `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":2,"canary":1}}`, "(while initialize waited for its answer)", "answered with protocolVersion 1"},
		{"session/new", `{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"","canary":1}}`, "(while session/new waited for its answer)", "answered with a sessionId"},
		{"session/prompt", `{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"canary"}}`, "(while session/prompt waited for its answer)", "answered with a stopReason"},
		{"session/prompt", `{"jsonrpc":"2.0","id":9,"method":"fs/canary","params":{"was":%s}}`, "the client's adapter: the client asks for what it was not offered", "a client may send the answer to the one pending request"},
	} {
		bubble(t, func(r *rig) {
			r.peer = func(p *peer) {
				serveBut(p, c.asked, func(line string) { p.say(c.line, field(line, "id")) })
			}
			r.start()
			r.next()
			for _, ask := range []string{request(1, "initialize", initialize), request(2, "session/new", newSession), request(3, "session/prompt", prompt("hello"))} {
				r.send(ask)
				if method(ask) == c.asked {
					break
				}
				r.next()
			}
			require.Equal(t, fault.Disconnected, r.lost())
			f := r.fails(fault.Uncertain)
			require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
			require.Contains(t, r.notes(), c.note)
			require.Contains(t, r.hints(), c.hint)
			require.NotContains(t, f.Message+r.notes()+r.hints(), "canary")
			seen[r.notes()+"\n"+r.hints()] = true
		})
	}
	require.Len(t, seen, 4, "no two of them read the same")
}

func TestTheOperatorLearnsWhichBoundWasBroken(t *testing.T) {
	// rule: P-031
	for text, l := range map[string]acp.Limits{"too long: more than 40 bytes": {LineBytes: 40}, "more than it may: more than 50 bytes": {OutputBytes: 50}} {
		bubble(t, func(r *rig) {
			r.limits = l
			r.start()
			r.next()
			r.send(request(1, "initialize", initialize))
			require.Equal(t, fault.Disconnected, r.lost())
			r.fails(fault.Uncertain)
			require.Contains(t, r.notes(), text)
		})
	}
	bubble(t, func(r *rig) {
		r.start()
		r.next()
		require.NoError(t, r.requests.Send(r.Context(), []byte(`{"kind":"data","text":"canary","end":false}`)))
		require.NoError(t, r.requests.Close(false))
		require.Equal(t, fault.Disconnected, r.lost())
		r.fails(fault.Uncertain)
		require.Contains(t, r.notes(), "requests: the stream ended inside a frame")
		require.Contains(t, r.hints(), "at most 16384 fragments of 1 to 8192 bytes")
	})
	bubble(t, func(r *rig) {
		r.start()
		r.next()
		r.ask(1, "initialize", initialize, offered)
		require.NoError(t, r.requests.Close(false))
		require.Equal(t, fault.Disconnected, r.lost())
		r.fails(fault.Uncertain)
		require.Contains(t, r.hints(), "a Flow ends its requests when its last prompt is answered")
	})
}
