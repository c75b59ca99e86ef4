package channel_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func TestGrants(t *testing.T) {
	// rule
	r := newRig(t)
	agreement := named(t, "a", `true`)
	c, err := r.Create(root, channel.Options{Delivery: contract.Direct, Contract: agreement})
	require.Nil(t, err)
	require.Equal(t, "send", c.Send.Direction)
	require.Zero(t, c.Send.StartSequence)
	require.Equal(t, "receive", c.Receive.Direction)
	require.EqualValues(t, 1, c.Receive.StartSequence)
	require.Equal(t, agreement.Identity, *c.Send.Contract)
	require.Equal(t, c.Send.Contract, c.Receive.Contract)
	require.Empty(t, c.Source)
	b, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	require.Empty(t, b.Receive.Endpoint)
	require.Equal(t, "ok", r.send(root, b.Send, `1`).answer)
	sub, err := r.Subscribe(root, b.Source)
	require.Nil(t, err)
	require.Equal(t, "broadcast", sub.Delivery)
	require.EqualValues(t, 2, sub.StartSequence)
	_, err = r.Subscribe(child, b.Source)
	require.Equal(t, fault.PermissionDenied, err.Code)
	seen := map[string]bool{}
	for _, e := range []string{c.Send.Endpoint, c.Receive.Endpoint, b.Send.Endpoint, sub.Endpoint, b.Source} {
		require.False(t, seen[e])
		seen[e] = true
	}
}

func TestDirectDeliveryInOrder(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	parked := r.next(root, rd)
	require.Equal(t, "pending", parked.answer)
	require.Equal(t, "ok", r.send(root, w, `{ "b":1,"a":2 }`).answer)
	require.Equal(t, `1:{"a":2,"b":1}`, parked.answer)
	require.Equal(t, "ok", r.send(root, w, `2`).answer)
	require.Equal(t, "ok", r.close(root, w, false))
	require.Equal(t, "2:2", r.next(root, rd).answer)
	require.Equal(t, "end:2", r.next(root, rd).answer)
	require.Equal(t, "ended:2", r.release(root, rd))
	empty, er := r.direct(root)
	require.Equal(t, "ok", r.close(root, empty, false))
	require.Equal(t, "end:0", r.next(root, er).answer)
}

func TestBufferAndCredit(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	for range 16 {
		require.Equal(t, "ok", r.send(root, w, `1`).answer)
	}
	blocked := r.send(root, w, `17`)
	require.Equal(t, "pending", blocked.answer)
	require.Equal(t, "1:1", r.next(root, rd).answer)
	require.Equal(t, "pending", blocked.answer, "what was handed out still takes its place")
	require.Equal(t, "2:1", r.next(root, rd).answer)
	require.Equal(t, "ok", blocked.answer)

	r = newRig(t)
	w, rd = r.direct(root)
	for range 4 { // 4 × 64 KiB
		require.Equal(t, "ok", r.send(root, w, text(65_536)).answer)
	}
	blocked = r.send(root, w, `1`)
	require.Equal(t, "pending", blocked.answer)
	r.next(root, rd)
	require.Equal(t, "pending", blocked.answer)
	r.next(root, rd)
	require.Equal(t, "ok", blocked.answer)
}

func TestItemSizeFailsTheWholeSource(t *testing.T) {
	// rule: R-094, F-059
	r := newRig(t)
	w, rd := r.direct(root)
	require.Equal(t, "ok", r.send(root, w, text(65_536)).answer)
	require.Equal(t, "ok", r.send(root, w, ` `+text(65_535)+` `).answer, "white space does not count")
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, w, text(65_537)).answer)
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, w, `1`).answer)
	require.Equal(t, "RESOURCE_EXHAUSTED", r.next(root, rd).answer)
	require.Equal(t, "failed:RESOURCE_EXHAUSTED", r.release(root, rd))
}

func TestSourceLifetimeBytes(t *testing.T) {
	// rule: R-123, F-059
	r := rig{t, channel.New(channel.Limits{SourceBytes: 10})}
	w, rd := r.direct(root)
	require.Equal(t, "ok", r.send(root, w, text(9)).answer)
	r.next(root, rd)
	require.Equal(t, "ok", r.send(root, w, `1`).answer)
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, w, `1`).answer)
	require.Equal(t, "RESOURCE_EXHAUSTED", r.next(root, rd).answer, "the whole source failed")

	r = newRig(t)
	w, rd = r.direct(root)
	for range 1024 { // 64 MiB
		require.Equal(t, "ok", r.send(root, w, text(65_536)).answer)
		r.next(root, rd)
	}
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, w, `1`).answer)
}

func TestInvalidItemFailsTheWholeSource(t *testing.T) {
	// rule: R-122
	r := newRig(t)
	w, rd := r.direct(root, channel.Options{Item: schema(t, `{"type":"number"}`)})
	require.Equal(t, "ok", r.send(root, w, `1`).answer)
	require.Equal(t, "INVALID_INPUT", r.send(root, w, `"x"`).answer)
	require.Equal(t, "INVALID_INPUT", r.send(root, w, `2`).answer)
	require.Equal(t, "INVALID_INPUT", r.next(root, rd).answer)
}

func TestPendingSendsAreBoundedOverTheRoot(t *testing.T) {
	// rule
	r := newRig(t)
	a, _ := r.direct(root)
	b, rb := r.direct(root)
	for range 16 {
		r.send(root, a, `1`)
		r.send(root, b, `1`)
	}
	var waiting []*sent
	for i := range 16 {
		waiting = append(waiting, r.send(root, []channel.Grant{a, b}[i%2], `1`))
		require.Equal(t, "pending", waiting[i].answer)
	}
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, a, `1`).answer)
	waiting[0].cancel()
	require.Equal(t, "CANCELLED", waiting[0].answer)
	require.Equal(t, "pending", r.send(root, a, `1`).answer, "that one failed alone, and there is room again")
	r.next(root, rb)
	r.next(root, rb)
	require.Equal(t, "ok", waiting[1].answer)
	waiting[1].cancel()
	require.Equal(t, "ok", waiting[1].answer, "an accepted item cannot be taken back")

	r = newRig(t)
	a, _ = r.direct(root)
	for range 4 {
		r.send(root, a, text(65_536))
	}
	for range 4 {
		require.Equal(t, "pending", r.send(root, a, text(65_536)).answer)
	}
	require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, a, `1`).answer, "256 KiB wait")
}

func TestBroadcast(t *testing.T) {
	// rule
	r := newRig(t)
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	slow, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	fast, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	strict, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	port := receivePort()
	port.Item = schema(t, `{"maximum":3}`)
	grants, err := r.Transfer(root, child, map[string]contract.Port{"in": port}, map[string]string{"in": strict.Endpoint})
	require.Nil(t, err)
	strict = grants["in"]
	for i := range 17 {
		require.Equal(t, "ok", r.send(root, c.Send, string('1'+rune(i%9))).answer)
		r.next(root, fast)
	}
	require.Equal(t, "LAGGED", r.next(root, slow).answer)
	require.Equal(t, "LAGGED", r.next(root, slow).answer, "it sticks")
	require.Equal(t, "failed:LAGGED", r.release(root, slow))
	require.Equal(t, "pending", r.next(root, fast).answer)
	require.Equal(t, "INVALID_INPUT", r.next(child, strict).answer, "an item of 4 failed this reader only")
}

func TestNextAlone(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	parked := r.next(root, rd)
	require.Equal(t, "INVALID_INPUT", r.next(root, rd).answer)
	require.Equal(t, "pending", parked.answer)
	parked.cancel()
	require.Equal(t, "CANCELLED", parked.answer)
	require.Equal(t, "released", r.release(root, rd))
	require.Equal(t, "DISCONNECTED", r.next(root, rd).answer)
	require.Equal(t, "DISCONNECTED", r.send(root, w, `1`).answer)
	parked.cancel()
}

func TestWriterAnswers(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	require.Equal(t, "PERMISSION_DENIED", r.send(child, w, `1`).answer)
	require.Equal(t, "PERMISSION_DENIED", r.send(root, rd, `1`).answer)
	require.Equal(t, "PERMISSION_DENIED", r.next(child, rd).answer)
	require.Equal(t, "PERMISSION_DENIED", r.next(root, w).answer)
	require.Equal(t, "PERMISSION_DENIED", r.close(root, rd, false))
	require.Equal(t, "PERMISSION_DENIED", r.release(root, w))
	for range 16 {
		r.send(root, w, `1`)
	}
	waiting := r.send(root, w, `1`)
	require.Equal(t, "INVALID_INPUT", r.close(root, w, false))
	waiting.cancel()
	require.Equal(t, "ok", r.close(root, w, false))
	require.Equal(t, "ok", r.close(root, w, false))
	require.Equal(t, "OWNER_CLOSED", r.send(root, w, `1`).answer)
	require.Equal(t, "INVALID_INPUT", r.close(root, w, true))
	require.Equal(t, "1:1", r.next(root, rd).answer, "a sealed source drains")
}

func TestLaggedClose(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	for range 16 {
		r.send(root, w, `1`)
	}
	waiting := r.send(root, w, `1`)
	require.Equal(t, "1:1", r.next(root, rd).answer)
	require.Equal(t, "ok", r.close(root, w, true))
	require.Equal(t, "LAGGED", waiting.answer)
	require.Equal(t, "ok", r.close(root, w, true))
	require.Equal(t, "LAGGED", r.close(root, w, false))
	require.Equal(t, "LAGGED", r.send(root, w, `1`).answer)
	require.Equal(t, "LAGGED", r.next(root, rd).answer)
	require.Equal(t, "failed:LAGGED", r.release(root, rd))
	w, rd = r.direct(root)
	parked := r.next(root, rd)
	require.Equal(t, "ok", r.close(root, w, true))
	require.Equal(t, "LAGGED", parked.answer)
}

func TestRelease(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	for range 16 {
		r.send(root, w, `1`)
	}
	waiting := r.send(root, w, `1`)
	require.Equal(t, "released", r.release(root, rd))
	require.Equal(t, "DISCONNECTED", waiting.answer)
	require.Equal(t, "released", r.release(root, rd))
	require.Equal(t, "DISCONNECTED", r.send(root, w, `1`).answer)
	require.Equal(t, "DISCONNECTED", r.close(root, w, false))
}

func TestFailureKeepsWhatWasHandedOut(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	r.send(root, w, `1`)
	r.send(root, w, `2`)
	require.Equal(t, "1:1", r.next(root, rd).answer)
	r.close(root, w, true)
	require.Equal(t, "LAGGED", r.next(root, rd).answer)

	// A writer that moved, sealed cleanly, and then failed with its holder.
	w, rd = r.direct(root)
	grants, err := r.Transfer(root, child, map[string]contract.Port{"out": sendPort()}, map[string]string{"out": w.Endpoint})
	require.Nil(t, err)
	r.send(child, grants["out"], `1`)
	require.Equal(t, "ok", r.close(child, grants["out"], false))
	r.Finish(child, false)
	require.Equal(t, "1:1", r.next(root, rd).answer)
	require.Equal(t, "end:1", r.next(root, rd).answer)
}

func TestRootLimits(t *testing.T) {
	// rule
	r := newRig(t)
	for range 16 {
		r.direct(root)
	}
	_, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Equal(t, fault.ResourceExhausted, err.Code)
	r.Finish(root, true)
	_, err = r.Create(child, channel.Options{Delivery: contract.Direct})
	require.Equal(t, fault.ResourceExhausted, err.Code, "never given back")

	r = newRig(t)
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	for range 16 {
		_, err = r.Subscribe(root, c.Source)
		require.Nil(t, err)
	}
	_, err = r.Subscribe(root, c.Source)
	require.Equal(t, fault.ResourceExhausted, err.Code)
	_, err = r.Create(root, channel.Options{Delivery: contract.Direct})
	require.Equal(t, fault.ResourceExhausted, err.Code, "a direct channel needs a receiver")

	r = rig{t, channel.New(channel.Limits{Descriptors: 2})}
	for _, id := range []string{"a", "b", "a"} {
		_, err = r.Create(root, channel.Options{Delivery: contract.Direct, Contract: named(t, id, `true`)})
		require.Nil(t, err)
	}
	_, err = r.Create(root, channel.Options{Delivery: contract.Direct, Contract: named(t, "c", `true`)})
	require.Equal(t, fault.ResourceExhausted, err.Code)

	r = rig{t, channel.New(channel.Limits{PartyEndpoint: 3})}
	r.direct(root)
	_, err = r.Create(root, channel.Options{Delivery: contract.Direct})
	require.Equal(t, fault.ResourceExhausted, err.Code)
	_, err = r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
}

func TestFinishing(t *testing.T) {
	// rule
	r := newRig(t)
	r.direct(root)
	require.Equal(t, channel.Standing{}, r.Inspect(root), "an untouched pair is nothing")
	w, rd := r.direct(root)
	r.send(root, w, `1`)
	require.Equal(t, channel.Standing{Abandoned: true}, r.Inspect(root))
	r.release(root, rd)
	require.Equal(t, channel.Standing{}, r.Inspect(root))
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	sub, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	require.True(t, r.Inspect(root).Abandoned, "a fresh subscription")
	r.release(root, sub)

	w, rd = r.direct(root)
	for range 17 {
		r.send(root, w, `1`)
	}
	grants, err := r.Transfer(root, child, map[string]contract.Port{"in": receivePort()}, map[string]string{"in": rd.Endpoint})
	require.Nil(t, err)
	require.True(t, r.Inspect(root).Pending)
	require.True(t, r.Inspect(child).Abandoned, "an inherited receiver counts as connected")
	r.Finish(root, true)
	require.Equal(t, "OWNER_CLOSED", r.next(child, grants["in"]).answer, "its creator has ended")

	// An eligible end closes writers cleanly, another one does not.
	for _, eligible := range []bool{true, false} {
		r := newRig(t)
		w, rd := r.direct(root)
		grants, err := r.Transfer(root, child, map[string]contract.Port{"out": sendPort()}, map[string]string{"out": w.Endpoint})
		require.Nil(t, err)
		r.send(child, grants["out"], `1`)
		r.Finish(child, eligible)
		want := map[bool]string{true: "1:1", false: "OWNER_CLOSED"}[eligible]
		require.Equal(t, want, r.next(root, rd).answer)
		if eligible {
			require.Equal(t, "end:1", r.next(root, rd).answer)
		}
	}
	// Sealed and undrained: the creator's end takes it all the same.
	r = newRig(t)
	w, rd = r.direct(root)
	grants, err = r.Transfer(root, child, map[string]contract.Port{"in": receivePort()}, map[string]string{"in": rd.Endpoint})
	require.Nil(t, err)
	r.send(root, w, `1`)
	r.close(root, w, false)
	r.Finish(root, true)
	require.Equal(t, "OWNER_CLOSED", r.next(child, grants["in"]).answer)
}

func TestStopAnswersEverythingThatWaits(t *testing.T) {
	// rule: R-076
	r := newRig(t)
	w, _ := r.direct(root)
	_, rd := r.direct(root)
	for range 16 {
		r.send(root, w, `1`)
	}
	waiting, parked := r.send(root, w, `1`), r.next(root, rd)
	r.Stop(root)
	require.Equal(t, "CANCELLED", waiting.answer)
	require.Equal(t, "CANCELLED", parked.answer)
	require.Equal(t, "released", r.release(root, rd), "settling goes on")
	require.Equal(t, "ok", r.close(root, w, false))
	_, err := r.Create(root, channel.Options{Delivery: contract.Direct})
	require.Equal(t, fault.OwnerClosed, err.Code)
}

func TestHostEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := channel.New(channel.Limits{BufferItems: 1})
		c, ferr := b.Create(root, channel.Options{Delivery: contract.Direct})
		require.Nil(t, ferr)
		w, rd := b.Sender(root, c.Send), b.Receiver(root, c.Receive)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, w.Send(ctx, []byte(`1`)))
		done := make(chan error)
		go func() { done <- w.Send(ctx, []byte(`2`)) }()
		synctest.Wait()
		i, err := rd.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, "1", string(i.Value))
		cancel()
		require.ErrorContains(t, <-done, "CANCELLED")
		_, err = rd.Next(ctx)
		require.ErrorContains(t, err, "CANCELLED")
		require.NoError(t, rd.Release())
		require.ErrorContains(t, w.Close(false), "DISCONNECTED")
	})
}

func TestAWriterThatFailsTakesItsReadersWithIt(t *testing.T) {
	failure := fault.New(fault.Disconnected, "gone")
	r := newRig(t)
	send, receive := r.direct(root)
	waits := r.next(root, receive)
	require.Equal(t, "PERMISSION_DENIED", code(r.Broker.Fail(child, send.Endpoint, failure)))
	require.Equal(t, "pending", waits.answer)
	require.Nil(t, r.Broker.Fail(root, send.Endpoint, failure))
	require.Equal(t, "DISCONNECTED", waits.answer)
	require.Equal(t, "DISCONNECTED", r.send(root, send, "1").answer)
	// What has ended stays as it was.
	require.Nil(t, r.Broker.Fail(root, send.Endpoint, fault.New(fault.Lagged, "later")))
	require.Equal(t, "DISCONNECTED", r.next(root, receive).answer)
	send, receive = r.direct(root)
	require.Equal(t, "ok", r.send(root, send, "1").answer)
	require.Nil(t, r.Close(root, send.Endpoint, false))
	require.Nil(t, r.Broker.Fail(root, send.Endpoint, failure))
	require.Equal(t, "1:1", r.next(root, receive).answer)
	require.Equal(t, "end:1", r.next(root, receive).answer)
}

func TestDepthOfAnItem(t *testing.T) {
	// rule: R-039
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, delivery := range []string{contract.Direct, contract.Broadcast} {
		for _, n := range []int{124, 125, 126, 128} {
			r := newRig(t)
			c, err := r.Create(root, channel.Options{Delivery: delivery})
			require.Nil(t, err)
			read := c.Receive
			if delivery == contract.Broadcast {
				read, err = r.Subscribe(root, c.Source)
				require.Nil(t, err)
			}
			sent := r.send(root, c.Send, nested(n))
			if n <= 125 {
				require.Equal(t, "ok", sent.answer)
				got := r.next(root, read).answer
				require.Equal(t, "1:"+nested(n), got)
				frame := `{"jsonrpc":"2.0","id":"a","result":{"item":{"sequence":1,"value":` + got[2:] + `}}}`
				require.NoError(t, json0.Check([]byte(frame)))
				continue
			}
			// Like one that is too large, it ends the source.
			require.Equal(t, "RESOURCE_EXHAUSTED", sent.answer, n)
			require.Equal(t, "RESOURCE_EXHAUSTED", r.next(root, read).answer)
			require.Equal(t, "RESOURCE_EXHAUSTED", r.send(root, c.Send, "1").answer)
		}
	}
}
