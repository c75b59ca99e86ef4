package component_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine/component"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// pairOf is the answer to a creation, with endpoints of its own.
func pairOf(i int) string {
	return strings.NewReplacer(`"w"`, fmt.Sprintf(`"w%d"`, i), `"r"`, fmt.Sprintf(`"r%d"`, i)).Replace(pair)
}

func broadcastOf(i int) string {
	return fmt.Sprintf(`{"send":{"endpoint":"b%d","direction":"send","delivery":"broadcast"},"source":"s%d"}`, i, i)
}

func TestAComponentHolds512Endpoints(t *testing.T) {
	// rule: R-092
	c := open(t, component.Limits{})
	issued := 0
	create := func(options string, answer func(int) string) error {
		c.Create(jsontext.Value(options), false)
		if out := frames(c); len(out) == 1 {
			issued++
			c.Frame(reply(issued, answer(issued)))
		}
		return last(c)
	}
	for n := range 255 {
		require.NoError(t, create(`{}`, pairOf), n)
	}
	require.NoError(t, create(`{"delivery":"broadcast"}`, broadcastOf)) // 511
	requireCode(t, fault.ResourceExhausted, create(`{}`, pairOf))
	require.NoError(t, create(`{"delivery":"broadcast"}`, broadcastOf)) // 512
	requireCode(t, fault.ResourceExhausted, create(`{"delivery":"broadcast"}`, broadcastOf))
	c.Subscribe(512, false) // the first broadcast source: 510 ends, its writer, and it
	requireCode(t, fault.ResourceExhausted, last(c))

	// A pair that is on its way takes its places already.
	c = open(t, component.Limits{Endpoints: 3})
	c.Create(jsontext.Value(`{}`), false)
	require.Empty(t, c.Events())
	c.Create(jsontext.Value(`{}`), false)
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false)
	require.Empty(t, c.Events())
}

// TestEveryRequestTakesAnID counts what was answered, refused and given up alike.
func TestEveryRequestTakesAnID(t *testing.T) {
	// rule: E-030
	c := open(t, component.Limits{Requests: 4})
	call(c, "answered")
	c.Frame(reply(1, `{"outcome":"done","output":1}`))
	call(c, "failed")
	c.Frame([]byte(`{"jsonrpc":"2.0","id":"component:2","error":{"code":-32000,"message":"m","data":{"code":"UNAVAILABLE"}}}`))
	c.GiveUp(call(c, "abandoned"))
	c.Events()
	frames(c)
	c.Call(jsontext.Value(`{"operationId":"o","slot":"worker","input":1}`), true)
	requireCode(t, fault.Cancelled, last(c)) // it was never made
	call(c, "last")
	require.Empty(t, c.Events())
	require.Contains(t, strings.Join(frames(c), ""), `"id":"component:4"`)
	call(c, "over")
	requireCode(t, fault.ResourceExhausted, last(c))
	require.Empty(t, frames(c))
}

// TestIDsAreKeptForWhatIsOnItsWay makes one creation or subscription and then
// calls until no more are admitted: enough ids are left to end whatever it brings.
func TestIDsAreKeptForWhatIsOnItsWay(t *testing.T) {
	// rule: E-030
	const life = 10
	for _, k := range []struct {
		name   string
		before func(c *component.Component) // uses ids and holds endpoints
		begin  func(c *component.Component)
		used   int // ids
		ends   int // to be ended, the ones on their way included
	}{
		{"a pair", func(*component.Component) {}, func(c *component.Component) { c.Create(jsontext.Value(`{}`), false) }, 1, 2},
		{"a broadcast", func(*component.Component) {}, func(c *component.Component) { c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false) }, 1, 1},
		{"a subscription", func(c *component.Component) {
			c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false)
			c.Frame(reply(1, broadcastOf(1)))
		}, func(c *component.Component) { c.Subscribe(2, false) }, 2, 2},
	} {
		c := open(t, component.Limits{Requests: life})
		k.before(c)
		c.Events()
		k.begin(c)
		for n := range life - k.used - k.ends {
			call(c, fmt.Sprint(n))
			require.Empty(t, c.Events(), "%s: %d", k.name, n)
		}
		call(c, "over")
		requireCode(t, fault.ResourceExhausted, last(c))
		c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false)
		requireCode(t, fault.ResourceExhausted, last(c))
	}

	// They are enough, to the last one.
	c := open(t, component.Limits{Requests: 3})
	c.Create(jsontext.Value(`{}`), false)
	call(c, "over")
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Frame(reply(1, pair))
	c.Events()
	c.CloseSender(1, false, false)
	c.CloseReceiver(2, false)
	require.Len(t, frames(c), 3)
	c.Frame(reply(2, `null`))
	c.Frame(reply(3, `{"status":"released"}`))
	for _, e := range c.Events() {
		require.NoError(t, e.Err)
	}

	// What has been ended keeps none.
	c = open(t, component.Limits{Requests: 4})
	c.Create(jsontext.Value(`{}`), false)
	c.Frame(reply(1, pair))
	c.CloseSender(1, false, false)
	c.Frame(reply(2, `null`))
	require.NoError(t, last(c))
	call(c, "fits")
	require.Empty(t, c.Events())
	call(c, "over")
	requireCode(t, fault.ResourceExhausted, last(c))

	// A creation that would leave too few is not made, and one that failed gives
	// back what was kept for it.
	c = open(t, component.Limits{Requests: 2})
	c.Create(jsontext.Value(`{}`), false)
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false)
	require.Empty(t, c.Events())
	c.Frame([]byte(`{"jsonrpc":"2.0","id":"component:1","error":{"code":-32000,"message":"m","data":{"code":"RESOURCE_EXHAUSTED"}}}`))
	requireCode(t, fault.ResourceExhausted, last(c))
	call(c, "last")
	require.Empty(t, c.Events())
}
