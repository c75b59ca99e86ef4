package apptest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: 19 NousResearch/hermes-agent#85016 - the disconnect of a client killed its long turn
// rule: W-141, W-178
func TestComplaint19HermesAgent85016TurnGoesOnWhereverItsControllerLeaves(t *testing.T) {
	t.Parallel()
	phases := []string{
		"accepted", "the provider was asked", "text came", "before the call", "called", "before the result", "result admitted",
		"the provider was asked again", "second call", "second result", "last text", "ended",
	}
	for leave, phase := range phases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			d := start(t)
			a := d.lending(600000)
			steps := make(chan struct{})
			next := func() { steps <- struct{}{} }
			say := func(said string, all ...toolCall) answer {
				return func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					event(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, quoted(said)))
					<-steps
					held(nil, "", all...)(w, r)
				}
			}
			d.model.will(say("one ", alpha("p1", "x")), say("two ", alpha("p2", "y")), say("three"))
			at := 0
			reached := func() {
				if at == leave {
					a.close()
					var resumed object
					a, resumed = a.again()
					require.LessOrEqual(t, len(resumed.list("pending_calls")), 1)
				}
				at++
			}
			turn := a.start("x").text("turn_id")
			reached() // accepted
			<-d.model.arrived
			reached()
			until(t, "text came", func() bool {
				return a.ok(a.in("session.snapshot", nil)).object("snapshot").object("turn").text("text") == "one "
			})
			reached()
			reached() // before the call
			next()
			call := a.call()
			reached()
			reached() // before the result
			a.report(call, said("x"))
			reached()
			<-d.model.arrived
			reached()
			next()
			call = a.call()
			reached()
			a.report(call, said("y"))
			reached()
			<-d.model.arrived
			until(t, "text came", func() bool {
				return len(a.ok(a.in("session.snapshot", nil)).object("snapshot").object("turn").text("text")) > 14
			})
			reached()
			next()
			until(t, "it ended", func() bool { return a.ok(a.in("session.snapshot", nil)).object("snapshot").object("terminal") != nil })
			reached()
			require.Equal(t, len(phases), at)
			terminal := a.ok(a.in("session.snapshot", nil)).object("snapshot").object("terminal")
			require.Equal(t, turn, terminal["turn_id"])
			require.Equal(t, "completed", terminal["status"])
			require.Equal(t, "one \n\ntwo \n\nthree", terminal["text"])
			for _, call := range a.evidence(turn).list("calls") {
				require.Equal(t, "succeeded", call["status"])
			}
			require.Zero(t, a.came("turn.application_tool_call"))
			require.Equal(t, 2, a.persisted("tool_result"))
			require.Len(t, d.model.asked(), 3)
		})
	}
}

// complaint: 42 anomalyco/opencode#21326, anthropics/claude-code#3003, aaif-goose/goose#2951 - an interrupted call was left without a result, and every later request was refused
// rule, W-237, W-247
func TestComplaint42Opencode21326EveryLaterRequestPairsItsCalls(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"stop", "stop after one result", "timeout", "released", "kill"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			d := start(t)
			a := d.lending(1000)
			if end != "timeout" && end != "released" {
				a.register(inline("tool", "alpha", contractWithin("text", 600000)), a.list().list("entries")[0].text("revision_id"))
			}
			d.model.will(calls(alpha("p1", "x"), alpha("p2", "y"), toolCall{"p3", "alpha", `{"wrong":1}`}))
			turn := a.start("x").text("turn_id")
			open := []object{a.call(), a.call()}
			switch end {
			case "stop after one result":
				a.report(open[1], said("y"))
				fallthrough
			case "stop":
				require.Equal(t, "stopping", a.ok(a.in("turn.stop", object{"turn_id": turn}))["status"])
				require.Equal(t, "cancelled", a.terminal()["status"])
			case "released":
				a.ok(request{method: "executor.release", payload: object{"executor_id": a.executor, "executor_generation": a.generation}})
				fallthrough
			case "timeout":
				require.Equal(t, "tool_failed", a.terminal().object("error")["code"])
			case "kill":
				d.kill()
				d.serve()
				session := a.session
				a = &app{conn: d.selected(), d: d, session: session}
				a.claim()
			}
			d.model.will(text("understood"))
			a.ok(a.in("session.resources.list", nil))
			payload := object{"prompt": "And now?"}
			if end != "kill" { // where the registry is gone
				a.ok(a.in("session.resources.clear", object{"expected_registry_revision": a.list()["registry_revision"]}))
			}
			a.ok(a.in("turn.start", payload))
			require.Equal(t, "completed", a.terminal()["status"])
			asked := d.model.asked()
			given, answered := map[any]bool{}, map[any]bool{}
			for _, m := range asked[len(asked)-1].list("messages") {
				for _, call := range m.list("tool_calls") {
					given[call["id"]] = true
				}
				if m["role"] == "tool" {
					require.True(t, given[m["tool_call_id"]], "a result without its call")
					require.False(t, answered[m["tool_call_id"]], "a second result")
					answered[m["tool_call_id"]] = true
				}
			}
			require.Len(t, given, 3)
			require.Equal(t, given, answered)
		})
	}
}

// complaint: 2 github/copilot-sdk#2368 - the event that starts a tool was dropped, and the turn waited for ever
// rule: A-156, W-244, W-225
func TestComplaint2CopilotSDK2368ExecutorThatStopsReadingIsCutAndItsTurnEnds(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(20000)
	free := make(chan struct{})
	d.model.will(held(free, "", alpha("p1", "x")))
	turn := a.start("x").text("turn_id")
	<-d.model.arrived
	// Another connection takes the executor, controls a session whose turn makes many events, and stops reading.
	slow := d.application()
	a.resume(slow.conn)
	watch := &app{conn: d.selected(), d: d, session: a.session, executor: a.executor, secret: a.secret}
	watch.claim()
	for range 60 {
		var all []toolCall
		for range 32 {
			all = append(all, toolCall{newID(), "list_files", `{}`})
		}
		d.model.will(calls(all...))
	}
	slow.stop(true)
	close(free)
	until(t, "the call is sent", func() bool {
		c := watch.evidence(turn).list("calls")
		return len(c) == 1 && c[0]["status"] == "pending"
	})
	slow.post(slow.in("turn.start", object{"prompt": "x"}))
	until(t, "the reader is cut", func() bool { return watch.ok(request{method: "daemon.status"}).number("connections") == 2 })
	require.Contains(t, d.log.String(), "queue")

	// The call was sent to somebody who never read it: uncertain, and not sent again to whoever comes.
	require.Equal(t, "uncertain", watch.evidence(turn).list("calls")[0]["external_effects"])
	pending := watch.resume(watch.conn).list("pending_calls")
	require.Len(t, pending, 1)
	require.Zero(t, watch.came("turn.application_tool_call"))
	d.model.mu.Lock()
	d.model.answers = nil // the other turn has made enough of them
	d.model.mu.Unlock()
	until(t, "the other turn ends", func() bool { return watch.ok(request{method: "daemon.status"}).number("active_turns") == 1 })
	d.model.will(text("done"))
	require.Less(t, pending[0].number("remaining_ms"), int64(20000))
	watch.report(pending[0].with(object{"executor_id": watch.executor}), said("whatever"))
	require.Equal(t, "completed", watch.terminal()["status"])
	require.Zero(t, watch.came("turn.application_tool_call"))

	// A call that nobody is there for waits, is not sent, and goes to whoever comes in time, behind the resume's reply.
	free = make(chan struct{})
	d.model.will(held(free, "", alpha("p2", "y")), text("done"))
	turn = watch.start("y").text("turn_id")
	<-d.model.arrived
	watch.close()
	last := &app{conn: d.selected(), d: d, session: a.session, executor: a.executor, secret: a.secret}
	last.claim()
	close(free)
	until(t, "the call waits", func() bool { return len(last.evidence(turn).list("calls")) == 1 })
	waiting := last.evidence(turn).list("calls")[0]
	require.Equal(t, "waiting_for_executor", waiting["status"])
	require.Equal(t, "not_dispatched", waiting["external_effects"])
	require.Equal(t, "availability", waiting["wait_kind"])
	require.LessOrEqual(t, waiting.number("remaining_ms"), int64(60000))
	require.Equal(t, "waiting_for_executor", last.resume(last.conn).list("pending_calls")[0]["status"])
	last.report(last.call(), said("y"))
	require.Equal(t, "completed", last.terminal()["status"])
	order := last.records()
	require.Less(t, indexOf(order, `"pending_calls"`), indexOf(order, `"event":"turn.application_tool_call"`))
}

func indexOf(lines []string, text string) int {
	for i, line := range lines {
		if strings.Contains(line, text) {
			return i
		}
	}
	return -1
}

// complaint: 11 microsoft/agent-framework#3938 - a retry from a checkpoint repeated what had been done already
// rule: W-296, W-298, A-058, A-155
func TestComplaint11AgentFramework3938KilledDaemonSaysUncertainAndSendsNothingAgain(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(600000)
	d.model.will(calls(alpha("p1", "refund")))
	turn := a.start("x").text("turn_id")
	call := a.call()
	pending := a.ok(request{method: "executor.rotate", payload: object{"executor_id": a.executor, "executor_generation": 1}}).text("resume_secret")
	d.kill()
	d.serve()
	b := &app{conn: d.selected(), d: d, session: a.session}
	b.claim()
	for _, secret := range []string{a.secret, pending} {
		code, _ := b.refused(request{method: "executor.resume", payload: object{"executor_id": a.executor, "resume_secret": secret}})
		require.Equal(t, "executor_rejected", code)
	}
	code, _ := b.refused(b.in("turn.application_evidence", object{"turn_id": turn}))
	require.Equal(t, "unknown_turn", code)
	require.Empty(t, b.list()["entries"])
	results := ofType(d.journal(a.session), "tool_result")
	require.Len(t, results, 1)
	require.Equal(t, call["call_id"], results[0]["call_id"])
	require.Equal(t, "cancelled", results[0]["code"])
	require.Equal(t, true, results[0]["synthetic"])
	require.Equal(t, "uncertain", results[0]["external_effects"], "it was sent, and nobody knows")
	end := ofType(d.journal(a.session), "terminal")[0]
	require.Equal(t, "internal", end.object("error")["code"])
	b.attach()
	require.Zero(t, b.came("turn.application_tool_call"))
	require.Len(t, d.model.asked(), 1, "the model is not asked again either")
	_, err := os.Stat(filepath.Join(d.state, "sessions", a.session))
	require.NoError(t, err)
}
