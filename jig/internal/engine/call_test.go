package engine_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// rule: E-011, E-012, E-024, E-025, E-026, E-027, E-033, E-034
func TestCalls(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	run(t, flow{
		files: map[string]string{"FLOW.ts": `import { handle, OperationError } from "@jigging/flow"; import assert from "node:assert/strict";
const wrong = async (...args) => { let p; try { p = globalThis.call(...args); } catch (e) { throw new Error("thrown at once: " + e); } assert.ok(p instanceof Promise); try { await p; } catch (e) { assert.ok(e instanceof TypeError, String(e)); return; } throw new Error("admitted " + String(Object.keys(args[0] ?? {}))); };
handle(async (run) => {
	const { call } = run; globalThis.call = call; const ok = { operationId: "a", slot: "worker", input: 1 };
	const r = await call({ ...ok, operationId: "one", input: { z: 1, a: [null] }, intent: "why" });
	assert.equal(Object.getPrototypeOf(r), null); assert.equal(Object.getPrototypeOf(r.output), null); assert.deepEqual({ ...r, output: { ...r.output } }, { outcome: "not-found", output: { x: 1 } });
	for (const arg of [undefined, null, 5, "x", [], {}, { operationId: "a" }, { operationId: "a", slot: "worker" }, { ...ok, more: 1 }, { ...ok, method: "x" }, { ...ok, [Symbol("s")]: 1 }, { ...ok, intent: undefined }, { ...ok, channels: undefined }, { ...ok, input: undefined }, { ...ok, intent: null }, { ...ok, intent: "" }, { ...ok, intent: 5 }, { ...ok, intent: "é".repeat(16385) },
		{ ...ok, operationId: "" }, { ...ok, operationId: "a".repeat(129) }, { ...ok, operationId: "-a" }, { ...ok, operationId: "a b" }, { ...ok, operationId: 5 }, { ...ok, slot: "a".repeat(65) }, { ...ok, slot: "Worker" }, { ...ok, slot: "a--b" }, { ...ok, slot: "worker\n" }, { ...ok, input: 10n }, { ...ok, input: { get x() { throw new Error("ran"); } } },
		{ operationId: "a", slot: "worker", get input() { throw new Error("ran"); } }, Object.defineProperty({ ...ok }, "intent", { value: "hidden" }), { ...ok, channels: null }, { ...ok, channels: [] }, { ...ok, channels: { a: 1 } }, { ...ok, channels: { a: {} } }, { ...ok, channels: { a: "e1" } }, { ...ok, channels: { get a() { throw new Error("ran"); } } }, { ...ok, channels: new Map() }]) await wrong(arg);
	for (const o of [null, 5, { signal: null }, { signal: {} }, { signal: 5 }, { signal: { aborted: false } }, { signal: { aborted: false, addEventListener() {} } }]) await wrong(ok, o);
	await call({ ...ok, operationId: "a".repeat(128), slot: "a".repeat(64), intent: "é".repeat(16384) }).catch((e) => assert.equal(e.code, "UNAVAILABLE"));
	await call({ ...ok, operationId: "two", channels: {} }, { other: 1, signal: undefined }); await call({ ...ok, operationId: "three" }, { signal: { aborted: false, addEventListener() {}, removeEventListener() {} } });
	const input = { list: [1] }, p = call({ ...ok, operationId: "four", input }); input.list.push(2); input.x = 1; await p;
	await assert.rejects(call({ ...ok, operationId: "fails" }), (e) => e instanceof OperationError && e.code === "LAGGED" && e.message === "the callee failed");
	await assert.rejects(call({ ...ok, operationId: "four", input: 0 }), { code: "OPERATION_CONFLICT" }); call({ ...ok, operationId: "fails" }); await call({ ...ok, operationId: "one", input: { a: [null], z: 1 }, intent: "why" });
	await new Promise((r) => setTimeout(r, 5));
	return { outcome: "done", output: "ok" };
});`},
		serve: func(d *dispatch) {
			mu.Lock()
			seen = append(seen, d.OperationID+" "+strings.TrimPrefix(string(d.Preimage), "FLOW-Call/0\x00"))
			mu.Unlock()
			switch {
			case d.OperationID == "fails":
				d.fail(fault.Lagged)
			case d.Slot != "worker":
				d.fail(fault.Unavailable)
			default:
				d.done(`{"outcome":"not-found","output":{"x":1}}`)
			}
		},
	}).is(`"ok"`)
	require.Equal(t, []string{
		`one {"input":{"a":[null],"z":1},"intent":"why","slot":"worker"}`,
		strings.Repeat("a", 128) + ` {"input":1,"intent":"` + strings.Repeat("é", 16384) + `","slot":"` + strings.Repeat("a", 64) + `"}`,
		`two {"channels":{},"input":1,"slot":"worker"}`,
		`three {"input":1,"slot":"worker"}`,
		`four {"input":{"list":[1]},"slot":"worker"}`,
		`fails {"input":1,"slot":"worker"}`,
	}, seen)
}

// rule: E-030, E-031, E-035, E-036, E-053
func TestCallsThatAreGivenUp(t *testing.T) {
	started := make(chan struct{}, 1)
	e := run(t, flow{files: body(`
		const c = new AbortController(), ok = { operationId: "a", slot: "worker", input: 1 };
		const early = await run.call(ok, { signal: AbortSignal.abort() }).catch((e) => e.code);
		setTimeout(() => c.abort(), 20);
		const late = await run.call(ok, { signal: c.signal }).catch((e) => [e instanceof OperationError, e.code]);
		c.abort();
		const again = await run.call({ ...ok, operationId: "b" });
		return { outcome: "done", output: [early, late, again.output] };`),
		serve: func(d *dispatch) {
			if d.OperationID == "a" {
				<-d.ctx.Done()
			}
			d.done(`{"outcome":"done","output":"late"}`)
		}}).is(`["CANCELLED",[true,"CANCELLED"],"late"]`)
	require.Equal(t, 1, strings.Count(e.wire, "request/cancel"))
	require.Contains(t, e.wire, `"params":{"requestId":"component:1"}`)

	e = run(t, flow{files: body(`
		const order = [], pending = run.call({ operationId: "a", slot: "worker", input: 1 }); pending.catch((e) => order.push("pending " + e.code));
		await new Promise((r) => run.signal.addEventListener("abort", r)); const reason = run.signal.reason; let thrown; try { run.signal.throwIfAborted(); } catch (e) { thrown = e; }
		await run.call({ operationId: "b", slot: "worker", input: 1 }).catch((e) => order.push("new " + e.code));
		console.log(JSON.stringify([order, reason instanceof OperationError, reason.code, thrown === reason, run.signal.aborted]));
		return { outcome: "done", output: "too late" };`),
		serve:  func(d *dispatch) { started <- struct{}{}; <-d.ctx.Done(); d.fail(fault.Cancelled) },
		during: func(r *running) { <-started; r.Cancel(fault.New(fault.Cancelled, "by the operator")) },
	}).fails(fault.Cancelled)
	require.Equal(t, `[["pending CANCELLED","new OWNER_CLOSED"],true,"CANCELLED",true,true]`+"\n", e.text)
	require.Zero(t, e.status)
	require.Contains(t, e.wire, `"data":{"code":"CANCELLED"}`)
}

// rule: E-013
func TestACancelledRootIsCancelledWhateverItsHandlerDoes(t *testing.T) {
	for _, end := range []string{`return { outcome: "done", output: 1 };`, `throw new Error("x");`, `throw new OperationError("UNAVAILABLE");`, `run.signal.throwIfAborted();`} {
		e := run(t, flow{files: body(`console.log("up"); await new Promise((r) => run.signal.addEventListener("abort", r)); ` + end), during: func(r *running) {
			require.Eventually(r, func() bool { return strings.Contains(r.stderr.String(), "up") }, wait, tick)
			r.Cancel(fault.New(fault.Cancelled, "stop"))
		}}).fails(fault.Cancelled)
		require.Contains(t, e.wire, `"data":{"code":"CANCELLED"}`, end)
	}
}

// rule: E-021
func TestACallThatNobodyAwaits(t *testing.T) {
	answered := false
	e := run(t, flow{files: body(`run.call({ operationId: "a", slot: "worker", input: 1 }); return { outcome: "done", output: 1 };`),
		serve: func(d *dispatch) { <-d.ctx.Done(); answered = true; d.fail(fault.Cancelled) }}).fails(fault.ExecutionFailed)
	require.True(t, answered, "the answer was waited for")
	lines := strings.Split(strings.TrimSpace(e.wire), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[1], `request/cancel`)
	require.Contains(t, lines[2], `EXECUTION_FAILED`)
	require.Equal(t, "the handler has returned a result, but a call of a slot was not awaited\n", e.text)
}

// rule: E-030, E-032
func TestLiveCalls(t *testing.T) {
	for _, c := range []struct {
		before string
		calls  int
		want   string
	}{
		{"", 64, `["done"]`}, {"", 65, `["RESOURCE_EXHAUSTED","done"]`},
		{"const pair = await run.channel();", 63, `["done"]`}, {"const pair = await run.channel();", 64, `["RESOURCE_EXHAUSTED","done"]`},
	} {
		n := c.calls
		release := make(chan struct{})
		var mu sync.Mutex
		running := 0
		run(t, flow{files: body(c.before + `const all = await Promise.allSettled(Array.from({ length: run.input }, (_, i) => run.call({ operationId: "op:" + i, slot: "worker", input: i })));
			return { outcome: "done", output: [...new Set(all.map((r) => r.reason?.code ?? "done"))].sort() };`),
			input: itoa(n),
			serve: func(d *dispatch) {
				mu.Lock()
				if running++; running == min(n, 64) || c.before != "" && running == 63 {
					close(release)
				}
				mu.Unlock()
				<-release
				d.done(`{"outcome":"done","output":1}`)
			}}).is(c.want)
	}
}

// rule: E-022, E-028, E-029, E-038, E-039, E-041, E-042, E-043, E-044, E-045, E-046, E-047, E-048, E-049, E-051
func TestChannels(t *testing.T) {
	checks(t, "", map[string]string{
		"options": `
			for (const o of [null, 5, "x", [], { more: 1 }, { delivery: "replay" }, { delivery: undefined }, { schema: undefined }, { schema: true, contract: "./x" }, { schema: 5 }, { contract: "x.json" }, { contract: undefined }, { contract: { slot: "a" } }, { contract: { slot: "a", channel: "b", more: 1 } }, { contract: { slot: "A", channel: "b" } }, { get delivery() { throw new Error("ran"); } }]) assert.ok((await rejects(run.channel(o))) instanceof TypeError, Object.keys(o ?? {}).join());
			for (const o of [undefined, {}]) { const p = await run.channel(o); assert.equal(p.send.delivery, "direct"); assert.ok(!("contract" in p.send)); } const b = await run.channel({ delivery: "broadcast" }); assert.deepEqual(Object.keys(b), ["send", "subscribe"]); assert.ok(Object.isFrozen(b)); assert.equal(b.send.delivery, "broadcast");
			assert.equal((await rejects(run.channel({}, { signal: AbortSignal.abort() }))).code, "CANCELLED"); assert.ok((await rejects(run.channel({}, { signal: 5 }))) instanceof TypeError);`,
		"a sender": `
			const { send, receive } = await run.channel(); await send.send(1); const e = await rejects(send.send(undefined)); assert.ok(e.name === "JsonViolation" && !(e instanceof OperationError));
			assert.equal((await rejects(send.close({ error: "CANCELLED" }))).name, "TypeError"); assert.equal((await rejects(send.close({ signal: AbortSignal.abort() }))).code, "CANCELLED");
			assert.equal(await send.close(), undefined); await send.close(); assert.equal((await rejects(send.send(1))).code, "DISCONNECTED"); assert.equal((await rejects(send.close({ error: "LAGGED" }))).code, "INVALID_INPUT"); assert.deepEqual(await receive.next(), { done: false, value: 1 }); assert.deepEqual(await receive.next(), { done: true, value: undefined }); await receive.close();`,
		"send is accepted before it is read": `
			const { send, receive } = await run.channel(); for (let i = 0; i < 16; i++) await send.send(i); const c = new AbortController(), more = send.send(16, { signal: c.signal }); assert.equal((await rejects(send.close())).code, "INVALID_INPUT"); c.abort(); assert.equal((await rejects(more)).code, "CANCELLED");
			assert.equal((await receive.next()).value, 0); await receive.close();`,
		"LAGGED": `
			const { send, receive } = await run.channel(); for (let i = 0; i < 16; i++) await send.send(i); const more = send.send(16); await send.close({ error: "LAGGED" }); await send.close({ error: "LAGGED" }); assert.equal((await rejects(more)).code, "LAGGED"); assert.equal((await rejects(send.close())).code, "LAGGED");
			const first = await rejects(receive.next()); assert.ok(first instanceof OperationError && first.code === "LAGGED"); assert.equal((await rejects(receive.next())).code, "LAGGED"); await receive.close(); assert.deepEqual(await receive.return(), { done: true, value: undefined });`,
		"a receiver": `
			const { send, receive } = await run.channel(); assert.equal((await rejects(receive.next({ signal: AbortSignal.abort() }))).code, "CANCELLED"); const first = receive.next(); assert.equal((await rejects(receive.next())).code, "INVALID_INPUT"); await send.send("x"); assert.equal((await first).value, "x");
			const c = new AbortController(), read = receive.next({ signal: c.signal }); c.abort(); assert.equal((await rejects(read)).code, "CANCELLED"); assert.deepEqual(await receive.next(), { done: true, value: undefined }); assert.equal((await rejects(send.send(1))).code, "DISCONNECTED"); await receive.close();`,
		"an iterator": `
			const { send, receive } = await run.channel(); for (const v of ["a", "b", "c"]) await send.send(v); const got = []; for await (const v of receive) { got.push(v); if (got.length === 2) break; }
			assert.deepEqual(got, ["a", "b"]); assert.ok(throws(() => receive[Symbol.asyncIterator]()) instanceof TypeError); assert.deepEqual(await receive.next(), { done: true, value: undefined }); assert.equal((await rejects(send.send(1))).code, "DISCONNECTED");
			const second = await run.channel(); await second.send.send(1); await second.send.close(); const all = []; for await (const v of second.receive) all.push(v); assert.deepEqual(all, [1]); await second.receive.close();
			const third = await run.channel(); await third.send.send(1); await rejects(async () => { for await (const v of third.receive) throw new Error("out"); }, /out/); assert.deepEqual(await third.receive.next(), { done: true, value: undefined });`,
		"return joins a read":         `const { receive } = await run.channel(); const read = receive.next(), end = receive.return(); assert.deepEqual(await end, { done: true, value: undefined }); assert.deepEqual(await read, { done: true, value: undefined });`,
		"a creation that is given up": `const c = new AbortController(), p = run.channel({}, { signal: c.signal }); c.abort(); assert.equal((await rejects(p)).code, "CANCELLED"); const d = new AbortController(), q = run.channel({ delivery: "broadcast" }, { signal: d.signal }); d.abort(); assert.equal((await rejects(q)).code, "CANCELLED");`,
		"endpoints in a call": `
			const call = (channels) => run.call({ operationId: crypto.randomUUID(), slot: "worker", input: 1, channels }), a = await run.channel(), b = await run.channel(); await b.send.send(1);
			for (const channels of [{ x: { ...a.send } }, { x: a.send, y: a.send }, { x: b.send }, { X: a.send }, { x: Object.create(a.send) }, { x: new Proxy(a.send, {}) }]) assert.ok((await rejects(call(channels))) instanceof TypeError); await b.receive.next(); await b.receive.close(); assert.ok((await rejects(call({ x: b.receive }))) instanceof TypeError);
			const e = await rejects(call({ x: a.receive })); assert.ok(e instanceof OperationError && e.code === "UNAVAILABLE"); await rejects(call({ x: a.receive }));`,
		"an unused pair": `await run.channel(); await run.channel({ delivery: "broadcast" });`,
	})
}

// rule: E-023, E-050, E-051, E-052
func TestChannelsThatAreLeftBehind(t *testing.T) {
	grant := func(h *host) map[string]channel.Grant {
		made, err := h.broker.Create(h.party, channel.Options{Delivery: contract.Direct})
		require.Nil(t, err)
		require.Nil(t, h.broker.Close(h.party, made.Send.Endpoint, false))
		return map[string]channel.Grant{"in": made.Receive}
	}
	done := `return { outcome: "done", output: 1 };`
	run(t, flow{files: body(done), grants: grant}).fails(fault.ExecutionFailed)
	run(t, flow{files: body(`for await (const _ of run.channels.in); ` + done), grants: grant}).is("1")
	run(t, flow{files: body(`await run.channels.in.close(); ` + done), grants: grant}).is("1")
	run(t, flow{files: body(`await run.call({ operationId: "a", slot: "x", input: 1, channels: { in: run.channels.in } }).catch(() => {}); ` + done), grants: grant}).fails(fault.ExecutionFailed) // offered, and still ours at the host
	run(t, flow{files: body(`const p = await run.channel(); ` + done)}).is("1")
	run(t, flow{files: body(`const p = await run.channel(); await p.send.send(1); ` + done)}).fails(fault.ExecutionFailed)
	run(t, flow{files: body(`const p = await run.channel(); p.receive[Symbol.asyncIterator](); ` + done)}).fails(fault.ExecutionFailed)
	run(t, flow{files: body(`const b = await run.channel({ delivery: "broadcast" }); await b.subscribe(); ` + done)}).fails(fault.ExecutionFailed)
	run(t, flow{files: body(`const b = await run.channel({ delivery: "broadcast" }); const r = await b.subscribe(); await b.send.send(1); await b.send.close(); const got = []; for await (const v of r) got.push(v); return { outcome: "done", output: [got, r.startSequence, r.delivery] };`)}).is(`[[1],1,"broadcast"]`)
	e := run(t, flow{files: body(`const b = await run.channel({ delivery: "broadcast" }); await b.send.send(1); ` + done)}).is("1")
	require.NotContains(t, e.wire, "channel/close", "a writer is the host's to seal")
}

// rule: E-031, E-045
func TestClosingAfterTheRootWasCancelled(t *testing.T) {
	e := run(t, flow{files: body(`const p = await run.channel(); await p.send.send(1); console.log("up"); await new Promise((r) => run.signal.addEventListener("abort", r)); await p.send.close(); await p.receive.close(); console.log("closed");`), during: func(r *running) {
		require.Eventually(r, func() bool { return strings.Contains(r.stderr.String(), "up") }, wait, tick)
		r.Cancel(fault.New(fault.DeadlineExceeded, "time is over"))
	}}).fails(fault.DeadlineExceeded)
	require.Contains(t, e.text, "closed")
}
