package coordinator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

// phase is how far a turn has come.
type phase int

const (
	preparing phase = iota // nothing is recorded, nothing may be seen of it but its state
	admitted               // accepted; its user record is on the way to the disk
	running                // the worker has it
	closing                // its terminal is decided and on the way to the disk
	ended                  // its terminal is durable, or can never be
	dropped                // never accepted, or its user record failed
)

func (p phase) String() string {
	switch p {
	case preparing:
		return "preparing"
	case admitted:
		return "admitted"
	case running:
		return "running"
	case closing:
		return "closing"
	case ended:
		return "ended"
	case dropped:
		return "dropped"
	}
	return fmt.Sprintf("phase %d", int(p))
}

// turn is one turn from its turn.start to the end of its outcome's retention.
type turn struct {
	id        wirev2.ID
	session   *session
	operation *operation // of its turn.start
	ask       *ask       // the turn.start, until it is answered
	prompt    string     // until the turn is over
	phase     phase
	stop      bool // stopping was promised: the terminal is cancelled
	omitted   int  // older turns left out of the history
	text      strings.Builder
	terminal  *wirev2.Terminal // from closing on

	journal  lease
	hold     *appresources.Hold // protects the registry and keeps the snapshot
	app      *application       // nil for a turn without application
	manifest *wirev2.Manifest   // nil for a turn without application, and while preparing
	calls    []*appCall         // of the application's tools, in the order of need

	evidenceSize int // of evidence without calls; 0 until somebody asks
}

// Causes of a turn's cancelled context.
var (
	errStopped  = errors.New("the turn was stopped")
	errDropped  = errors.New("the turn was not accepted")
	errShutdown = errors.New("the daemon is stopping")
)

// state is what a snapshot calls the turn's phase.
func (t *turn) state() wirev2.TurnState {
	switch {
	case t.phase == preparing:
		return wirev2.TurnPreparing
	case t.stop:
		return wirev2.TurnStopping
	}
	return wirev2.TurnRunning
}

// view is the turn in a snapshot.
func (t *turn) view(selected bool) *wirev2.Turn {
	return &wirev2.Turn{
		TurnID:              t.id,
		OperationID:         t.operation.id,
		State:               t.state(),
		Text:                t.text.String(),
		ApplicationManifest: t.manifestFor(selected),
	}
}

// manifestFor is the member application_manifest as a connection sees it.
func (t *turn) manifestFor(selected bool) wirev2.ManifestMember {
	return wirev2.ManifestMember{Present: selected, Manifest: t.manifest}
}

// terminalView is the turn's end in a snapshot or event.
func (t *turn) terminalView(selected bool) wirev2.Terminal {
	terminal := *t.terminal
	terminal.ApplicationManifest = t.manifestFor(selected)
	return terminal
}

// settle is what operation.lookup shows of an accepted turn.start.
func (t *turn) outcome(selected bool) any {
	if t.phase == ended {
		return wirev2.TurnStartResult{TurnID: t.id, Terminal: *t.terminal, ApplicationManifest: t.manifestFor(selected)}
	}
	return wirev2.TurnStartReply{TurnID: t.id, ApplicationManifest: t.manifestFor(selected)}
}

// textBudget is how many encoded bytes of assistant text the turn may have.
func (t *turn) textBudget() int {
	if t.manifest == nil {
		return maxTextBytes
	}
	return maxTextBytes - t.app.manifest.FieldBytes()
}
