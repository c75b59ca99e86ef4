package run0_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestPrematureOutput(t *testing.T) {
	// rule
	r := start(t)
	made, ferr := r.host.broker.Create(r.host.party, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, ferr)
	r.write(call("a", "o", ""))
	r.failed(r.line(), "a", "OWNER_CLOSED")
	for method, params := range map[string]string{
		"flow/call": `{"operationId":"p","slot":"worker","input":1}`, "channel/create": `{}`, "channel/subscribe": `{"source":"` + made.Source + `"}`,
		"channel/send": `{"endpoint":"` + made.Send.Endpoint + `","value":1}`, "channel/next": `{"endpoint":"e"}`,
		"channel/close": `{"endpoint":"` + made.Send.Endpoint + `"}`, "channel/release": `{"endpoint":"e"}`,
	} {
		r.write(request(method, method, params))
		r.failed(r.line(), method, "OWNER_CLOSED")
		r.write(request(method+":wrong", method, `[]`))
		require.Contains(t, r.line(), "-32602", method)
	}
	r.write(request("x", "flow/run", `{}`))
	require.Contains(t, r.line(), "-32601")
	// Nothing of it was done.
	require.False(t, r.host.broker.Inspect(r.host.party).Abandoned)
	require.Nil(t, r.host.broker.Close(r.host.party, made.Send.Endpoint, true))
	r.write(done)
	r.doomed()
	r.fails(clean, fault.ProtocolError)
	require.Empty(t, r.host.calls)
}

func TestPendingRequests(t *testing.T) {
	// rule
	r := opened(t)
	for i := range 64 {
		r.write(call("c"+itoa(i), "o"+itoa(i), ""))
	}
	r.write(call("c64", "o64", ""))
	r.failed(r.line(), "c64", "RESOURCE_EXHAUSTED")
	for range 64 {
		d := <-r.host.calls
		d.op.Settle(jsontext.Value(`{"outcome":"done","output":1}`), nil)
		require.Contains(t, r.line(), `"result":{"outcome":"done","output":1}`)
	}
	require.Empty(t, r.host.calls)

	// With every slot taken, ends are still closed and released.
	r.write(request("made", "channel/create", "{}"))
	send, receive := grants(t, r.line())
	for i := range 64 {
		r.write(call("d"+itoa(i), "p"+itoa(i), ""))
	}
	r.write(request("close", "channel/close", `{"endpoint":"`+send+`"}`))
	require.JSONEq(t, result("close", "null"), r.line())
	r.write(request("release", "channel/release", `{"endpoint":"`+receive+`"}`))
	require.JSONEq(t, result("release", `{"status":"released"}`), r.line())
	r.write(request("next", "channel/create", `{}`))
	r.failed(r.line(), "next", "RESOURCE_EXHAUSTED")
}

func grants(t *testing.T, line string) (send, receive string) {
	t.Helper()
	cut := func(after string) string {
		_, rest, ok := strings.Cut(line, after)
		require.True(t, ok, line)
		_, rest, ok = strings.Cut(rest, `"endpoint":"`)
		require.True(t, ok, line)
		e, _, _ := strings.Cut(rest, `"`)
		return e
	}
	return cut(`"send":{`), cut(`"receive":{`)
}

func TestAfterTheAnswerNothingMayCome(t *testing.T) {
	// rule
	for _, more := range []string{done + "\n", "x", "{}\n", "\n"} {
		r := opened(t)
		r.write(done)
		<-r.Answered()
		r.raw(more)
		r.fails(clean, fault.ProtocolError)
	}
}

func TestAnswerWhileRequestsWait(t *testing.T) {
	// rule: R-080
	r := opened(t)
	r.write(call("a", "o", ""))
	<-r.host.calls
	r.write(done)
	r.doomed()
	r.fails(clean, fault.ProtocolError)
}

func TestErrorsOfTheRoot(t *testing.T) {
	// rule
	r := opened(t)
	r.write(`{"jsonrpc":"2.0","id":"host:1","error":{"code":-32000,"message":"no luck","data":{"code":"UNAVAILABLE","details":{"why":1}}}}`)
	<-r.Answered()
	err := r.fails(clean, fault.Unavailable)
	require.Equal(t, "no luck", err.Message)
	require.Equal(t, `{"why":1}`, string(err.Details))
	for _, e := range []string{
		`{"code":-32602,"message":"x"}`, `{"code":-32603,"message":"x"}`, `{"code":-32601,"message":"x"}`, `{"code":-32600,"message":"x"}`,
		`{"code":-32000,"message":"x"}`, `{"code":-32000,"message":"x","data":{}}`, `{"code":-32000,"message":"x","data":{"code":"PROTOCOL_ERROR"}}`,
		`{"code":-32000,"message":"x","data":{"code":"CANCELLED","x":1}}`, `{"code":-32000,"message":"","data":{"code":"CANCELLED"}}`,
		`{"code":-32000,"message":"` + strings.Repeat("x", 1025) + `","data":{"code":"CANCELLED"}}`, `{"code":1,"message":"x"}`, `{"code":"x","message":"x"}`, `{"code":true,"message":42}`,
	} {
		r := opened(t)
		r.write(`{"jsonrpc":"2.0","id":"host:1","error":` + e + `}`)
		r.doomed()
		r.stop()
		r.fails(clean, fault.ProtocolError)
	}
	r = opened(t)
	r.write(`{"jsonrpc":"2.0","id":"host:1","error":{"code":-32000,"message":"` + strings.Repeat("é", 1024) + `","data":{"code":"LAGGED"}}}`)
	<-r.Answered()
	r.fails(clean, fault.Lagged)
}

func TestShapeOfResults(t *testing.T) {
	// rule
	for _, bad := range []string{`{"outcome":"not-found"}`, `{"output":1}`, `{"outcome":"done","output":1,"x":1}`, `{"outcome":"Done","output":1}`, `null`, `[]`} {
		r := opened(t)
		r.write(result("host:1", bad))
		r.doomed()
		r.fails(clean, fault.ProtocolError)
	}
	c, err := contract.ParseInvocation([]byte(`{"$schema":"`+contract.InvocationSchema+`","outcomes":{"blocked":"x"},"result":{"properties":{"output":{"type":"number"}}}}`), nil)
	require.NoError(t, err)
	with := func(o *run0.Options) { o.CheckResult = c.CheckResult }
	for value, code := range map[string]fault.Code{
		`{"outcome":"blocked","output":1}`: "", `{"outcome":"other","output":1}`: fault.InvalidResult, `{"outcome":"done","output":"x"}`: fault.InvalidResult,
	} {
		r := opened(t, with)
		r.write(result("host:1", value))
		<-r.Answered()
		e := r.end(clean)
		if code == "" {
			require.Nil(t, e.Err)
			require.Equal(t, "blocked", e.Result.Outcome)
		} else {
			require.Equal(t, code, e.Err.Code)
		}
	}
}

func TestCancelling(t *testing.T) {
	// rule
	r := opened(t)
	r.write(request("made", "channel/create", "{}"))
	send, receive := grants(t, r.line())
	r.write(request("next", "channel/next", `{"endpoint":"`+receive+`"}`), call("a", "o", ""))
	d := <-r.host.calls
	require.True(t, r.Cancel(fault.New(fault.DeadlineExceeded, "time is up")))
	require.False(t, r.Cancel(fault.New(fault.Cancelled, "again")))
	require.JSONEq(t, notice(`{"requestId":"host:1"}`), r.line())
	codes := r.line() + r.line()
	require.Equal(t, 2, strings.Count(codes, `"code":"CANCELLED"`), codes)
	<-d.aborted.Done()
	d.op.Settle(jsontext.Value(`{}`), nil) // too late: it was answered once
	r.write(request("release", "channel/release", `{"endpoint":"`+receive+`"}`))
	require.JSONEq(t, result("release", `{"status":"released"}`), r.line())
	r.write(request("close", "channel/close", `{"endpoint":"`+send+`","error":"LAGGED"}`))
	require.JSONEq(t, result("close", "null"), r.line())
	r.write(call("b", "p", ""))
	r.failed(r.line(), "b", "OWNER_CLOSED")
	r.write(request("make", "channel/create", "{}"))
	r.failed(r.line(), "make", "OWNER_CLOSED")
	r.write(done)
	<-r.Answered()
	require.False(t, r.host.eligibly(), "no success while cancelling")
	require.Equal(t, 1, r.host.stops())
	r.fails(clean, fault.DeadlineExceeded)
	r.quiet()
}

func TestHostKillAfterACauseIsThatCause(t *testing.T) {
	// rule
	r := opened(t)
	r.Cancel(fault.New(fault.Cancelled, "stop"))
	r.line()
	r.raw(`{"half`) // cut by the kill
	r.Killed()
	r.fails(run0.Exit{Code: -1, Killed: true, Confirmed: true, Cleanup: true}, fault.Cancelled)

	r = opened(t)
	r.Cancel(fault.New(fault.DeadlineExceeded, "time"))
	r.line()
	r.out.CloseWithError(fmt.Errorf("broken pipe"))
	e := r.End(clean)
	require.Equal(t, fault.DeadlineExceeded, e.Err.Code)
	r = opened(t)
	r.out.CloseWithError(fmt.Errorf("broken pipe"))
	require.Equal(t, fault.ChannelLost, r.End(clean).Err.Code)
}

// lost closes the component's input while an answer is on its way there, and waits
// until the session has noticed.
func (r *rig) lost() {
	r.Helper()
	r.write(call("a", "o", ""))
	d := <-r.host.calls
	r.stop()
	d.op.Settle(jsontext.Value(`{"outcome":"done","output":1}`), nil)
	<-r.Silent()
}

func TestAComponentThatCannotBeWrittenToIsLost(t *testing.T) {
	// rule
	killed := run0.Exit{Code: -1, Killed: true, Confirmed: true, Cleanup: true}
	// One that waits would wait to the deadline.
	r := opened(t)
	r.lost()
	require.Equal(t, 1, r.host.stops())
	r.Killed()
	r.fails(killed, fault.ChannelLost)
	require.False(t, r.Cancel(fault.New(fault.Cancelled, "late")))
	// One that answers all the same has no success.
	r = opened(t)
	r.lost()
	r.write(call("b", "p", ""), done) // admits nothing either
	<-r.Answered()
	require.Empty(t, r.host.calls)
	require.False(t, r.host.eligibly())
	r.fails(clean, fault.ChannelLost)
	// What the process says of its end goes above that, and a violation above all.
	r = opened(t)
	r.lost()
	r.fails(exited(7), fault.ExecutionFailed)
	r = opened(t)
	r.lost()
	r.fails(clean, fault.ChannelLost)
	r = opened(t)
	r.lost()
	r.write("[]")
	r.doomed()
	r.fails(exited(1), fault.ProtocolError)
	// A cause that came first stays, also where its own notification is what is lost.
	r = opened(t)
	r.stop()
	require.True(t, r.Cancel(fault.New(fault.DeadlineExceeded, "time is up")))
	<-r.Silent()
	r.fails(clean, fault.DeadlineExceeded)
	require.Equal(t, 1, r.host.stops())
	// After the answer nobody need read.
	r = opened(t)
	r.stop()
	r.write(done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
}

func TestCauseAfterTheAnswerChangesNothing(t *testing.T) {
	// rule
	r := opened(t)
	r.write(done)
	<-r.Answered()
	require.False(t, r.Cancel(fault.New(fault.DeadlineExceeded, "late")))
	r.quiet()
	require.Nil(t, r.end(clean).Err)
}

func TestPrecedenceOfEndings(t *testing.T) {
	// rule
	after := func(t *testing.T) *rig {
		r := opened(t)
		r.write(done)
		<-r.Answered()
		return r
	}
	killed := run0.Exit{Code: -1, Killed: true, Confirmed: true, Cleanup: true}
	after(t).fails(exited(7), fault.ExecutionFailed)
	r := after(t)
	r.Killed()
	r.fails(killed, fault.ExecutionFailed)
	unconfirmed, unclean, limit := clean, clean, killed
	unconfirmed.Confirmed, unclean.Cleanup, limit.Limit = false, false, "memory"
	after(t).fails(unconfirmed, fault.Uncertain)
	after(t).fails(unclean, fault.ExecutionFailed)

	r = opened(t)
	r.fails(limit, fault.ResourceExhausted)
	r = opened(t)
	r.fails(killed, fault.ResourceExhausted)

	// A violation goes above all, the fence above what was recorded, the record
	// above an exit status.
	r = opened(t)
	r.Cancel(fault.New(fault.Cancelled, "stop"))
	r.line()
	r.write("[]")
	r.line()
	r.doomed()
	r.fails(unconfirmed, fault.ProtocolError)
	r = opened(t)
	r.Cancel(fault.New(fault.Cancelled, "stop"))
	r.line()
	r.fails(unconfirmed, fault.Uncertain)
	r = opened(t)
	r.Cancel(fault.New(fault.Cancelled, "stop"))
	r.line()
	r.fails(exited(9), fault.Cancelled)
	// The component's own error comes after its exit status.
	r = opened(t)
	r.write(`{"jsonrpc":"2.0","id":"host:1","error":{"code":-32000,"message":"x","data":{"code":"UNAVAILABLE"}}}`)
	<-r.Answered()
	r.fails(exited(1), fault.ExecutionFailed)
}

func TestChannelsLeftUndone(t *testing.T) {
	// rule
	r := opened(t)
	r.write(request("made", "channel/create", "{}"))
	send, receive := grants(t, r.line())
	r.write(request("s", "channel/send", `{"endpoint":"`+send+`","value":1}`))
	require.JSONEq(t, result("s", "null"), r.line())
	r.write(done)
	<-r.Answered()
	require.Equal(t, "channels were left undone", r.fails(clean, fault.ExecutionFailed).Message)
	_ = receive

	r = opened(t)
	r.write(request("made", "channel/create", "{}"))
	send, receive = grants(t, r.line())
	r.write(request("c", "channel/close", `{"endpoint":"`+send+`","error":"LAGGED"}`))
	r.line()
	r.write(request("n", "channel/next", `{"endpoint":"`+receive+`"}`))
	r.failed(r.line(), "n", "LAGGED")
	r.write(request("r", "channel/release", `{"endpoint":"`+receive+`"}`))
	require.JSONEq(t, result("r", `{"status":"failed","code":"LAGGED"}`), r.line())
	r.write(done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
}

func TestReadingAChannelToItsEnd(t *testing.T) {
	// rule
	r := opened(t)
	r.write(request("made", "channel/create", `{"delivery":"direct"}`))
	send, receive := grants(t, r.line())
	for i := range 10 {
		r.write(request("s"+itoa(i), "channel/send", fmt.Sprintf(`{"endpoint":%q,"value":%d}`, send, i)))
	}
	for range 10 {
		require.Contains(t, r.line(), `"result":null`)
	}
	for i := range 10 {
		r.write(request("n"+itoa(i), "channel/next", `{"endpoint":"`+receive+`"}`))
		require.JSONEq(t, result("n"+itoa(i), fmt.Sprintf(`{"item":{"sequence":%d,"value":%d}}`, i+1, i)), r.line())
	}
	r.write(request("c", "channel/close", `{"endpoint":"`+send+`"}`))
	r.line()
	r.write(request("end", "channel/next", `{"endpoint":"`+receive+`"}`))
	require.JSONEq(t, result("end", `{"end":{"lastSequence":10}}`), r.line())
	r.write(request("rel", "channel/release", `{"endpoint":"`+receive+`"}`))
	require.JSONEq(t, result("rel", `{"status":"ended","lastSequence":10}`), r.line())
}

func TestCancellingOneRequest(t *testing.T) {
	// rule
	r := opened(t)
	r.write(request("made", "channel/create", "{}"))
	_, receive := grants(t, r.line())
	r.write(call("a", "o", ""), request("n", "channel/next", `{"endpoint":"`+receive+`"}`))
	d := <-r.host.calls
	r.write(notice(`{"requestId":"a"}`))
	r.failed(r.line(), "a", "CANCELLED")
	<-d.aborted.Done()
	r.write(notice(`{"requestId":"n"}`), request("rel", "channel/release", `{"endpoint":"`+receive+`"}`))
	r.failed(r.line(), "n", "CANCELLED")
	require.JSONEq(t, result("rel", `{"status":"released"}`), r.line())
	r.write(notice(`{"requestId":"rel"}`), notice(`{"requestId":"a"}`), done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err)
}

func TestSlowComponentDoesNotStallTheReader(t *testing.T) {
	// rule: R-036
	r := opened(t, func(o *run0.Options) { o.Limits.QueuedBytes = 4096 })
	for i := range 4 { // nobody reads the answers
		r.write(request("m"+itoa(i), "nonsense", "{}"))
	}
	r.write(call("a", "o", ""))
	require.Equal(t, "o", (<-r.host.calls).OperationID)
	for i := range 100 {
		r.write(request("k"+itoa(i), "nonsense", "{}"))
	}
	r.doomed()
	r.stop()
	require.Contains(t, r.fails(clean, fault.ResourceExhausted).Message, "queued responses")
}

func TestWholeResultsAndRefusalsPassThrough(t *testing.T) {
	// rule
	r := opened(t)
	r.write(call("a", "o", `,"channels":{}`))
	d := <-r.host.calls
	require.NotNil(t, d.Channels)
	d.op.Settle(jsontext.Value(`{"outcome":"not-found","output":{"a":[1]}}`), nil)
	require.JSONEq(t, result("a", `{"outcome":"not-found","output":{"a":[1]}}`), r.line())
	r.write(call("b", "p", ""))
	d = <-r.host.calls
	require.Nil(t, d.Channels)
	d.op.Settle(nil, &fault.Error{Code: fault.ProtocolError, Message: "", Details: nil})
	r.failed(r.line(), "b", "EXECUTION_FAILED")
	r.write(call("c", "q", ""))
	d = <-r.host.calls
	d.op.Settle(nil, &fault.Error{Code: fault.Unavailable, Message: "nothing there", Details: jsontext.Value(`{"a":1}`)})
	line := r.line()
	r.failed(line, "c", "UNAVAILABLE")
	require.Contains(t, line, `"details":{"a":1}`)
	r.write(done)
	<-r.Answered()
	require.Nil(t, r.end(clean).Err, "a failure that was caught")
}

func FuzzComponent(f *testing.F) {
	f.Add(done + "\n")
	f.Add(call("a", "o", `,"channels":{"a":"e"}`) + "\n" + notice(`{"requestId":"a"}`) + "\n" + done + "\n")
	f.Add(request("a", "channel/create", `{"contract":{"slot":"a","channel":"b"}}`) + "\n")
	f.Add("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}\n")
	f.Fuzz(func(t *testing.T, output string) {
		s, err := run0.New(run0.Options{
			In: discard{}, Out: strings.NewReader(output), Handler: newHost(),
			Run: run0.Run{Input: jsontext.Value(`null`), Scratch: "/s"},
		})
		require.NoError(t, err)
		s.Start()
		e := s.End(clean)
		require.True(t, (e.Err == nil) != (e.Result == nil), "%+v", e)
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
