package apptest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// method is one method of the profile, as the order of checks sees it.
type method struct {
	name                        string
	session, control, operation bool   // what its envelope needs
	shape                       object // a payload of the wrong shape
	payload                     object // a payload of the right shape that the state refuses
	state                       string // and the code with which it does; "" for one that nothing refuses
}

// fault is one thing that is wrong with a request, and the code that says so.
type fault struct {
	name, code string
	spoil      func(q object)
	on         *conn // the connection to send it on; nil for the controller's
	recorded   bool  // the operation is known afterwards
}

// position is where in the order of checks faults lie.
type position []fault

func set(name string, value any) func(object) { return func(q object) { q[name] = value } }

// world is what the order of checks is tried in: a controller with an executor, a turn with an open call, and others.
type world struct {
	*app
	turn, call object
	other      *app
	used       string // an operation that is known
}

func newWorld(t *testing.T, d *daemon) *world {
	t.Helper()
	w := &world{app: d.application(), other: d.application()}
	w.attach()
	w.register(inline("tool", "alpha", contract("text")), "")
	w.register(inline("skill", "tone", "Speak."), "")
	w.other.attach()
	w.other.register(inline("tool", "alpha", contract("text")), "")
	d.model.will(calls(toolCall{"p1", "alpha", `{"text":"x"}`}))
	w.turn = w.start("Go.")
	w.call = w.app.call()
	w.used = w.turn.object("application_manifest").object("accepted_controller").text("operation_id")
	return w
}

func (w *world) methods() []method {
	revision := w.list()["registry_revision"]
	foreign := object{"executor_id": w.other.executor, "executor_generation": 1}
	proof := object{"executor_id": newID(), "resume_secret": "wrong"}
	extra := func(o object) object { return o.with(object{"more": 1}) }
	start := object{"prompt": "x", "application": w.selection()}
	result := w.result(w.call, object{"status": "success", "value": object{"wrong": 1}}).payload.(object)
	return []method{
		{"session.resources.list", true, true, false, object{"more": 1}, object{}, ""},
		{"session.resources.register", true, true, true, extra(object{"expected_revision": nil, "resource": inline("skill", "tone", "x")}),
			object{"expected_revision": nil, "resource": inline("skill", "tone", "x")}, "conflict"},
		{"session.resources.unregister", true, true, true, object{"resource_id": newID()},
			object{"resource_id": newID(), "expected_revision": revision}, "resource_not_found"},
		{"session.resources.clear", true, true, true, object{"expected_registry_revision": nil},
			object{"expected_registry_revision": newID()}, "conflict"},
		{"turn.start", true, true, true, extra(start), start, "turn_active"},
		{"turn.application_evidence", true, true, false, object{"turn_id": "x"}, object{"turn_id": newID()}, "unknown_turn"},
		{"turn.application_tool_result", true, false, true, extra(result), result, "invalid_payload"},
		{"executor.create", false, false, true, object{"more": 1}, object{}, "conflict"},
		{"executor.confirm", false, false, true, extra(proof), proof, "executor_rejected"},
		{"executor.resume", false, false, true, object{"executor_id": newID(), "resume_secret": strings.Repeat("x", 129)}, proof, "executor_rejected"},
		{"executor.rotate", false, false, true, object{"executor_id": w.executor, "executor_generation": "1"}, foreign, "stale_connection"},
		{"executor.rotate_confirm", false, false, true, foreign, foreign.with(object{"resume_secret": w.other.secret}), "stale_connection"},
		{"executor.release", false, false, true, object{"executor_id": w.executor}, foreign, "stale_connection"},
	}
}

// positions are the faults of a method in the order in which they must answer.
func (w *world) positions(m method, unready, ordinary *conn) []position {
	envelope := position{
		{name: "an unknown envelope member", code: "invalid_request", spoil: set("more", 1)},
		{name: "a payload that is no object", code: "invalid_request", spoil: set("payload", []int{1})},
		{name: "a deadline of 0", code: "invalid_request", spoil: set("deadline_ms", 0)},
		{name: "an operation that is no ID", code: "invalid_request", spoil: set("operation_id", "x")},
	}
	members := position{{name: "an operation too many, or none", code: "invalid_request", spoil: func(q object) {
		if q["operation_id"] = newID(); m.operation {
			q["operation_id"] = nil
		}
	}}}
	if m.session {
		members = append(members, fault{name: "no session", code: "invalid_request", spoil: set("session_id", nil)})
	} else {
		members = append(members, fault{name: "a session", code: "invalid_request", spoil: set("session_id", w.session)})
	}
	if !m.control {
		members = append(members, fault{name: "a token", code: "invalid_request", spoil: set("control_token", w.token)})
	}
	all := []position{
		envelope,
		{{name: "not initialised", code: "not_initialized", on: unready}},
		{{name: "an ordinary connection", code: "unsupported_capability", on: ordinary}},
		members,
	}
	if m.name == "turn.start" {
		all = []position{envelope, all[1], members} // it is open to ordinary connections
	}
	if m.operation {
		all = append(all, position{{name: "a used operation", code: "operation_already_known", spoil: set("operation_id", w.used), recorded: true}})
	}
	if m.session {
		all = append(all, position{{name: "an unknown session", code: "unknown_session", spoil: set("session_id", newID())}})
	}
	if m.control {
		all = append(all, position{
			{name: "no token", code: "control_required", spoil: set("control_token", nil)},
			{name: "a wrong token", code: "stale_connection", spoil: set("control_token", "wrong")},
			{name: "another session's token", code: "stale_connection", spoil: set("control_token", w.other.token)},
			{name: "another connection", code: "stale_connection", on: w.other.conn},
		})
	}
	all = append(all, position{{name: "a payload of the wrong shape", code: "invalid_payload", spoil: set("payload", m.shape), recorded: m.control}})
	if m.state != "" {
		all = append(all, position{{name: "the state", code: m.state, spoil: func(object) {}, recorded: true}})
	}
	return all
}

// stands is everything that a refused request must leave as it is.
func (w *world) stands() object {
	w.t.Helper()
	evidence := w.evidence(w.turn.text("turn_id"))
	for _, call := range evidence.list("calls") {
		delete(call, "remaining_ms")
	}
	known := w.ok(w.in("operation.lookup", object{"operation_id": w.used}))
	return object{"here": w.still(), "there": w.other.list(), "evidence": evidence, "known": known}
}

// rule: W-263, A-004, A-005, A-007, A-008, A-096, A-115, A-133, A-134, A-159
func TestFirstCheckThatFailsAnswersAndChangesNothing(t *testing.T) {
	t.Parallel()
	d := start(t)
	w := newWorld(t, d)
	unready, ordinary := d.connect(), d.ordinary()
	for _, m := range w.methods() {
		positions := w.positions(m, unready, ordinary)
		for i, faults := range positions {
			for _, f := range faults {
				what := m.name + ": " + f.name
				operation := newID()
				if !m.operation {
					operation = ""
				}
				q := request{method: m.name, operation: operation, payload: m.payload}
				if m.session {
					q.session = w.session
				}
				if m.control {
					q.token = w.token
				}
				record := q.record("checked")
				// Everything that would be found later is wrong as well, and so is this.
				on := w.conn
				for _, later := range positions[i+1:] {
					if later[0].spoil != nil {
						later[0].spoil(record)
					}
				}
				if f.spoil != nil {
					f.spoil(record)
				}
				if f.on != nil {
					on = f.on
				}
				before := w.stands()
				answer := on.exchange(record)
				require.NotNil(t, answer["error"], what)
				require.Equal(t, f.code, answer.object("error").text("code"), "%s: %s", what, answer.object("error").text("message"))
				require.Equal(t, "checked", answer["request_id"], what)
				require.Equal(t, before, w.stands(), what)
				w.checkRecorded(m, f, record, what)
			}
		}
	}
}

// exchange sends a record as it is and waits for the answer to it.
func (c *conn) exchange(record object) object {
	c.t.Helper()
	id := record.text("request_id")
	c.mu.Lock()
	delete(c.answers, id)
	c.mu.Unlock()
	c.send(encode(record))
	return parse(c.t, c.answer(id))
}

// checkRecorded looks whether a refused operation is known.
func (w *world) checkRecorded(m method, f fault, record object, what string) {
	w.t.Helper()
	operation := record.text("operation_id")
	if !m.operation || len(operation) != 36 || operation == w.used {
		return
	}
	lookup := request{method: "operation.lookup", payload: object{"operation_id": operation}}
	if m.session {
		lookup = w.in("operation.lookup", lookup.payload)
	}
	answer := w.ask(lookup)
	if !f.recorded {
		require.Equal(w.t, "unknown_operation", answer.object("error").text("code"), "%s: the operation is still fresh", what)
		return
	}
	payload := answer.object("payload")
	require.Equal(w.t, "rejected", payload["state"], what)
	require.Equal(w.t, f.code, payload.object("error").text("code"), what)
	require.Nil(w.t, payload["result"], what)
}

// rule: W-163, W-164, W-165, W-166, W-167, W-168, W-169, W-170, W-172, W-305, A-001, A-066, A-067, A-068, A-069, A-070, A-071, M-080, M-083, M-093
func TestTurnIsRefusedForEachFaultOfItsApplication(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	without := a.in("turn.start", object{"prompt": "x"})
	starting := func(selection object) request {
		return a.in("turn.start", object{"prompt": "x", "application": selection})
	}
	none := object{"expected_registry_revision": newID(), "executor_id": nil, "executor_generation": nil, "tool_authorizations": []object{}}
	code, _ := a.refused(starting(none))
	require.Equal(t, "conflict", code, "there is no registry yet")

	a.register(inline("skill", "tone", "Speak."), "")
	skills := a.selection()
	a.refuses("unsupported_capability", without, "resources, and no application")
	provisional := a.ok(request{method: "executor.create"})
	a.executor, a.generation, a.secret = provisional.text("executor_id"), 1, provisional.text("resume_secret")
	tool := a.register(inline("tool", "alpha", contract("text")), "")
	a.refuses("conflict", starting(skills), "a revision that is no longer the registry's")
	selection := a.selection()
	a.refuses("stale_connection", starting(selection), "an executor that is not confirmed")
	a.ok(request{method: "executor.confirm", payload: object{"executor_id": a.executor, "resume_secret": a.secret}})

	// A second tool, so that the set can be wrong in each way.
	beta := a.register(inline("tool", "beta", contract("text")), "")
	selection = a.selection()
	right := []object{tuple(beta), tuple(tool)} // in any order
	with := func(authorizations ...object) object {
		return selection.with(object{"tool_authorizations": append([]object{}, authorizations...)})
	}
	other := d.application()
	other.attach()
	for _, c := range []struct {
		code, why string
		selection object
	}{
		{"conflict", "a stale registry revision", selection.with(object{"expected_registry_revision": newID()})},
		{"invalid_payload", "a missing authorization", with(right[0])},
		{"invalid_payload", "none of them", with()},
		{"invalid_payload", "one too many", with(right[0], right[1], tuple(tool).with(object{"resource_id": newID()}))},
		{"invalid_payload", "one twice", with(right[0], right[1], right[1])},
		{"conflict", "a stale revision", with(right[0], tuple(tool).with(object{"revision_id": newID()}))},
		{"conflict", "a wrong hash", with(right[0], tuple(tool).with(object{"revision_sha256": strings.Repeat("0", 64)}))},
		{"executor_rejected", "an executor that is unknown", with(right...).with(object{"executor_id": newID()})},
		{"stale_connection", "a generation that is not current", with(right...).with(object{"executor_generation": 2})},
		{"stale_connection", "an executor of another connection", with(right...).with(object{"executor_id": other.executor})},
		{"invalid_payload", "tools, and no executor", with(right...).with(object{"executor_id": nil, "executor_generation": nil})},
		{"invalid_payload", "an executor without generation", with(right...).with(object{"executor_generation": nil})},
		{"invalid_payload", "a member too many", with(right...).with(object{"tool": object{}})},
		{"invalid_payload", "the retired inline form", object{"tool": object{}, "skill": object{}}},
		{"invalid_payload", "no selection", nil},
		{"invalid_payload", "an authorization of another form", with(right[0], tuple(tool).with(object{"name": "alpha"}))},
	} {
		a.refuses(c.code, starting(c.selection), c.why)
	}
	for name := range selection {
		lacking := selection.with(nil)
		delete(lacking, name)
		a.refuses("invalid_payload", starting(lacking), "no "+name)
	}
	long := a.in("turn.start", object{"prompt": strings.Repeat("x", 24577), "application": with(right...)})
	require.Contains(t, a.refuses("limit_exceeded", long, "a prompt of 24,577 bytes"), "max_prompt_bytes")

	// The order of the state checks: each fault answers before all that stand behind it.
	wrong := object{"prompt": strings.Repeat("x", 24577)}
	for _, step := range []struct {
		code string
		mend func()
	}{
		{"unsupported_capability", func() {
			wrong["application"] = selection.with(object{"expected_registry_revision": newID(), "tool_authorizations": []object{}, "executor_id": newID()})
		}},
		{"conflict", func() {
			wrong["application"].(object)["expected_registry_revision"] = selection["expected_registry_revision"]
		}},
		{"invalid_payload", func() { wrong["application"].(object)["tool_authorizations"] = right }},
		{"executor_rejected", func() { wrong["application"].(object)["executor_id"] = a.executor }},
		{"limit_exceeded", func() { wrong["prompt"] = "x" }},
	} {
		a.refuses(step.code, a.in("turn.start", wrong), "in order")
		step.mend()
	}
	free := make(chan struct{})
	d.model.will(held(free, "done"))
	reply := a.ok(a.in("turn.start", wrong))
	require.NotEmpty(t, reply["application_manifest"])
	a.refuses("turn_active", a.in("turn.start", object{"prompt": strings.Repeat("x", 24577)}), "a turn runs")
	close(free)
	a.terminal()

	// Skills alone take no executor, and an ordinary connection takes no application.
	gone := a.in("session.resources.clear", object{"expected_registry_revision": a.list()["registry_revision"]})
	a.ok(gone)
	a.register(inline("skill", "tone", "Speak."), "")
	a.refuses("invalid_payload", starting(a.selection().with(object{"executor_id": a.executor, "executor_generation": 1})), "skills, and an executor")
	lacking := a.selection()
	delete(lacking, "executor_id")
	a.refuses("invalid_payload", starting(lacking), "skills, and one member left out")
	plain := &app{conn: d.ordinary(), d: d, session: a.session}
	selection = a.selection()
	plain.claim()
	code, _ = plain.refused(plain.in("turn.start", object{"prompt": "x", "application": selection}))
	require.Equal(t, "unsupported_capability", code)
	code, _ = plain.refused(plain.in("turn.start", object{"prompt": "x"}))
	require.Equal(t, "unsupported_capability", code)
}

// rule: W-171, W-172
func TestTurnWithoutAProviderIsRefusedAfterEverythingElse(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.env = append(d.env, "MAGI_BASE_URL=", "MAGI_MODEL=")
	d.serve()
	a := d.application()
	a.attach()
	a.register(inline("tool", "alpha", contract("text")), "")
	right := a.selection()
	a.refuses("executor_rejected", a.in("turn.start", object{"prompt": "x", "application": right.with(object{"executor_id": newID()})}), "an unknown executor")
	a.refuses("limit_exceeded", a.in("turn.start", object{"prompt": strings.Repeat("x", 24577), "application": right}), "a budget")
	a.refuses("provider_unconfigured", a.in("turn.start", object{"prompt": "x", "application": right}), "no provider")
}
