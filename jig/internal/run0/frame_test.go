package run0_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

func TestOneRequestInAProcessesLife(t *testing.T) {
	// rule
	r := start(t)
	r.Start()
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"host:1","method":"flow/run","params":{"protocol":"run/0","input":null,"settings":{},
		"attachments":{},"scratch":"/scratch","deadlineUnixMs":1893456000000}}`, r.line())
	r.write(done)
	<-r.Answered()
	r.quiet() // its input is closed once the answer is complete, and nothing else was asked
	e := r.end(clean)
	require.Nil(t, e.Err)
	require.Equal(t, "done", e.Result.Outcome)
	require.Equal(t, "7", string(e.Result.Output))
	require.Zero(t, r.host.stops())
	require.True(t, r.host.eligibly())
}

func TestFrameSize(t *testing.T) {
	// rule: R-003
	small := func(o *run0.Options) { o.Limits.FrameBytes = 1000 }
	pad := func(n int) string { return done + strings.Repeat(" ", n-len(done)) }
	r := opened(t, small)
	r.write(pad(1000))
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
	r = opened(t, small)
	go r.raw(pad(1001) + "\n")
	r.doomed()
	r.stop()
	r.fails(clean, fault.ProtocolError)
}

// complaint: B2.13 digitaldrywood/detent#1781 - a reader of lines gave up at 64 KiB, and one long line was the end of the run
func TestComplaintB2_13Detent1781ALineIsAsLongAsTheProtocolSays(t *testing.T) {
	// rule: R-003
	const most = 16_777_216
	for _, n := range []int{64<<10 + 1, 3 << 20, most, most + 1} {
		r := opened(t)
		go func() { io.WriteString(r.out, done+strings.Repeat(" ", n-len(done))+"\n"); r.out.Close() }()
		if n <= most {
			<-r.Answered()
			require.Nil(t, r.End(clean).Err)
			continue
		}
		r.doomed()
		require.Equal(t, fault.ProtocolError, r.End(clean).Err.Code)
	}
}

func TestWhiteSpaceInFrames(t *testing.T) {
	// rule: R-004
	r := opened(t)
	r.write("\t" + strings.ReplaceAll(done, `":`, "\" : ") + " \r")
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
	r = opened(t)
	r.write("{\n\"jsonrpc\":\"2.0\"}")
	r.doomed()
	r.fails(clean, fault.ProtocolError)
}

func TestEndOfOutput(t *testing.T) {
	// rule
	r := opened(t)
	r.raw(`{"jsonrpc"`)
	require.Contains(t, r.fails(clean, fault.ProtocolError).Message, "inside a frame")
	r = opened(t)
	r.fails(clean, fault.ChannelLost)
	r = opened(t)
	r.fails(exited(3), fault.ExecutionFailed)
}

func TestFramesThatAreNoJSON0(t *testing.T) {
	// rule
	for _, frame := range []string{
		"", "\ufeff{}", `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":9007199254740993}`, `{} {}`, `{"a":1e400}`, `{"a":NaN}`, `{"a":}`,
		`{"a":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, `{"` + strings.Repeat("n", 1025) + `":1}`, "plain text",
	} {
		r := opened(t)
		r.write(frame)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, r.line())
		r.doomed()
		r.fails(clean, fault.ProtocolError)
	}
}

func TestBadEnvelopes(t *testing.T) {
	// rule
	for frame, id := range map[string]string{
		`{}`: "null", `[]`: "null", `null`: "null", `1`: "null", `[` + done + `]`: "null",
		`{"jsonrpc":"2.0","id":"a:1","method":"flow/call","params":null}`:             `"a:1"`,
		`{"jsonrpc":"2.0","id":"a:1","method":"flow/call","params":false}`:            `"a:1"`,
		`{"jsonrpc":"2.0","id":"a:1","method":"flow/call","params":"x"}`:              `"a:1"`,
		`{"jsonrpc":"2.0","method":"x","params":1}`:                                   "null",
		`{"jsonrpc":"2.0","id":1,"method":"flow/call","params":{}}`:                   "null",
		`{"jsonrpc":"2.0","id":null,"method":"flow/call","params":{}}`:                "null",
		`{"jsonrpc":"2.0","id":"","method":"flow/call","params":{}}`:                  "null",
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", 129) + `","method":"x"}`:      "null",
		`{"jsonrpc":"2.0","id":"a","method":"x","extra":1}`:                           `"a"`,
		`{"jsonrpc":"2.0","id":"a","method":"x","Params":{}}`:                         `"a"`,
		`{"JSONRPC":"2.0","id":"a","method":"x"}`:                                     `"a"`,
		`{"jsonrpc":"1.0","id":"a","method":"x"}`:                                     `"a"`,
		`{"id":"a","method":"x"}`:                                                     `"a"`,
		`{"jsonrpc":"2.0","id":"a","method":7}`:                                       `"a"`,
		`{"jsonrpc":"2.0","id":"a","method":"x","result":1}`:                          `"a"`,
		`{"jsonrpc":"2.0","id":"host:1"}`:                                             "null",
		`{"jsonrpc":"2.0","id":"host:1","result":1,"error":{"code":1,"message":"x"}}`: "null",
	} {
		r := opened(t)
		r.write(frame)
		line := r.line()
		require.Contains(t, line, `"id":`+id+`,`, frame)
		require.Contains(t, line, `-32600`, frame)
		r.doomed()
		r.fails(clean, fault.ProtocolError)
	}
}

func TestSilentlyFatalFrames(t *testing.T) {
	// rule
	for name, frames := range map[string][]string{
		"invalid UTF-8":       {"{\"a\":\"\xff\"}"},
		"unknown response":    {`{"jsonrpc":"2.0","id":"host:2","result":{"outcome":"done","output":1}}`},
		"a request id reused": {request("a", "nonsense", "{}"), request("a", "nonsense", "{}")},
	} {
		r := opened(t)
		r.write(frames...)
		for range len(frames) - 1 {
			require.Contains(t, r.line(), "-32601")
		}
		r.doomed()
		r.Killed()
		r.fails(clean, fault.ProtocolError)
		require.Equal(t, 1, r.host.stops(), name)
		r.quiet()
	}
}

func TestNumberOfRequests(t *testing.T) {
	// rule: R-010
	r := opened(t, func(o *run0.Options) { o.Limits.Requests = 3 })
	for _, id := range []string{"a", "b", "c"} {
		r.write(request(id, "nonsense", "{}"))
		require.Contains(t, r.line(), "-32601")
	}
	r.write(request("d", "nonsense", "{}"))
	r.doomed()
	r.fails(clean, fault.ProtocolError)
	r.quiet()
}

func TestRealNumberOfRequests(t *testing.T) {
	// rule: R-010
	r := opened(t)
	go io.Copy(io.Discard, r.in)
	for i := range 65_536 {
		r.write(request("r"+strings.Repeat("x", i%7)+string('a'+rune(i%26))+itoa(i), "nonsense", "{}"))
	}
	select {
	case <-r.Doomed():
		t.Fatal("65,536 requests are allowed")
	default:
	}
	r.write(request("last", "nonsense", "{}"))
	r.doomed()
	r.fails(clean, fault.ProtocolError)
}

func TestUnknownMethodsAndWrongParams(t *testing.T) {
	// rule
	r := opened(t)
	for i, m := range []string{"flow/run", "request/cancel", "flow/Call", "nonsense", "channel/"} {
		id := "m" + itoa(i)
		r.write(request(id, m, "{}"))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":"`+id+`","error":{"code":-32601,"message":"Method not found"}}`, r.line())
	}
	r.write(request("host:1", "flow/call", "{}")) // the same id in the other direction
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"host:1","error":{"code":-32602,"message":"Invalid params"}}`, r.line())
	r.write(done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
}

func TestWrongParams(t *testing.T) {
	// rule
	base := `{"operationId":"o","slot":"s","input":1`
	many := `"channels":{` + strings.Repeat(`"a":"e",`, 0)
	for i := range 257 {
		many += `"n` + itoa(i) + `":"e",`
	}
	many = strings.TrimSuffix(many, ",") + "}"
	r := opened(t)
	n := 0
	for _, c := range []struct{ method, params string }{
		{"flow/call", `[]`}, {"flow/call", `{}`}, {"flow/call", `{"slot":"s","input":1}`}, {"flow/call", `{"operationId":"o","input":1}`},
		{"flow/call", `{"operationId":"o","slot":"s"}`}, {"flow/call", `{"operationId":"","slot":"s","input":1}`},
		{"flow/call", `{"operationId":1,"slot":"s","input":1}`}, {"flow/call", `{"operationId":"o","slot":"worker\n","input":1}`},
		{"flow/call", `{"operationId":"` + strings.Repeat("o", 129) + `","slot":"s","input":1}`},
		{"flow/call", base + `,"method":"x"}`}, {"flow/call", base + `,"operation":"x"}`}, {"flow/call", base + `,"attachments":{}}`}, {"flow/call", base + `,"deadline":1}`},
		{"flow/call", base + `,"intent":null}`}, {"flow/call", base + `,"intent":{}}`}, {"flow/call", base + `,"intent":""}`},
		{"flow/call", base + `,"intent":"` + strings.Repeat("x", 16_385) + `"}`},
		{"flow/call", base + `,"channels":null}`}, {"flow/call", base + `,"channels":{"a":{}}}`}, {"flow/call", base + `,"channels":{"A":"e"}}`}, {"flow/call", base + `,` + many + `}`},
		{"channel/create", `{"schema":true,"contract":"./x"}`}, {"channel/create", `{"delivery":"replay"}`}, {"channel/create", `{"delivery":null}`},
		{"channel/create", `{"contract":{"slot":"s"}}`}, {"channel/create", `{"contract":{"slot":"s","channel":"c","x":1}}`}, {"channel/create", `{"contract":"x"}`},
		{"channel/create", `{"contract":"./` + strings.Repeat("x", 4095) + `"}`}, {"channel/create", `{"contract":"./` + strings.Repeat("中", 4095) + `"}`},
		{"channel/create", `{"contract":"."}`}, {"channel/create", `{"contract":""}`}, {"channel/create", `{"contract":null}`}, {"channel/create", `{"schema":1}`}, {"channel/create", `{"other":1}`}, {"channel/create", `[]`},
		{"channel/subscribe", `{}`}, {"channel/subscribe", `{"source":1}`}, {"channel/subscribe", `{"source":"s","x":1}`},
		{"channel/send", `{"endpoint":"e"}`}, {"channel/send", `{"value":1}`}, {"channel/send", `{"endpoint":"e","value":1,"x":1}`}, {"channel/send", `{"endpoint":"","value":1}`},
		{"channel/next", `{"endpoint":"e","error":"LAGGED"}`}, {"channel/next", `{}`}, {"channel/next", `[]`},
		{"channel/close", `{"endpoint":"e","error":"CANCELLED"}`}, {"channel/close", `{"endpoint":"e","error":null}`}, {"channel/close", `{"endpoint":"e","error":{}}`}, {"channel/close", `{"endpoint":"e","error":false}`},
		{"channel/release", `{"endpoint":"e","x":1}`}, {"channel/release", `{}`},
	} {
		n++
		r.write(request("p"+itoa(n), c.method, c.params))
		require.Contains(t, r.line(), `-32602`, c.method+c.params)
	}
	// Just inside.
	r.write(request("ok", "flow/call", base+`,"intent":"`+strings.Repeat("é", 16_384)+`"}`))
	require.Equal(t, "1", string((<-r.host.calls).Input))
	// A string of 4,096 characters, not bytes, is well formed; what of it is a path is
	// not the envelope's affair.
	for i, path := range []string{strings.Repeat("x", 4093), strings.Repeat("x", 4094), strings.Repeat("中", 4093), strings.Repeat("中", 4094), strings.Repeat("🐣", 4094), ""} {
		r.write(request("path"+itoa(i), "channel/create", `{"contract":"./`+path+`"}`))
		require.Contains(t, r.line(), `"result"`)
		require.Equal(t, "./"+path, r.host.path)
	}
}

func TestARunMustFitTheFrameThatCarriesIt(t *testing.T) {
	// rule: R-039
	// The input stands two levels down, beside nine values and the frame itself.
	const beside = 10
	for _, c := range []struct {
		input, settings string
		why             string
	}{
		{nested(125), "{}", ""}, {nested(126), "{}", ""}, {nested(127), "{}", "nested too deep"}, {nested(128), "{}", "nested too deep"},
		{"1", `{"a":` + nested(124) + `}`, ""}, {"1", `{"a":` + nested(125) + `}`, ""}, {"1", `{"a":` + nested(126) + `}`, "nested too deep"},
		{wide(262_144 - beside - 1), "{}", ""}, {wide(262_144 - beside), "{}", ""}, {wide(262_144 - beside + 1), "{}", "too many values"},
		{wide(262_144 - beside - 101), `{"a":` + wide(100) + `}`, ""}, {wide(262_144 - beside - 100), `{"a":` + wide(100) + `}`, ""}, {wide(262_144 - beside - 99), `{"a":` + wide(100) + `}`, "too many values"},
	} {
		run := run0.Run{Input: jsontext.Value(c.input), Settings: jsontext.Value(c.settings), Scratch: "/scratch", DeadlineUnixMS: 1893456000000}
		in := &kept{closed: make(chan struct{})}
		s, err := run0.New(run0.Options{In: in, Out: strings.NewReader(""), Run: run, Handler: newHost()})
		if c.why != "" {
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, fault.ResourceExhausted, f.Code)
			require.Contains(t, f.Message, c.why)
			require.Equal(t, err, run.Check())
			continue
		}
		require.NoError(t, err)
		require.NoError(t, run.Check())
		s.Start()
		s.End(clean)
		<-in.closed
		require.NoError(t, json0.Check(bytes.TrimSuffix(in.Bytes(), []byte("\n"))))
	}
	// The bound of a session goes for it too.
	small := run0.Run{Input: text(20), Scratch: "/scratch"}
	least := len(`{"jsonrpc":"2.0","id":"host:1","method":"flow/run","params":{"attachments":{},"deadlineUnixMs":0,"input":` + string(text(20)) + `,"protocol":"run/0","scratch":"/scratch","settings":{}}}`)
	for most, fits := range map[int]bool{least + 1: true, least: true, least - 1: false} {
		s, err := run0.New(run0.Options{In: discard{}, Out: strings.NewReader(""), Run: small, Handler: newHost(), Limits: run0.Limits{FrameBytes: most}})
		require.Equal(t, fits, err == nil, most)
		if fits {
			s.End(clean)
		}
	}
}

// kept is an input that nobody reads.
type kept struct {
	bytes.Buffer
	closed chan struct{}
}

func (k *kept) Close() error { close(k.closed); return nil }

func TestAnAnswerMustFitTheFrameThatCarriesIt(t *testing.T) {
	// rule: R-039
	// Whatever a handler gives: the request fails, and the run does not.
	for depth, fits := range map[int]bool{124: true, 125: true, 126: false} {
		r := opened(t, func(o *run0.Options) { o.Handler = items{o.Handler, nested(depth)} })
		r.write(request("n", "channel/next", `{"endpoint":"e"}`))
		if line := r.line(); fits {
			require.NoError(t, json0.Check([]byte(line)))
			require.Equal(t, result("n", `{"item":{"sequence":1,"value":`+nested(depth)+`}}`), line)
		} else {
			r.failed(line, "n", "RESOURCE_EXHAUSTED")
		}
		r.write(done)
		<-r.Answered()
		require.Nil(t, r.end(clean).Err)
	}
	// An error that would not fit goes without its details.
	limit := len(`{"error":{"code":-32000,"data":{"code":"LAGGED","details":` + string(text(400)) + `},"message":"slow"},"id":"a","jsonrpc":"2.0"}`)
	for n, fits := range map[int]bool{399: true, 400: true, 401: false} {
		r := opened(t, func(o *run0.Options) { o.Limits.FrameBytes = limit })
		r.write(call("a", "o", ""))
		(<-r.host.calls).op.Settle(nil, &fault.Error{Code: fault.Lagged, Message: "slow", Details: text(n)})
		line := r.line()
		r.failed(line, "a", "LAGGED")
		require.Equal(t, fits, strings.Contains(line, string(text(n))))
		r.write(done)
		<-r.Answered()
		require.Nil(t, r.end(clean).Err)
	}
}

// items is a handler whose every read gives one value.
type items struct {
	run0.Handler
	value string
}

func (i items) Next(_ string, done func(channel.Item, *fault.Error)) func() {
	done(channel.Item{Sequence: 1, Value: jsontext.Value(i.value)}, nil)
	return func() {}
}

func TestNotifications(t *testing.T) {
	// rule
	r := opened(t)
	r.write(notice(`{"requestId":"stale:1"}`), notice(`{"requestId":"stale:1"}`),
		`{"jsonrpc":"2.0","method":"flow/call","params":{"operationId":"o","slot":"s","input":1}}`, `{"jsonrpc":"2.0","method":"other"}`, done)
	<-r.Answered()
	require.Empty(t, r.host.calls)
	require.Nil(t, r.end(clean).Err)
	for _, params := range []string{`{}`, `{"requestId":"a","extra":1}`, `{"requestId":1}`, `{"requestId":""}`, `[]`} {
		r := opened(t)
		r.write(notice(params))
		r.doomed()
		r.fails(clean, fault.ProtocolError)
		r.quiet()
	}
}

func TestStdoutBound(t *testing.T) {
	// rule: R-035
	r := opened(t, func(o *run0.Options) { o.Limits.StdoutBytes = int64(len(done) + 1) })
	r.write(done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
	r = opened(t, func(o *run0.Options) { o.Limits.StdoutBytes = int64(len(done)) })
	go r.raw(done + "\n")
	r.doomed()
	r.stop()
	r.fails(clean, fault.ResourceExhausted)
	r = opened(t)
	r.Exhausted("standard error")
	r.doomed()
	require.Contains(t, r.fails(clean, fault.ResourceExhausted).Message, "standard error")
}

// complaint: B2.19 anomalyco/opencode#13634 - a line of a log between the frames ended the run, and nothing said where it came from
func TestComplaintB2_19Opencode13634PollutedOutputIsExplained(t *testing.T) {
	// rule: R-205
	r := opened(t)
	r.write("Migrating database\x1b[2K…")
	r.doomed()
	err := r.fails(clean, fault.ProtocolError)
	require.Contains(t, err.Message, `polluted, beginning "Migrating database?[2K?"`)
}

// complaint: B2.16 LinusU/node-jsonlines#7 - text that is cut between its bytes comes out broken
func TestComplaintB2_16NodeJsonlines7BytesMayComeOneByOne(t *testing.T) {
	r := opened(t)
	for _, b := range []byte(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":"中 🐣"}}` + "\n") {
		r.raw(string([]byte{b}))
	}
	<-r.Answered()
	e := r.end(clean)
	require.Nil(t, e.Err)
	require.Equal(t, `"中 🐣"`, string(e.Result.Output))

	r = opened(t)
	r.raw(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":"` + "\xe4" + `"}}` + "\n")
	r.doomed()
	r.fails(clean, fault.ProtocolError)
}

// complaint: B2.17 radareorg/radare2-mcp#68 - an answer to nothing, or to another request, was taken for the answer
func TestComplaintB2_17Radare2MCP68AnAnswerHasTheIDOfItsRequest(t *testing.T) {
	for _, id := range []string{`1`, `0`, `1.0`, `"1"`, `"host:2"`, `"Host:1"`, `"host:1 "`, `""`, `null`, `true`, `["host:1"]`} {
		r := opened(t)
		r.write(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":"done","output":1}}`)
		r.doomed()
		r.stop()
		r.fails(clean, fault.ProtocolError)
	}
	r := opened(t)
	r.write(done, done)
	r.doomed()
	r.fails(clean, fault.ProtocolError)
}
