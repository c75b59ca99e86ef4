package apptest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-252, W-253, W-254, W-255, W-256, A-080, A-160, A-161
func TestResultIsRefusedForEachFaultAndTheCallStaysOpen(t *testing.T) {
	t.Parallel()
	d := start(t)
	w := newWorld(t, d)
	value := func(text string) object { return object{"status": "success", "value": object{"said": text}} }
	failure := func(code, message string) object { return object{"status": "error", "code": code, "message": message} }
	outcome := func(o object) request { return w.result(w.call, o) }
	member := func(name string, v any) request {
		q := w.result(w.call, value("x"))
		q.payload = q.payload.(object).with(object{name: v})
		return q
	}
	elsewhere := member("turn_id", w.turn["turn_id"])
	elsewhere.session = w.other.session
	fits := strings.Repeat("é", 4096)
	for _, c := range []struct {
		code, why string
		q         request
	}{
		{"stale_connection", "an old generation", member("executor_generation", 2)},
		{"stale_connection", "another executor", member("executor_id", w.other.executor)},
		{"stale_connection", "an executor that is unknown", member("executor_id", newID())},
		{"unknown_turn", "an unknown call", member("call_id", newID())},
		{"unknown_turn", "an unknown turn", member("turn_id", newID())},
		{"unknown_turn", "another session", elsewhere},
		{"invalid_payload", "another resource", member("resource_id", newID())},
		{"invalid_payload", "another revision", member("revision_id", newID())},
		{"invalid_payload", "another hash", member("revision_sha256", strings.Repeat("0", 64))},
		{"invalid_payload", "a value without its member", outcome(object{"status": "success", "value": object{}})},
		{"invalid_payload", "a value with one too many", outcome(object{"status": "success", "value": object{"said": "x", "more": 1}})},
		{"invalid_payload", "a value of the wrong type", outcome(object{"status": "success", "value": object{"said": 1}})},
		{"invalid_payload", "a value that is no object", outcome(object{"status": "success", "value": "x"})},
		{"invalid_payload", "a text over its maxLength", outcome(value(fits + "x"))},
		{"invalid_payload", "no outcome", member("outcome", nil)},
		{"invalid_payload", "a status that is none", outcome(object{"status": "done"})},
		{"invalid_payload", "a success with a code", outcome(value("x").with(object{"code": "execution_failed"}))},
		{"invalid_payload", "an error with a value", outcome(failure("execution_failed", "x").with(object{"value": nil}))},
		{"invalid_payload", "an error without message", outcome(object{"status": "error", "code": "execution_failed"})},
		{"invalid_payload", "a code of the daemon's", outcome(failure("tool_timeout", "x"))},
		{"invalid_payload", "a member too many", member("more", 1)},
	} {
		before := w.stands()
		code, message := w.refused(c.q)
		require.Equal(t, c.code, code, "%s: %s", c.why, message)
		require.Equal(t, before, w.stands(), c.why)
		require.Equal(t, "pending", w.evidence(w.turn.text("turn_id")).list("calls")[0]["status"], c.why)
	}
	// The order of the checks: each fault answers before all that stand behind it.
	wrong := w.result(w.call, object{"status": "success", "value": object{}})
	wrong.payload = wrong.payload.(object).with(object{"executor_generation": 2, "call_id": newID(), "revision_id": newID(), "more": 1})
	for _, step := range []struct{ code, says, mend string }{
		{"invalid_payload", "more", "more"}, {"stale_connection", "", "executor_generation"}, {"unknown_turn", "", "call_id"},
		{"invalid_payload", "revision_id", "revision_id"}, {"invalid_payload", "schema", ""},
	} {
		code, message := w.refused(wrong)
		require.Equal(t, step.code, code)
		require.Contains(t, message, step.says)
		if step.mend == "executor_generation" {
			wrong.payload.(object)[step.mend] = 1
		} else if wrong.payload.(object)[step.mend] = w.call[step.mend]; step.mend == "more" {
			delete(wrong.payload.(object), step.mend)
		}
	}

	// From a connection without the executor, and then from one that took it: the first is fenced.
	code, _ := w.other.refused(w.result(w.call, value("x")))
	require.Equal(t, "stale_connection", code)
	second := d.selected()
	first := w.generation
	require.Len(t, w.resume(second).list("pending_calls"), 1)
	late := w.result(w.call, value("x"))
	code, _ = w.refused(late)
	require.Equal(t, "stale_connection", code, "fenced, even with the new generation")
	late.payload = late.payload.(object).with(object{"executor_generation": first})
	code, _ = second.refused(late)
	require.Equal(t, "stale_connection", code, "the old generation on the new connection")

	d.model.will(text("done"))
	second.ok(w.result(w.call, failure("permission_denied", "x")))
	code, _ = second.refused(w.result(w.call, value("x")))
	require.Equal(t, "unknown_turn", code, "settled")
	require.Equal(t, "completed", w.terminal()["status"])
	require.Equal(t, "failed", w.evidence(w.turn.text("turn_id")).list("calls")[0]["status"])
	code, _ = second.refused(w.result(w.call, value("x")))
	require.Equal(t, "unknown_turn", code, "the turn is over")
}

// rule
func TestOutcomesAndArgumentsAreTakenToTheirLastByte(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	a.attach()
	a.register(inline("tool", "alpha", contract("text")), "")
	const wide = "\U0001f600"                                                 // four bytes, one character
	most := strings.Repeat(wide, 4093) + "x"                                  // with {"said":""} 16,384 bytes
	argument := func(text string) string { return `{"text":"` + text + `"}` } // has as many around it
	d.model.will(calls(
		toolCall{"p1", "alpha", argument(most)}, toolCall{"p2", "alpha", argument(most + "x")}, toolCall{"p3", "alpha", argument("x")},
	), text("done"))
	a.start("x")
	first, second := a.call(), a.call()
	require.Equal(t, most, first.object("arguments")["text"])
	require.Equal(t, "x", second.object("arguments")["text"])
	for _, c := range []struct {
		taken, refused object
		call           object
	}{
		{said(most), said(most + "x"), first},
		{object{"status": "error", "code": "execution_failed", "message": strings.Repeat("x", 512)}, object{"status": "error", "code": "execution_failed", "message": strings.Repeat("x", 513)}, second},
	} {
		code, _ := a.refused(a.result(c.call, c.refused))
		require.Equal(t, "invalid_payload", code)
		require.Equal(t, "pending", a.evidence(first.text("turn_id")).list("calls")[1]["status"])
		a.report(c.call, c.taken)
	}
	require.Equal(t, "completed", a.terminal()["status"])
	require.Zero(t, a.came("turn.application_tool_call"))
	results := ofType(d.journal(a.session), "tool_result")
	require.Equal(t, "invalid_arguments", results[0]["code"])
	require.Equal(t, most, object(results[1].object("value"))["said"])
}

// rule, W-228, W-229, W-230, W-231, W-232, W-233, W-234, W-235, W-058, A-142, A-144, A-145, W-207, W-210
func TestExecutorIsRefusedForEachFault(t *testing.T) {
	t.Parallel()
	d := start(t)
	c, elsewhere, ordinary := d.selected(), d.selected(), d.ordinary()
	method := func(name string, payload object) request {
		return request{method: "executor." + name, payload: payload.with(nil)}
	}
	refuses := func(on *conn, code, why string, q request) string {
		t.Helper()
		before := c.ok(request{method: "daemon.status"})["executors"]
		q.operation = newID()
		got, message := on.refused(q)
		require.Equal(t, code, got, "%s: %s", why, message)
		require.Equal(t, before, c.ok(request{method: "daemon.status"})["executors"], why)
		// Anybody may ask what became of it.
		lookup := ordinary.ok(request{method: "operation.lookup", payload: object{"operation_id": q.operation}})
		require.Equal(t, "rejected", lookup["state"], why)
		require.Nil(t, lookup["result"], why)
		return message
	}
	made := c.ok(method("create", nil))
	id, secret := made["executor_id"], made.text("resume_secret")
	proof := func(secret string) object { return object{"executor_id": id, "resume_secret": secret} }
	at := func(generation int) object { return object{"executor_id": id, "executor_generation": generation} }

	refuses(c, "conflict", "a second one, the first provisional", method("create", nil))
	wrong := refuses(c, "executor_rejected", "a wrong secret", method("confirm", proof(strings.Repeat("A", 43))))
	require.Equal(t, wrong, refuses(c, "executor_rejected", "an unknown executor", method("confirm", proof(secret).with(object{"executor_id": newID()}))))
	refuses(c, "executor_rejected", "a wrong secret of 1 byte", method("confirm", proof("x")))
	refuses(c, "executor_rejected", "a wrong secret of 128 bytes", method("resume", proof(strings.Repeat("x", 128))))
	refuses(elsewhere, "stale_connection", "confirmed elsewhere", method("confirm", proof(secret)))
	refuses(c, "stale_connection", "rotated before it is confirmed", method("rotate", at(1)))
	c.ok(method("confirm", proof(secret)))
	refuses(c, "stale_connection", "confirmed again", method("confirm", proof(secret)))
	refuses(c, "stale_connection", "no candidate", method("rotate_confirm", at(1).with(object{"resume_secret": secret})))
	refuses(c, "stale_connection", "a generation that is not current", method("rotate", at(2)))
	refuses(elsewhere, "stale_connection", "rotated elsewhere", method("rotate", at(1)))
	refuses(elsewhere, "stale_connection", "released elsewhere", method("release", at(1)))
	refuses(c, "stale_connection", "released at another generation", method("release", at(2)))
	mine := elsewhere.ok(method("create", nil))
	refuses(elsewhere, "conflict", "another one is on the connection", method("resume", proof(secret)))
	elsewhere.ok(method("confirm", object{"executor_id": mine["executor_id"], "resume_secret": mine["resume_secret"]}))
	refuses(elsewhere, "conflict", "and confirmed", method("resume", proof(secret)))
	elsewhere.ok(method("release", object{"executor_id": mine["executor_id"], "executor_generation": 1}))

	// A candidate that is replaced is worth nothing; one that is confirmed takes the old proof's place.
	replaced := c.ok(method("rotate", at(1))).text("resume_secret")
	candidate := c.ok(method("rotate", at(1))).text("resume_secret")
	refuses(c, "executor_rejected", "a candidate that was replaced", method("rotate_confirm", at(1).with(object{"resume_secret": replaced})))
	refuses(c, "executor_rejected", "and as a proof", method("resume", proof(replaced)))
	require.EqualValues(t, 1, c.ok(method("rotate_confirm", at(1).with(object{"resume_secret": candidate}))).number("executor_generation"))
	refuses(c, "executor_rejected", "the old proof", method("resume", proof(secret)))
	refuses(c, "stale_connection", "confirmed again", method("rotate_confirm", at(1).with(object{"resume_secret": candidate})))

	// Resume here, then elsewhere: the first connection lives on without authority.
	require.EqualValues(t, 2, c.ok(method("resume", proof(candidate))).number("executor_generation"))
	require.EqualValues(t, 3, elsewhere.ok(method("resume", proof(candidate))).number("executor_generation"))
	refuses(c, "stale_connection", "fenced", method("rotate", at(3)))
	// The old proof cancels a candidate, a candidate promotes itself.
	next := elsewhere.ok(method("rotate", at(3))).text("resume_secret")
	require.EqualValues(t, 4, elsewhere.ok(method("resume", proof(candidate))).number("executor_generation"))
	refuses(c, "executor_rejected", "a candidate that was cancelled", method("resume", proof(next)))
	rotation := method("rotate", at(4))
	rotation.operation = newID()
	next = elsewhere.ok(rotation).text("resume_secret")
	acknowledged := ordinary.ok(request{method: "operation.lookup", payload: object{"operation_id": rotation.operation}})
	require.Equal(t, "completed", acknowledged["state"])
	require.Equal(t, `{"executor_generation":4,"executor_id":"`+id.(string)+`","pending_timeout_ms":60000,"status":"rotation_pending"}`, encode(acknowledged["result"]))
	require.EqualValues(t, 5, c.ok(method("resume", proof(next))).number("executor_generation"))
	refuses(elsewhere, "executor_rejected", "what a candidate replaced", method("resume", proof(candidate)))
	last := c.ok(method("rotate", at(5))).text("resume_secret")
	c.ok(method("release", at(5)))
	for _, gone := range []string{next, last} {
		refuses(c, "executor_rejected", "released", method("resume", proof(gone)))
	}
	for _, secret := range []string{secret, replaced, candidate, next, last} {
		require.Len(t, secret, 43)
		require.Equal(t, 1, containing(append(c.records(), elsewhere.records()...), secret), "shown once")
	}
}
