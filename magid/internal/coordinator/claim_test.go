package coordinator

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-120, W-135, W-136, W-054
func TestClaimIssuesATokenAndTheNextGeneration(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		tokens := map[wirev2.Secret]bool{}
		for want := int64(1); want <= 3; want++ {
			h := p.claim(session, false)
			require.Equal(t, want, h.generation)
			raw, err := base64.RawURLEncoding.DecodeString(h.token.Reveal())
			require.NoError(t, err)
			require.Len(t, raw, 32)
			tokens[h.token] = true
			h.ok(h.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		}
		require.Len(t, tokens, 3)
		require.Equal(t, int64(1), r.connect(false).claim(p.create(), false).generation, "each session counts for itself")

		r.start(r.model) // another instance on the same state
		require.Equal(t, int64(1), r.connect(false).claim(session, false).generation)
	})
}

// rule: W-137, W-041
func TestClaimingOnesOwnSessionReplacesTheToken(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		again := h.claim(h.session, false)
		require.Equal(t, h.generation+1, again.generation)
		require.Equal(t, again.generation, again.call(again.with(wirev2.MethodSessionSnapshot, nil)).GrantGeneration)
		h.refused(h.with(wirev2.MethodSessionSnapshot, nil), wirev2.CodeStaleConnection)
		require.Empty(t, h.events, "nobody lost anything")
	})
}

// rule: W-138, W-139, W-140
func TestTakeoverNeedsToBeAskedForAndTellsTheLoser(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		loser := r.open(false)
		winner := r.connect(false)
		for _, payload := range []string{`{}`, `{"takeover":false}`} {
			winner.refused(request{method: wirev2.MethodSessionClaim, session: loser.session, payload: payload}, wirev2.CodeSessionClaimed)
		}
		loser.view() // nothing changed
		require.Empty(t, loser.events)

		taken := winner.claim(loser.session, true)
		require.Equal(t, loser.generation+1, taken.generation, "the refused claims made no grant")
		require.Equal(t, []wirev2.SessionControlLostEvent{{Reason: "takeover"}},
			named[wirev2.SessionControlLostEvent](loser.peer, wirev2.EventSessionControlLost))
		require.Equal(t, loser.generation, loser.events[0].GrantGeneration)
		require.Empty(t, loser.events[0].OperationID)
		loser.refused(loser.with(wirev2.MethodSessionSnapshot, nil), wirev2.CodeStaleConnection)

		r.model.then(says("hello"))
		taken.turn("go")
		require.Len(t, loser.events, 1, "the loss is the last event of its grant")
		require.Len(t, taken.events, 3)
	})
}

// rule: W-131, W-132, W-133, W-055, W-266
func TestControlIsTokenAndConnectionTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		other := r.connect(false)
		for _, method := range []wirev2.Method{
			wirev2.MethodSessionRelease, wirev2.MethodSessionSnapshot, wirev2.MethodSessionHistory, wirev2.MethodTurnStart,
			wirev2.MethodTurnStop,
		} {
			q := h.with(method, `{"broken":0}`)
			q.token = ""
			h.refused(q, wirev2.CodeControlRequired)
			for _, token := range []wirev2.Secret{"x", h.token[:42], h.token + "x", wirev2.NewSecret()} {
				q.token = token
				h.refused(q, wirev2.CodeStaleConnection)
			}
			q.token = h.token
			other.refused(q, wirev2.CodeStaleConnection)
			q.session = wirev2.NewID()
			q.token = ""
			h.refused(q, wirev2.CodeUnknownSession)
			q.session = other.create() // exists, and nobody controls it
			q.token = h.token
			h.refused(q, wirev2.CodeStaleConnection)
		}
		h.view()
	})
}

// rule: W-056
func TestTokensAreComparedByDigest(t *testing.T) {
	token := wirev2.NewSecret()
	d := newDigest(token)
	require.True(t, d.matches(token))
	for i := range len(token) {
		changed := []byte(token)
		changed[i] ^= 1
		require.False(t, d.matches(wirev2.Secret(changed)))
	}
	require.False(t, digest{}.matches(""))
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		require.NotContains(t, fmt.Sprintf("%+v", r.c.core.sessions[h.session]), h.token.Reveal(), "the token itself is not kept")
	})
}

// rule: W-121, W-142
func TestReleaseFreesTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		turn := h.turn("go")
		response := h.ok(h.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		require.Equal(t, `{}`, string(response.Payload))
		require.Equal(t, h.generation, response.GrantGeneration)
		h.refused(h.with(wirev2.MethodSessionSnapshot, nil), wirev2.CodeStaleConnection)

		feed <- "after the release"
		close(feed)
		synctest.Wait()
		next := r.connect(false).claim(h.session, false)
		require.Equal(t, turn, next.snapshot.Terminal.TurnID)
		require.Equal(t, wirev2.TerminalCompleted, next.snapshot.Terminal.Status)
		require.Equal(t, "after the release", next.snapshot.Terminal.Text)
	})
}

// rule: W-070, W-141, W-178
func TestDisconnectFreesControlAtOnceAndTheTurnGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		turn := h.turn("go")
		feed <- "one"
		synctest.Wait()
		h.leave()
		next := r.connect(false).claim(h.session, false)
		require.Equal(t, &wirev2.Turn{TurnID: turn, OperationID: next.snapshot.Turn.OperationID, State: wirev2.TurnRunning, Text: "one"}, next.snapshot.Turn)
		feed <- "two"
		close(feed)
		synctest.Wait()
		require.Equal(t, "two", next.texts())
		require.Equal(t, "onetwo", named[wirev2.Terminal](next.peer, wirev2.EventTurnTerminal)[0].Text)
		require.NotContains(t, h.logged(), "terminal")
	})
}

// rule: W-143, W-044
func TestClaimsReplyPrecedesTheEventsOfItsGrant(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		stop := make(chan struct{})
		go func() {
			defer close(feed)
			for {
				select {
				case feed <- "x":
				case <-stop:
					return
				}
			}
		}()
		next := r.connect(false)
		id := next.send(request{method: wirev2.MethodSessionClaim, session: h.session, payload: `{"takeover":true}`})
		close(stop)
		synctest.Wait()
		require.Equal(t, "response "+id, next.logged()[0])
		for i, event := range next.events {
			require.Equal(t, int64(i+1), event.LiveSequence)
			require.Equal(t, int64(2), event.GrantGeneration)
		}
	})
}

// rule: W-156
func TestSnapshotTextAndLaterTextAreTheTerminalsText(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		var seen string
		at := h
		for i := range 50 {
			feed <- fmt.Sprintf("%d,", i)
			if i%7 == 3 {
				synctest.Wait()
				at = r.connect(false).claim(h.session, true)
				seen = at.snapshot.Turn.Text
			}
		}
		close(feed)
		synctest.Wait()
		terminal := named[wirev2.Terminal](at.peer, wirev2.EventTurnTerminal)[0]
		require.Equal(t, terminal.Text, seen+at.texts())
		require.NotEmpty(t, seen)
		require.NotEmpty(t, at.texts())
	})
}

// rule: W-144, W-145
func TestWriterLeaseIsHeldWhileClaimedOrRunning(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		first := r.c
		lease := func(free bool) {
			t.Helper()
			synctest.Wait()
			s, err := r.store.Open(h.session)
			if !free {
				require.ErrorIs(t, err, journal.ErrLocked)
				return
			}
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
		lease(false)

		r.start(r.model) // a second daemon on the same state
		p := r.connect(false)
		refusal := p.refused(request{method: wirev2.MethodSessionClaim, session: h.session}, wirev2.CodeSessionLocked)
		require.Equal(t, "another daemon holds this session", refusal.Message)
		second := r.c
		r.c = first

		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		h.ok(h.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		lease(false) // the turn keeps it
		close(feed)
		lease(true)

		r.c = second
		require.Equal(t, int64(1), p.claim(h.session, false).generation)
		lease(false)
		p.leave()
		lease(true)
		r.close()
		r.c = first
		ctx := t.Context()
		require.NoError(t, first.Shutdown(ctx))
		store, err := journal.Open(r.state)
		require.NoError(t, err)
		r.store = store // closed again by the rig
	})
}

// rule: W-145
func TestReleaseIsAnsweredWhenTheLeaseIsFree(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		for range 20 {
			h := p.claim(session, false)
			id := h.send(h.with(wirev2.MethodSessionRelease, nil))
			for {
				if _, ok := h.answered(id); ok {
					break
				}
				synctest.Wait()
			}
			s, err := r.store.Open(session)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
	})
}

// rule: W-292, W-293
func TestDamagedSessionIsLockedAndTheOthersServe(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		damaged, whole := p.create(), p.create()
		name := filepath.Join(r.state, "sessions", string(damaged), "journal.jsonl")
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, append(content, []byte("{\"secret\"\n{}\n")...), 0o600))
		refusal := p.refused(request{method: wirev2.MethodSessionClaim, session: damaged}, wirev2.CodeSessionLocked)
		require.Contains(t, refusal.Message, "line 2")
		require.NotContains(t, refusal.Message, "secret")
		require.NotContains(t, refusal.Message, r.state)
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(after, content))
		p.claim(whole, false).view()
	})
}

func TestClaimsThatWaitForTheLeaseAreDecidedInTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		gate := make(chan struct{})
		r.failJournal(func(journal.Step) error { <-gate; return nil })
		a, b, c := r.connect(false), r.connect(false), r.connect(false)
		first := a.send(request{method: wirev2.MethodSessionClaim, session: session})
		second := b.send(request{method: wirev2.MethodSessionClaim, session: session})
		third := c.send(request{method: wirev2.MethodSessionClaim, session: session, payload: `{"takeover":true}`})
		synctest.Wait()
		close(gate)
		synctest.Wait()
		response, _ := a.answered(first)
		require.Nil(t, response.Error)
		response, _ = b.answered(second)
		require.Equal(t, wirev2.CodeSessionClaimed, response.Error.Code)
		response, _ = c.answered(third)
		require.Nil(t, response.Error)
		require.Equal(t, int64(2), response.GrantGeneration)
		require.Len(t, a.events, 1)
	})
}

func TestClaimOfAConnectionThatEndedTakesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		gate := make(chan struct{})
		r.failJournal(func(journal.Step) error { <-gate; return nil })
		q := request{method: wirev2.MethodSessionClaim, session: session, operation: wirev2.NewID()}
		id := p.send(q)
		synctest.Wait()
		p.leave()
		close(gate)
		synctest.Wait()
		response, _ := p.answered(id)
		require.Equal(t, wirev2.CodeStaleConnection, response.Error.Code)
		s, err := r.store.Open(session) // the lease went back too
		require.NoError(t, err)
		require.NoError(t, s.Close())
		next := r.connect(false).claim(session, false)
		require.Equal(t, int64(1), next.generation)
		require.Equal(t, wirev2.OperationRejected, next.lookup(q.operation).State)
	})
}

func TestLeaseThatCannotBeOpenedIsInternalAndTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		session := p.create()
		r.failJournal(func(journal.Step) error { return errors.New("input/output error") })
		refusal := p.refused(request{method: wirev2.MethodSessionClaim, session: session}, wirev2.CodeInternal)
		require.NotContains(t, refusal.Message, "input/output", "the disk's words are for the log")
		r.failJournal(nil)
		p.claim(session, false)
	})
}
