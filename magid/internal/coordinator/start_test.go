package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-157, W-161
func TestOneTurnASession(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		gate := r.holdDisk()
		h.begin("go")
		long := `{"prompt":"` + strings.Repeat("a", maxPromptBytes+1) + `"}`
		application := `{"prompt":"x","application":{"expected_registry_revision":"` + string(wirev2.NewID()) +
			`","executor_id":null,"executor_generation":null,"tool_authorizations":[]}}`
		both := func() {
			t.Helper()
			for _, payload := range []string{`{"prompt":"x"}`, long, application} {
				h.refused(h.with(wirev2.MethodTurnStart, payload), wirev2.CodeTurnActive)
			}
		}
		both() // its prompt is on the way to the disk
		close(gate)
		synctest.Wait()
		both() // it runs
		other := r.open(false)
		other.turn("another session's turn is another one's")
		close(feed)
		synctest.Wait()
		h.turn("next")
	})
}

// rule: W-158, W-159, W-160
func TestPromptBounds(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		code   wirev2.Code
	}{
		"empty":               {"", wirev2.CodeInvalidPayload},
		"nul":                 {"a\x00b", wirev2.CodeInvalidPayload},
		"one byte":            {"a", ""},
		"one less":            {strings.Repeat("a", maxPromptBytes-1), ""},
		"exact":               {strings.Repeat("a", maxPromptBytes), ""},
		"one more":            {strings.Repeat("a", maxPromptBytes+1), wirev2.CodeLimitExceeded},
		"exact encoded":       {strings.Repeat("\n", maxPromptBytes/2), ""},
		"one more encoded":    {strings.Repeat("\n", maxPromptBytes/2) + "a", wirev2.CodeLimitExceeded},
		"exact, six a letter": {strings.Repeat("\x01", maxPromptBytes/6), ""},
		"more, six a letter":  {strings.Repeat("\x01", maxPromptBytes/6) + "a", wirev2.CodeLimitExceeded},
		"not escaped":         {strings.Repeat("é", maxPromptBytes/2), ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				h := r.open(false)
				r.model.then(says("ok"))
				q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: c.prompt})
				if c.code != "" {
					h.refused(q, c.code)
					require.Equal(t, []string{"session"}, r.records(h.session))
					return
				}
				require.Nil(t, h.call(q).Error)
				messages := r.model.requests[0].Messages
				require.Equal(t, c.prompt, messages[len(messages)-1].Text)
			})
		})
	}
}

// rule: W-162
func TestApplicationOnAnOrdinaryConnectionIsUnsupported(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"x","application":{"expected_registry_revision":"`+string(wirev2.NewID())+
			`","executor_id":null,"executor_generation":null,"tool_authorizations":[]}}`), wirev2.CodeUnsupportedCapability)
	})
}

// rule: W-171
func TestWithoutAProviderTheAnswerSaysWhatToSet(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.start(nil)
		h := r.open(false)
		refusal := h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"x"}`), wirev2.CodeProviderUnconfigured)
		require.Contains(t, refusal.Message, "MAGI_BASE_URL")
		require.Contains(t, refusal.Message, "MAGI_MODEL")
		h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"`+strings.Repeat("a", maxPromptBytes+1)+`"}`), wirev2.CodeLimitExceeded)
		require.Nil(t, h.view().Turn)
	})
}

// rule: W-173, W-290
func TestTurnIsAnsweredOnlyOnceItsPromptIsDurable(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		for _, held := range []journal.Step{journal.StepWrite, journal.StepSync} {
			gate := make(chan struct{})
			r.failJournal(func(s journal.Step) error {
				if s == held {
					<-gate
				}
				return nil
			})
			r.model.then(says("ok"))
			events, asked := len(h.events), r.model.asked()
			id := h.begin("go")
			synctest.Wait()
			_, answered := h.answered(id)
			require.False(t, answered)
			require.Len(t, h.events, events)
			require.Equal(t, asked, r.model.asked(), "and the provider is not asked before")
			close(gate)
			synctest.Wait()
			response, _ := h.answered(id)
			require.Nil(t, response.Error)
		}
	})
}

// rule: W-179
func TestPromptThatCannotBeMadeDurableIsInternal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(says("first"))
		first := h.turn("first")
		r.failWrites()
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		h.refused(q, wirev2.CodeInternal)
		require.Equal(t, 1, r.model.asked())
		require.Len(t, h.events, 3, "no event of it")
		require.Equal(t, first, h.view().Terminal.TurnID, "and the earlier terminal shows again")
		require.Equal(t, wirev2.OperationRejected, h.lookup(q.operation).State)

		r.failJournal(nil) // there is room again: the journal is opened anew by itself
		r.model.then(says("third"))
		h.turn("third")
		require.Equal(t, []string{"session", "user", "assistant", "terminal", "user", "assistant", "terminal"}, r.records(h.session))
		last := r.model.requests[1].Messages
		require.Equal(t, []string{"first", "first", "third"}, []string{last[0].Text, last[1].Text, last[2].Text})
	})
}

func TestStopThatWaitsForThePromptLearnsWhatBecameOfIt(t *testing.T) {
	for _, fails := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			h := r.open(false)
			gate := make(chan struct{})
			r.failJournal(func(s journal.Step) error {
				<-gate
				if fails && s == journal.StepWrite {
					return errors.New("no space left on device")
				}
				return nil
			})
			start := h.begin("go")
			synctest.Wait()
			turn := h.view().Turn
			require.Equal(t, wirev2.TurnRunning, turn.State)
			stop := h.send(h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: turn.TurnID}))
			synctest.Wait()
			_, answered := h.answered(stop)
			require.False(t, answered)
			close(gate)
			synctest.Wait()
			started, _ := h.answered(start)
			stopped, _ := h.answered(stop)
			if fails {
				require.Equal(t, wirev2.CodeInternal, started.Error.Code)
				require.Equal(t, wirev2.CodeUnknownTurn, stopped.Error.Code)
				return
			}
			require.Nil(t, started.Error)
			require.Contains(t, string(stopped.Payload), `"stopping"`)
			require.Equal(t, wirev2.TerminalCancelled, h.view().Terminal.Status)
			require.Zero(t, r.model.asked())
		})
	}
}

// rule: W-190, W-128
func TestStopEndsTheTurnAsCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		turn := h.turn("go")
		feed <- "so far"
		synctest.Wait()
		require.Equal(t, 1, r.model.streaming())
		require.Equal(t, wirev2.StopStopping, h.stop(turn))
		require.Zero(t, r.model.streaming(), "the upstream request is cancelled")
		terminal := h.view().Terminal
		require.Equal(t, wirev2.TerminalCancelled, terminal.Status)
		require.Nil(t, terminal.Error)
		require.Equal(t, "so far", terminal.Text)
		require.Equal(t, []string{"session", "user", "assistant", "terminal"}, r.records(h.session))

		require.Equal(t, wirev2.StopTerminal, h.stop(turn))
		other := r.open(false)
		other.refused(other.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: turn}), wirev2.CodeUnknownTurn)
		h.refused(h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: wirev2.NewID()}), wirev2.CodeUnknownTurn)
	})
}

// rule: W-190
func TestStoppingIsKeptWhateverTheWorkerComesTo(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		gate := make(chan struct{})
		for _, end := range []func() (provider.Reply, error){
			func() (provider.Reply, error) { return provider.Reply{}, nil },
			func() (provider.Reply, error) {
				return provider.Reply{}, provider.NewError(provider.CodeFailed, "no", nil)
			},
			func() (provider.Reply, error) { panic("a bug") },
		} {
			gate = make(chan struct{})
			r.model.then(func(context.Context, func(string) error) (provider.Reply, error) { // deaf to its context
				<-gate
				return end()
			})
			turn := h.turn("go")
			require.Equal(t, wirev2.StopStopping, h.stop(turn))
			require.Equal(t, wirev2.TurnStopping, h.view().Turn.State)
			require.Equal(t, wirev2.StopStopping, h.stop(turn), "a second stop says the same")
			close(gate)
			synctest.Wait()
			require.Equal(t, wirev2.TerminalCancelled, h.view().Terminal.Status)
		}
	})
}

// rule: W-191
func TestStopAfterTheTerminalWasAdmittedChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		turn := h.turn("go")
		gate := r.holdDisk()
		close(feed)
		synctest.Wait() // the terminal is decided and waits for the disk
		require.Equal(t, wirev2.StopTerminal, h.stop(turn))
		require.NotNil(t, h.view().Turn)
		require.NotContains(t, h.logged(), "terminal")
		close(gate)
		synctest.Wait()
		require.Equal(t, wirev2.TerminalCompleted, h.view().Terminal.Status)
	})
}

// rule: W-188, W-189
func TestTerminalIsToldWhenAllOfItIsTrue(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(says("hello"))
		var seen []string
		h.turn("go") // the bubble is quiet: the terminal has come
		require.Contains(t, h.logged(), "terminal")
		seen = r.records(h.session)
		require.Equal(t, "terminal", seen[len(seen)-1])
		require.Equal(t, "hello", h.view().Terminal.Text)
		h.turn("next")

		// And not before: while the terminal is on its way to the disk nothing shows it.
		other := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		turn := other.turn("go")
		operation := other.view().Turn.OperationID
		gate := r.holdDisk()
		close(feed)
		synctest.Wait()
		require.Equal(t, turn, other.view().Turn.TurnID)
		require.Nil(t, other.view().Terminal)
		require.Equal(t, wirev2.OperationAccepted, other.lookup(operation).State)
		require.NotContains(t, other.logged(), "terminal")
		other.refused(other.with(wirev2.MethodTurnStart, `{"prompt":"x"}`), wirev2.CodeTurnActive)
		close(gate)
		synctest.Wait()
		require.Contains(t, other.logged(), "terminal")
	})
}

// rule: W-188
func TestTerminalThatCannotBeMadeDurableIsJournalFailed(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			h := r.open(false)
			feed := make(line)
			r.model.then(feed.step)
			turn := h.turn("go")
			feed <- "text"
			synctest.Wait()
			r.failWrites()
			if stopped {
				h.stop(turn)
			} else {
				close(feed)
				synctest.Wait()
			}
			terminal := h.view().Terminal
			require.Equal(t, wirev2.TerminalFailed, terminal.Status)
			require.Equal(t, wirev2.TurnJournalFailed, terminal.Error.Code)
			require.Equal(t, "text", terminal.Text)
			require.NotContains(t, terminal.Error.Message, "space left")

			r.failJournal(nil)
			r.model.then(says("works"))
			h.turn("again")
			require.Equal(t, "works", h.view().Terminal.Text)
			require.Equal(t, []string{"session", "user", "terminal", "user", "assistant", "terminal"}, r.records(h.session),
				"the opening closed the turn before")
		})
	}
}

func TestControllerKeepsItsSessionWhileTheJournalIsRepaired(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.failJournal(func(journal.Step) error { return errors.New("input/output error") }) // the repair fails too
		h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"x"}`), wirev2.CodeInternal)
		h.view()
		h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"x"}`), wirev2.CodeInternal)
		h.refused(h.with(wirev2.MethodSessionHistory, nil), wirev2.CodeInternal)
		r.failJournal(nil)
		h.turn("x")
	})
}

func TestPanicOutsideTheWorkerEndsTheTurnAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.failJournal(func(s journal.Step) error {
			if s == journal.StepWrite {
				panic("a bug in the journal")
			}
			return nil
		})
		h.refused(h.with(wirev2.MethodTurnStart, `{"prompt":"x"}`), wirev2.CodeInternal)
		r.failJournal(nil)
		r.model.then(says("works"))
		h.turn("again")
		require.Equal(t, "works", h.view().Terminal.Text)
	})
}

// rule: W-152
func TestTerminalsMessageIsBoundedAndOneLine(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		for _, c := range []struct{ message, want string }{
			{strings.Repeat("m", 512), strings.Repeat("m", 512)},
			{"two\nlines\u2028and\x00more", "two lines and more"},
		} {
			r.model.then(func(context.Context, func(string) error) (provider.Reply, error) {
				return provider.Reply{}, provider.NewError(provider.CodeFailed, c.message, nil)
			})
			h.turn("go")
			require.Equal(t, c.want, h.view().Terminal.Error.Message)
		}
	})
	require.Equal(t, strings.Repeat("m", 511), oneLine(strings.Repeat("m", 511)+"é", 512))
	require.Equal(t, strings.Repeat("m", 510)+"é", oneLine(strings.Repeat("m", 510)+"é", 512))
}

// complaint: 22 anomalyco/opencode#31087 - a stalled subscriber kept every delta, without bound
func TestComplaint22OpenCode31087AStalledControllerCostsNoMemory(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		h.mu.Lock()
		h.full = true // its queue takes nothing; the server is about to disconnect it
		h.mu.Unlock()
		for range 20000 {
			feed <- "x"
		}
		synctest.Wait()
		require.Empty(t, r.c.core.effects, "nothing is kept for it here")
		h.leave()
		next := r.connect(false).claim(h.session, false)
		require.Equal(t, strings.Repeat("x", 20000), next.snapshot.Turn.Text, "and nothing is lost")
		feed <- "x" // one more than the turn's text may have
		synctest.Wait()
		terminal := named[wirev2.Terminal](next.peer, wirev2.EventTurnTerminal)
		require.Len(t, terminal, 1)
		require.Equal(t, wirev2.TurnLimitExceeded, terminal[0].Error.Code)
		require.Len(t, terminal[0].Text, 20000)
	})
}

func TestManyTurnsOfManySessionsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var all []*held
		for range 16 {
			all = append(all, r.open(false))
		}
		for round := range 3 {
			for i, h := range all {
				r.model.then(says(fmt.Sprint("said ", round)))
				h.begin(fmt.Sprint("prompt ", i))
			}
			synctest.Wait()
			time.Sleep(time.Second)
			for _, h := range all {
				require.Equal(t, fmt.Sprint("said ", round), h.view().Terminal.Text)
			}
		}
	})
}
