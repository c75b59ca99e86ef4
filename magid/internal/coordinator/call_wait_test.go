package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule, W-247, W-251, A-171, W-183
func TestAbsentExecutorIsWaitedForSixtySeconds(t *testing.T) {
	for _, offset := range []time.Duration{-1, 0, 1} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			gate := make(chan struct{})
			r.model.then(func(ctx ctx, accept func(string) error) (reply, error) {
				<-gate
				return asks("say", "x")(ctx, accept)
			}, says("done"))
			turn := a.run("go").TurnID
			a.leave()
			close(gate)
			synctest.Wait()
			h := r.connect(true).claim(a.session, false)
			waiting := h.evidence(turn).Calls[0]
			require.Equal(t, wirev2.CallWaitingForExecutor, waiting.Status)
			require.Equal(t, wirev2.EffectsNotDispatched, waiting.ExternalEffects)
			require.Equal(t, wirev2.WaitAvailability, *waiting.WaitKind)
			after(30 * time.Second)
			b := r.connect(true) // comes, but its queue takes nothing: the time goes on
			b.full = true
			a.resume(b)
			require.Equal(t, wirev2.CallWaitingForExecutor, h.evidence(turn).Calls[0].Status)
			b.leave()
			after(30*time.Second + offset)
			c := r.connect(true)
			pending := a.resume(c).PendingCalls
			if offset < 0 {
				require.Equal(t, int64(1), *pending[0].RemainingMS, "rounded up")
				require.Equal(t, []string{"response r1", "application_tool_call"}, c.logged(), "the reply precedes the call")
				require.Equal(t, int64(3), c.calls()[0].ExecutorGeneration)
				c.report(a.session, c.calls()[0], said("x"))
				require.Equal(t, "done", h.view().Terminal.Text)
				return
			}
			require.Empty(t, pending)
			require.Empty(t, c.calls())
			require.Empty(t, c.cancels(), "what was not dispatched is not cancelled")
			require.Equal(t, []string{"executor_unavailable synthetic not_dispatched"}, r.toolResults(a.session))
			require.Equal(t, wirev2.TurnToolFailed, h.view().Terminal.Error.Code)
			require.Equal(t, []wirev2.TurnToolEvent{{TurnID: turn, CallID: waiting.CallID, Name: "say", Phase: wirev2.ToolFailed}},
				named[wirev2.TurnToolEvent](h.peer, wirev2.EventTurnTool), "failed alone")
		})
	}
}

// rule: W-236, W-237, A-141
func TestReleasedExecutorLeavesItsCallsToTheirDeadlines(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"))
		turn := a.run("go").TurnID
		call := a.calls()[0]
		require.Nil(t, a.call(releaseExecutor(a.executor, 1)).Error)
		other, _, _ := a.attach()
		a.refused(result(a.session, call, said("x")), wirev2.CodeStaleConnection)
		moved := call
		moved.ExecutorID = other
		a.refused(result(a.session, moved, said("x")), wirev2.CodeStaleConnection)
		require.Equal(t, wirev2.CallPending, a.evidence(turn).Calls[0].Status)
		after(120 * time.Second)
		require.Empty(t, a.cancels())
		require.Equal(t, []string{"tool_timeout synthetic uncertain"}, r.toolResults(a.session))
	})
	inBubble(t, func(t *testing.T, r *rig) { // a pinned executor outlives its idle time
		a := r.application()
		a.register("say", wirev2.KindTool, contractWith(600000), nil)
		feed := make(line)
		r.model.then(feed.step)
		a.run("go")
		a.leave()
		after(time.Hour)
		_, idle := r.c.Idle()
		require.False(t, idle)
		a.resume(r.connect(true))
		close(feed)
	})
}

// rule: W-244
func TestMarkOfAWaitingCallIsTakenBackBeforeItsDispatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		a.full = true
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		a.leave()
		synctest.Wait()
		fails := true
		r.failJournal(func(s journal.Step) error {
			if s == journal.StepUnmark && fails {
				return errors.New("input/output error")
			}
			return nil
		})
		b := r.connect(true)
		a.resume(b)
		require.Empty(t, b.calls(), "while the mark may stand the call is not dispatched")
		fails = false
		a.resume(b)
		require.Len(t, b.calls(), 1)
		b.report(a.session, b.calls()[0], said("x"))
	})
}

func TestExecutorThatComesAndGoesWhileTheDiskIsSlow(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		a.full = true
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		gate := make(chan struct{})
		r.failJournal(func(s journal.Step) error {
			if s == journal.StepMark || s == journal.StepUnmark {
				<-gate
			}
			return nil
		})
		a.leave() // the mark is on its way
		b := r.connect(true)
		a.resume(b) // and is already of no use
		b.leave()
		c := r.connect(true)
		a.resume(c)
		require.Empty(t, c.calls())
		close(gate)
		synctest.Wait()
		require.Len(t, c.calls(), 1)
		require.Empty(t, b.calls())
		call := c.calls()[0]
		c.report(a.session, call, said("x"))
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
	})
}

// rule: W-295, W-296, W-297
// complaint: 11 microsoft/agent-framework#3938 - a retry from a checkpoint repeated what had been dispatched
func TestComplaint11AgentFramework3938ACrashDispatchesNothingAgain(t *testing.T) {
	for _, attached := range []bool{true, false} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			a.full = !attached
			r.model.then(asks("say", "pay"))
			turn := a.run("go").TurnID
			if !attached {
				a.leave() // the call waits
				synctest.Wait()
			}
			other := r.crash(a.session) // another daemon finds what this one left
			h := other.connect(true).claim(a.session, false)
			want := "cancelled synthetic uncertain"
			if !attached {
				want = "cancelled synthetic not_dispatched"
			}
			require.Equal(t, []string{want}, other.toolResults(a.session))
			other.model.then(says("I do not know whether it was paid"))
			h.turn("and now?")
			require.Empty(t, h.calls())
			require.True(t, other.model.requests[0].Messages[2].IsError)
			other.close()
			if attached {
				a.stop(turn)
			}
		})
	}
}

// rule: M-121
// complaint: 42 anthropics/claude-code#3003 - an interrupted call had no result, and every later request of the session was refused
func TestComplaint42ClaudeCode3003EveryEndOfACallIsAResult(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, r *rig, a *app, turn wirev2.ID) *rig{
		"stop": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig { a.stop(turn); return r },
		"time": func(_ *testing.T, r *rig, _ *app, _ wirev2.ID) *rig { after(120 * time.Second); return r },
		"gone": func(_ *testing.T, r *rig, a *app, _ wirev2.ID) *rig { a.leave(); after(120 * time.Second); return r },
		"shutdown": func(t *testing.T, r *rig, _ *app, _ wirev2.ID) *rig {
			require.NoError(t, r.c.Shutdown(t.Context()))
			r.start(r.model)
			return r
		},
		"crash": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig {
			other := r.crash(a.session)
			a.stop(turn)
			return other
		},
		"disk": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig {
			r.failWrites()
			a.stop(turn)
			r.failJournal(nil)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				a := r.application("say")
				r.model.then(asks("say", "one", "two"))
				turn := a.run("go").TurnID
				next := end(t, r, a, turn)
				h := next.connect(true).claim(a.session, true)
				if n := len(h.resources().Entries); n > 0 {
					require.Nil(t, h.call(h.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{
						ExpectedRegistryRevision: h.resources().RegistryRevision,
					})).Error)
				}
				next.model.then(says("well formed")) // the model of these tests refuses a call without its result
				h.turn("and now?")
				require.Equal(t, "well formed", h.view().Terminal.Text)
				require.Len(t, next.toolResults(a.session), 2)
				if next != r {
					next.close()
				}
			})
		})
	}
}
