package component_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/component"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func jsonUnmarshal(doc string, v any) error { return json0.Decode([]byte(doc), v) }

func jsonMarshal(t *testing.T, v any) string {
	b, err := json0.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

const pair = `{"send":{"endpoint":"w","direction":"send","delivery":"direct"},"receive":{"endpoint":"r","direction":"receive","delivery":"direct","startSequence":1}}`

// rule: E-030, E-032
func TestLiveCalls(t *testing.T) {
	c := open(t, component.Limits{})
	for i := range 64 {
		call(c, fmt.Sprint("a", i))
	}
	require.Empty(t, c.Events(), "64 are under way")
	call(c, "b")
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Frame(reply(1, `{"outcome":"done","output":1}`))
	c.Events()
	call(c, "c")
	require.Empty(t, c.Events(), "a place is free again")

	c = open(t, component.Limits{})
	c.Create(jsontext.Value(`{}`), false)
	for i := range 62 {
		call(c, fmt.Sprint("a", i))
	}
	require.Empty(t, c.Events())
	call(c, "b")
	requireCode(t, fault.ResourceExhausted, last(c))

	c = open(t, component.Limits{})
	c.Create(jsontext.Value(`{}`), false)
	c.Frame(reply(1, pair))
	for i := range 63 {
		call(c, fmt.Sprint("a", i))
	}
	require.NoError(t, last(c))
	call(c, "b")
	requireCode(t, fault.ResourceExhausted, last(c))

	c = open(t, component.Limits{})
	for i := range 63 {
		call(c, fmt.Sprint("a", i))
	}
	c.Create(jsontext.Value(`{}`), false)
	requireCode(t, fault.ResourceExhausted, last(c))
}

// rule: E-037, E-045
func TestClosingHasAPlaceOfItsOwn(t *testing.T) {
	c := open(t, component.Limits{})
	for i := range 2 {
		c.Create(jsontext.Value(`{}`), false)
		c.Frame(reply(i+1, strings.NewReplacer(`"w"`, fmt.Sprintf(`"w%d"`, i), `"r"`, fmt.Sprintf(`"r%d"`, i)).Replace(pair)))
	}
	for i := range 63 {
		call(c, fmt.Sprint("a", i))
	}
	c.Events()
	for _, n := range []int{1, 3} {
		c.CloseSender(n, false, false)
	}
	c.CloseReceiver(2, false)
	require.Empty(t, c.Events(), "none is refused")
	out := frames(c)
	require.Len(t, out, 2+63+1, "and only 64 are under way")
	require.Contains(t, out[0], `"id":"component:66"`, "closing goes ahead of what waits to be written")
	require.Contains(t, out[0], `channel/close`)
	require.Contains(t, out[1], `"id":"component:1"`)
	c.Frame(reply(66, `null`))
	require.Len(t, frames(c), 1)
	c.Frame(reply(3, `{"outcome":"done","output":1}`))
	out = frames(c)
	require.Len(t, out, 1)
	require.Contains(t, out[0], `"channel/release"`)
}

// rule: E-030
func TestRequestsInALife(t *testing.T) {
	c := open(t, component.Limits{Requests: 8})
	c.Create(jsontext.Value(`{}`), false) // 1, and 2 kept to close and release
	c.Frame(reply(1, pair))
	for i := range 5 {
		call(c, fmt.Sprint(i))
		c.Frame(reply(i+2, `{"outcome":"done","output":1}`))
		require.NoError(t, last(c), i)
	}
	call(c, "over")
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Create(jsontext.Value(`{}`), false)
	requireCode(t, fault.ResourceExhausted, last(c))
	c.CloseSender(1, false, false)
	c.Frame(reply(7, `null`))
	require.NoError(t, last(c))
	c.CloseReceiver(2, false)
	c.Frame(reply(8, `{"status":"released"}`))
	require.NoError(t, last(c))
	c.Succeed(jsontext.Value(`{"outcome":"done","output":1}`))
	require.Contains(t, strings.Join(frames(c), ""), `"result":{"outcome":"done"`)
}

func TestEndpointsInALife(t *testing.T) {
	c := open(t, component.Limits{Endpoints: 3})
	c.Create(jsontext.Value(`{}`), false)
	c.Frame(reply(1, pair))
	require.NoError(t, last(c))
	c.Create(jsontext.Value(`{}`), false)
	requireCode(t, fault.ResourceExhausted, last(c))
	c.Create(jsontext.Value(`{"delivery":"broadcast"}`), false)
	require.Empty(t, c.Events())
}

func TestWhatWaitsToBeWrittenIsBounded(t *testing.T) {
	c := open(t, component.Limits{QueueBytes: 1000})
	big := fmt.Sprintf(`{"operationId":"a","slot":"worker","input":%q}`, strings.Repeat("x", 1000))
	c.Call(jsontext.Value(big), false)
	require.Empty(t, c.Events())
	call(c, "b")
	requireCode(t, fault.ResourceExhausted, last(c))
	require.Len(t, frames(c), 1)
	call(c, "c")
	require.Empty(t, c.Events())
}

// rule: E-017, E-015
func TestAResultHasToFitItsEnvelope(t *testing.T) {
	envelope := len(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":""}}`)
	for over, want := range []string{`"result"`, `INVALID_RESULT`} {
		c := open(t, component.Limits{FrameBytes: 1000})
		c.Succeed(jsontext.Value(fmt.Sprintf(`{"outcome":"done","output":%q}`, strings.Repeat("x", 1000-envelope+over))))
		out := frames(c)
		require.Len(t, out, 1)
		require.Contains(t, out[0], want)
		require.LessOrEqual(t, len(out[0]), 1000)
	}
	deep := func(n int) jsontext.Value {
		return jsontext.Value(`{"outcome":"done","output":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`)
	}
	c := open(t, component.Limits{})
	c.Succeed(deep(json0.MaxDepth - 2))
	require.Contains(t, frames(c)[0], `"result"`)
	c = open(t, component.Limits{})
	c.Succeed(deep(json0.MaxDepth - 1))
	require.Contains(t, frames(c)[0], `INVALID_RESULT`)
	for _, raw := range []string{``, `null`, `{}`, `{"outcome":"done"}`, `{"outcome":"Done","output":1}`, `{"outcome":1,"output":1}`, `{"outcome":"done","output":1,"more":1}`, `{"outcome":"` + strings.Repeat("a", 65) + `","output":1}`} {
		c := open(t, component.Limits{})
		c.Succeed(jsontext.Value(raw))
		require.Contains(t, frames(c)[0], `INVALID_RESULT`, raw)
	}
	for _, c := range []struct {
		err  *fault.Error
		want string
	}{
		{fault.New(fault.Unavailable, strings.Repeat("é", 1024)), `UNAVAILABLE`},
		{fault.New(fault.Unavailable, strings.Repeat("é", 1025)), `Run execution failed`},
		{fault.New(fault.Unavailable, ""), `Run execution failed`},
		{fault.New(fault.ProtocolError, "x"), `Run execution failed`},
		{fault.New("ODD", "x"), `Run execution failed`},
		{&fault.Error{Code: fault.Lagged, Message: "x", Details: jsontext.Value(`{"a":[1]}`)}, `"details":{"a":[1]}`},
		{&fault.Error{Code: fault.Lagged, Message: "x", Details: jsontext.Value(`{"a":`)}, `Run execution failed`},
	} {
		o := open(t, component.Limits{})
		o.Fail(c.err)
		require.Contains(t, frames(o)[0], c.want)
	}
}

func TestANegativeLimitPanics(t *testing.T) {
	require.Panics(t, func() { component.New(component.Limits{Live: -1}) })
}
