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

// lookup looks up an operation that belongs to no session.
func (p *peer) lookup(operation wirev2.ID) wirev2.OperationLookupReply {
	p.r.t.Helper()
	var reply wirev2.OperationLookupReply
	p.ok(request{method: wirev2.MethodOperationLookup, payload: wirev2.OperationLookupRequest{OperationID: operation}}, &reply)
	return reply
}

// missing expects a lookup to know nothing.
func (p *peer) missing(q request, operation wirev2.ID) {
	p.r.t.Helper()
	q.method, q.payload = wirev2.MethodOperationLookup, wirev2.OperationLookupRequest{OperationID: operation}
	p.refused(q, wirev2.CodeUnknownOperation)
}

// rule: W-201
func TestWhatFailsBeforeAdmissionLeavesTheOperationFresh(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		operation := wirev2.NewID()
		start := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		start.operation = operation
		for _, c := range []struct {
			change func(q *request)
			code   wirev2.Code
		}{
			{func(q *request) { q.session = wirev2.NewID() }, wirev2.CodeUnknownSession},
			{func(q *request) { q.token = "" }, wirev2.CodeControlRequired},
			{func(q *request) { q.token = "other" }, wirev2.CodeStaleConnection},
			{func(q *request) {
				*q = request{method: wirev2.MethodSessionCreate, operation: operation, payload: `{}`}
			}, wirev2.CodeInvalidPayload},
			{func(q *request) {
				*q = request{method: wirev2.MethodSessionClaim, session: h.session, operation: operation, payload: `{"x":1}`}
			}, wirev2.CodeInvalidPayload},
		} {
			q := start
			c.change(&q)
			h.refused(q, c.code)
			h.missing(h.with("", nil), operation)
			h.missing(request{}, operation)
		}
		require.Nil(t, h.call(start).Error, "the id is still fresh")
	})
}

// rule: W-202, W-211, W-270
func TestWhatFailsAfterAdmissionIsRejected(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		for payload, code := range map[string]wirev2.Code{
			`{}`:                   wirev2.CodeInvalidPayload,
			`{"prompt":7}`:         wirev2.CodeInvalidPayload,
			`{"prompt":"x","y":1}`: wirev2.CodeInvalidPayload,
			`{"prompt":"` + strings.Repeat("a", maxPromptBytes+1) + `"}`: wirev2.CodeLimitExceeded,
		} {
			q := h.with(wirev2.MethodTurnStart, payload)
			q.operation = wirev2.NewID()
			refusal := h.refused(q, code)
			require.Equal(t, wirev2.OperationLookupReply{
				OperationID: q.operation, Method: wirev2.MethodTurnStart, State: wirev2.OperationRejected,
				Result: []byte("null"), Error: refusal,
			}, h.lookup(q.operation))
			h.refused(q, wirev2.CodeOperationAlreadyKnown)
		}
		q := request{method: wirev2.MethodSessionCreate, operation: wirev2.NewID(), payload: `{"workspace":"/does/not/exist"}`}
		h.refused(q, wirev2.CodeInvalidPayload)
		require.Equal(t, wirev2.OperationRejected, h.peer.lookup(q.operation).State)
		require.Equal(t, []string{"session"}, r.records(h.session), "a rejected mutation changes nothing")
	})
}

// rule: W-203
func TestSecondUseOfAnOperationDoesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		require.Nil(t, h.call(q).Error)
		for _, again := range []request{
			q,
			{method: wirev2.MethodTurnStart, session: h.session, token: h.token, payload: `{"prompt":"other"}`},
			{method: wirev2.MethodSessionRelease, session: h.session, token: h.token},
			{method: wirev2.MethodSessionClaim, session: wirev2.NewID(), payload: `not even read`},
			{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: r.workspace}},
		} {
			again.operation = q.operation
			h.refused(again, wirev2.CodeOperationAlreadyKnown)
		}
		require.NotNil(t, h.view().Turn)
		close(feed)
		synctest.Wait()
		h.refused(q, wirev2.CodeOperationAlreadyKnown)
		require.Equal(t, 1, r.model.asked())
		var list wirev2.SessionListReply
		h.ok(request{method: wirev2.MethodSessionList}, &list)
		require.Len(t, list.Sessions, 1)
	})
}

// complaint: 16 aaif-goose/goose#7978 - a stream was lost, the request sent again, and the turn ran twice
func TestComplaint16Goose7978ATurnStartSentTwiceRunsOnce(t *testing.T) {
	for _, lost := range []string{"while the prompt is on its way to the disk", "while the turn runs"} {
		t.Run(lost, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				h := r.open(false)
				feed := make(line)
				r.model.then(feed.step)
				gate := make(chan struct{})
				if lost == "while the turn runs" {
					close(gate)
				}
				r.failJournal(func(journal.Step) error { <-gate; return nil })
				q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "pay the bill"})
				q.operation = wirev2.NewID()
				h.send(q)
				synctest.Wait()
				h.leave() // and what it was answered is lost
				next := r.connect(false).claim(h.session, false)
				again := q
				again.token = next.token
				next.refused(again, wirev2.CodeOperationAlreadyKnown)
				if lost != "while the turn runs" {
					close(gate)
					synctest.Wait()
				}
				next.refused(again, wirev2.CodeOperationAlreadyKnown)
				require.Equal(t, wirev2.OperationAccepted, next.lookup(q.operation).State)
				close(feed)
				synctest.Wait()
				next.refused(again, wirev2.CodeOperationAlreadyKnown)
				require.Equal(t, 1, r.model.asked())
				require.Equal(t, []string{"session", "user", "assistant", "terminal"}, r.records(h.session))
				require.Equal(t, wirev2.OperationCompleted, next.lookup(q.operation).State)
			})
		})
	}
}

// rule: W-204, W-205, W-206, W-208, W-211
func TestLookupTellsWhatBecameOfAnOperation(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		create := request{method: wirev2.MethodSessionCreate, operation: wirev2.NewID(), payload: wirev2.SessionCreateRequest{Workspace: r.workspace}}
		var created wirev2.SessionCreateReply
		p.ok(create, &created)
		found := p.lookup(create.operation)
		require.Equal(t, wirev2.MethodSessionCreate, found.Method)
		require.Equal(t, wirev2.OperationCompleted, found.State)
		require.JSONEq(t, `{"session_id":"`+string(created.SessionID)+`"}`, string(found.Result))
		require.Nil(t, found.Error)

		claim := request{method: wirev2.MethodSessionClaim, session: created.SessionID, operation: wirev2.NewID()}
		var claimed wirev2.SessionClaimReply
		p.ok(claim, &claimed)
		h := &held{peer: p, session: created.SessionID, token: claimed.ControlToken}
		result := string(h.lookup(claim.operation).Result)
		require.JSONEq(t, `{"grant_generation":1,"snapshot":{"turn":null,"terminal":null}}`, result)
		require.NotContains(t, result, claimed.ControlToken.Reveal())

		feed := make(line)
		r.model.then(feed.step)
		start := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		start.operation = wirev2.NewID()
		var started wirev2.TurnStartReply
		h.ok(start, &started)
		found = h.lookup(start.operation)
		require.Equal(t, wirev2.OperationAccepted, found.State)
		require.JSONEq(t, `{"turn_id":"`+string(started.TurnID)+`"}`, string(found.Result))
		feed <- "text"
		close(feed)
		synctest.Wait()
		found = h.lookup(start.operation)
		require.Equal(t, wirev2.OperationCompleted, found.State)
		require.JSONEq(t, `{"turn_id":"`+string(started.TurnID)+`","terminal":{"turn_id":"`+string(started.TurnID)+
			`","operation_id":"`+string(start.operation)+`","status":"completed","text":"text","error":null,"usage":null}}`, string(found.Result))
	})
}

// rule: W-205
func TestFailedAndCancelledTurnsAreCompletedOperations(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(func(context.Context, func(string) error) (provider.Reply, error) {
			return provider.Reply{}, provider.NewError(provider.CodeFailed, "no", nil)
		})
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		require.Nil(t, h.call(q).Error)
		require.Equal(t, wirev2.OperationCompleted, h.lookup(q.operation).State)
		require.Nil(t, h.lookup(q.operation).Error)

		turn := h.turn("again")
		operation := h.view().Turn.OperationID
		require.Equal(t, wirev2.StopStopping, h.stop(turn))
		synctest.Wait()
		require.Equal(t, wirev2.OperationCompleted, h.lookup(operation).State)
	})
}

// rule: W-213, W-134
func TestLookupKeepsToItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h, other := r.open(false), r.open(false)
		mine := h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: wirev2.NewID()})
		mine.operation = wirev2.NewID()
		h.refused(mine, wirev2.CodeUnknownTurn)
		h.lookup(mine.operation)
		other.missing(other.with("", nil), mine.operation)
		h.missing(request{}, mine.operation)
		h.missing(h.with("", nil), wirev2.NewID())

		create := request{method: wirev2.MethodSessionCreate, operation: wirev2.NewID(), payload: wirev2.SessionCreateRequest{Workspace: r.workspace}}
		require.Nil(t, h.call(create).Error)
		h.missing(h.with("", nil), create.operation)
		other.peer.lookup(create.operation)

		q := h.with(wirev2.MethodOperationLookup, wirev2.OperationLookupRequest{OperationID: mine.operation})
		q.token = ""
		h.refused(q, wirev2.CodeControlRequired)
		q.token = other.token
		h.refused(q, wirev2.CodeStaleConnection)
	})
}

// rule: W-212, W-219, W-147
func TestOutcomesLiveSixHundredSecondsAndReadsDoNotHelp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(says("hello"))
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		require.Nil(t, h.call(q).Error)
		for range 599 {
			time.Sleep(time.Second)
			h.lookup(q.operation)
			require.NotNil(t, h.view().Terminal)
		}
		time.Sleep(time.Second - 1)
		require.Equal(t, wirev2.OperationCompleted, h.lookup(q.operation).State)
		require.NotNil(t, h.view().Terminal)
		time.Sleep(1)
		h.missing(h.with("", nil), q.operation)
		require.Nil(t, h.view().Terminal)
		h.refused(h.with(wirev2.MethodTurnStop, `{"turn_id":"`+string(wirev2.NewID())+`"}`), wirev2.CodeUnknownTurn)
		require.Nil(t, h.call(q).Error, "an id that is forgotten is an id never seen")
	})
}

// rule: W-212
func TestAnOutcomeIsKeptFromItsSettlementNotFromItsStart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		q := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		q.operation = wirev2.NewID()
		require.Nil(t, h.call(q).Error)
		time.Sleep(time.Hour)
		require.Equal(t, wirev2.OperationAccepted, h.lookup(q.operation).State)
		close(feed)
		synctest.Wait()
		time.Sleep(retention - 1)
		require.Equal(t, wirev2.OperationCompleted, h.lookup(q.operation).State)
		time.Sleep(1)
		h.missing(h.with("", nil), q.operation)
	})
}

// rule: W-214, W-215, W-216, W-218, W-306
func TestFullOperationTableKeepsPlacesForWhatEndsWork(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false) // two operations: create and claim
		first := wirev2.NewID()
		stop := h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: wirev2.NewID()})
		stop.operation = first
		h.refused(stop, wirev2.CodeUnknownTurn)
		fill := func(places int) {
			r.c.core.verify = nil // looking at thousands of operations thousands of times takes minutes
			defer func() { r.c.core.verify = verify }()
			for len(r.c.core.operations) < places {
				stop.operation = ""
				h.send(stop)
			}
		}
		fill(maxOperations - reservedOperations - 1)
		create := request{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: r.workspace}}
		require.Nil(t, h.call(create).Error, "the last place that is not reserved")
		require.Len(t, r.c.core.operations, maxOperations-reservedOperations)

		refusal := h.refused(create, wirev2.CodeLimitExceeded)
		require.Contains(t, refusal.Message, "max_operations")
		start := h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "go"})
		h.refused(start, wirev2.CodeLimitExceeded)
		start.session = wirev2.NewID()
		h.refused(start, wirev2.CodeLimitExceeded) // before the session is looked for
		again := h.claim(h.session, false)         // reserved
		*h = *again
		h.ok(h.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		h = h.claim(h.session, false)
		stop.token = h.token

		fill(maxOperations)
		h.refused(stop, wirev2.CodeLimitExceeded)
		h.refused(request{method: wirev2.MethodSessionClaim, session: h.session}, wirev2.CodeLimitExceeded)
		require.Len(t, r.c.core.operations, maxOperations)
		require.Equal(t, wirev2.OperationRejected, h.lookup(first).State, "nothing retained is evicted")

		time.Sleep(retention)
		synctest.Wait()
		require.Empty(t, r.c.core.operations)
		require.Nil(t, h.call(create).Error)
	})
}
