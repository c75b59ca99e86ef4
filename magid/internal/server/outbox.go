package server

import (
	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// outbox is the coordinator's view of a connection. Save Flush it is called under the coordinator's lock: nothing here
// waits, and a queue that overflows only wakes the connection's own goroutines.
type outbox struct{ c *conn }

var _ coordinator.Outbox = outbox{}

// Respond queues the answer of an admitted request.
func (o outbox) Respond(r wirev2.Response) {
	o.taken(o.c.queue.respond(r, true))
}

// Event queues an event.
func (o outbox) Event(event wirev2.Event, grant *coordinator.Grant) bool {
	return o.taken(o.c.queue.pushEvent(event, grant))
}

// Text queues a piece of a turn's text.
func (o outbox) Text(event wirev2.Event, grant *coordinator.Grant, turn wirev2.ID, text string) bool {
	return o.taken(o.c.queue.pushText(event, grant, turn, text))
}

// Flush writes what the kernel takes now; the connection's writer does the rest.
func (o outbox) Flush() { o.c.writeAtOnce(o.c.queue.take()) }

// Disconnect ends the connection.
func (o outbox) Disconnect(reason string) { o.c.cut(reason) }

// taken wakes the reader and the writer of a connection whose queue overflowed.
func (o outbox) taken(ok bool) bool {
	if !ok && o.c.queue.death() != "" {
		o.c.close()
	}
	return ok
}
