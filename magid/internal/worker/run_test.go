package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-186, W-187
func TestTextOfSeveralRepliesIsJoined(t *testing.T) {
	b := newBench(t,
		say("", ask("1", "echo", `{"n":1}`)), // no text yet: nothing to separate
		say("one", ask("2", "echo", `{"n":2}`)),
		say("", ask("3", "echo", `{"n":3}`)),
		say("two"),
	)
	out := b.run(t.Context(), "go")
	require.Nil(t, out.Failure)
	require.Equal(t, "one\n\ntwo", b.text)
	require.Equal(t, "one\n\ntwo", b.last().Text(), "the journal's replies join to the same text")
}

// rule: W-187
func TestSeparatorComesOnceForAReplyOfManyPieces(t *testing.T) {
	b := newBench(t,
		say("one", ask("1", "echo", `{}`)),
		func(_ context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
			return provider.Reply{}, errors.Join(text("t"), text("w"), text("o"))
		},
	)
	b.run(t.Context(), "go")
	require.Equal(t, "one\n\ntwo", b.text)
}

// rule: W-197, W-199
func TestTextBudgetIsEncodedBytesAndCutsNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		fits   bool
	}{
		{"one less", []string{strings.Repeat("a", 19999)}, true},
		{"exact", []string{strings.Repeat("a", 20000)}, true},
		{"one more", []string{strings.Repeat("a", 20001)}, false},
		{"exact in two", []string{strings.Repeat("a", 19999), "a"}, true},
		{"one more in two", []string{strings.Repeat("a", 19999), "aa"}, false},
		{"quotes count twice", []string{strings.Repeat(`"`, 10000)}, true},
		{"one quote more", []string{strings.Repeat(`"`, 10000), `"`}, false},
		{"escapes count six", []string{strings.Repeat("\x01", 3333), "aa"}, true},
		{"escapes and one more", []string{strings.Repeat("\x01", 3333), "aaa"}, false},
		{"line separators are escaped", []string{strings.Repeat("\u2028", 3333), "aaa"}, false},
		{"other letters are not", []string{strings.Repeat("é", 10000)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(_ context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
				for _, piece := range c.pieces {
					if err := text(piece); err != nil {
						return provider.Reply{}, fmt.Errorf("text: %w", err)
					}
				}
				return provider.Reply{}, nil
			})
			out := b.run(t.Context(), "go")
			if c.fits {
				require.Nil(t, out.Failure)
				require.Equal(t, strings.Join(c.pieces, ""), b.text)
				return
			}
			require.Equal(t, wirev2.TurnLimitExceeded, out.Failure.Code)
			require.Equal(t, strings.Join(c.pieces[:len(c.pieces)-1], ""), b.text, "what fitted stays, whole")
			require.Equal(t, b.text, b.last().Text(), "and is what later turns see")
		})
	}
}

// rule: W-197
func TestSeparatorCountsInTheTextBudget(t *testing.T) {
	for _, c := range []struct {
		budget int
		fits   bool
	}{{9, false}, {10, true}, {11, true}} { // one + \n\n as four encoded bytes + two
		b := newBench(t, say("one", ask("1", "echo", `{}`)), say("two"))
		b.budget = c.budget
		out := b.run(t.Context(), "go")
		require.Equal(t, c.fits, out.Failure == nil, c.budget)
		if !c.fits {
			require.Equal(t, "one", b.text)
		}
	}
}

// rule: W-200
func TestSixtyFourRepliesCompleteAndTheNeedForOneMoreFails(t *testing.T) {
	for _, c := range []struct{ replies, calling int }{{64, 63}, {64, 64}} {
		var steps []step
		for i := range c.replies {
			if i < c.calling {
				steps = append(steps, say("", ask(fmt.Sprint(i), "echo", `{}`)))
				continue
			}
			steps = append(steps, say("done"))
		}
		b := newBench(t, steps...)
		out := b.run(t.Context(), "go")
		require.Len(t, b.provider.requests, 64)
		if c.calling < 64 {
			require.Nil(t, out.Failure)
			require.Equal(t, "done", b.text)
			continue
		}
		require.Equal(t, wirev2.TurnLimitExceeded, out.Failure.Code)
		require.Contains(t, out.Failure.Message, "max_provider_replies")
		require.NotNil(t, b.last().Replies[63].Calls[0].Result, "the last call ran all the same")
	}
}

func TestConfiguredRepliesAreTheLimit(t *testing.T) {
	b := newBench(t, say("", ask("1", "echo", `{}`)))
	b.limits.MaxReplies = 1
	out := b.run(t.Context(), "go")
	require.Equal(t, wirev2.TurnLimitExceeded, out.Failure.Code)
	_, err := New(b.provider, b.catalog, Limits{MaxReplies: -1}, nil)
	require.Error(t, err)
}

// rule: W-153
func TestUsageIsTheSumOfWhatTheProviderSaid(t *testing.T) {
	with := func(s step, in, out int64) step {
		return func(ctx context.Context, q provider.Request, text func(string) error) (provider.Reply, error) {
			reply, err := s(ctx, q, text)
			reply.Usage = &provider.Usage{InputTokens: in, OutputTokens: out}
			return reply, err
		}
	}
	failed := func(context.Context, provider.Request, func(string) error) (provider.Reply, error) {
		return provider.Reply{}, provider.NewError(provider.CodeFailed, "cut", nil)
	}
	b := newBench(t, with(say("", ask("1", "echo", `{}`)), 3, 4), say("", ask("2", "echo", `{}`)), with(failed, 10, 20))
	require.Equal(t, &wirev2.Usage{InputTokens: 13, OutputTokens: 24}, b.run(t.Context(), "go").Usage)

	b = newBench(t, say("done"))
	require.Nil(t, b.run(t.Context(), "go").Usage)

	b = newBench(t, with(say("", ask("1", "echo", `{}`)), 1<<62, -5), with(say("x"), 1<<62, 1))
	require.Equal(t, &wirev2.Usage{InputTokens: 1<<53 - 1, OutputTokens: 1}, b.run(t.Context(), "go").Usage)
}

func TestProviderFailuresKeepTheirCode(t *testing.T) {
	for from, want := range map[provider.Code]wirev2.TurnCode{
		provider.CodeUnavailable:   wirev2.TurnProviderUnavailable,
		provider.CodeFailed:        wirev2.TurnProviderError,
		provider.CodeLimitExceeded: wirev2.TurnLimitExceeded,
	} {
		b := newBench(t, func(_ context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
			return provider.Reply{Calls: []provider.Call{ask("1", "echo", `{}`)}}, errors.Join(text("so far"), provider.NewError(from, "what it said", nil))
		})
		out := b.run(t.Context(), "go")
		require.Equal(t, want, out.Failure.Code)
		require.Equal(t, "what it said", out.Failure.Message)
		require.NotContains(t, b.traced(), "run ", "nothing runs from a reply that failed")
		require.Equal(t, "so far", b.last().Text())
	}
}

// rule: M-122
func TestEveryRequestHasTheOneSystemPrompt(t *testing.T) {
	b := newBench(t, say("", ask("1", "echo", `{}`)), say("done"))
	b.run(t.Context(), "go")
	for _, q := range b.provider.requests {
		require.Equal(t, systemPrompt, q.System)
		require.Len(t, q.Tools, 2)
	}
	first, _, _ := strings.Cut(systemPrompt, "\n")
	var holders []string
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		if strings.Contains(string(source), first) {
			holders = append(holders, file.Name())
		}
	}
	require.Equal(t, []string{"prompt.go"}, holders)
}

func TestJournalThatFailsEndsTheTurn(t *testing.T) {
	broken := errors.New("no space left on device")
	for name, at := range map[string]int{"calls": 1, "results": 2} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, say("look", ask("1", "echo", `{}`)))
			writes := 0
			b.failJournal(func(s journal.Step) error {
				if s == journal.StepWrite {
					writes++
				}
				if writes > at {
					return broken
				}
				return nil
			})
			out, err := b.try(t.Context(), "go")
			require.ErrorIs(t, err, journal.ErrPoisoned)
			require.Equal(t, wirev2.TurnJournalFailed, out.Failure.Code)
			require.Empty(t, out.Tail)
			require.Len(t, b.provider.requests, 1, "the provider is not asked again")
			if name == "calls" {
				require.NotContains(t, b.traced(), "run ", "a call that is not durable does not run")
			}
			require.NotContains(t, b.traced(), "succeeded", "nothing is reported that is not durable")
		})
	}
}

func TestPanicInTheProviderFailsTheTurnAlone(t *testing.T) {
	b := newBench(t,
		say("", ask("1", "echo", `{}`)),
		func(context.Context, provider.Request, func(string) error) (provider.Reply, error) { panic("a bug") },
		say("still here"),
	)
	out := b.run(t.Context(), "go")
	require.Equal(t, wirev2.TurnInternal, out.Failure.Code)
	require.NotContains(t, out.Failure.Message, "a bug")
	require.Nil(t, b.run(t.Context(), "again").Failure)
}

func TestTurnsOwnBytesAreBounded(t *testing.T) {
	big := `{"a":"` + strings.Repeat("a", 16000) + `"}`
	var steps []step
	for i := range 5 {
		var calls []provider.Call
		for j := range 64 {
			calls = append(calls, ask(fmt.Sprintf("%d-%d", i, j), "echo", big))
		}
		steps = append(steps, say("", calls...))
	}
	b := newBench(t, steps...)
	out := b.run(t.Context(), "go")
	require.Equal(t, wirev2.TurnLimitExceeded, out.Failure.Code)
	require.Len(t, b.provider.requests, 5) // 5 * 64 * 2 * 16 KB pass 8 MiB, 4 do not
}
