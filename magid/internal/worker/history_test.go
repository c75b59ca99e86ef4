package worker

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

// rule: M-119, M-120
func TestHistoryIsTheNewestWholeTurnsThatFit(t *testing.T) {
	b := newBench(t)
	for i := range 4 { // each turn: 5 bytes of prompt and 5 of answer
		b.provider.steps = []step{say(fmt.Sprintf("told%d", i))}
		b.run(t.Context(), fmt.Sprintf("tell%d", i))
	}
	for _, c := range []struct{ bytes, turns int }{{9, 0}, {10, 1}, {19, 1}, {20, 2}, {21, 2}, {39, 3}, {40, 4}, {1000, 4}} {
		b.limits.MaxHistoryBytes = c.bytes
		w, err := New(b.provider, b.catalog, b.limits, nil)
		require.NoError(t, err)
		h, err := w.Prepare(b.session)
		require.NoError(t, err)
		require.Equal(t, 4-c.turns, h.Omitted, c.bytes)
		require.Len(t, h.messages, 2*c.turns)
		if c.turns > 0 {
			require.Equal(t, fmt.Sprintf("tell%d", 4-c.turns), h.messages[0].Text)
			require.Equal(t, "told3", h.messages[len(h.messages)-1].Text)
		}
	}
}

// rule: M-119
func TestHistoryHasNoHole(t *testing.T) {
	b := newBench(t, say("a"), say(strings.Repeat("b", 100)), say("c"))
	for range 3 {
		b.run(t.Context(), "p")
	}
	b.limits.MaxHistoryBytes = 50 // the first turn would fit beside the third
	b.provider.steps = []step{say("d")}
	b.run(t.Context(), "p")
	require.Equal(t, 2, b.provider.omitted)
	require.Len(t, b.provider.requests[3].Messages, 3)
}

// rule: M-119
func TestHistorySizeCountsCallsAndResults(t *testing.T) {
	b := newBench(t, say("", ask("id", "echo", `{"n":1}`)), say("ok"))
	b.run(t.Context(), "p")
	size := len("p") + len("echo") + len(`{"n":1}`) + len(`{"n":1}`) + len("ok")
	for _, c := range []struct{ bytes, omitted int }{{size - 1, 1}, {size, 0}} {
		b.limits.MaxHistoryBytes = c.bytes
		w, err := New(b.provider, b.catalog, b.limits, nil)
		require.NoError(t, err)
		h, err := w.Prepare(b.session)
		require.NoError(t, err)
		require.Equal(t, c.omitted, h.Omitted)
	}
}

// rule: M-121
func TestHistoryReplaysWhatTheModelSaw(t *testing.T) {
	b := newBench(t,
		say("look", ask("1", "echo", `{"n":1}`), ask("", "echo", `{`)),
		say("", ask("3", "echo", `{}`)),
		say("done"),
	)
	b.run(t.Context(), "first")
	during := b.provider.requests[2].Messages
	b.provider.steps = []step{say("more")}
	b.run(t.Context(), "second")
	after := b.provider.requests[3].Messages
	require.Equal(t, during, after[:len(during)], "the same messages as within the turn")
	require.Equal(t, provider.Message{Role: provider.RoleAssistant, Text: "done"}, after[len(during)])
	require.Equal(t, provider.Message{Role: provider.RoleUser, Text: "second"}, after[len(during)+1])
}

func TestEmptyReplyIsNotSentAgain(t *testing.T) {
	b := newBench(t, say(""), say("hello"))
	b.run(t.Context(), "first")
	b.run(t.Context(), "second")
	require.Equal(t, []provider.Message{
		{Role: provider.RoleUser, Text: "first"}, {Role: provider.RoleUser, Text: "second"},
	}, b.provider.requests[1].Messages)
}

func TestHistoryThatCannotBeReadIsAnError(t *testing.T) {
	b := newBench(t)
	w, err := New(b.provider, b.catalog, Limits{}, nil)
	require.NoError(t, err)
	_, err = w.Prepare(unreadable{b.session})
	require.EqualError(t, err, "input/output error")
}

type unreadable struct{ *journal.Session }

func (unreadable) Backward() iter.Seq2[journal.Turn, error] {
	return func(yield func(journal.Turn, error) bool) { yield(journal.Turn{}, errors.New("input/output error")) }
}
