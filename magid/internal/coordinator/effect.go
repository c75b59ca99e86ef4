package coordinator

import (
	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// effect is one thing the core decided and its host has to do. The host does
// effects in order, those that only queue a record at once and under its lock,
// those that do I/O in a goroutine that comes back with another verb.
type effect interface{ effect() }

type (
	// respond answers a request.
	respond struct {
		conn     *Conn
		response wirev2.Response
	}
	// notify queues an event; grant is nil for an executor's.
	notify struct {
		conn  *Conn
		event wirev2.Event
		grant *Grant
	}
	// hangUp ends a connection.
	hangUp struct {
		conn   *Conn
		reason string
	}
	// notifyText queues a turn.text event.
	notifyText struct {
		conn  *Conn
		event wirev2.Event
		grant *Grant
		turn  wirev2.ID
		text  string
	}

	// checkWorkspace looks whether a folder exists; comes back with workspaceChecked.
	checkWorkspace struct {
		ask   *ask
		path  string
		title *string
	}
	// createSession makes a session durable; comes back with sessionCreated.
	createSession struct {
		ask       *ask
		id        wirev2.ID
		workspace string
		title     *string
	}
	// listSessions reads the index of sessions; comes back with the ask's own then.
	listSessions struct {
		ask  *ask
		then func(sessions []journal.Summary, err error)
	}
	// readHistory reads a page of a journal; comes back with historyRead.
	readHistory struct {
		ask   *ask
		lease lease
		view  journal.View
	}
	// openLease takes the writer lease of a session; comes back with leaseOpened.
	openLease struct{ session *session }
	// closeLease gives it back; comes back with leaseClosed.
	closeLease struct {
		session *session
		lease   lease
	}

	// captureSource reads a workspace file; comes back with captured.
	captureSource struct {
		ask       *ask
		staging   *appresources.Staging
		workspace string
		path      string
	}
	// dispatchCall queues the record of a call for its executor; the host tells at
	// once, with dispatchedCall, whether it fitted.
	dispatchCall struct {
		conn  *Conn
		event wirev2.Event
		call  *appCall
	}
	// markCall notes on the disk that a call waits; comes back with callMarked.
	markCall struct {
		call  *appCall
		lease lease
	}
	// unmarkCall takes that back; comes back with callUnmarked.
	unmarkCall struct {
		call  *appCall
		lease lease
	}

	// startTurn begins the goroutine of a turn: it prepares, asks admitTurn, and
	// if it is admitted records the prompt and runs the turn to its end.
	startTurn struct{ turn *turn }
	// cancelTurn ends that goroutine's work.
	cancelTurn struct {
		turn  *turn
		cause error
	}
)

func (respond) effect()        {}
func (notify) effect()         {}
func (hangUp) effect()         {}
func (notifyText) effect()     {}
func (checkWorkspace) effect() {}
func (createSession) effect()  {}
func (listSessions) effect()   {}
func (readHistory) effect()    {}
func (openLease) effect()      {}
func (closeLease) effect()     {}
func (captureSource) effect()  {}
func (dispatchCall) effect()   {}
func (markCall) effect()       {}
func (unmarkCall) effect()     {}
func (startTurn) effect()      {}
func (cancelTurn) effect()     {}

// fedBy is the connection into which an effect queues something, nil where it
// does not.
func fedBy(e effect) *Conn {
	switch e := e.(type) {
	case respond:
		return e.conn
	case notify:
		return e.conn
	case notifyText:
		return e.conn
	case dispatchCall:
		return e.conn
	}
	return nil
}
