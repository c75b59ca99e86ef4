package coordinator

import (
	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Bounds of evidence (seed: Reconnect evidence, Callback bounds).
const (
	maxEvidenceTurns = 256
	maxEvidenceBytes = 30720
	maxResumeBytes   = 30720
	maxCalls         = 32
)

// application is what a turn was started with, from its capture to the end of
// its worker.
type application struct {
	snapshot *appresources.Snapshot // until the turn is over
	executor *executorauth.Identity // as accepted; nil for a snapshot without tools
	pin      executorauth.Pin       // from admission on
	manifest *appresources.Manifest // from admission on
}

// selectResources makes the checks of turn.start that concern the registry and
// the executor, and captures the snapshot (wire-v2 4: Turns; seed: Accept the
// complete snapshot). The hold protects the registry, and the snapshot's charge,
// until the turn is over; it is there for a turn without application as well.
func (k *core) selectResources(a *ask, q *wirev2.Application) (*appresources.Hold, *application, *wirev2.Error) {
	switch {
	case q == nil && k.resources.Nonempty(registryOf(a)):
		return nil, nil, &wirev2.Error{
			Code:    wirev2.CodeUnsupportedCapability,
			Message: "the session has application resources: turn.start must select them with application",
		}
	case q == nil:
		return k.resources.Protect(registryOf(a), k.now), nil, nil
	case !a.conn.selected:
		return nil, nil, &wirev2.Error{
			Code:    wirev2.CodeUnsupportedCapability,
			Message: "application needs a connection that negotiated application_resources_v1",
		}
	}
	selection := appresources.Selection{
		ExpectedRegistryRevision: appresources.ID(q.ExpectedRegistryRevision),
		Reserved:                 k.reserved,
	}
	for _, t := range q.ToolAuthorizations {
		selection.Authorizations = append(selection.Authorizations, appresources.Tuple{
			ResourceID:     appresources.ID(t.ResourceID),
			RevisionID:     appresources.ID(t.RevisionID),
			RevisionSHA256: t.RevisionSHA256,
		})
	}
	hold, err := k.resources.Select(registryOf(a), selection, k.now)
	if err != nil {
		return nil, nil, resourceRefusal(err)
	}
	app := &application{snapshot: hold.Snapshot()}
	refusal := k.selectExecutor(a, q, app)
	if refusal == nil {
		refusal = k.checkEvidence(a, app)
	}
	if refusal != nil {
		k.resources.Release(hold, k.now)
		return nil, nil, refusal
	}
	return hold, app, nil
}

// selectExecutor checks the executor of a turn.
func (k *core) selectExecutor(a *ask, q *wirev2.Application, app *application) *wirev2.Error {
	tools := len(app.snapshot.Tools()) > 0
	if q.ExecutorID == nil || q.ExecutorGeneration == nil {
		if tools {
			return invalid("executor_id and executor_generation must not be null for a snapshot with tools")
		}
		return nil
	}
	at := executorauth.Identity{ID: executorauth.ID(*q.ExecutorID), Generation: *q.ExecutorGeneration}
	if err := k.executors.Authorize(a.conn.executorConn(), at.ID, at.Generation, k.now); err != nil {
		return executorRefusal(err)
	}
	if !tools {
		return invalid("executor_id and executor_generation must be null for a snapshot without tools")
	}
	app.executor = &at
	return nil
}

// checkEvidence is the first of a turn's budgets: a place for its evidence, and
// room for its manifest.
func (k *core) checkEvidence(a *ask, app *application) *wirev2.Error {
	turns := 0
	for _, t := range k.turns {
		if t.app != nil {
			turns++
		}
	}
	if turns >= maxEvidenceTurns {
		return limitExceeded("the evidence of as many turns as may be is retained (max_evidence_turns, 256)")
	}
	// Its size does not depend on what admission stamps but on the length of the
	// members, which are those of this request.
	if _, err := app.snapshot.Manifest(k.attribution(a), app.target()); err != nil {
		return resourceRefusal(err)
	}
	return nil
}

// target is the executor as a manifest names it.
func (app *application) target() *appresources.Executor {
	if app.executor == nil {
		return nil
	}
	return &appresources.Executor{
		ExecutorID:         appresources.ID(app.executor.ID),
		ExecutorGeneration: app.executor.Generation,
	}
}

// authorizeExecutor asks whether a turn's executor is what it was accepted with.
func (k *core) authorizeExecutor(t *turn) error {
	if t.app == nil || t.app.executor == nil {
		return nil
	}
	at := t.app.executor
	return k.executors.Authorize(t.ask.conn.executorConn(), at.ID, at.Generation, k.now)
}

// stamp is the part of a turn's admission that concerns its application: the
// executor is pinned, and the manifest says for good what was accepted and by
// whom (seed: Accept the complete snapshot).
func (k *core) stamp(t *turn) *wirev2.Error {
	app := t.app
	if app == nil {
		return nil
	}
	if app.executor != nil {
		pin, err := k.executors.Pin(t.ask.conn.executorConn(), app.executor.ID, app.executor.Generation, k.now)
		if err != nil {
			return executorLost()
		}
		app.pin = pin
		k.executorsChanged = true
	}
	m, err := app.snapshot.Manifest(k.attribution(t.ask), app.target())
	if err != nil {
		return resourceRefusal(err) // the pin ends with the turn
	}
	app.manifest, t.manifest = m, manifest(m)
	return nil
}

// letGo ends what a turn held: its executor's pin, its snapshot, and its calls'
// places.
func (k *core) letGo(t *turn) {
	k.cancelCalls(t) // there are none but after a crash of the turn's goroutine
	if t.app != nil {
		k.executors.Unpin(t.app.pin, k.now)
		k.executorsChanged = true
	}
	k.resources.Release(t.hold, k.now)
	for _, c := range t.calls {
		delete(k.calls, c.id)
	}
	if t.app != nil {
		t.app.snapshot = nil // what is retained keeps no body alive
	}
}
