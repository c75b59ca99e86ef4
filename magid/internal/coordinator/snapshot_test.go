package coordinator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-122, W-146, W-148, W-150, W-151
func TestSnapshotShowsTheTurnOrElseTheLastTerminal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		raw := func(h *held) string {
			t.Helper()
			response := h.call(h.with(wirev2.MethodSessionSnapshot, nil))
			require.Nil(t, response.Error)
			return string(response.Payload)
		}
		require.JSONEq(t, `{"snapshot":{"turn":null,"terminal":null}}`, raw(h))

		feed := make(line)
		r.model.then(feed.step)
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		var started wirev2.TurnStartReply
		h.ok(q, &started)
		feed <- "some"
		synctest.Wait()
		want := `{"snapshot":{"turn":{"turn_id":"` + string(started.TurnID) + `","operation_id":"` + string(q.operation) +
			`","state":"running","text":"some"},"terminal":null}}`
		require.JSONEq(t, want, raw(h))
		h = h.claim(h.session, false)
		require.Equal(t, h.view(), h.snapshot, "a claim shows the same")

		feed <- "thing"
		close(feed)
		synctest.Wait()
		require.JSONEq(t, `{"snapshot":{"turn":null,"terminal":{"turn_id":"`+string(started.TurnID)+`","operation_id":"`+string(q.operation)+
			`","status":"completed","text":"something","error":null,"usage":null}}}`, raw(h))

		feed = make(line)
		r.model.then(feed.step)
		h.turn("next")
		require.Nil(t, h.view().Terminal, "not while a later turn runs")
		require.Equal(t, "", h.view().Turn.Text)
		close(feed)
	})
}

// rule: W-147
func TestTerminalIsKeptForSixHundredSecondsAlsoWithoutAController(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(says("one"))
		h.turn("go")
		h.leave()
		time.Sleep(retention - 1)
		h = r.connect(false).claim(h.session, false)
		require.Equal(t, "one", h.snapshot.Terminal.Text)
		time.Sleep(1)
		require.Nil(t, h.view().Terminal)
	})
}

// rule: W-149
func TestRejectedTurnStartPutsTheTerminalBackUnlessItExpired(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		back bool
	}{{retention - 1, true}, {retention, false}} {
		inBubble(t, func(t *testing.T, r *rig) {
			h := r.open(false)
			r.model.then(says("one"))
			h.turn("go")
			gate := make(chan struct{})
			r.failJournal(func(s journal.Step) error {
				<-gate
				if s == journal.StepWrite {
					return context.DeadlineExceeded
				}
				return nil
			})
			id := h.begin("next")
			time.Sleep(c.wait)
			synctest.Wait()
			require.NotNil(t, h.view().Turn)
			require.Nil(t, h.view().Terminal)
			close(gate)
			synctest.Wait()
			response, _ := h.answered(id)
			require.Equal(t, wirev2.CodeInternal, response.Error.Code)
			require.Nil(t, h.view().Turn)
			require.Equal(t, c.back, h.view().Terminal != nil)
		})
	}
}

// rule: W-146
func TestSnapshotStaysWithinItsBudget(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		worst := strings.Repeat(`"`, 10000) // 20,000 encoded bytes
		r.model.then(func(_ context.Context, accept func(string) error) (provider.Reply, error) {
			if err := accept(worst); err != nil {
				return provider.Reply{}, err
			}
			return provider.Reply{Usage: &provider.Usage{InputTokens: 1 << 53, OutputTokens: 1 << 53}},
				provider.NewError(provider.CodeUnavailable, strings.Repeat(`\`, 512), nil)
		})
		h.turn("go")
		response := h.call(h.with(wirev2.MethodSessionSnapshot, nil))
		require.LessOrEqual(t, len(response.Payload)-len(`{"snapshot":}`), 24576)
		require.Equal(t, worst, h.view().Terminal.Text)
		require.Len(t, h.view().Terminal.Error.Message, 512)
	})
}

// rule: W-153
func TestUsageReachesTheTerminal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(func(context.Context, func(string) error) (provider.Reply, error) {
			return provider.Reply{Usage: &provider.Usage{InputTokens: 7, OutputTokens: 9}}, nil
		}, says("x"))
		h.turn("go")
		require.Equal(t, &wirev2.Usage{InputTokens: 7, OutputTokens: 9}, h.view().Terminal.Usage)
		h.turn("go")
		require.Nil(t, h.view().Terminal.Usage)
	})
}
