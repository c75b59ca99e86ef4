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

const params = `{"protocol":"run/0","input":null,"settings":{},"attachments":{},"scratch":"/s","deadlineUnixMs":0}`

func runFrame(params string) string {
	return `{"jsonrpc":"2.0","id":"host:1","method":"flow/run","params":` + params + `}`
}

// open is a component whose handler runs.
func open(t *testing.T, l component.Limits) *component.Component {
	t.Helper()
	c := component.New(l)
	c.Frame([]byte(runFrame(params)))
	require.Equal(t, component.Started, c.Events()[0].Kind)
	return c
}

func reply(n int, result string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"component:%d","result":%s}`, n, result)
}

// frames takes everything that would be written.
func frames(c *component.Component) (out []string) {
	for f := c.Output(); f != nil; f = c.Output() {
		out = append(out, string(f))
	}
	return out
}

func call(c *component.Component, operation string) int {
	return c.Call(jsontext.Value(fmt.Sprintf(`{"operationId":%q,"slot":"worker","input":1}`, operation)), false)
}

// what became of the last waiter, or nil.
func last(c *component.Component) error {
	events := c.Events()
	if len(events) == 0 {
		return nil
	}
	return events[len(events)-1].Err
}

func requireCode(t *testing.T, want fault.Code, err error) {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, want, f.Code)
}

func TestFramesThatBreakTheProtocolEndTheComponent(t *testing.T) {
	for _, c := range []struct{ name, frame, reply string }{
		{"no JSON", `nonsense`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{"empty", ``, `-32700`},
		{"a byte order mark", "\ufeff{}", `-32700`},
		{"a duplicate member", `{"a":1,"a":2}`, `-32700`},
		{"a lone surrogate", `{"a":"\ud800"}`, `-32700`},
		{"a number beyond 2^53", `{"a":9007199254740993}`, `-32700`},
		{"two values", `{} {}`, `-32700`},
		{"no UTF-8", "{\"a\":\"\xff\"}", ``},
		{"an empty object", `{}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{"a batch", `[]`, `"id":null,"error":{"code":-32600`},
		{"null", `null`, `"id":null,"error":{"code":-32600`},
		{"scalar params", `{"jsonrpc":"2.0","id":"x","method":"flow/run","params":1}`, `"id":"x","error":{"code":-32600`},
		{"null params", `{"jsonrpc":"2.0","id":"x","method":"flow/run","params":null}`, `"id":"x","error":{"code":-32600`},
		{"an extra member", `{"jsonrpc":"2.0","id":"x","method":"flow/run","params":{},"more":1}`, `"id":"x","error":{"code":-32600`},
		{"a numeric id", `{"jsonrpc":"2.0","id":1,"method":"flow/run","params":{}}`, `"id":null,"error":{"code":-32600`},
		{"result and error", `{"jsonrpc":"2.0","id":"component:1","result":1,"error":{"code":-32000,"message":"m","data":{"code":"CANCELLED"}}}`, `-32600`},
		{"another version", `{"jsonrpc":"1.0","id":"x","method":"flow/run"}`, `"id":"x","error":{"code":-32600`},
		{"a second run", runFrame(params), `"id":"host:1","error":{"code":-32600`},
		{"a response to nothing", `{"jsonrpc":"2.0","id":"component:9","result":1}`, ``},
		{"a parse error of ours", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, ``},
		{"a standard error", `{"jsonrpc":"2.0","id":"component:1","error":{"code":-32603,"message":"m"}}`, ``},
		{"an unknown code", `{"jsonrpc":"2.0","id":"component:1","error":{"code":-32000,"message":"m","data":{"code":"ODD"}}}`, `-32600`},
		{"a local code", `{"jsonrpc":"2.0","id":"component:1","error":{"code":-32000,"message":"m","data":{"code":"PROTOCOL_ERROR"}}}`, `-32600`},
		{"an empty message", `{"jsonrpc":"2.0","id":"component:1","error":{"code":-32000,"message":"","data":{"code":"CANCELLED"}}}`, `-32600`},
		{"no data", `{"jsonrpc":"2.0","id":"component:1","error":{"code":-32000,"message":"m"}}`, `-32600`},
		{"no result", `{"jsonrpc":"2.0","id":"component:1","result":{"outcome":"done"}}`, ``},
		{"a wrapped result", `{"jsonrpc":"2.0","id":"component:1","result":{"outcome":"done","output":1,"more":1}}`, ``},
		{"a bad outcome", `{"jsonrpc":"2.0","id":"component:1","result":{"outcome":"Done","output":1}}`, ``},
		{"a cancel with more", `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":"host:1","extra":1}}`, ``},
		{"a cancel of a number", `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":1}}`, ``},
		{"a cancel without params", `{"jsonrpc":"2.0","method":"request/cancel"}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t, component.Limits{})
			call(o, "a")
			frames(o)
			o.Frame([]byte(c.frame))
			out := strings.Join(frames(o), "\n")
			if c.reply == "" {
				require.Empty(t, out)
			}
			require.Contains(t, out, c.reply)
			events := o.Events()
			require.Len(t, events, 3)
			require.Equal(t, component.Aborted, events[0].Kind)
			require.Equal(t, component.Settled, events[1].Kind, "what waits fails")
			require.Equal(t, component.Failed, events[2].Kind)
			for _, e := range events {
				requireCode(t, fault.ProtocolError, e.Err)
			}
			call(o, "b")
			requireCode(t, fault.ProtocolError, last(o))
			o.Frame([]byte(runFrame(params)))
			o.Succeed(jsontext.Value(`{"outcome":"done","output":1}`))
			require.Empty(t, frames(o), "a dead component says nothing")
		})
	}
}

func TestFramesThatDoNot(t *testing.T) {
	for frame, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","method":"flow/call","params":{}}`:                                 `"id":"x","error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":"x","method":"request/cancel","params":{"requestId":"host:1"}}`:        `-32601`,
		`{"jsonrpc":"2.0","method":"flow/run","params":{}}`:                                           ``,
		`{"jsonrpc":"2.0","method":"odd","params":[1]}`:                                               ``,
		`{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":"component:1"}}`:            ``,
		" \t" + `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":"stale"}}` + "  \r": ``,
	} {
		o := open(t, component.Limits{})
		o.Frame([]byte(frame))
		out := strings.Join(frames(o), "\n")
		if want == "" {
			require.Empty(t, out, frame)
		}
		require.Contains(t, out, want, frame)
		require.Empty(t, o.Events(), frame)
	}
}

func TestTheEndOfTheTransport(t *testing.T) {
	o := open(t, component.Limits{})
	o.Lost()
	events := o.Events()
	requireCode(t, fault.ChannelLost, events[len(events)-1].Err)
	o = open(t, component.Limits{})
	o.Broken("the input ended inside a frame")
	events = o.Events()
	requireCode(t, fault.ProtocolError, events[len(events)-1].Err)
	o = component.New(component.Limits{})
	o.Lost()
	requireCode(t, fault.ChannelLost, last(o))
}

func TestParamsOfARunAreClosed(t *testing.T) {
	attachments := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"a%d":{"path":"/a","access":"read"}`, i))
		}
		return strings.Replace(params, `"attachments":{}`, `"attachments":{`+strings.Join(all, ",")+`}`, 1)
	}
	with := func(name, value string) string {
		return strings.TrimSuffix(params, "}") + fmt.Sprintf(`,%q:%s}`, name, value)
	}
	set := func(name, value string) string {
		var m map[string]jsontext.Value
		require.NoError(t, jsonUnmarshal(params, &m))
		m[name] = jsontext.Value(value)
		if value == "" {
			delete(m, name)
		}
		return jsonMarshal(t, m)
	}
	grant := `{"endpoint":"r","direction":"receive","delivery":"direct","startSequence":1}`
	for _, p := range []string{
		set("protocol", `"run/1"`), set("protocol", ``), set("input", ``), set("settings", ``), set("settings", `[]`), set("settings", `null`),
		set("attachments", ``), set("attachments", `null`), set("scratch", ``), set("scratch", `""`), set("deadlineUnixMs", `-1`),
		set("deadlineUnixMs", `1.5`), set("deadlineUnixMs", ``), with("runId", `"x"`), with("channels", `null`), with("channels", `[]`),
		set("attachments", `{"A":{"path":"/a","access":"read"}}`), set("attachments", `{"a":{"path":"","access":"read"}}`),
		set("attachments", `{"a":{"path":"/a","access":"write"}}`), set("attachments", `{"a":{"path":"/a"}}`), set("attachments", `{"a":null}`), attachments(257),
		with("channels", `{"A":`+grant+`}`), with("channels", `{"a":`+grant+`,"b":`+grant+`}`), with("channels", `{"a":{"endpoint":"r","direction":"receive","delivery":"direct"}}`),
		with("channels", `{"a":{"endpoint":"r","direction":"receive","delivery":"direct","startSequence":2}}`),
		with("channels", `{"a":{"endpoint":"r","direction":"send","delivery":"direct","startSequence":1}}`),
		with("channels", `{"a":{"endpoint":"r","direction":"send","delivery":"direct","contract":{"id":"x","version":"1","digest":"sha256:AA"}}}`),
		`[]`,
	} {
		c := component.New(component.Limits{})
		c.Frame([]byte(runFrame(p)))
		out := frames(c)
		require.Len(t, out, 1, p)
		require.Contains(t, out[0], `"id":"host:1","error":{"code":-32602`, p)
		events := c.Events()
		require.Len(t, events, 1)
		require.Equal(t, component.Answered, events[0].Kind, "the process ends by itself, with success")
	}
	for _, p := range []string{params, attachments(256), with("channels", `{"a":`+grant+`}`), set("deadlineUnixMs", `1.0`)} {
		c := component.New(component.Limits{})
		c.Frame([]byte(runFrame(p)))
		require.Equal(t, component.Started, c.Events()[0].Kind, p)
	}
}

func TestGrantsThatBreakTheProtocol(t *testing.T) {
	w := func(token, more string) string {
		return fmt.Sprintf(`{"endpoint":%q,"direction":"send","delivery":"direct"%s}`, token, more)
	}
	r := func(token, more string) string {
		return fmt.Sprintf(`{"endpoint":%q,"direction":"receive","delivery":"direct","startSequence":1%s}`, token, more)
	}
	k := `,"contract":{"id":"https://a.example/x","version":"1.0.0","digest":"sha256:` + strings.Repeat("a", 64) + `"}`
	for _, c := range []struct{ options, result string }{
		{`{}`, `null`},
		{`{}`, `{"send":` + w("w", "") + `}`},
		{`{}`, `{"send":` + w("x", "") + `,"receive":` + r("x", "") + `}`},
		{`{}`, `{"send":` + w("w", "") + `,"receive":` + w("r", "") + `}`},
		{`{}`, `{"send":` + w("w", k) + `,"receive":` + r("r", "") + `}`},
		{`{}`, `{"send":` + w("w", "") + `,"receive":{"endpoint":"r","direction":"receive","delivery":"direct"}}`},
		{`{}`, `{"send":` + w("w", "") + `,"receive":{"endpoint":"r","direction":"receive","delivery":"direct","startSequence":2}}`},
		{`{}`, `{"send":` + w("w", "") + `,"source":"s"}`},
		{`{}`, `{"send":` + w("seen", "") + `,"receive":` + r("r", "") + `}`},
		{`{"delivery":"broadcast"}`, `{"send":` + w("w", "") + `,"receive":` + r("r", "") + `}`},
		{`{"delivery":"broadcast"}`, `{"send":` + w("w", "") + `,"source":"s"}`},
		{`{"delivery":"broadcast"}`, `{"send":{"endpoint":"w","direction":"send","delivery":"broadcast"},"source":"-s"}`},
	} {
		o := open(t, component.Limits{})
		o.Create(jsontext.Value(`{}`), false)
		o.Frame(reply(1, `{"send":`+w("seen", k)+`,"receive":`+r("seen-too", k)+`}`))
		require.NoError(t, last(o))
		o.Create(jsontext.Value(c.options), false)
		o.Frame(reply(2, c.result))
		requireCode(t, fault.ProtocolError, last(o))
	}
}

func TestAnswersOfAChannelThatBreakTheProtocol(t *testing.T) {
	for _, c := range []struct {
		name   string
		act    func(*component.Component)
		answer string
	}{
		{"a send with a value", func(c *component.Component) { c.Send(1, jsontext.Value("1"), false) }, `1`},
		{"a close with a value", func(c *component.Component) { c.CloseSender(1, false, false) }, `{}`},
		{"item zero", func(c *component.Component) { c.Next(2, false) }, `{"item":{"sequence":0,"value":1}}`},
		{"a gap", func(c *component.Component) { c.Next(2, false) }, `{"item":{"sequence":2,"value":1}}`},
		{"no value", func(c *component.Component) { c.Next(2, false) }, `{"item":{"sequence":1}}`},
		{"item and end", func(c *component.Component) { c.Next(2, false) }, `{"item":{"sequence":1,"value":1},"end":{"lastSequence":0}}`},
		{"another end", func(c *component.Component) { c.Next(2, false) }, `{"end":{"lastSequence":1}}`},
		{"nothing", func(c *component.Component) { c.Next(2, false) }, `null`},
		{"a release before the last item", func(c *component.Component) { c.CloseReceiver(2, false) }, `{"status":"ended","lastSequence":-1}`},
		{"a release without status", func(c *component.Component) { c.CloseReceiver(2, false) }, `{}`},
		{"a release with another code", func(c *component.Component) { c.CloseReceiver(2, false) }, `{"status":"failed","code":"ODD"}`},
		{"a release with more", func(c *component.Component) { c.CloseReceiver(2, false) }, `{"status":"released","lastSequence":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t, component.Limits{})
			o.Create(jsontext.Value(`{}`), false)
			o.Frame(reply(1, pair))
			o.Events()
			c.act(o)
			o.Frame(reply(2, c.answer))
			events := o.Events()
			requireCode(t, fault.ProtocolError, events[len(events)-1].Err)
			require.Equal(t, component.Failed, events[len(events)-1].Kind)
			settled := 0
			for _, e := range events {
				if e.Kind == component.Settled {
					settled++
					requireCode(t, fault.ProtocolError, e.Err)
				}
			}
			require.Equal(t, 1, settled, "the waiter hears of it")
		})
	}
}

func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		runFrame(params), `{"jsonrpc":"2.0","id":"component:1","result":{"outcome":"done","output":1}}`, `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":"host:1"}}`,
		`{"jsonrpc":"2.0","id":"component:2","result":{"send":{"endpoint":"w","direction":"send","delivery":"direct"},"receive":{"endpoint":"r","direction":"receive","delivery":"direct","startSequence":1}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		// Whatever the host writes, every waiter hears exactly one end, and the
		// component ends in one way.
		c := open(t, component.Limits{})
		call(c, "a")
		c.Create(jsontext.Value(`{}`), false)
		c.Frame(frame)
		c.Frame(frame)
		c.Lost()
		seen, ends := map[int]int{}, 0
		for _, e := range c.Events() {
			switch e.Kind {
			case component.Settled:
				seen[e.N]++
			case component.Failed:
				ends++
			}
		}
		require.Equal(t, map[int]int{1: 1, 2: 1}, seen)
		require.Equal(t, 1, ends)
	})
}
