package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// hold is a reply that says something and then waits for its end.
func hold(said string) step {
	return func(ctx context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
		if err := text(said); err != nil {
			return provider.Reply{}, err
		}
		<-ctx.Done()
		return provider.Reply{}, ctx.Err()
	}
}

func TestStopCancelsTheStreamAndKeepsItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, hold("half an ans"))
		done := make(chan Outcome)
		go func() { done <- b.run(ctx, "go") }()
		synctest.Wait()
		cancel()
		out := <-done
		require.True(t, out.Cancelled)
		require.Nil(t, out.Failure)
		require.Equal(t, "half an ans", b.last().Text())
	})
}

func TestCancelledBeforeItBeganAsksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := newBench(t)
	require.True(t, b.run(ctx, "go").Cancelled)
	require.Empty(t, b.provider.requests)
	require.Empty(t, b.last().Replies)
}

func TestTextAfterTheStopIsNotAccepted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, func(_ context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
		require.NoError(t, text("a"))
		cancel()
		return provider.Reply{}, text("b")
	})
	require.True(t, b.run(ctx, "go").Cancelled)
	require.Equal(t, "a", b.text)
}

func TestCallsOfAReplyThatEndsWithTheStopAreDropped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, func(_ context.Context, _ provider.Request, text func(string) error) (provider.Reply, error) {
		require.NoError(t, text("a"))
		cancel()
		return provider.Reply{Calls: []provider.Call{ask("1", "echo", `{}`)}}, nil
	})
	require.True(t, b.run(ctx, "go").Cancelled)
	require.NotContains(t, b.traced(), "run ")
	require.Empty(t, b.last().Replies[0].Calls)
}

// rule: M-121
// complaint: 42 anomalyco/opencode#21326 - an interrupted call left no result, and every later request was refused
func TestComplaint42OpenCode21326InterruptedCallsGetTheirResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var calls []provider.Call
		for _, id := range []string{"1", "2", "3", "4", "5", "6"} { // two of them still wait for a place
			calls = append(calls, ask(id, "wait", `{}`))
		}
		b := newBench(t, say("look", calls...), say("the next turn is well formed"))
		b.catalog.run = func(ctx context.Context, _ string, _ jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			<-ctx.Done()
			return nil, &catalog.ToolError{Code: catalog.CodeCancelled, Message: "cancelled"}
		}
		done := make(chan Outcome)
		go func() { done <- b.run(ctx, "go") }()
		synctest.Wait()
		cancel()
		require.True(t, (<-done).Cancelled)
		for _, call := range b.last().Replies[0].Calls {
			require.Equal(t, wirev2.ToolCancelled, *call.Result.Code)
			require.True(t, call.Result.Synthetic)
			require.Equal(t, wirev2.EffectsNotDispatched, call.Result.ExternalEffects)
		}
		require.Nil(t, b.run(t.Context(), "again").Failure) // script checks the pairs of each request
	})
}

func TestToolThatIgnoresTheStopIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, say("", ask("1", "wait", `{}`)))
		hang := make(chan struct{})
		b.catalog.run = func(context.Context, string, jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			<-hang
			return jsontext.Value(`{"late":true}`), nil
		}
		done := make(chan Outcome)
		go func() { done <- b.run(ctx, "go") }()
		synctest.Wait()
		stopped := time.Now()
		cancel()
		require.True(t, (<-done).Cancelled)
		require.Equal(t, builtinGrace, time.Since(stopped))
		require.Equal(t, wirev2.ToolCancelled, *b.last().Replies[0].Calls[0].Result.Code)
		close(hang)
	})
}

func TestToolThatTakesTooLongIsAToolError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("", ask("1", "wait", `{}`), ask("2", "echo", `{}`)), say("done"))
		hang := make(chan struct{})
		b.catalog.run = func(_ context.Context, name string, arguments jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			if name == "wait" {
				<-hang
			}
			return arguments, nil
		}
		began := time.Now()
		require.Nil(t, b.run(t.Context(), "go").Failure, "the turn goes on")
		require.Equal(t, builtinTimeout+builtinGrace, time.Since(began))
		calls := b.last().Replies[0].Calls
		require.Equal(t, wirev2.ToolExecutionFailed, *calls[0].Result.Code)
		require.Equal(t, wirev2.OutcomeSuccess, calls[1].Result.Status)
		close(hang)
	})
}

func TestPanicInAToolIsAToolError(t *testing.T) {
	b := newBench(t, say("", ask("1", "wait", `{}`)), say("done"))
	b.catalog.run = func(context.Context, string, jsontext.Value) (jsontext.Value, *catalog.ToolError) { panic("a bug") }
	require.Nil(t, b.run(t.Context(), "go").Failure)
	require.Equal(t, wirev2.ToolExecutionFailed, *b.last().Replies[0].Calls[0].Result.Code)
	require.NotContains(t, b.provider.requests[1].Messages[2].Text, "a bug")
}

// rule: M-052
func TestRefusalOfABuiltinToolGoesToTheModel(t *testing.T) {
	b := newBench(t, say("", ask("1", "wait", `{}`)), say("done"))
	b.catalog.run = func(context.Context, string, jsontext.Value) (jsontext.Value, *catalog.ToolError) {
		return nil, &catalog.ToolError{Code: catalog.CodePermissionDenied, Message: "that file is kept out"}
	}
	require.Nil(t, b.run(t.Context(), "go").Failure)
	call := b.last().Replies[0].Calls[0]
	require.Equal(t, wirev2.ToolPermissionDenied, *call.Result.Code)
	require.False(t, call.Result.Synthetic)
	require.Equal(t, wirev2.EffectsReported, call.Result.ExternalEffects)
	require.Equal(t, "permission_denied: that file is kept out", b.provider.requests[1].Messages[2].Text)
}
