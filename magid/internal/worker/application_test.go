package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/wirev2"
)

// stage is an application's host that a test plays.
type stage struct {
	bench *bench

	mu     sync.Mutex
	refuse error
	open   map[string]func(Result) // by the provider's id
}

func (s *stage) Need(call Call, deliver func(Result)) error {
	s.bench.note("need %s %s", call.Tool, call.Arguments)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.open[call.ProviderID] = deliver
	return nil
}

func (s *stage) Cancel() {
	s.bench.note("cancel")
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, deliver := range s.open {
		deliver(Result{Code: wirev2.ToolCancelled, Message: "cancelled", Effects: wirev2.EffectsUncertain, Synthetic: true})
		delete(s.open, id)
	}
}

func (s *stage) answer(id string, r Result) {
	s.mu.Lock()
	deliver := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	deliver(r)
}

const echoContract = `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","minimum":0,"maximum":9}},"required":["n"]},` +
	`"output_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}}`

func (b *bench) lend(names ...string) *stage {
	b.t.Helper()
	s := &stage{bench: b, open: map[string]func(Result){}}
	contract, err := appresources.ParseContract([]byte(echoContract))
	require.NoError(b.t, err)
	app := &Application{Instructions: "Be kind.", Host: s}
	for _, name := range names {
		app.Tools = append(app.Tools, appresources.Tool{
			ResourceID: appresources.ID(wirev2.NewID()), RevisionID: appresources.ID(wirev2.NewID()),
			RevisionSHA256: strings.Repeat("0", 64), Name: name, Contract: contract,
		})
	}
	b.application = app
	return s
}

// rule: W-283, M-123
func TestContractsAreDurableOnceBeforeTheirFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("", ask("1", "one", `{"n":1}`), ask("2", "one", `{"n":2}`)), say("", ask("3", "one", `{"n":3}`), ask("4", "two", `{"n":4}`)), say("done"))
		s := b.lend("one", "two")
		done := make(chan Outcome)
		go func() { done <- b.run(t.Context(), "go") }()
		for _, id := range []string{"2", "1", "3", "4"} {
			synctest.Wait()
			s.answer(id, Result{Value: []byte(`{}`), Effects: wirev2.EffectsReported})
		}
		require.Nil(t, (<-done).Failure)
		lines := strings.Split(b.traced(), "\n")
		require.Equal(t, []string{"request", "append tool_contract assistant tool_call tool_call", `need one {"n":1}`, `need one {"n":2}`}, lines[:4])
		require.Contains(t, lines, "append tool_contract assistant tool_call tool_call")
		require.Equal(t, 2, strings.Count(b.traced(), "tool_contract"), "the second reply needs the other one only")
		require.Equal(t, systemPrompt+"\n\nBe kind.", b.provider.requests[0].System)
		require.Len(t, b.provider.requests[0].Tools, 4)
	})
}

// rule: W-246
func TestCallTheHostHasNoRoomForIsAToolError(t *testing.T) {
	b := newBench(t, say("", ask("1", "one", `{"n":1}`)), say("done"))
	b.lend("one").refuse = errors.New("limit exceeded: calls")
	require.Nil(t, b.run(t.Context(), "go").Failure)
	result := b.last().Replies[0].Calls[0].Result
	require.Equal(t, wirev2.ToolLimitExceeded, *result.Code)
	require.True(t, result.Synthetic)
	require.Equal(t, wirev2.EffectsNotDispatched, result.ExternalEffects)
	require.NotContains(t, b.traced(), "one started")
}

// rule: W-247
func TestFatalResultFailsTheTurnAndCutsTheOthersShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("", ask("1", "one", `{"n":1}`), ask("2", "one", `{"n":2}`), ask("3", "wait", `{}`)))
		s := b.lend("one")
		b.catalog.run = func(ctx context.Context, _ string, _ jsontext.Value) (jsontext.Value, *catalog.ToolError) {
			<-ctx.Done()
			return nil, &catalog.ToolError{Code: catalog.CodeCancelled}
		}
		done := make(chan Outcome)
		go func() { done <- b.run(t.Context(), "go") }()
		synctest.Wait()
		s.answer("1", Result{Code: wirev2.ToolTimeout, Message: "too late", Effects: wirev2.EffectsUncertain, Synthetic: true, Fatal: true})
		out := <-done
		require.Equal(t, &wirev2.TurnError{Code: wirev2.TurnToolFailed, Message: "too late"}, out.Failure)
		var got []string
		for _, call := range b.last().Replies[0].Calls {
			got = append(got, fmt.Sprint(*call.Result.Code, " ", call.Result.ExternalEffects))
		}
		require.Equal(t, []string{"tool_timeout uncertain", "cancelled uncertain", "cancelled not_dispatched"}, got)
	})
}

func TestBrokenJournalCancelsWhatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("", ask("1", "one", `{"n":1}`), ask("2", "one", `{"n":2}`)))
		s := b.lend("one")
		done := make(chan Outcome)
		go func() {
			out, _ := b.try(t.Context(), "go")
			done <- out
		}()
		synctest.Wait()
		b.breakJournal()
		s.answer("1", Result{Value: []byte(`{}`), Effects: wirev2.EffectsReported})
		require.Equal(t, wirev2.TurnJournalFailed, (<-done).Failure.Code)
		require.Contains(t, b.traced(), "cancel")
		require.Empty(t, s.open)
	})
}

func TestPanicWhileCallsAreOutGivesThemTheirResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("", ask("1", "one", `{"n":1}`), ask("2", "one", `{"n":2}`)), say("well formed"))
		s := b.lend("one")
		b.panicAt = "one succeeded"
		done := make(chan Outcome)
		go func() { done <- b.run(t.Context(), "go") }()
		synctest.Wait()
		s.answer("1", Result{Value: []byte(`{}`), Effects: wirev2.EffectsReported})
		require.Equal(t, wirev2.TurnInternal, (<-done).Failure.Code)
		calls := b.last().Replies[0].Calls
		require.Equal(t, wirev2.OutcomeSuccess, calls[0].Result.Status)
		require.Equal(t, wirev2.EffectsUncertain, calls[1].Result.ExternalEffects)
		b.application, b.panicAt = nil, ""
		require.Nil(t, b.run(t.Context(), "again").Failure)
	})
}
