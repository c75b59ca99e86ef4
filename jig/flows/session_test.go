package flows_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

const reference = "6f1c2d34-5678-4abc-9def-0123456789ab"

// receipt is a result with a receipt.
func receipt(result, r string) string {
	return strings.Replace(result, `"cleanup"`, `"session":`+r+`,"cleanup"`, 1)
}

func TestSessionRequestsAndReceiptsPassThrough(t *testing.T) {
	// rule: F-124, F-123, F-151
	w := newWorld(t)
	for request, r := range map[string]string{
		`{"retain":true}`:                  `{"reference":"` + reference + `","status":"retained"}`,
		`{"retain":true,"lifetime":"run"}`: `{"reason":"not-cleanly-closed","status":"unavailable"}`,
	} {
		for _, r := range []string{
			r, `{"reason":"missing-history","status":"unavailable"}`, `{"reason":"unsupported-history","status":"unavailable"}`, `{"reason":"capacity","status":"unavailable"}`,
		} {
			w.ask(`{"instructions":"x","session":`+request+`}`, func(p *play) {
				require.JSONEq(t, `{"session":`+request+`}`, string(p.call.Input))
				one("x", "end_turn")(p)
				p.result = receipt(exited, r)
			}).is("done", `{"session":`+r+`,"text":"x"}`)
		}
	}
	w.ask(`{"instructions":"x","session":{"retain":true}}`, one("x", "end_turn")).fails("INVALID_RESULT", "receipt")
	w.ask(`{"instructions":"x","session":{"retain":true}}`, func(p *play) {
		one("no", "refusal")(p)
		p.result = receipt(closed, `{"status":"unavailable","reason":"not-cleanly-closed"}`)
	}).is("blocked", `{"session":{"reason":"not-cleanly-closed","status":"unavailable"},"text":"no"}`)
}

const restoring = `{"instructions":"x","session":{"restore":"` + reference + `"}}`

// resume plays everything before the first prompt of a restored session.
func (p *play) resume(capabilities string) {
	p.t.Helper()
	p.raw(strings.Replace(ready, `"maxTurns":1`, `"maxTurns":1,"restoreSessionId":"owned"`, 1))
	p.answer("initialize", "", `{"protocolVersion":1,"agentCapabilities":`+capabilities+`}`)
	p.answer("session/resume", `{"sessionId":"owned","cwd":"/work","mcpServers":[]}`, `{}`)
	for _, step := range opening(1)[3:] {
		step(p)
	}
}

func TestASessionIsRestored(t *testing.T) {
	// rule: F-031, F-085, F-065, P-199
	w := newWorld(t)
	var asked []string
	g := w.ask(restoring, func(p *play) {
		require.JSONEq(t, `{"session":{"restore":"`+reference+`"}}`, string(p.call.Input))
		p.resume(`{"sessionCapabilities":{"resume":{},"close":{}}}`)
		p.turn("again", "end_turn")
		p.end()
		asked = p.asked
		p.result = receipt(exited, `{"status":"retained","reference":"`+strings.ReplaceAll(reference, "6", "7")+`"}`)
	}, watched)
	g.is("done", `{"session":{"reference":"`+strings.ReplaceAll(reference, "6", "7")+`","status":"retained"},"text":"again"}`)
	require.Equal(t, []string{"initialize#1", "session/resume#2", "session/set_config_option#3", "session/set_mode#4", "session/prompt#5"}, asked)
	require.NotContains(t, g.result+strings.Join(g.shown(), "")+g.stderr, "owned")
}

func TestARestorationThatCannotBe(t *testing.T) {
	// rule: F-067, F-140
	w := newWorld(t)
	for _, capabilities := range []string{`{}`, `{"sessionCapabilities":{}}`, `{"sessionCapabilities":{"close":{}}}`} {
		w.ask(restoring, func(p *play) {
			p.raw(strings.Replace(ready, `"maxTurns":1`, `"maxTurns":1,"restoreSessionId":"owned"`, 1))
			p.answer("initialize", "", `{"protocolVersion":1,"agentCapabilities":`+capabilities+`}`)
			if f := p.next(); f != nil {
				p.wrong("it went on: %s", f.Bytes())
			}
		}).fails("EXECUTION_FAILED", "cannot take up a session")
	}
	w.ask(restoring, func(p *play) { // a host that would begin anew
		p.raw(ready)
		p.abandoned()
	}).fails("EXECUTION_FAILED", "protocol")
}

func TestEveryConfigurationIsApplied(t *testing.T) {
	// rule: F-068, F-069, F-071
	w := newWorld(t)
	w.ask(task, func(p *play) {
		p.raw(`{"kind":"ready","protocolVersion":1,"cwd":"/work","maxTurns":1,"configuration":[{"configId":"a","value":"x"},{"configId":"b","type":"boolean","value":false},{"configId":"c","type":"boolean","value":true}]}`)
		p.answer("initialize", "", `{"protocolVersion":1,"agentCapabilities":{}}`)
		p.answer("session/new", "", `{"sessionId":"owned"}`)
		confirm := func(id, value string) string {
			return `{"configOptions":[{"id":"` + id + `","name":"` + id + `","currentValue":` + value + `}]}`
		}
		p.answer("session/set_config_option", `{"sessionId":"owned","configId":"a","value":"x"}`, confirm("a", `"x"`))
		p.answer("session/set_config_option", `{"sessionId":"owned","configId":"b","type":"boolean","value":false}`, confirm("b", `false`))
		p.answer("session/set_config_option", `{"sessionId":"owned","configId":"c","type":"boolean","value":true}`, confirm("c", `true`))
		p.turn("x", "end_turn") // without a mode
		p.end()
	}).is("done", `{"text":"x"}`)
	w.ask(task, func(p *play) { // one that reads like the other
		p.raw(`{"kind":"ready","protocolVersion":1,"cwd":"/work","maxTurns":1,"configuration":[{"configId":"b","type":"boolean","value":false}]}`)
		p.answer("initialize", "", `{"protocolVersion":1,"agentCapabilities":{}}`)
		p.answer("session/new", "", `{"sessionId":"owned"}`)
		p.answer("session/set_config_option", "", `{"configOptions":[{"id":"b","currentValue":"false"}]}`)
		p.abandoned()
	}).fails("EXECUTION_FAILED", "protocol")
}

// The Flow makes its own objects of what the host gives it; a Flow that changed
// them would change nothing but itself. What the host enforces is tested with it.
func TestTheCallOfTheResourceIsExact(t *testing.T) {
	// rule: F-012, F-019
	w := newWorld(t)
	w.ask(task, func(p *play) {
		require.Equal(t, "native", p.call.Slot)
		require.Len(t, p.call.Receivers, 1)
		require.Len(t, p.call.Senders, 1)
		require.Equal(t, jsontext.Value("null"), p.call.Input)
		one("x", "end_turn")(p)
	}).is("done", `{"text":"x"}`)
}
