package tree_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

func echo(c *peer) int { return c.done(rawField(c.run, "input")) }

// stuck ignores everything until it is killed.
func stuck(c *peer) int { io.Copy(io.Discard, c.in); <-c.dead; return 0 }

func TestRootRuns(t *testing.T) {
	w := newWorld(t)
	target := w.flow("echo", func(c *peer) int {
		fmt.Fprint(c.err, "to the operator\n")
		return echo(c)
	}, nil, nil)
	var seen []string
	r := w.run(target, func(o *tree.Options) {
		o.Input = jsontext.Value(`{"n":1}`)
		o.Stderr = func(label string, b []byte) { seen = append(seen, label+": "+string(b)) }
	})
	w.succeeds(r, `{"n":1}`)
	require.Equal(t, []string{"flow:echo: to the operator\n"}, seen)
	require.Equal(t, "to the operator\n", string(r.Stderr))
}

func TestInputAndRuntimeAreCheckedBeforeAnythingStarts(t *testing.T) {
	// rule: R-183
	w := newWorld(t)
	target := w.flow("strict", echo, map[string]string{"FLOW.contract.json": invocationHead + `,"input":{"type":"string"}}`}, nil)
	w.fails(w.run(target), fault.InvalidInput)
	require.Empty(t, w.l.started)
	unknown := w.flow("later", echo, map[string]string{"FLOW.meta.json": `{"future":1}`}, nil)
	w.fails(w.run(unknown), fault.Unavailable)
	require.Empty(t, w.l.started)
}

func TestChildFlowsAndDeclaredRefusals(t *testing.T) {
	// rule
	w := newWorld(t)
	child := w.flow("child", func(c *peer) int {
		switch field(c.run, "input") {
		case "refuse":
			c.write(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"not-found","output":{"why":1}}}`)
			return 0
		case "lag":
			return c.fail("LAGGED")
		case "pollute":
			c.write(`hello`)
			return 0
		case "vanish":
			return 0
		case "crash":
			return 3
		}
		return echo(c)
	}, map[string]string{"FLOW.contract.json": invocationHead + `,"outcomes":{"not-found":"nothing"}}`}, nil)
	parent := w.flow("parent", func(c *peer) int {
		var got []string
		for _, in := range []string{"ok", "refuse", "lag", "pollute", "vanish", "crash"} {
			got = append(got, c.call(in, "worker", `"`+in+`"`, ""))
		}
		return c.done(fmt.Sprintf("%q", strings.Join(got, "|")))
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	r := w.run(parent)
	require.Nil(t, r.Err)
	require.Equal(t, `{"outcome":"done","output":"ok"}|{"outcome":"not-found","output":{"why":1}}|LAGGED|EXECUTION_FAILED|EXECUTION_FAILED|EXECUTION_FAILED`,
		field(r.Result.Output))
}

func TestResultsOfChildrenAreChecked(t *testing.T) {
	// rule: R-186
	w := newWorld(t)
	child := w.flow("child", func(c *peer) int {
		c.write(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":%q,"output":"x"}}`, field(c.run, "input"))
		return 0
	}, map[string]string{"FLOW.contract.json": invocationHead + `,"result":{"properties":{"output":{"type":"number"}}}}`}, nil)
	parent := w.flow("parent", func(c *peer) int {
		return c.done(fmt.Sprintf("[%q,%q]", c.call("a", "worker", `"undeclared"`, ""), c.call("b", "worker", `"done"`, "")))
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	w.succeeds(w.run(parent), `["INVALID_RESULT","INVALID_RESULT"]`)
}

func TestOrderOfAdmission(t *testing.T) {
	// rule
	w := newWorld(t)
	child := w.flow("child", echo, map[string]string{
		"FLOW.contract.json": invocationHead + `,"input":{"type":"number"},"channels":{"in":{"direction":"receive"}}}`,
	}, nil)
	parent := w.flow("parent", func(c *peer) int {
		got := []string{
			c.call("a", "undeclared", `1`, ""),
			c.call("b", "empty", `"bad input"`, `,"channels":{"x":"e"}`),
			c.call("c", "worker", `"bad input"`, `,"channels":{"x":"e"}`),
			c.call("d", "worker", `1`, `,"channels":{"x":"e"}`),
			c.call("e", "worker", `1`, `,"channels":{"in":"e"}`),
			c.call("e", "worker", `1`, `,"channels":{"in":"e"}`), // replayed
			c.call("e", "undeclared", `1`, ""),                   // the ledger comes first
		}
		return c.done(fmt.Sprintf("%q", strings.Join(got, " ")))
	}, nil, map[string]tree.Slot{"worker": {Target: child}, "empty": {}})
	w.succeeds(w.run(parent), `"UNAVAILABLE UNAVAILABLE INVALID_INPUT INVALID_INPUT PERMISSION_DENIED PERMISSION_DENIED OPERATION_CONFLICT"`)
	require.Equal(t, []string{"parent"}, w.l.started)
	w.l.failStart = io.ErrUnexpectedEOF
	w.fails(w.run(parent), fault.ExecutionFailed)
}

func TestPastDeadlineStartsNothing(t *testing.T) {
	// rule: R-187
	w := newWorld(t)
	target := w.flow("echo", echo, nil, nil)
	w.fails(w.run(target, func(o *tree.Options) { o.Deadline = time.Now() }), fault.DeadlineExceeded)
	require.Empty(t, w.l.started)
}

func TestDeadline(t *testing.T) {
	// rule
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		polite := w.flow("polite", func(c *peer) int {
			f, err := c.recv()
			require.NoError(t, err)
			require.Equal(t, "request/cancel", f.Method)
			return c.fail("CANCELLED")
		}, nil, nil)
		began := time.Now()
		deadline := func(o *tree.Options) { o.Deadline = began.Add(3 * time.Second) }
		w.fails(w.run(polite, deadline), fault.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(began))

		stubborn := w.flow("stubborn", stuck, nil, nil)
		began = time.Now()
		w.fails(w.run(stubborn, deadline), fault.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(began), "killed when its grace is over")
	})
}

func TestChildrenHaveLessTimeThanTheirParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		child := w.flow("child", stuck, nil, nil)
		parent := w.flow("parent", func(c *peer) int {
			// It answers only when its call has been answered.
			got := c.call("a", "worker", `1`, "")
			return c.fail(got)
		}, nil, map[string]tree.Slot{"worker": {Target: child}})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		w.fails(w.runCtx(ctx, parent), fault.Cancelled)
		require.Equal(t, 1900*time.Millisecond, time.Since(began))
		require.Equal(t, []string{"parent", "child"}, w.l.dead)
	})
}

func TestForceKillsChildrenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		leaf := w.flow("leaf", stuck, nil, nil)
		middle := w.flow("middle", func(c *peer) int { c.ask("flow/call", `{"operationId":"a","slot":"s","input":1}`); return stuck(c) }, nil,
			map[string]tree.Slot{"s": {Target: leaf}})
		top := w.flow("top", func(c *peer) int { c.ask("flow/call", `{"operationId":"a","slot":"s","input":1}`); return stuck(c) }, nil,
			map[string]tree.Slot{"s": {Target: middle}})
		force := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(force) })
		began := time.Now()
		w.fails(w.run(top, func(o *tree.Options) { o.Force = force }), fault.Cancelled)
		require.Equal(t, time.Second, time.Since(began))
		require.Len(t, w.l.dead, 3)
	})
}

func TestUnprovedEndsKeepTheParentFromSucceeding(t *testing.T) {
	// rule
	for _, c := range []struct {
		mark string
		code fault.Code
	}{{"unproved", fault.Uncertain}, {"untidy", fault.ExecutionFailed}} {
		w := newWorld(t)
		child := w.flow("child", echo, nil, nil)
		parent := w.flow("parent", func(p *peer) int {
			require.Equal(t, string(c.code), p.call("a", "worker", `1`, ""))
			return p.done(`1`)
		}, nil, map[string]tree.Slot{"worker": {Target: child}})
		map[string]map[string]bool{"unproved": w.l.unproved, "untidy": w.l.untidy}[c.mark]["child"] = true
		w.fails(w.run(parent), c.code)
	}
}

// What no kill ends is not waited for: the fence says that nothing is proved.
func TestAProcessThatDoesNotDieEndsItsRunAllTheSame(t *testing.T) {
	// rule: R-189
	for why, after := range map[string]time.Duration{"deadline": 4 * time.Second, "cancel": 3 * time.Second, "force": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			leaf := w.flow("leaf", stuck, nil, nil)
			top := w.flow("top", func(c *peer) int { return c.fail(c.call("a", "s", `1`, "")) }, nil, map[string]tree.Slot{"s": {Target: leaf}})
			w.l.immortal["leaf"] = true
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			force := make(chan struct{})
			began := time.Now()
			switch why {
			case "cancel":
				time.AfterFunc(2*time.Second, cancel)
			case "force":
				time.AfterFunc(2*time.Second, func() { close(force) })
			}
			w.fails(w.runCtx(ctx, top, func(o *tree.Options) { o.Deadline, o.Force = began.Add(3*time.Second), force }), fault.Uncertain)
			require.LessOrEqual(t, time.Since(began), after, why)
		})
	}
}

// A callee whose process was there but never got its run has to end like any
// other: its run cannot be written.
func TestUnprovedEndsOfWhatNeverGotItsRunKeepTheParentFromSucceeding(t *testing.T) {
	// rule: R-189
	for _, c := range []struct {
		mark string
		code fault.Code // of the call, and of a parent that would not mind
	}{{"", ""}, {"untidy", fault.ExecutionFailed}, {"unproved", fault.Uncertain}} {
		w := newWorld(t)
		child := w.flow("child", func(*peer) int { t.Error("it got no run"); return 1 }, nil, nil)
		child.Settings = jsontext.Value(`{"a":1,"a":2}`)
		got := ""
		parent := w.flow("parent", func(p *peer) int {
			got = p.call("a", "worker", `1`, "")
			return p.done(`1`)
		}, nil, map[string]tree.Slot{"worker": {Target: child}})
		if c.mark != "" {
			map[string]map[string]bool{"unproved": w.l.unproved, "untidy": w.l.untidy}[c.mark]["child"] = true
		}
		r := w.run(parent)
		require.Equal(t, []string{"parent", "child"}, w.l.started, got)
		if c.mark == "" {
			require.NotContains(t, []string{"lost", string(fault.Uncertain)}, got)
			w.succeeds(r, `1`)
			continue
		}
		require.Equal(t, string(c.code), got)
		w.fails(r, c.code)
	}
}

// What was half started when the call was cancelled may be alive as well.
func TestAStartWhoseEndIsNotProvedKeepsTheParentFromSucceeding(t *testing.T) {
	// rule: R-189
	for _, cancelled := range []bool{false, true} {
		w := newWorld(t)
		child := w.flow("child", echo, nil, nil)
		starting, stop := make(chan struct{}), make(chan struct{})
		parent := w.flow("parent", func(p *peer) int {
			w.l.before = func(ctx context.Context) error {
				close(starting)
				if cancelled {
					<-ctx.Done()
				}
				close(stop)
				return fmt.Errorf("half way: %w", tree.ErrUnproved)
			}
			id := p.ask("flow/call", `{"operationId":"a","slot":"worker","input":1}`)
			<-starting
			if cancelled {
				p.write(`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, id)
				require.Equal(t, "CANCELLED", p.answer(id))
			} else {
				require.Equal(t, "UNCERTAIN", p.answer(id))
			}
			<-stop
			return p.done(`1`)
		}, nil, map[string]tree.Slot{"worker": {Target: child}})
		w.fails(w.run(parent), fault.Uncertain)
		w.l.before = func(context.Context) error { return tree.ErrUnproved }
		w.fails(w.run(parent), fault.Uncertain)
	}
}

// rule: J-075
func TestDepthAndProcesses(t *testing.T) {
	w := newWorld(t)
	target := w.flow("leaf", echo, nil, nil)
	for level := range 6 {
		target = w.flow(fmt.Sprintf("level%d", level), func(c *peer) int {
			got := c.call("a", "worker", `1`, "")
			return c.done(fmt.Sprintf("%q", got))
		}, nil, map[string]tree.Slot{"worker": {Target: target}})
	}
	r := w.run(target)
	require.Nil(t, r.Err)
	require.Contains(t, string(r.Result.Output), "RESOURCE_EXHAUSTED")
	require.Len(t, w.l.started, 6, "the root and five child levels")

	w = newWorld(t)
	child := w.flow("child", func(c *peer) int { io.Copy(io.Discard, c.in); return 0 }, nil, nil)
	parent := w.flow("parent", func(c *peer) int {
		var ids []string
		for i := range 3 {
			ids = append(ids, c.ask("flow/call", fmt.Sprintf(`{"operationId":"o%d","slot":"worker","input":1}`, i)))
		}
		exhausted := ""
		for exhausted == "" { // one of the three, whichever came last
			f, err := c.recv()
			require.NoError(t, err)
			if f.Error.Data.Code == "RESOURCE_EXHAUSTED" {
				exhausted = f.ID
			}
		}
		for _, id := range ids {
			if id != exhausted {
				c.write(`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, id)
				require.Equal(t, "CANCELLED", c.answer(id))
			}
		}
		return c.done(`"bounded"`)
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	w.succeeds(w.run(parent, func(o *tree.Options) { o.Limits.Processes = 3 }), `"bounded"`)
}

func TestStderrFlood(t *testing.T) {
	// rule
	w := newWorld(t)
	target := w.flow("noisy", func(c *peer) int {
		io.CopyN(c.err, zeros{}, 1<<20)
		return echo(c)
	}, nil, nil)
	r := w.run(target)
	w.succeeds(r, `{}`)
	require.Len(t, r.Stderr, 64<<10)
	r = w.run(target, func(o *tree.Options) { o.Limits.StderrBytes = 1 << 20 })
	w.succeeds(r, `{}`)
	r = w.run(target, func(o *tree.Options) { o.Limits.StderrBytes = 1<<20 - 1 })
	w.fails(r, fault.ResourceExhausted)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestReceivedChannels(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{"FLOW.contract.json": invocationHead + `,"channels":{"events":{"direction":"send","required":false},"in":{"direction":"receive","required":false}}}`}
	target := w.flow("events", func(c *peer) int {
		e := field(c.run, "channels", "events", "endpoint")
		for i := range 3 {
			require.Equal(t, "null", c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":%d}`, e, i)))
		}
		return echo(c)
	}, files, nil)
	var got []string
	r := w.run(target, func(o *tree.Options) {
		o.Receive = []string{"events"}
		o.Item = func(name string, i channel.Item, err *fault.Error) {
			got = append(got, fmt.Sprintf("%s %v %d %s", name, i.End, i.Sequence, i.Value))
		}
	})
	w.succeeds(r, `{}`)
	require.Equal(t, []string{"events false 1 0", "events false 2 1", "events false 3 2", "events true 3 null"}, got)
	for _, name := range []string{"in", "absent"} {
		w.fails(w.run(target, func(o *tree.Options) { o.Receive = []string{name} }), fault.InvalidInput)
	}
}

func TestWhatWasSentIsReadHoweverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		files := map[string]string{"FLOW.contract.json": invocationHead + `,"channels":{"events":{"direction":"send","required":false}}}`}
		target := w.flow("events", func(c *peer) int {
			e := field(c.run, "channels", "events", "endpoint")
			for i := range 10 {
				require.Equal(t, "null", c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":%d}`, e, i)))
			}
			return echo(c)
		}, files, nil)
		read := 0
		r := w.run(target, func(o *tree.Options) {
			o.Receive = []string{"events"}
			o.Item = func(_ string, i channel.Item, err *fault.Error) {
				require.Nil(t, err)
				time.Sleep(time.Minute) // the Flow has long ended
				read++
			}
		})
		w.succeeds(r, `{}`)
		require.Equal(t, 11, read, "its items and their end")
	})
}

func TestCancelAbortsTheChildOfOneCall(t *testing.T) {
	// rule
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		child := w.flow("child", stuck, nil, nil)
		parent := w.flow("parent", func(c *peer) int {
			id := c.ask("flow/call", `{"operationId":"a","slot":"worker","input":1}`)
			c.write(`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, id)
			require.Equal(t, "CANCELLED", c.answer(id))
			return c.done(`"still here"`)
		}, nil, map[string]tree.Slot{"worker": {Target: child}})
		w.succeeds(w.run(parent), `"still here"`)
	})
}
