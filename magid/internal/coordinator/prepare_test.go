package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-174, W-175, W-177
func TestWhatEndsAPreparationRecordsNothingAndSendsNoEvent(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(d *desk, t *turn) []effect
		want []string // answers
	}{
		"stop": {func(d *desk, t *turn) []effect {
			return d.ask(d.conn, wirev2.MethodTurnStop, `{"turn_id":"`+string(t.id)+`"}`)
		}, []string{"#2 conflict", "#3 terminal"}},
		"takeover":   {func(d *desk, _ *turn) []effect { return d.claim(d.connect(wirev2.NewID(), false, quiet{})) }, []string{"#2 stale_connection", "#3 ok"}},
		"release":    {func(d *desk, _ *turn) []effect { return d.ask(d.conn, wirev2.MethodSessionRelease, `{}`) }, []string{"#2 stale_connection"}},
		"disconnect": {func(d *desk, _ *turn) []effect { d.disconnect(d.conn); return d.take() }, []string{"#2 stale_connection"}},
		"failure":    {func(d *desk, t *turn) []effect { d.admitTurn(t, 0, errDisk); return d.take() }, []string{"#2 preparation_failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			d.ask(d.conn, wirev2.MethodTurnStart, `{"prompt":"x"}`)
			turn := d.session.turn
			operation := turn.operation.id
			effects := c.end(d, turn)
			var answers []string
			for _, e := range effects {
				switch e := e.(type) {
				case respond:
					answers = append(answers, told([]effect{e}))
				case notify:
					require.Equal(t, wirev2.EventSessionControlLost, e.event.Event)
				}
			}
			require.Equal(t, c.want, answers)
			require.Contains(t, told(effects), "cancelTurn", "what prepares it is told")
			require.Nil(t, d.admitTurn(turn, 0, nil), "there is no user record to write")
			require.Empty(t, d.take())
			require.Nil(t, d.session.turn)
			require.Equal(t, wirev2.OperationRejected, d.operations[operation].state)
		})
	}
}

// rule, M-023
func TestRegistryKeepsNeitherOutcomesNorTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(says("done"))
		q := a.startRequest("go")
		q.operation = wirev2.NewID()
		require.Nil(t, a.call(q).Error)
		a.ok(a.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		s, err := r.store.Open(a.session)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		a.leave()
		_, idle := r.c.Idle()
		require.True(t, idle, "and does not keep the daemon from its idle exit")
		after(retention)
		require.Equal(t, 1, r.c.core.resources.Usage().Registries)
		h := r.connect(true).claim(a.session, false)
		h.missing(h.with("", nil), q.operation)
		require.Nil(t, h.snapshot.Terminal)
	})
}

// rule
func TestChangesOfRegistryAndExecutorLeaveAnAcceptedTurnAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		old := a.register("say", wirev2.KindTool, fmt.Sprintf(contract, ""), nil)
		r.model.then(asks("say", "x"), says("done"))
		started := a.run("go")
		call := a.calls()[0]
		before := a.evidence(started.TurnID).ApplicationManifest
		require.Equal(t, started.ApplicationManifest.Manifest, before)

		other := r.connect(true)
		otherID, _, _ := other.attach()
		a.register("say", wirev2.KindTool, contractWith(9000), &old.RevisionID)
		var rotated wirev2.ExecutorRotateReply
		a.ok(rotate(a.executor, a.generation), &rotated)
		require.Nil(t, a.call(rotateConfirm(a.executor, a.generation, rotated.ResumeSecret)).Error)
		a.secret = rotated.ResumeSecret
		a.ok(a.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{
			ExpectedRegistryRevision: a.resources().RegistryRevision,
		}), &wirev2.SessionResourcesClearReply{})
		b := r.connect(true)
		a.resume(b)

		require.Equal(t, before, a.evidence(started.TurnID).ApplicationManifest)
		require.Empty(t, other.calls())
		moved := call
		moved.ExecutorID = otherID
		other.refused(result(a.session, moved, said("x")), wirev2.CodeStaleConnection)
		call.ExecutorGeneration = a.generation
		b.report(a.session, call, said("x"))
		require.Equal(t, "done", a.view().Terminal.Text)
		sent := fmt.Sprintf("%+v", r.model.requests)
		for _, attribution := range []string{"registered_by", string(a.id), string(r.c.core.instance), string(old.RegisteredBy.OperationID)} {
			require.False(t, strings.Contains(sent, attribution), "attribution stays local")
		}
	})
}

// rule: A-060
func TestPreparationProtectsTheRegistry(t *testing.T) {
	d, turn, _ := newPreparing(t)
	turn.ask.deadline = time.Hour
	d.timers.disarm(turn.ask.timer)
	d.advance(901 * time.Second)
	require.Equal(t, 1, d.resources.Usage().Registries)
	d.disconnect(d.conn) // and so ends the preparation: the time begins now
	d.take()
	d.advance(2*901*time.Second - 2*time.Second)
	require.Equal(t, 1, d.resources.Usage().Registries)
	d.advance(2 * 901 * time.Second)
	require.Zero(t, d.resources.Usage().Registries)
}
