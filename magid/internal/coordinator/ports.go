package coordinator

import (
	"sync/atomic"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Outbox is the sending half of one connection, made by the server.
//
// The coordinator calls it while it holds its own lock, save Flush, so that the
// order of calls is the order of what was decided. Every method therefore returns at
// once, and none of them calls back into the coordinator: a connection that has
// to die is reported later, through [Coordinator.Disconnect], from another
// goroutine.
//
// Every response and event comes complete (instance, connection, session,
// operation, grant generation), save an event's live sequence: the connection
// takes that from the grant as the record leaves its queue.
type Outbox interface {
	// Respond queues the one answer of a request. A connection that cannot take
	// it is to be disconnected: an answer is never dropped in silence.
	Respond(wirev2.Response)

	// Event queues an event. grant is nil for executor events, which carry no
	// live sequence; for every other event it is the grant the event belongs to,
	// and the writer calls grant.Next for its live sequence when the record
	// leaves the queue. False means that the record did not fit: nothing was
	// queued and the connection is being disconnected.
	Event(event wirev2.Event, grant *Grant) bool

	// Text queues one turn.text event whose payload still has to be made of turn
	// and text. It is apart from Event so that a queue may join texts of the same
	// grant and turn that stand next to each other. event.Payload is empty.
	Text(event wirev2.Event, grant *Grant, turn wirev2.ID, text string) bool

	// Flush sends what has been queued, as far as that needs no waiting. The
	// coordinator calls it after it has queued something, when it holds no lock any
	// more: what is sent at once, by who queued it, costs no other goroutine.
	Flush()

	// Disconnect asks for the end of the connection; reason is one line for the
	// log.
	Disconnect(reason string)
}

// Grant is one controller's hold on one session: made by session.claim, ended by
// release, takeover, a newer claim or the end of the connection.
//
// A Grant is safe for concurrent use; Next is meant for the one writer of the
// connection that holds the grant.
type Grant struct {
	session    wirev2.ID
	generation int64
	sequence   atomic.Int64
}

// Session is the session the grant controls.
func (g *Grant) Session() wirev2.ID { return g.session }

// Generation is the grant's number within its session and daemon instance.
func (g *Grant) Generation() int64 { return g.generation }

// Next gives the next live sequence of the grant: 1, 2, 3 without a gap
// (wire-v2 2: Event). It is called once for each record that leaves the queue.
func (g *Grant) Next() int64 { return g.sequence.Add(1) }
