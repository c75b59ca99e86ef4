package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Options say what a coordinator works with.
type Options struct {
	Instance wirev2.ID    // required: the daemon's instance id
	Version  string       // required: shown by daemon.status
	Log      *slog.Logger // optional; nil means no log
}

// Conn is one initialised connection. It is opaque to the server.
type Conn struct {
	id       wirev2.ID
	selected bool // the connection negotiated application_resources_v1
	out      Outbox
}

// Coordinator decides requests. It is safe for concurrent use.
type Coordinator struct{}

// New makes a coordinator.
func New(o Options) (*Coordinator, error) { return nil, errors.New("not yet") }

// Connect takes in a connection that has just been initialised. selected says
// whether it negotiated application_resources_v1.
func (c *Coordinator) Connect(id wirev2.ID, selected bool, out Outbox) *Conn {
	return &Conn{id, selected, out}
}

// Handle takes one request whose record, envelope, method and envelope members
// the server has checked (wire-v2 5, up to "operation freshness"), and answers
// it through the connection's Outbox once, now or later. The order of calls is
// the order of admission, so one goroutine calls it for one connection.
// Requests of initialize and capabilities are the server's own.
func (c *Coordinator) Handle(conn *Conn, q wirev2.Request) {}

// Disconnect ends a connection: control and executor attachment are free when it
// returns. Requests admitted before are still answered through the Outbox. A
// second call does nothing.
func (c *Coordinator) Disconnect(conn *Conn) {}

// Idle says since when nothing has kept the daemon from its idle exit: no
// connection, no turn, no pinned executor. ok is false while something does.
func (c *Coordinator) Idle() (since time.Time, ok bool) { return time.Time{}, false }

// Shutdown ends every running turn as failed/internal, makes that durable, frees
// the writer leases and returns; turns that do not end before ctx is done are
// left to the recovery of the next opening.
func (c *Coordinator) Shutdown(ctx context.Context) error { return nil }
