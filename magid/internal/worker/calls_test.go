package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-241, W-182
func TestAllCallsAreDurableBeforeOneRuns(t *testing.T) {
	b := newBench(t, say("look", ask("1", "echo", `{"n":1}`)), say("done"))
	b.run(t.Context(), "go")
	require.Equal(t, strings.Join([]string{
		"request",
		`text "look"`,
		"append assistant tool_call",
		`run echo {"n":1}`,
		"echo started",
		"append tool_result",
		"echo succeeded",
		"request",
		`text "\n\ndone"`,
	}, "\n"), sorted(b.traced()))

	b = newBench(t, say("", ask("1", "echo", `{"n":1}`), ask("2", "echo", `{"n":2}`), ask("3", "echo", `{`)), say("done"))
	b.run(t.Context(), "go")
	lines := strings.Split(b.traced(), "\n")
	require.Equal(t, "append assistant tool_call tool_call tool_call tool_result", lines[1])
	require.Equal(t, "echo failed", lines[2], "a call that never runs is failed alone")
	require.Equal(t, 1, strings.Count(b.traced(), "append assistant"))
}

// sorted puts the note of the tool's own goroutine before that of the worker's:
// the two are not ordered.
func sorted(trace string) string {
	return strings.Replace(trace, "echo started\nrun echo {\"n\":1}", "run echo {\"n\":1}\necho started", 1)
}

// rule: W-243
func TestResultsGoBackInTheModelsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t,
			say("", ask("a", "wait", `{"n":0}`), ask("b", "wait", `{"n":1}`), ask("c", "wait", `{"n":2}`)),
			say("done"))
		gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		b.catalog.run = func(_ context.Context, _ string, arguments jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			n := arguments[len(`{"n":`)] - '0'
			<-gates[n]
			return arguments, nil
		}
		done := make(chan Outcome)
		go func() { done <- b.run(t.Context(), "go") }()
		for _, n := range []int{2, 0, 1} {
			synctest.Wait() // the three run side by side
			close(gates[n])
		}
		<-done
		sent := b.provider.requests[1].Messages
		require.Len(t, sent, 5)
		for i, want := range []string{"a", "b", "c"} {
			require.Equal(t, want, sent[2+i].CallID)
			require.Equal(t, fmt.Sprintf(`{"n":%d}`, i), sent[2+i].Text)
		}
	})
}

func TestBuiltinToolsRunSideBySideAndNotMoreThanFour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []provider.Call
		for i := range 9 {
			calls = append(calls, ask(fmt.Sprint(i), "wait", `{}`))
		}
		b := newBench(t, say("", calls...), say("done"))
		var mu sync.Mutex
		running, most := 0, 0
		gate := make(chan struct{})
		b.catalog.run = func(context.Context, string, jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-gate
			mu.Lock()
			running--
			mu.Unlock()
			return jsontext.Value(`{}`), nil
		}
		done := make(chan Outcome)
		go func() { done <- b.run(t.Context(), "go") }()
		synctest.Wait()
		require.Equal(t, 4, running)
		close(gate)
		<-done
		require.Equal(t, 4, most)
	})
}

// rule: W-238, W-239, M-105, M-106, W-183
// complaint: 44 charmbracelet/fantasy#223 - arguments that are no JSON object were dropped, or run as {}, or crashed
func TestComplaint44Fantasy223InvalidArgumentsAreNeverRun(t *testing.T) {
	for _, written := range []string{
		``, `null`, `[]`, `"x"`, `7`, `true`, `{"a":1}{"b":2}`, `{"a":1,}`, `{"a":NaN}`, `{"a":1`, `{'a':1}`, `{"a":1} x`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, `{"bad":1}`, "\ufeff{}",
		`{"a":"` + strings.Repeat("x", maxValueBytes+1-len(`{"a":""}`)) + `"}`,
		strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
	} {
		b := newBench(t, say("", ask("1", "echo", written)), say("sorry"))
		out := b.run(t.Context(), "go")
		require.Nil(t, out.Failure, "the turn goes on")
		require.NotContains(t, b.traced(), "run ")
		require.Contains(t, b.traced(), "echo failed")
		require.NotContains(t, b.traced(), "started")

		call := b.last().Replies[0].Calls[0]
		require.Equal(t, wirev2.ToolInvalidArguments, *call.Result.Code)
		require.True(t, call.Result.Synthetic)
		require.Equal(t, wirev2.EffectsNotDispatched, call.Result.ExternalEffects)
		require.NotEqual(t, jsontext.KindBeginObject, call.Call.Arguments.Kind())
		require.LessOrEqual(t, len(*call.Call.ArgumentsText), 1024)

		sent := b.provider.requests[1].Messages
		require.Equal(t, "{}", sent[1].Calls[0].Arguments, "the model sees its call as {}")
		require.True(t, sent[2].IsError)
		quoted := written[:min(len(written), 1024)]
		require.Contains(t, sent[2].Text, quoted)
		require.Less(t, len(sent[2].Text), len(quoted)+200)
	}
}

// rule: M-105
func TestQuoteOfInvalidArgumentsIsCutAtACharacter(t *testing.T) {
	require.Equal(t, strings.Repeat("a", 1024), quote(strings.Repeat("a", 1025)))
	require.Equal(t, strings.Repeat("a", 1024), quote(strings.Repeat("a", 1024)))
	require.Equal(t, strings.Repeat("a", 1023), quote(strings.Repeat("a", 1023)+"é"))
	require.Equal(t, strings.Repeat("a", 1022)+"é", quote(strings.Repeat("a", 1022)+"éb"))
}

func TestArgumentsRunCompactAndUpToTheirLimit(t *testing.T) {
	exact := `{"a":"` + strings.Repeat("x", maxValueBytes-len(`{"a":""}`)) + `"}`
	for written, want := range map[string]string{
		exact:                       exact,
		exact + " ":                 "",
		" { \"a\" :\n[ 1 , 2 ] }\t": `{"a":[1,2]}`,
	} {
		b := newBench(t, say("", ask("1", "echo", written)), say("done"))
		b.run(t.Context(), "go")
		if want == "" {
			require.NotContains(t, b.traced(), "run ")
			continue
		}
		require.Equal(t, want, string(b.last().Replies[0].Calls[0].Call.Arguments))
		require.Contains(t, b.traced(), "echo succeeded")
	}
}

// rule: W-240
func TestEightInvalidCallsGoOnAndTheNinthFailsTheTurn(t *testing.T) {
	var eight []provider.Call
	for i := range 8 {
		eight = append(eight, ask(fmt.Sprint(i), "echo", `{`))
	}
	b := newBench(t, say("", eight...), say("", ask("ok", "echo", `{}`)), say("done"))
	require.Nil(t, b.run(t.Context(), "go").Failure)

	b = newBench(t, say("", eight...), say("", ask("ninth", "echo", `{`), ask("ok", "echo", `{}`)))
	out := b.run(t.Context(), "go")
	require.Equal(t, wirev2.TurnToolFailed, out.Failure.Code)
	require.NotContains(t, b.traced(), "run ", "what stands beside it does not run either")
	calls := b.last().Replies[1].Calls
	require.Equal(t, wirev2.ToolInvalidArguments, *calls[0].Result.Code)
	require.Equal(t, wirev2.ToolCancelled, *calls[1].Result.Code)
	require.Equal(t, wirev2.EffectsNotDispatched, calls[1].Result.ExternalEffects)

	// The count is the turn's: the next turn has its own eight.
	b.provider.steps = []step{say("", eight...), say("done")}
	require.Nil(t, b.run(t.Context(), "again").Failure)
}

func TestUnknownToolIsAnInvalidCall(t *testing.T) {
	b := newBench(t, say("", ask("1", "rm", `{}`)), say("done"))
	require.Nil(t, b.run(t.Context(), "go").Failure)
	require.Equal(t, wirev2.ToolInvalidArguments, *b.last().Replies[0].Calls[0].Result.Code)
	require.Contains(t, b.provider.requests[1].Messages[2].Text, "no tool of this name")
}

// rule: M-107
func TestMissingCallIDsAreMintedFromTurnAndPosition(t *testing.T) {
	b := newBench(t, say("done"))
	b.run(t.Context(), "first")
	b.provider.steps = []step{
		say("", ask("", "echo", `{"n":1}`), ask("call_2_3", "echo", `{"n":2}`), ask("", "echo", `{"n":3}`)),
		say("", ask("", "echo", `{"n":4}`)),
		say("done"),
	}
	require.Nil(t, b.run(t.Context(), "second").Failure)
	turn := b.last()
	var got []string
	for _, reply := range turn.Replies {
		for _, call := range reply.Calls {
			got = append(got, fmt.Sprint(call.Call.ProviderCallID, " ", call.Call.Minted))
		}
	}
	require.Equal(t, []string{"call_2_1 true", "call_2_3 false", "call_2_3x true", "call_2_4 true"}, got)
	require.Equal(t, "call_2_4", b.provider.requests[3].Messages[len(b.provider.requests[3].Messages)-1].CallID)
}

// rule: M-108
func TestOneCallIDTwiceInATurnIsAProviderError(t *testing.T) {
	for name, steps := range map[string][]step{
		"in one reply":  {say("so", ask("x", "echo", `{}`), ask("x", "echo", `{}`))},
		"in two":        {say("", ask("x", "echo", `{}`)), say("so", ask("x", "echo", `{}`))},
		"of a minted":   {say("", ask("", "echo", `{}`)), say("so", ask("call_1_1", "echo", `{}`))},
		"with no other": {say("so", ask("y", "echo", `{}`), ask("x", "echo", `{}`), ask("x", "echo", `{}`))},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, steps...)
			before := len(steps) - 1
			out := b.run(t.Context(), "go")
			require.Equal(t, wirev2.TurnProviderError, out.Failure.Code)
			require.Equal(t, before, strings.Count(b.traced(), "run "), "nothing of that reply runs")
			require.Equal(t, "so", b.last().Text(), "its text stays")
			require.Empty(t, b.last().Replies[before].Calls)
			b.provider.steps = []step{say("done")}
			require.Nil(t, b.run(t.Context(), "the next turn may use the id again").Failure)
		})
	}
	b := newBench(t, say("", ask("x", "echo", `{}`)), say("done"), say("", ask("x", "echo", `{}`)), say("done"))
	require.Nil(t, b.run(t.Context(), "go").Failure)
	require.Nil(t, b.run(t.Context(), "again").Failure, "ids are unique within a turn only")
}

func TestBoundsOfOneReplysCalls(t *testing.T) {
	many := func(n int) []provider.Call {
		var calls []provider.Call
		for i := range n {
			calls = append(calls, ask(fmt.Sprint(i), "echo", `{}`))
		}
		return calls
	}
	long := func(n int) string { return strings.Repeat("n", n) }
	for _, c := range []struct {
		name  string
		calls []provider.Call
		ok    bool
	}{
		{"64 calls", many(64), true},
		{"65 calls", many(65), false},
		{"id of 128", []provider.Call{ask(long(128), "echo", `{}`)}, true},
		{"id of 129", []provider.Call{ask(long(129), "echo", `{}`)}, false},
		{"name of 128", []provider.Call{ask("1", long(128), `{}`)}, true}, // no such tool, and the turn goes on
		{"name of 129", []provider.Call{ask("1", long(129), `{}`)}, false},
	} {
		b := newBench(t, say("", c.calls...), say("done"))
		out := b.run(t.Context(), "go")
		if c.ok {
			require.Nil(t, out.Failure, c.name)
			continue
		}
		require.Equal(t, wirev2.TurnProviderError, out.Failure.Code, c.name)
		require.NotContains(t, b.traced(), "run ")
	}
}

// complaint: 56 github/copilot-cli#2911 - a turn hung once its tool results reached a size
func TestComplaint56CopilotCLI2911ResultsOfAnySizeEndTheirCall(t *testing.T) {
	result := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	for _, c := range []struct {
		size, calls int
		fits        bool
	}{{maxValueBytes - 1, 1, true}, {maxValueBytes, 1, true}, {maxValueBytes + 1, 1, false}, {maxValueBytes, 32, true}} {
		var calls []provider.Call
		for i := range c.calls {
			calls = append(calls, ask(fmt.Sprint(i), "wait", `{}`))
		}
		b := newBench(t, say("", calls...), say("done"))
		b.catalog.run = func(context.Context, string, jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			return jsontext.Value(result(c.size)), nil
		}
		require.Nil(t, b.run(t.Context(), "go").Failure)
		for i := range c.calls {
			m := b.provider.requests[1].Messages[2+i]
			require.Equal(t, !c.fits, m.IsError)
			if c.fits {
				require.Equal(t, result(c.size), m.Text)
			}
		}
	}
}
