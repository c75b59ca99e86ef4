package coordinator

import (
	"time"

	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/wirev2"
)

// evidence is turn.application_evidence: what became of a turn's application
// calls, without arguments, results or anything that would answer one. Reading it
// moves nothing (seed: Reconnect evidence).
func (k *core) evidence(a *ask) (func(), *wirev2.Error) {
	var q wirev2.TurnApplicationEvidenceRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		t := k.turns[q.TurnID]
		if t == nil || t.session != a.session || t.phase == preparing {
			k.refuse(a, wirev2.CodeUnknownTurn, "this session has accepted no such turn, or its outcome is no longer retained")
			return
		}
		reply := wirev2.TurnApplicationEvidenceReply{
			TurnID:              t.id,
			ApplicationManifest: t.manifest,
			Calls:               []wirev2.CallEvidence{},
		}
		for _, c := range t.calls {
			reply.Calls = append(reply.Calls, c.evidenceAt(k.now, false))
		}
		k.answer(a, reply, nil)
	}, nil
}

// evidenceAt is a call as evidence shows it; worst is its longest form, for which
// room is reserved.
func (c *appCall) evidenceAt(now time.Duration, worst bool) wirev2.CallEvidence {
	tuple, at := c.tuple, c.turn.app.executor
	wait, remaining := c.waits(now)
	out := wirev2.CallEvidence{
		CallID:             c.id,
		ProviderCallID:     c.providerID,
		Name:               c.name,
		ExecutorID:         wirev2.ID(at.ID),
		ExecutorGeneration: at.Generation,
		RevisionSHA256:     tuple.RevisionSHA256,
		Status:             c.status,
		ExternalEffects:    c.effects,
		WaitKind:           wait,
		RemainingMS:        remaining,
		ResourceID:         wirev2.ID(tuple.ResourceID),
		RevisionID:         wirev2.ID(tuple.RevisionID),
	}
	if worst {
		out.Status, out.ExternalEffects = wirev2.CallWaitingForExecutor, wirev2.EffectsNotDispatched
		out.WaitKind, out.RemainingMS = new(wirev2.WaitAvailability), new(longestRemaining)
	}
	return out
}

// pendingAt is a call as executor.resume shows it.
func (c *appCall) pendingAt(now time.Duration, worst bool) wirev2.PendingCall {
	e := c.evidenceAt(now, worst)
	return wirev2.PendingCall{
		SessionID:       c.turn.session.id,
		TurnID:          c.turn.id,
		CallID:          e.CallID,
		ProviderCallID:  e.ProviderCallID,
		Name:            e.Name,
		ResourceID:      e.ResourceID,
		RevisionID:      e.RevisionID,
		RevisionSHA256:  e.RevisionSHA256,
		Status:          e.Status,
		ExternalEffects: e.ExternalEffects,
		WaitKind:        e.WaitKind,
		RemainingMS:     e.RemainingMS,
	}
}

// waits is what an unsettled call waits for, and how much longer: whole
// milliseconds, rounded up, so that a call that still waits never shows 0.
func (c *appCall) waits(now time.Duration) (*wirev2.WaitKind, *int64) {
	if c.settled() || c.deadline == nil {
		return nil, nil
	}
	remaining := int64((c.deadline.at - now + time.Millisecond - 1) / time.Millisecond)
	if c.status == wirev2.CallWaitingForExecutor {
		return new(wirev2.WaitAvailability), &remaining
	}
	return new(wirev2.WaitExecution), &remaining
}

// pendingCalls is what an executor that comes back is shown.
func (k *core) pendingCalls(id executorauth.ID) []wirev2.PendingCall {
	out := []wirev2.PendingCall{}
	for _, c := range k.callsOf(id) {
		out = append(out, c.pendingAt(k.now, false))
	}
	return out
}

const longestRemaining = int64(600000)

// resumeBase is a resume payload without calls, at the largest generation.
var resumeBase = worstSize(wirev2.ExecutorResumeReply{
	ExecutorID:         "00000000-0000-4000-8000-000000000000",
	ExecutorGeneration: 1<<53 - 1,
	PendingCalls:       []wirev2.PendingCall{},
})

// evidenceBase is the size of the turn's evidence without calls.
func (t *turn) evidenceBase() int {
	if t.evidenceSize == 0 {
		t.evidenceSize = t.emptyEvidence()
	}
	return t.evidenceSize
}

func (t *turn) emptyEvidence() int {
	return worstSize(wirev2.TurnApplicationEvidenceReply{
		TurnID: t.id, ApplicationManifest: t.manifest, Calls: []wirev2.CallEvidence{},
	})
}

// worstSize is the encoded size of something that is made of checked parts; one
// that cannot be encoded fits nowhere.
func worstSize(v any) int {
	raw, err := wirev2.EncodePayload(v)
	if err != nil {
		return maxPayloadBytes
	}
	return len(raw)
}
