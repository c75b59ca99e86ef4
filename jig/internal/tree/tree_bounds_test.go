package tree_test

import (
	"fmt"
	"io"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

func TestStandardErrorHas16MiB(t *testing.T) {
	// rule: R-035
	const most = 16_777_216
	for _, n := range []int64{most - 1, most, most + 1} {
		w := newWorld(t)
		target := w.flow("noisy", func(c *peer) int { io.CopyN(c.err, zeros{}, n); return echo(c) }, nil, nil)
		r := w.run(target)
		if n <= most {
			w.succeeds(r, `{}`)
			continue
		}
		require.Contains(t, w.fails(r, fault.ResourceExhausted).Message, "standard error")
	}
}

// TestARepeatedCallIsJoinedThoughItsEndpointHasMoved repeats a call with a channel
// while it runs and after it has ended.
func TestARepeatedCallIsJoinedThoughItsEndpointHasMoved(t *testing.T) {
	// rule: R-195
	w := newWorld(t)
	begun := make(chan struct{})
	child := w.flow("child", func(c *peer) int {
		e := field(c.run, "channels", "in", "endpoint")
		close(begun) // so it has moved
		item := c.do("channel/next", fmt.Sprintf(`{"endpoint":%q}`, e))
		c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, e))
		return c.done(item)
	}, map[string]string{"FLOW.contract.json": invocationHead + `,"channels":{"in":{"direction":"receive"}}}`}, nil)
	parent := w.flow("parent", func(c *peer) int {
		made := c.do("channel/create", `{}`)
		send, receive := field([]byte(made), "send", "endpoint"), field([]byte(made), "receive", "endpoint")
		params := func(id string) string {
			return fmt.Sprintf(`{"operationId":%q,"slot":"worker","input":1,"channels":{"in":%q}}`, id, receive)
		}
		first := c.ask("flow/call", params("o"))
		<-begun
		joined := c.ask("flow/call", params("o"))
		c.ask("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":1}`, send))
		got := map[string]string{}
		for len(got) < 2 {
			f, err := c.recv()
			if err != nil {
				return 1
			}
			if f.ID == first || f.ID == joined {
				got[f.ID] = string(f.Result) + f.Error.Data.Code
			}
		}
		replayed := c.do("flow/call", params("o"))
		fresh := c.do("flow/call", params("other"))
		c.do("channel/close", fmt.Sprintf(`{"endpoint":%q}`, send))
		return c.done(fmt.Sprintf("[%q,%q,%q,%q]", got[first], got[joined], replayed, fresh))
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	r := w.run(parent)
	const want = `{\"outcome\":\"done\",\"output\":{\"item\":{\"sequence\":1,\"value\":1}}}`
	require.Nil(t, r.Err, "%v", r.Err)
	require.JSONEq(t, `["`+want+`","`+want+`","`+want+`","PERMISSION_DENIED"]`, string(r.Result.Output))
	require.Equal(t, []string{"parent", "child"}, w.l.started, "one dispatch")
}

// TestNothingThatWaitsStallsARequest has a read parked, a send blocked, and a child
// that never reads what it is answered.
func TestNothingThatWaitsStallsARequest(t *testing.T) {
	// rule: R-202
	w := newWorld(t)
	asked := make(chan bool)
	child := w.flow("child", func(c *peer) int {
		for range 3 {
			c.ask("channel/create", `[]`) // the answers stay where they are
		}
		close(asked)
		<-c.dead
		return 0
	}, nil, nil)
	parent := w.flow("parent", func(c *peer) int {
		pair := func() (string, string) {
			made := c.do("channel/create", `{}`)
			return field([]byte(made), "send", "endpoint"), field([]byte(made), "receive", "endpoint")
		}
		slow := c.ask("flow/call", `{"operationId":"slow","slot":"worker","input":1}`)
		<-asked
		silent, parked := pair()
		read := c.ask("channel/next", fmt.Sprintf(`{"endpoint":%q}`, parked))
		full, unread := pair()
		for range 16 {
			require.Equal(c.t, "null", c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":1}`, full)))
		}
		blocked := c.ask("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":1}`, full))
		// A sibling request is answered, and each of them in the end.
		require.Equal(c.t, "UNAVAILABLE", c.call("sibling", "absent", `1`, ""))
		for _, id := range []string{slow, read, blocked} {
			c.write(`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, id)
			require.Equal(c.t, "CANCELLED", c.answer(id))
		}
		c.do("channel/close", fmt.Sprintf(`{"endpoint":%q}`, silent))
		c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, unread))
		return c.done(`1`)
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	w.succeeds(w.run(parent), `1`)
}

// turned is at with its wall clock set to another time, as after a jump of the
// machine's clock; what is left until then stays as it was.
func turned(t *testing.T, at time.Time, by time.Duration) time.Time {
	left := time.Until(at)
	jumped := at
	*(*uint64)(unsafe.Pointer(&jumped)) += uint64(int64(by/time.Second) << 30) // seconds stand above 30 bits of nanoseconds
	require.Equal(t, at.Unix()+int64(by/time.Second), jumped.Unix())
	require.InDelta(t, left, time.Until(jumped), float64(10*time.Minute))
	return jumped
}

func TestAJumpOfTheClockMovesNoDeadline(t *testing.T) {
	// rule: R-203
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := newWorld(t)
		var given []string
		note := func(c *peer) { given = append(given, rawField(c.run, "deadlineUnixMs")) }
		child := w.flow("child", func(c *peer) int { note(c); return echo(c) }, nil, nil)
		parent := w.flow("parent", func(c *peer) int { note(c); return c.done(c.call("a", "worker", `1`, "")) }, nil, map[string]tree.Slot{"worker": {Target: child}})
		deadline := turned(t, time.Now().Add(time.Minute), by)
		w.succeeds(w.run(parent, func(o *tree.Options) { o.Deadline = deadline }), `{"outcome":"done","output":1}`)
		want := fmt.Sprint(deadline.UnixMilli())
		require.Equal(t, []string{want, want}, given, "a child has no more time than its parent")

		// Both ends when it has passed, the child included.
		hung := w.flow("hung", stuck, nil, nil)
		waiting := w.flow("waiting", func(c *peer) int { return c.fail(c.call("a", "worker", `1`, "")) }, nil, map[string]tree.Slot{"worker": {Target: hung}})
		w.fails(w.run(waiting, func(o *tree.Options) { o.Deadline = turned(t, time.Now().Add(500*time.Millisecond), by) }), fault.DeadlineExceeded)
		require.Contains(t, w.l.dead, "hung")

		before := len(w.l.started)
		w.fails(w.run(parent, func(o *tree.Options) { o.Deadline = turned(t, time.Now(), by) }), fault.DeadlineExceeded)
		require.Len(t, w.l.started, before)
	}
}
