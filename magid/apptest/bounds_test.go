package apptest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// residentBytes is what a process has in memory.
func residentBytes(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// manyCalls is one answer that calls a tool so often, under provider ids of the longest form.
func manyCalls(n int, name string) answer {
	var all []toolCall
	for i := range n {
		id := fmt.Sprintf("%03d", i)
		all = append(all, toolCall{id + strings.Repeat("i", 128-len(id)), name, `{"text":"x"}`})
	}
	return calls(all...)
}

// rule, W-110, W-222, W-223, A-100
func TestEverythingAtItsMostStaysWithinTheAdvertisedBytes(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	a.attach()
	limits := a.ok(request{method: "capabilities"}).object("application_callbacks")
	name := strings.Repeat("n", int(limits.number("max_name_bytes")))
	a.register(inline("tool", name, contract("text")).with(object{"description": strings.Repeat("d", 512)}), "")
	b := d.application()
	b.attach()
	b.register(inline("tool", name, contract("text")), "")
	before := residentBytes(t, d.cmd.Process.Pid)

	// Executors up to their number, each on a connection of its own.
	most := int(limits.number("max_executors"))
	for range most - 2 {
		c := d.selected()
		made := c.ok(request{method: "executor.create"})
		c.ok(request{method: "executor.confirm", payload: made.members("executor_id", "resume_secret")})
	}
	status := a.ok(request{method: "daemon.status"})
	require.EqualValues(t, 256, status.number("executors"))
	last := d.selected()
	code, message := last.refused(request{method: "executor.create"})
	require.Equal(t, "limit_exceeded", code)
	require.Contains(t, message, "executor")

	// Calls up to their number, in two turns of two sessions with an executor each, all of them open.
	d.model.will(manyCalls(30, name))
	turn := a.start("x").text("turn_id")
	for range 30 {
		a.call()
	}
	d.model.will(manyCalls(2, name))
	b.start("x")
	mine := []object{b.call(), b.call()}
	evidence := a.answer(a.post(a.in("turn.application_evidence", object{"turn_id": turn})))
	require.LessOrEqual(t, len(at(t, evidence, "payload")), int(limits.number("max_evidence_bytes")))
	require.Len(t, parse(t, evidence).object("payload").list("calls"), 30)
	second := d.selected()
	q := second.post(request{method: "executor.resume", payload: object{"executor_id": a.executor, "resume_secret": a.secret}})
	resumed := second.answer(q)
	require.LessOrEqual(t, len(at(t, resumed, "payload")), 30<<10)
	pending := parse(t, resumed).object("payload").list("pending_calls")
	require.Len(t, pending, 30)
	require.Equal(t, []string{
		"session_id", "turn_id", "call_id", "provider_call_id", "name", "resource_id", "revision_id", "revision_sha256",
		"status", "external_effects", "wait_kind", "remaining_ms",
	}, names(t, at(t, resumed, "payload", "pending_calls", 0)))
	require.Equal(t, []string{
		"call_id", "provider_call_id", "name", "executor_id", "executor_generation", "revision_sha256", "status", "external_effects",
		"wait_kind", "remaining_ms", "resource_id", "revision_id",
	}, names(t, at(t, evidence, "payload", "calls", 0)))
	for _, call := range pending {
		require.Equal(t, "execution", call["wait_kind"])
		require.Positive(t, call.number("remaining_ms"))
		require.NotContains(t, call, "arguments")
	}
	require.Zero(t, second.came("turn.application_tool_call"), "a resume sends nothing again")
	status = a.ok(request{method: "daemon.status"})
	require.EqualValues(t, 32, status.number("pending_calls"))
	require.LessOrEqual(t, status.object("retained").number("bytes"), limits.number("max_retained_bytes"))

	grown := residentBytes(t, d.cmd.Process.Pid) - before
	// What is advertised for resources, and for each connection its reader's buffer, its queue's slots and two stacks.
	allowed := limits.number("max_retained_bytes") + int64(most)*(64<<10)
	if *race {
		allowed *= 10 // the detector's own
	}
	require.Less(t, grown, allowed, "memory for %d executors and 32 calls", most)

	// The calls end; what they held is free.
	a.generation = parse(t, resumed).object("payload").number("executor_generation")
	d.model.will(text("done"))
	for _, call := range pending {
		second.ok(a.result(call.with(object{"executor_id": a.executor}), said("x")))
	}
	require.Equal(t, "completed", a.terminal()["status"])
	d.model.will(text("done"))
	for _, call := range mine {
		b.report(call, said("x"))
	}
	require.Equal(t, "completed", b.terminal()["status"])
	status = a.ok(request{method: "daemon.status"})
	require.Zero(t, status.number("pending_calls"))
	require.EqualValues(t, 2, status.object("retained").number("snapshots"), "the registries' own")
	for _, one := range []*app{a, b} {
		one.ok(one.in("session.resources.clear", object{"expected_registry_revision": one.list()["registry_revision"]}))
	}
	status = a.ok(request{method: "daemon.status"})
	require.Equal(t, `{"bytes":0,"entries":0,"snapshots":0}`, encode(status["retained"]))
}

// rule: A-173, W-246
func TestThirtyThirdCallIsNotDispatchedAndItsTurnGoesOn(t *testing.T) {
	t.Parallel()
	d := start(t)
	a, b := d.application(), d.application()
	for _, one := range []*app{a, b} {
		one.attach()
		one.register(inline("tool", "alpha", contract("text")), "")
	}
	short := func(n int, prefix string) answer {
		var all []toolCall
		for i := range n {
			all = append(all, toolCall{fmt.Sprint(prefix, i), "alpha", `{"text":"x"}`})
		}
		return calls(all...)
	}
	d.model.will(short(31, "a"))
	a.start("x")
	var open []object
	for range 31 {
		open = append(open, a.call())
	}
	// A settled call of an active turn counts.
	a.report(open[0], said("x"))
	d.model.will(short(2, "b"))
	turn := b.start("x").text("turn_id")
	mine := b.call()
	until(t, "the other is refused", func() bool { return b.came("turn.tool") >= 2 })
	require.Zero(t, b.came("turn.application_tool_call"))
	d.model.will(text("went on"))
	b.report(mine, said("x"))
	require.Equal(t, "went on", b.terminal()["text"])
	require.Len(t, b.evidence(turn).list("calls"), 1, "what was not taken has no evidence")
	results := ofType(d.journal(b.session), "tool_result")
	require.Len(t, results, 2)
	refusals := 0
	for _, r := range results {
		if r["code"] == "limit_exceeded" {
			refusals++
			require.Equal(t, "not_dispatched", r["external_effects"])
			require.Equal(t, true, r["synthetic"])
			require.Contains(t, r["message"], "max_calls")
		}
	}
	require.Equal(t, 1, refusals)
	require.Contains(t, joined(messages(d.model.asked()[2], "tool")), "limit_exceeded")
}

// rule, M-081, M-089, M-144
func TestRegistryTakesWhatItAdvertisesAndNoMore(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	clear := func() {
		a.ok(a.in("session.resources.clear", object{"expected_registry_revision": a.list()["registry_revision"]}))
	}
	small := `{"input_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]},` +
		`"output_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}}`
	for i := range 16 {
		a.register(inline("tool", fmt.Sprintf("t%d", i), small).with(object{"description": ""}), "")
		a.register(inline("skill", fmt.Sprintf("s%d", i), "").with(object{"description": ""}), "")
	}
	require.Contains(t, a.refuses("limit_exceeded", a.registering(inline("tool", "more", small)), "17 tools"), "tools")
	require.Contains(t, a.refuses("limit_exceeded", a.registering(inline("skill", "more", "")), "17 skills"), "skills")
	require.Len(t, a.list().list("entries"), 32)
	// So many make a manifest that no turn may have; a registry may.
	a.attach()
	require.Contains(t, a.refuses("limit_exceeded", a.in("turn.start", object{"prompt": "x", "application": a.selection()}), "a manifest over 18,000 bytes"), "manifest")
	clear()

	// Skill texts, with the line feeds between them, up to their limit.
	a.register(inline("skill", "a", strings.Repeat("x", 8000)), "")
	a.register(inline("skill", "b", strings.Repeat("x", 8383)), "")
	require.Contains(t, a.refuses("limit_exceeded", a.in("session.resources.register", object{
		"expected_revision": a.list().list("entries")[1]["revision_id"], "resource": inline("skill", "b", strings.Repeat("x", 8384)),
	}), "one byte over"), "skill text")
	clear()

	// The whole registry up to its limit: how much one more byte of text costs is known, so the last one is found.
	a.register(inline("tool", "t", contract("text")+strings.Repeat(" ", 15000)), "")
	room := 0
	for size := 14000; size > 0; size /= 2 {
		for {
			code := a.ask(a.in("session.resources.register", object{
				"expected_revision": revisionOf(a, "s"), "resource": inline("skill", "s", strings.Repeat("x", room+size)),
			})).object("error").text("code")
			if code != "" {
				require.Equal(t, "limit_exceeded", code)
				break
			}
			room += size
		}
	}
	charged := a.ok(request{method: "daemon.status"}).object("retained").number("bytes")
	require.EqualValues(t, 32768+room, charged, "the registry at its limit, and its combined instructions")
}

func revisionOf(a *app, name string) any {
	for _, e := range a.list().list("entries") {
		if e["name"] == name {
			return e["revision_id"]
		}
	}
	return nil
}

// rule
func TestRegistriesUpToTheirNumberAndWithoutTheSessionsLease(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.selected()
	sessions := make([]*app, 257)
	for i := range sessions {
		a := &app{conn: c, d: d}
		a.session = c.ok(request{method: "session.create", payload: object{"workspace": d.workspace}}).text("session_id")
		a.claim()
		sessions[i] = a
	}
	revisions := make(map[any]bool)
	for _, a := range sessions[:256] {
		revisions[a.list()["registry_revision"]] = true
	}
	require.Len(t, revisions, 256)
	last := sessions[256]
	code, message := last.refused(last.in("session.resources.list", nil))
	require.Equal(t, "limit_exceeded", code)
	require.Contains(t, message, "registr")
	code, _ = last.refused(last.registering(inline("skill", "x", "x")))
	require.Equal(t, "limit_exceeded", code)
	// An empty registry goes with its claim, one with something in it stays, and holds no lease on the session.
	sessions[0].register(inline("skill", "x", "x"), "")
	for _, a := range sessions[:2] {
		a.ok(a.in("session.release", nil))
	}
	last.list()
	code, _ = sessions[2].refused(sessions[2].in("session.resources.clear", object{"expected_registry_revision": newID()}))
	require.Equal(t, "conflict", code)
	other := newDaemon(t)
	other.env = append(other.env, "MAGI_STATE="+d.state)
	other.serve()
	b := &app{conn: other.selected(), d: other, session: sessions[0].session}
	b.claim()
	require.Empty(t, b.list()["entries"], "another daemon has the session, and knows no registry of it")
	sessions[3].session = sessions[0].session
	code, _ = sessions[3].refused(request{method: "session.claim", session: sessions[0].session})
	require.Equal(t, "session_locked", code)
}

// rule: M-090, M-092
func TestOneCaptureAtATimeOverTheSocket(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	d.write("skill.md", strings.Repeat("x", 16384))
	// Two registrations in one write: while the first reads its file, the second is refused, inline or not.
	busy := 0
	until(t, "a registration met an occupied slot", func() bool {
		first := a.registering(fromFile("skill", "first", "skill.md"))
		second := a.registering(inline("skill", "second", "x"))
		first.operation, second.operation = newID(), newID()
		a.conn.sent += 2
		one, two := fmt.Sprint("r", a.conn.sent-1), fmt.Sprint("r", a.conn.sent)
		a.send(encode(first.record(one)) + "\n" + encode(second.record(two)))
		answers := []object{parse(t, a.answer(one)), parse(t, a.answer(two))}
		require.Nil(t, answers[0]["error"])
		if failed := answers[1].object("error"); failed != nil {
			require.Equal(t, "configuration_busy", failed["code"])
			require.Len(t, a.list().list("entries"), 1, "nothing of the second")
			busy++
		}
		a.ok(a.in("session.resources.clear", object{"expected_registry_revision": a.list()["registry_revision"]}))
		return busy > 0
	})
	// Right after its answer the slot is free.
	for range 200 {
		revision := revisionOf(a, "first")
		a.ok(a.in("session.resources.register", object{"expected_revision": revision, "resource": fromFile("skill", "first", "skill.md")}))
		require.Less(t, a.ok(request{method: "daemon.status"}).object("retained").number("bytes"), int64(128<<10), "the capture is not charged any more")
	}
}

// rule
func TestEvidenceOfSoManyTurnsAndNoMore(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.application()
	turns := make([]string, 256)
	for i := range turns {
		d.model.will(text("x"))
		reply := a.start("x") // an empty registry, selected all the same
		turns[i] = reply.text("turn_id")
		require.Equal(t, `[]`, encode(reply.object("application_manifest")["resources"]))
		require.Nil(t, reply.object("application_manifest")["accepted_executor"])
		a.terminal()
	}
	message := a.refuses("limit_exceeded", a.in("turn.start", object{"prompt": "x", "application": a.selection()}), "one more")
	require.Contains(t, message, "evidence")
	for _, turn := range turns {
		require.Empty(t, a.evidence(turn)["calls"])
	}
	a.refuses("limit_exceeded", a.in("turn.start", object{"prompt": "x", "application": a.selection()}), "reading makes no room")
	// A turn without application has no evidence, and needs none.
	d.model.will(text("x"))
	a.ok(a.in("turn.start", object{"prompt": "x"}))
	require.Equal(t, "completed", a.terminal()["status"])
}
