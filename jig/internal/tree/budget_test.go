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

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// rule: J-072
func TestARootHasSixtyFourLiveFlowProcesses(t *testing.T) {
	w := newWorld(t)
	alive := make(chan bool, 128)
	child := w.flow("child", func(c *peer) int { alive <- true; io.Copy(io.Discard, c.in); return 0 }, nil, nil)
	parent := w.flow("parent", func(c *peer) int {
		next := 0
		begin := func() string {
			next++
			return c.ask("flow/call", fmt.Sprintf(`{"operationId":"o%d","slot":"worker","input":1}`, next))
		}
		open := []string{}
		for range 63 { // the root itself is one
			open = append(open, begin())
		}
		for range 63 {
			<-alive
		}
		require.Equal(t, "RESOURCE_EXHAUSTED", c.answer(begin()))
		for _, id := range open {
			c.write(`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, id)
			require.Equal(t, "CANCELLED", c.answer(id))
		}
		return c.done(`1`)
	}, nil, map[string]tree.Slot{"worker": {Target: child}})
	w.succeeds(w.run(parent), `1`)
	require.Equal(t, 64, w.l.most)
	require.Len(t, w.l.started, 64)
}

// rule: J-076
func TestEachLevelHasAHundredMillisecondsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		died := map[string]time.Duration{}
		var began time.Time
		level := func(name string, below *tree.Target) *tree.Target {
			slots := map[string]tree.Slot{}
			if below != nil {
				slots["worker"] = tree.Slot{Target: below}
			}
			return w.flow(name, func(c *peer) int {
				if below != nil {
					c.ask("flow/call", `{"operationId":"a","slot":"worker","input":1}`)
				}
				go io.Copy(io.Discard, c.in)
				<-c.dead
				w.l.mu.Lock()
				died[name] = time.Since(began)
				w.l.mu.Unlock()
				return 0
			}, nil, slots)
		}
		root := level("root", level("first", level("second", level("third", level("fourth", level("fifth", nil))))))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, func() { began = time.Now(); cancel() })
		w.fails(w.runCtx(ctx, root), fault.Cancelled)
		synctest.Wait()
		require.Equal(t, map[string]time.Duration{
			"fifth": 500 * time.Millisecond, "fourth": 600 * time.Millisecond, "third": 700 * time.Millisecond,
			"second": 800 * time.Millisecond, "first": 900 * time.Millisecond, "root": time.Second,
		}, died)
	})
}

// lender is a native resource that ends its channels and is done.
type lender struct {
	agreement *contract.Invocation
	calls     int
}

func (l *lender) Contract() *contract.Invocation { return l.agreement }
func (*lender) Native() bool                     { return true }
func (l *lender) Call(_ context.Context, c tree.ResourceCall) (jsontext.Value, *fault.Error) {
	l.calls++
	for _, s := range c.Senders {
		s.Close(false)
	}
	for _, r := range c.Receivers {
		r.Release()
	}
	return jsontext.Value(`{"outcome":"done","output":null}`), nil
}

// rule: J-240
func TestSixteenSourcesAreEightConversations(t *testing.T) {
	w := newWorld(t)
	agreement, err := contract.ParseInvocation([]byte(datasetFiles["contract.json"]), func(name string) ([]byte, error) {
		return []byte(datasetFiles[strings.TrimPrefix(name, "./")]), nil
	})
	require.NoError(t, err)
	l := &lender{agreement: agreement}
	target := w.flow("busy", func(c *peer) int {
		pair := func(name string) (string, string, string) {
			got := c.do("channel/create", `{"contract":{"slot":"native","channel":"`+name+`"}}`)
			if !strings.HasPrefix(got, "{") {
				return "", "", got
			}
			return field([]byte(got), "send", "endpoint"), field([]byte(got), "receive", "endpoint"), ""
		}
		for i := range 8 {
			requests, theirs, _ := pair("requests")
			replies, mine, _ := pair("replies")
			got := c.call(fmt.Sprintf("o%d", i), "native", `{}`, fmt.Sprintf(`,"channels":{"requests":%q,"replies":%q}`, theirs, replies))
			require.JSONEq(c.t, `{"outcome":"done","output":null}`, got)
			c.do("channel/close", fmt.Sprintf(`{"endpoint":%q}`, requests))
			c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, mine))
		}
		_, _, refused := pair("requests")
		return c.done(fmt.Sprintf("%q", refused))
	}, under("contracts/", map[string]string{
		"FLOW.meta.json": `{"name":"busy","uses":{"native":{"contract":"./contracts/contract.json"}}}`,
	}), map[string]tree.Slot{"native": {Grant: &tree.Grant{Kind: "acp"}}})
	r := w.run(target, func(o *tree.Options) { o.Resources = map[string]tree.Resource{"acp": l} })
	w.succeeds(r, `"RESOURCE_EXHAUSTED"`)
	require.Equal(t, 8, l.calls)
}
