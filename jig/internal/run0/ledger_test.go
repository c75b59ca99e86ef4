package run0_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

func TestPreimageOfACall(t *testing.T) {
	// rule: R-194
	r := opened(t)
	r.write(request("a", "flow/call", `{"operationId":"shared","slot":"worker","input":{"b":2,"a":1}}`))
	d := <-r.host.calls
	require.Equal(t, "FLOW-Call/0\x00"+`{"input":{"a":1,"b":2},"slot":"worker"}`, string(d.Preimage))
	sum := fmt.Sprintf("%x", sha256.Sum256(d.Preimage))
	require.True(t, strings.HasPrefix(sum, "6e434ccb") && strings.HasSuffix(sum, "7931"), sum)
	r.write(request("b", "flow/call", `{"operationId":"other","slot":"worker","input":{"b":2,"a":1},"channels":{}}`))
	sum = fmt.Sprintf("%x", sha256.Sum256((<-r.host.calls).Preimage))
	require.True(t, strings.HasPrefix(sum, "98cf5f91") && strings.HasSuffix(sum, "fef2"), sum)
}

func TestIdenticalCallsJoin(t *testing.T) {
	// rule
	r := opened(t)
	shared := func(id, input, rest string) string {
		return request(id, "flow/call", `{"operationId":"shared","slot":"worker","input":`+input+rest+`}`)
	}
	r.write(shared("a", `{"b":2,"a":1}`, ""), shared("b", `{"a":1,"b":2}`, ""), shared("c", `{"a":1.0,"b":2e0}`, ""))
	d := <-r.host.calls
	r.write(shared("x", `{"b":2,"a":1}`, `,"channels":{}`))
	r.failed(r.line(), "x", "OPERATION_CONFLICT")
	r.write(shared("y", `{"b":2,"a":1}`, `,"intent":"now"`))
	r.failed(r.line(), "y", "OPERATION_CONFLICT")
	r.write(notice(`{"requestId":"b"}`))
	r.failed(r.line(), "b", "CANCELLED")
	require.NoError(t, d.aborted.Err(), "others wait")
	d.op.Settle(jsontext.Value(`{"outcome":"done","output":1}`), nil)
	lines := r.line() + r.line()
	require.Contains(t, lines, `"id":"a"`)
	require.Contains(t, lines, `"id":"c"`)
	require.Empty(t, r.host.calls, "one dispatch")
	// Afterwards the end is replayed, or the conflict named, without dispatch.
	r.write(shared("d", `{"b":2,"a":1}`, ""))
	require.JSONEq(t, result("d", `{"outcome":"done","output":1}`), r.line())
	r.write(shared("z", `3`, ""))
	r.failed(r.line(), "z", "OPERATION_CONFLICT")
	require.Empty(t, r.host.calls)
}

func TestEndsAreReplayed(t *testing.T) {
	// rule
	r := opened(t)
	r.write(call("a", "o", ""))
	d := <-r.host.calls
	d.op.Settle(nil, fault.New(fault.Uncertain, "nobody knows"))
	r.failed(r.line(), "a", "UNCERTAIN")
	r.write(call("b", "o", ""))
	r.failed(r.line(), "b", "UNCERTAIN")
	require.Empty(t, r.host.calls)
	r.write(call("c", "o2", ""))
	require.Equal(t, "o2", (<-r.host.calls).OperationID)
}

func TestLastWaiterAborts(t *testing.T) {
	// rule: R-196
	l := run0.NewLedger(run0.Limits{})
	var got []string
	note := func(name string) func(jsontext.Value, *fault.Error) {
		return func(_ jsontext.Value, err *fault.Error) { got = append(got, name+":"+string(err.Code)) }
	}
	op, cancelA := l.Begin("o", []byte("p"), note("a"))
	again, cancelB := l.Begin("o", []byte("p"), note("b"))
	require.Nil(t, again)
	aborted := 0
	cancelA()
	cancelA()
	require.Zero(t, aborted)
	cancelB()
	op.OnAbort(func() { aborted++ })
	require.Equal(t, 1, aborted, "an abort that came before is not lost")
	require.Equal(t, []string{"a:CANCELLED", "b:CANCELLED"}, got)
	op.Settle(nil, fault.New(fault.Cancelled, "aborted"))
	op.Settle(jsontext.Value("1"), nil)
	_, _ = l.Begin("o", []byte("p"), note("c"))
	require.Equal(t, "c:CANCELLED", got[2])
}

func TestCallersShareNothing(t *testing.T) {
	// rule: R-190
	parent, child := run0.NewLedger(run0.Limits{}), run0.NewLedger(run0.Limits{})
	a, _ := parent.Begin("o", []byte("p"), func(jsontext.Value, *fault.Error) {})
	b, _ := child.Begin("o", []byte("q"), func(jsontext.Value, *fault.Error) {})
	require.NotNil(t, a)
	require.NotNil(t, b)
}

// text is a string of n bytes as JSON.
func text(n int) jsontext.Value { return jsontext.Value(`"` + strings.Repeat("x", n-2) + `"`) }

// nested is an array of depth n.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// wide is a value of n nodes whose arrays are no longer than they may be.
func wide(n int) string {
	const most = 65_536
	var parts []string
	for n--; n > 0; {
		items := min(n-1, most)
		parts = append(parts, "["+strings.TrimSuffix(strings.Repeat("0,", items), ",")+"]")
		n -= items + 1
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestRetainedResultsAreBounded(t *testing.T) {
	// rule
	l := run0.NewLedger(run0.Limits{RetainedBytes: 10})
	settle := func(id string, n int) *fault.Error {
		var got *fault.Error
		op, _ := l.Begin(id, nil, func(_ jsontext.Value, err *fault.Error) { got = err })
		op.Settle(text(n), nil)
		return got
	}
	require.Nil(t, settle("a", 8))
	require.Equal(t, fault.ResourceExhausted, settle("b", 3).Code)
	require.Nil(t, settle("c", 2))
	require.Equal(t, fault.ResourceExhausted, settle("d", 2).Code)

	l = run0.NewLedger(run0.Limits{FrameBytes: 200})
	room := 200 - len(`{"jsonrpc":"2.0","id":"","result":}`) - 128
	require.Nil(t, settle("a", room))
	require.Equal(t, fault.ResourceExhausted, settle("b", room+1).Code)
}

func TestRetainedFailuresAreBounded(t *testing.T) {
	// rule
	const message = "no" // counted as well
	for _, c := range []struct {
		before, details int
		kept            bool
	}{{0, 97, true}, {0, 98, true}, {0, 99, false}, {50, 47, true}, {50, 48, true}, {50, 49, false}} {
		l := run0.NewLedger(run0.Limits{RetainedBytes: 100})
		if c.before > 0 {
			op, _ := l.Begin("before", nil, func(jsontext.Value, *fault.Error) {})
			op.Settle(text(c.before), nil)
		}
		var got *fault.Error
		op, _ := l.Begin("o", []byte("p"), func(_ jsontext.Value, err *fault.Error) { got = err })
		op.Settle(nil, &fault.Error{Code: fault.Uncertain, Message: message, Details: text(c.details)})
		want := &fault.Error{Code: fault.Uncertain, Message: message}
		if c.kept {
			want.Details = text(c.details)
		}
		require.Equal(t, want, got, "%+v", c)
		got = nil
		again, _ := l.Begin("o", []byte("p"), func(_ jsontext.Value, err *fault.Error) { got = err })
		require.Nil(t, again)
		require.Equal(t, want, got, "%+v", c)
	}
	// Details take the place of results, and a failure is kept whatever there is.
	l := run0.NewLedger(run0.Limits{RetainedBytes: 10})
	settle := func(id string, result jsontext.Value, failure *fault.Error) (got *fault.Error) {
		op, _ := l.Begin(id, nil, func(_ jsontext.Value, err *fault.Error) { got = err })
		op.Settle(result, failure)
		return got
	}
	require.Len(t, settle("a", nil, &fault.Error{Code: fault.Lagged, Message: message, Details: text(6)}).Details, 6)
	require.Equal(t, fault.ResourceExhausted, settle("b", text(3), nil).Code)
	require.Nil(t, settle("c", text(2), nil))
	require.Equal(t, fault.New(fault.Lagged, "LAGGED"), settle("d", nil, fault.New(fault.Lagged, message)))
}

func TestAResultMustFitTheFrameThatCarriesIt(t *testing.T) {
	// rule
	// The frame, the result and the output are three levels; the frame, its version
	// and its id are three values, the result and its outcome two more.
	whole := func(output string) string { return `{"outcome":"done","output":` + output + `}` }
	for _, c := range []struct {
		output string
		fits   bool
	}{
		{nested(125), true}, {nested(126), true}, {nested(127), false},
		{wide(262_144 - 6), true}, {wide(262_144 - 5), true}, {wide(262_144 - 4), false},
	} {
		r := opened(t)
		r.write(call("a", "o", ""))
		(<-r.host.calls).op.Settle(jsontext.Value(whole(c.output)), nil)
		line := r.line()
		if c.fits {
			require.True(t, line == result("a", whole(c.output)), line[:100])
			require.NoError(t, json0.Check([]byte(line)))
		} else {
			r.failed(line, "a", "RESOURCE_EXHAUSTED")
		}
		r.write(call("b", "o", "")) // the record says the same
		again := r.line()
		require.True(t, again == strings.Replace(line, `"id":"a"`, `"id":"b"`, 1), again[:100])
		r.write(done)
		<-r.Answered()
		require.Nil(t, r.end(clean).Err, "the run goes on")
	}
}

// A call whose requests were all answered because they were cancelled is alive
// until its work has ended, and counts as long as that (jig.md 3).
func TestOperationsThatAreAliveAreBounded(t *testing.T) {
	l := run0.NewLedger(run0.Limits{Pending: 2})
	var last *fault.Error
	done := func(_ jsontext.Value, err *fault.Error) { last = err }
	first, cancel := l.Begin("1", []byte("1"), done)
	require.NotNil(t, first)
	second, _ := l.Begin("2", []byte("2"), done)
	require.NotNil(t, second)
	cancel()
	require.Equal(t, fault.Cancelled, last.Code)

	third, _ := l.Begin("3", []byte("3"), done)
	require.Nil(t, third)
	require.Equal(t, fault.ResourceExhausted, last.Code)
	joined, _ := l.Begin("2", []byte("2"), done)
	require.Nil(t, joined, "one that is alive is joined")

	first.Settle(nil, fault.New(fault.Cancelled, "it has ended"))
	third, _ = l.Begin("3", []byte("3"), done)
	require.NotNil(t, third, "the refused one was not entered")
}
