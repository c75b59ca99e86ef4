package tree_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// holder is a native resource whose calls last until they are let go.
type holder struct {
	agreement *contract.Invocation
	refuse    *fault.Error // of Admit
	leave     []bool       // told to Left
	began     chan string
	lineages  [][]tree.Ancestor
	release   chan struct{}

	mu    sync.Mutex
	calls int
}

func newHolder(t *testing.T) *holder {
	agreement, err := contract.ParseInvocation([]byte(invocationHead+`}`), nil)
	require.NoError(t, err)
	return &holder{agreement: agreement, began: make(chan string, 16), release: make(chan struct{})}
}

func (h *holder) Contract() *contract.Invocation       { return h.agreement }
func (*holder) Native() bool                           { return true }
func (h *holder) Admit(tree.ResourceCall) *fault.Error { return h.refuse }

func (h *holder) Call(_ context.Context, c tree.ResourceCall) (jsontext.Value, *fault.Error) {
	h.mu.Lock()
	h.calls++
	h.lineages = append(h.lineages, c.Lineage)
	h.mu.Unlock()
	for _, alive := range h.leave {
		c.Left(alive)
	}
	h.began <- c.Label
	<-h.release
	return jsontext.Value(`{"outcome":"done","output":null}`), nil
}

func lent(h *holder) func(*tree.Options) {
	return func(o *tree.Options) { o.Resources = map[string]tree.Resource{"acp": h} }
}

var native = map[string]tree.Slot{"native": {Grant: &tree.Grant{Kind: "acp"}}}

// rule: J-074
func TestACallerHasOneNativeConversationAtATime(t *testing.T) {
	w, h := newWorld(t), newHolder(t)
	r := w.run(w.flow("busy", func(c *peer) int {
		first := c.ask("flow/call", `{"operationId":"a","slot":"native","input":{}}`)
		<-h.began
		second := c.call("b", "native", `{}`, "")
		close(h.release)
		require.JSONEq(c.t, `{"outcome":"done","output":null}`, c.answer(first))
		third := c.call("c", "native", `{}`, "")
		return c.done(fmt.Sprintf("[%q,%s]", second, third))
	}, nil, native), lent(h))
	w.succeeds(r, `["RESOURCE_EXHAUSTED",{"outcome":"done","output":null}]`)
	require.Equal(t, 2, h.calls, "the refused call was dispatched")
}

// rule: J-073
func TestARootHasFourNativeScopesAtATime(t *testing.T) {
	w, h := newWorld(t), newHolder(t)
	slots := map[string]tree.Slot{}
	for i := range 5 {
		slots[fmt.Sprintf("s%d", i)] = tree.Slot{Target: w.flow(fmt.Sprintf("child%d", i), func(c *peer) int {
			return c.done(fmt.Sprintf("%q", c.call("a", "native", `{}`, "")))
		}, nil, native)}
	}
	r := w.run(w.flow("root", func(c *peer) int {
		asked := map[string]bool{}
		for i := range 4 {
			asked[c.ask("flow/call", fmt.Sprintf(`{"operationId":"o%d","slot":"s%d","input":{}}`, i, i))] = true
			<-h.began
		}
		fifth := c.call("o4", "s4", `{}`, "")
		close(h.release)
		for len(asked) > 0 { // they come in any order
			f, err := c.recv()
			require.NoError(c.t, err)
			require.Contains(c.t, string(f.Result), "done")
			delete(asked, f.ID)
		}
		return c.done(fifth)
	}, nil, slots), lent(h))
	w.succeeds(r, `{"outcome":"done","output":"RESOURCE_EXHAUSTED"}`)
	require.Equal(t, 4, h.calls)
}

// rule: F-017
func TestAResourceMayRefuseBeforeAnyChannelMoves(t *testing.T) {
	w, h := newWorld(t), newHolder(t)
	agreement, err := contract.ParseInvocation([]byte(datasetFiles["contract.json"]), func(name string) ([]byte, error) {
		return []byte(datasetFiles[strings.TrimPrefix(name, "./")]), nil
	})
	require.NoError(t, err)
	h.agreement, h.refuse = agreement, fault.New(fault.Unavailable, "not today")
	target := w.flow("asks", func(c *peer) int {
		made := c.do("channel/create", `{"contract":{"slot":"native","channel":"requests"}}`)
		send, receive := field([]byte(made), "send", "endpoint"), field([]byte(made), "receive", "endpoint")
		other := c.do("channel/create", `{"contract":{"slot":"native","channel":"replies"}}`)
		refused := c.call("a", "native", `{}`, fmt.Sprintf(`,"channels":{"requests":%q,"replies":%q}`, receive, field([]byte(other), "send", "endpoint")))
		// Both ends are still the Flow's own.
		require.NotContains(c.t, c.do("channel/close", fmt.Sprintf(`{"endpoint":%q}`, send)), "PERMISSION")
		require.NotContains(c.t, c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, receive)), "PERMISSION")
		require.NotContains(c.t, c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, field([]byte(other), "receive", "endpoint"))), "PERMISSION")
		return c.done(fmt.Sprintf("%q", refused))
	}, under("contracts/", map[string]string{
		"FLOW.meta.json": `{"name":"asks","uses":{"native":{"contract":"./contracts/contract.json"}}}`,
	}), native)
	w.succeeds(w.run(target, lent(h)), `"UNAVAILABLE"`)
	require.Zero(t, h.calls)
}

func TestWhatAResourceLeavesBehindKeepsItsCallerFromSucceeding(t *testing.T) {
	for _, c := range []struct {
		leave []bool
		code  fault.Code
	}{{[]bool{true}, fault.Uncertain}, {[]bool{false}, fault.ExecutionFailed}, {[]bool{true, false}, fault.Uncertain}} {
		w, h := newWorld(t), newHolder(t)
		h.leave = c.leave
		close(h.release)
		r := w.run(w.flow("careless", func(p *peer) int {
			p.call("a", "native", `{}`, "")
			return p.done("1")
		}, nil, native), lent(h))
		w.fails(r, c.code)
	}
}

// Who is asked is what counts, and not the name by which he was asked.
//
// rule: F-136
func TestTwoWaysToOneTargetHaveOneLineage(t *testing.T) {
	w, h := newWorld(t), newHolder(t)
	close(h.release)
	child := w.flow("child", func(c *peer) int { return c.done(c.call("a", "native", `{}`, "")) }, nil, native)
	r := w.run(w.flow("root", func(c *peer) int {
		c.call("a", "first", `{}`, "")
		c.call("b", "second", `{}`, "")
		return c.done("1")
	}, nil, map[string]tree.Slot{"first": {Target: child}, "second": {Target: child}}), lent(h))
	w.succeeds(r, "1")
	want := []tree.Ancestor{{Target: "flow:root", Request: "request of root"}, {Target: "flow:child", Request: "request of child"}}
	require.Equal(t, [][]tree.Ancestor{want, want}, h.lineages)
}
