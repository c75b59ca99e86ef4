package coordinator

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/wirev2"
)

func confirm(id wirev2.ID, secret wirev2.Secret) request {
	return request{method: wirev2.MethodExecutorConfirm, payload: wirev2.ExecutorConfirmRequest{ExecutorID: id, ResumeSecret: secret}}
}

func resume(id wirev2.ID, secret wirev2.Secret) request {
	return request{method: wirev2.MethodExecutorResume, payload: wirev2.ExecutorResumeRequest{ExecutorID: id, ResumeSecret: secret}}
}

func rotate(id wirev2.ID, generation int64) request {
	return request{method: wirev2.MethodExecutorRotate, payload: wirev2.ExecutorRotateRequest{ExecutorID: id, ExecutorGeneration: generation}}
}

func rotateConfirm(id wirev2.ID, generation int64, secret wirev2.Secret) request {
	return request{method: wirev2.MethodExecutorRotateConfirm, payload: wirev2.ExecutorRotateConfirmRequest{
		ExecutorID: id, ExecutorGeneration: generation, ResumeSecret: secret,
	}}
}

func releaseExecutor(id wirev2.ID, generation int64) request {
	return request{method: wirev2.MethodExecutorRelease, payload: wirev2.ExecutorReleaseRequest{ExecutorID: id, ExecutorGeneration: generation}}
}

// rule: W-057, W-220, W-221, W-222, W-226, W-227, A-134
func TestExecutorMethodsReplyExactly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(true)
		var made wirev2.ExecutorCreateReply
		response := p.ok(request{method: wirev2.MethodExecutorCreate}, &made)
		id := string(made.ExecutorID)
		secret := func(s wirev2.Secret) string {
			raw, err := base64.RawURLEncoding.DecodeString(s.Reveal())
			require.NoError(t, err)
			require.Len(t, raw, 32)
			return s.Reveal()
		}
		require.Equal(t, `{"executor_id":"`+id+`","executor_generation":1,"resume_secret":"`+secret(made.ResumeSecret)+`"}`, string(response.Payload))
		require.Equal(t, `{"executor_id":"`+id+`","executor_generation":1}`, string(p.call(confirm(made.ExecutorID, made.ResumeSecret)).Payload))
		require.Equal(t, `{"executor_id":"`+id+`","executor_generation":2,"pending_calls":[]}`, string(p.call(resume(made.ExecutorID, made.ResumeSecret)).Payload))
		var rotated wirev2.ExecutorRotateReply
		response = p.ok(rotate(made.ExecutorID, 2), &rotated)
		require.Equal(t, `{"executor_id":"`+id+`","executor_generation":2,"resume_secret":"`+secret(rotated.ResumeSecret)+
			`","status":"rotation_pending","pending_timeout_ms":60000}`, string(response.Payload))
		require.Equal(t, `{"executor_id":"`+id+`","executor_generation":2}`, string(p.call(rotateConfirm(made.ExecutorID, 2, rotated.ResumeSecret)).Payload))
		require.Equal(t, `{"executor_id":"`+id+`"}`, string(p.call(releaseExecutor(made.ExecutorID, 2)).Payload))
		p.refused(resume(made.ExecutorID, rotated.ResumeSecret), wirev2.CodeExecutorRejected)
	})
}

// rule: W-058, W-228, W-229, W-230, W-231, W-232, W-233
func TestExecutorRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p, other := r.connect(true), r.connect(true)
		id, _, secret := p.attach()
		unknown := other.refused(resume(wirev2.NewID(), secret), wirev2.CodeExecutorRejected)
		wrong := other.refused(resume(id, "x"), wirev2.CodeExecutorRejected)
		require.Equal(t, unknown, wrong, "the two answer alike")
		for _, length := range []int{0, 129} {
			p.refused(request{method: wirev2.MethodExecutorResume, payload: fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, id, strings.Repeat("s", length))}, wirev2.CodeInvalidPayload)
		}
		p.refused(resume(id, wirev2.Secret(strings.Repeat("s", 128))), wirev2.CodeExecutorRejected)
		p.refused(confirm(id, secret), wirev2.CodeStaleConnection)
		p.refused(rotate(id, 2), wirev2.CodeStaleConnection)
		other.refused(rotate(id, 1), wirev2.CodeStaleConnection)
		p.refused(rotateConfirm(id, 1, secret), wirev2.CodeStaleConnection)
		p.refused(request{method: wirev2.MethodExecutorCreate}, wirev2.CodeConflict)
		otherID, _, otherSecret := other.attach()
		other.refused(resume(id, secret), wirev2.CodeConflict)
		var provisional wirev2.ExecutorCreateReply
		third := r.connect(true)
		third.ok(request{method: wirev2.MethodExecutorCreate}, &provisional)
		other.refused(releaseExecutor(otherID, 9), wirev2.CodeStaleConnection)
		r.connect(true).refused(confirm(provisional.ExecutorID, provisional.ResumeSecret), wirev2.CodeStaleConnection)
		require.Nil(t, other.call(resume(otherID, otherSecret)).Error)
	})
}

// rule: W-207, W-210, A-142, A-144, A-145
func TestLookupOfAnExecutorOperationIsHistoryOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		ordinary := r.connect(false)
		r.model.then(asks("say", "x"))
		a.run("go") // a pending call, which no lookup may show
		look := func(p *peer, q request, want string) {
			t.Helper()
			q.operation = wirev2.NewID()
			response := p.call(q)
			require.Nil(t, response.Error)
			found := ordinary.lookup(q.operation)
			require.JSONEq(t, want, string(found.Result))
			require.NotContains(t, string(found.Result), "secret")
		}
		id := string(a.executor)
		next := r.connect(true)
		look(next, resume(a.executor, a.secret), `{"status":"completed","executor_id":"`+id+`","executor_generation":2}`)
		look(next, rotate(a.executor, 2), `{"status":"rotation_pending","executor_id":"`+id+`","executor_generation":2,"pending_timeout_ms":60000}`)
		look(next, releaseExecutor(a.executor, 2), `{"status":"completed","executor_id":"`+id+`"}`)
		q := request{method: wirev2.MethodExecutorCreate, operation: wirev2.NewID()}
		var made wirev2.ExecutorCreateReply
		r.decode(next.call(q), &made)
		require.JSONEq(t, `{"status":"completed","executor_id":"`+string(made.ExecutorID)+`","executor_generation":1}`, string(ordinary.lookup(q.operation).Result))
		look(next, confirm(made.ExecutorID, made.ResumeSecret), `{"status":"completed","executor_id":"`+string(made.ExecutorID)+`","executor_generation":1}`)
		next.refused(q, wirev2.CodeOperationAlreadyKnown)
		refused := resume(a.executor, a.secret)
		refused.operation = wirev2.NewID()
		r.connect(true).refused(refused, wirev2.CodeExecutorRejected)
		require.Equal(t, wirev2.OperationRejected, ordinary.lookup(refused.operation).State)
	})
}

// rule: W-217
func TestReservedPlacesTakeWhatBringsAnExecutorBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		call := a.calls()[0]
		r.c.core.verify = nil
		for len(r.c.core.operations) < maxOperations-reservedOperations {
			a.send(a.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: wirev2.NewID()}))
		}
		r.c.core.verify = verify
		p := r.connect(true)
		p.refused(request{method: wirev2.MethodExecutorCreate}, wirev2.CodeLimitExceeded)
		a.resume(p)
		call.ExecutorGeneration = a.generation
		p.report(a.session, call, said("1"))
		require.Nil(t, p.call(releaseExecutor(a.executor, a.generation)).Error)
		p.refused(rotate(a.executor, a.generation), wirev2.CodeLimitExceeded)
	})
}

// rule: W-071, W-235, A-164
func TestResumeFencesAndDisconnectFrees(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		next := r.connect(true)
		require.Empty(t, a.resume(next).PendingCalls)
		a.refused(rotate(a.executor, 1), wirev2.CodeStaleConnection)
		a.view() // the old connection lives, and controls
		next.refused(a.with(wirev2.MethodSessionSnapshot, nil), wirev2.CodeStaleConnection)
		next.leave()
		_, attached := r.c.core.executors.Held(executorauth.ConnID(next.id), r.c.core.now)
		require.False(t, attached)
		a.resume(r.connect(true))
	})
}

// rule, M-124
func TestExecutorDeadlinesExpireAtTheirInstant(t *testing.T) {
	for _, offset := range []time.Duration{-1, 0, 1} {
		inBubble(t, func(t *testing.T, r *rig) {
			late := offset >= 0
			p := r.connect(true)
			var made wirev2.ExecutorCreateReply
			p.ok(request{method: wirev2.MethodExecutorCreate}, &made)
			after(60*time.Second + offset)
			if late {
				p.refused(confirm(made.ExecutorID, made.ResumeSecret), wirev2.CodeExecutorRejected)
				return
			}
			require.Nil(t, p.call(confirm(made.ExecutorID, made.ResumeSecret)).Error)
		})
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application()
			a.leave()
			after(15*time.Minute + offset)
			response := r.connect(true).call(resume(a.executor, a.secret))
			require.Equal(t, offset >= 0, response.Error != nil)
		})
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application()
			var rotated wirev2.ExecutorRotateReply
			a.ok(rotate(a.executor, 1), &rotated)
			after(60*time.Second + offset)
			response := a.call(rotateConfirm(a.executor, 1, rotated.ResumeSecret))
			require.Equal(t, offset >= 0, response.Error != nil)
		})
	}
}

// rule: A-138, W-110
func TestTwoHundredFiftySixExecutors(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.c.core.verify = nil
		var peers []*peer
		for range 256 {
			p := r.connect(true)
			require.Nil(t, p.call(request{method: wirev2.MethodExecutorCreate}).Error)
			peers = append(peers, p)
		}
		p := r.connect(true)
		p.refused(request{method: wirev2.MethodExecutorCreate}, wirev2.CodeLimitExceeded)
		var status wirev2.DaemonStatusReply
		p.ok(request{method: wirev2.MethodDaemonStatus}, &status)
		require.Equal(t, int64(256), status.Executors)
		for _, other := range peers {
			other.leave()
		}
		after(time.Minute)
		p.ok(request{method: wirev2.MethodDaemonStatus}, &status)
		require.Zero(t, status.Executors)
	})
}
