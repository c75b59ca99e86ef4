package coordinator

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// holdDisk makes every durable step wait until the gate is closed.
func (r *rig) holdDisk() (gate chan struct{}) {
	gate = make(chan struct{})
	r.failJournal(func(journal.Step) error { <-gate; return nil })
	return gate
}

// rule: W-035, W-307
func TestRequestThatWaitsForItsStateStepExpires(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		ok    bool
	}{{time.Second - 1, true}, {time.Second, false}, {time.Second + 1, false}} {
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.connect(false)
			session := p.create()
			gate := r.holdDisk()
			q := request{method: wirev2.MethodSessionClaim, session: session, operation: wirev2.NewID(), deadline: time.Second}
			id := p.send(q)
			time.Sleep(c.after)
			close(gate)
			synctest.Wait()
			response, answered := p.answered(id)
			require.True(t, answered)
			if c.ok {
				require.Nil(t, response.Error)
				return
			}
			require.Equal(t, wirev2.CodeDeadlineExceeded, response.Error.Code)
			s, err := r.store.Open(session) // nothing was done: no lease, no grant
			require.NoError(t, err)
			require.NoError(t, s.Close())
			h := p.claim(session, false)
			require.Equal(t, int64(1), h.generation)
			require.Equal(t, wirev2.OperationRejected, h.lookup(q.operation).State)
		})
	}
}

// rule: W-035
func TestDeadlineAnswersWhenItPassesNotWhenTheDiskReturns(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		gate := r.holdDisk()
		id := p.send(request{method: wirev2.MethodSessionClaim, session: session, deadline: time.Second})
		time.Sleep(time.Second - 1)
		synctest.Wait()
		_, answered := p.answered(id)
		require.False(t, answered)
		time.Sleep(1)
		synctest.Wait()
		_, answered = p.answered(id)
		require.True(t, answered)
		close(gate)
	})
}

// rule: W-036
func TestDecidedRequestAnswersWhatWasDecidedHoweverLate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		gate := r.holdDisk()
		create := h.send(request{
			method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: r.workspace}, deadline: time.Second,
		})
		start := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		start.deadline = time.Second
		turn := h.send(start)
		synctest.Wait() // both are decided, and wait for the disk
		time.Sleep(time.Hour)
		close(gate)
		synctest.Wait()
		for _, id := range []string{create, turn} {
			response, _ := h.answered(id)
			require.Nil(t, response.Error)
		}
	})
}

// rule: W-037
func TestDeadlineNeverBoundsTheTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.deadline = time.Millisecond
		require.Nil(t, h.call(q).Error)
		time.Sleep(time.Hour)
		require.Equal(t, wirev2.TurnRunning, h.view().Turn.State)
		feed <- "late"
		close(feed)
		synctest.Wait()
		require.Equal(t, "late", h.view().Terminal.Text)
	})
}

// rule: W-307
func TestDeadlineIsLookedAtWhenTheStateStepBegins(t *testing.T) {
	k := bareCore()
	for _, c := range []struct {
		now     time.Duration
		expired bool
	}{{9, false}, {10, true}, {11, true}} {
		conn := k.connect(wirev2.NewID(), false, nil)
		k.advance(c.now)
		k.handle(conn, wirev2.Request{Method: wirev2.MethodSessionList, Payload: []byte(`{}`)}, 10, true)
		_, listing := k.take()[0].(listSessions)
		require.Equal(t, !c.expired, listing)
	}
}

// rule: M-127
// complaint: 53 gabrielkoerich/orch#3491 - a clock that jumped was charged as a hang, or made timers late
func TestComplaint53Orch3491DeadlinesKnowNoWallClock(t *testing.T) {
	// The core is told a time since the daemon's start, and the host measures it with time.Since of a reading that has
	// a monotonic part: a wall clock that jumps by a year is in neither.
	r := newRig(t, t.TempDir())
	require.Contains(t, r.c.start.String(), " m=", "the start is a monotonic reading")
	r.close()
	k := bareCore()
	k.advance(time.Hour)
	fired := false
	k.timers.arm(2*time.Hour, func() { fired = true })
	k.advance(30 * time.Minute) // time never goes back
	require.Equal(t, time.Hour, k.now)
	k.advance(2*time.Hour - 1)
	require.False(t, fired)
	k.advance(2 * time.Hour)
	require.True(t, fired)
}

func TestDeadlinesFireInTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var d deadlines
		var want []int
		var fired []int
		type armed struct {
			at     time.Duration
			number int
			item   *deadline
		}
		var all []armed
		for i := range 50 {
			at := time.Duration(random.IntN(20))
			all = append(all, armed{at, i, d.arm(at, func() { fired = append(fired, i) })})
		}
		for range 15 {
			i := random.IntN(len(all))
			d.disarm(all[i].item)
			d.disarm(all[i].item) // twice is once
			all = slices.Delete(all, i, i+1)
		}
		slices.SortStableFunc(all, func(a, b armed) int { return int(a.at - b.at) })
		for _, a := range all {
			want = append(want, a.number)
		}
		for at := range time.Duration(20) {
			next, ok := d.next()
			for item := d.due(at); item != nil; item = d.due(at) {
				require.True(t, ok)
				require.LessOrEqual(t, next, item.at)
				require.Equal(t, at, item.at)
				item.fire()
				d.disarm(item) // one that fired is let be
			}
		}
		require.Equal(t, want, fired)
	}
}
