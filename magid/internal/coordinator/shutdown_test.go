package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

func TestShutdownEndsTurnsDurablyAndGivesLeasesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		feed <- "so far"
		synctest.Wait()
		require.NoError(t, r.c.Shutdown(t.Context()))
		terminal := named[wirev2.Terminal](h.peer, wirev2.EventTurnTerminal)[0]
		require.Equal(t, wirev2.TerminalFailed, terminal.Status)
		require.Equal(t, wirev2.TurnInternal, terminal.Error.Code)
		require.Equal(t, "so far", terminal.Text)
		require.Equal(t, []string{"session", "user", "assistant", "terminal"}, r.records(h.session))
		s, err := r.store.Open(h.session)
		require.NoError(t, err)
		_, recovered := s.Recovered()
		require.False(t, recovered, "nothing is left to recover")
		require.NoError(t, s.Close())
	})
}

func TestShutdownRefusesWhatPreparesAndWaitsForWhatIsUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		gate := r.holdDisk()
		id := h.begin("go")
		synctest.Wait()
		done := make(chan error)
		go func() { done <- r.c.Shutdown(t.Context()) }()
		synctest.Wait()
		close(gate)
		require.NoError(t, <-done)
		response, _ := h.answered(id)
		require.Nil(t, response.Error)
		require.Zero(t, r.model.asked())
		require.Equal(t, []string{"session", "user", "terminal"}, r.records(h.session))
	})
}

func TestShutdownGivesUpOnATurnThatDoesNotEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		gate := make(chan struct{})
		r.model.then(func(context.Context, func(string) error) (provider.Reply, error) {
			<-gate
			return provider.Reply{}, nil
		})
		h.turn("go")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.Error(t, r.c.Shutdown(ctx))
		require.Equal(t, time.Second, time.Since(began))
		close(gate)
	})
}

// rule: M-022
func TestConnectionOrTurnKeepsTheDaemonFromIdleness(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		start := time.Now()
		since, ok := r.c.Idle()
		require.True(t, ok)
		require.Equal(t, start, since)
		time.Sleep(time.Minute)
		h := r.open(false)
		_, ok = r.c.Idle()
		require.False(t, ok)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		h.leave()
		_, ok = r.c.Idle()
		require.False(t, ok, "a turn runs")
		time.Sleep(time.Minute)
		close(feed)
		synctest.Wait()
		since, ok = r.c.Idle()
		require.True(t, ok)
		require.Equal(t, start.Add(2*time.Minute), since)
		time.Sleep(time.Minute)
		since, _ = r.c.Idle()
		require.Equal(t, start.Add(2*time.Minute), since, "asking does not change it")
	})
}
