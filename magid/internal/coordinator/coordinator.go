package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Options say what a coordinator works with.
type Options struct {
	Instance wirev2.ID         // required: the daemon's instance id
	Version  string            // required: shown by daemon.status
	Store    *journal.Store    // required
	Catalog  *catalog.Catalog  // required
	Provider provider.Provider // optional; nil makes turn.start answer provider_unconfigured
	// Unconfigured says in one line what to set where Provider is nil.
	Unconfigured string
	Limits       worker.Limits
	// StateDir is the daemon's state folder, which no capture reads. Optional; ""
	// is for tests that keep no state beside a workspace.
	StateDir string
	Log      *slog.Logger // optional; nil means no log
}

// Coordinator decides requests and runs turns. It is safe for concurrent use.
type Coordinator struct {
	store  *journal.Store
	worker *worker.Worker
	log    *slog.Logger
	state  string // the state folder
	start  time.Time

	mu      sync.Mutex
	core    *core                             // guarded by mu
	cancels map[*turn]context.CancelCauseFunc // of the goroutines of turns; guarded by mu
	timer   *time.Timer                       // fires at armed; guarded by mu, nil before the first deadline
	armed   time.Duration                     // not after the core's next deadline; never where nothing is armed; guarded by mu
	working int                               // goroutines; guarded by mu
	drained chan struct{}                     // closed when working is 0; guarded by mu, nil where nobody waits
}

// defaultUnconfigured is what a person needs to know who starts a turn without a
// provider.
const defaultUnconfigured = "no model provider is configured: set MAGI_BASE_URL and MAGI_MODEL, or [provider] base_url and model in the configuration file, and start the daemon again"

// New makes a coordinator.
func New(o Options) (*Coordinator, error) {
	switch {
	case !o.Instance.Valid():
		return nil, errors.New("coordinator: the instance id is no ID")
	case o.Store == nil || o.Catalog == nil:
		return nil, errors.New("coordinator: a store and a catalog are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w, err := worker.New(o.Provider, o.Catalog, o.Limits, o.Log)
	if err != nil {
		return nil, err
	}
	s := settings{
		instance: o.Instance, version: o.Version, newID: wirev2.NewID, newToken: wirev2.NewSecret, random: rand.Reader,
		reserved: o.Catalog.Reserved,
	}
	if o.Provider == nil {
		s.unconfigured = defaultUnconfigured
		if o.Unconfigured != "" {
			s.unconfigured = o.Unconfigured
		}
	}
	k, err := newCore(s)
	if err != nil {
		return nil, err
	}
	return &Coordinator{
		store:   o.Store,
		worker:  w,
		log:     o.Log,
		state:   o.StateDir,
		start:   time.Now(),
		core:    k,
		cancels: make(map[*turn]context.CancelCauseFunc),
		armed:   never,
	}, nil
}

// Connect takes in a connection that has just been initialised. selected says
// whether it negotiated application_resources_v1.
func (c *Coordinator) Connect(id wirev2.ID, selected bool, out Outbox) *Conn {
	var conn *Conn
	c.update(func(k *core) { conn = k.connect(id, selected, out) })
	return conn
}

// Handle takes one request whose record, envelope, method and envelope members
// the server has checked (wire-v2 5, up to "operation freshness"), and answers
// it through the connection's Outbox once, now or later. The order of calls is
// the order of admission, so one goroutine calls it for one connection.
// Requests of initialize and capabilities are the server's own.
func (c *Coordinator) Handle(conn *Conn, q wirev2.Request) {
	deadline := time.Since(c.start) + time.Duration(q.DeadlineMS)*time.Millisecond
	known := q.SessionID == "" || c.exists(q.SessionID)
	c.update(func(k *core) { k.handle(conn, q, deadline, known) })
}

// Disconnect ends a connection: control and executor attachment are free when it
// returns. Requests admitted before are still answered through the Outbox. A
// second call does nothing.
func (c *Coordinator) Disconnect(conn *Conn) {
	c.update(func(k *core) { k.disconnect(conn) })
}

// Idle says since when nothing has kept the daemon from its idle exit: no
// connection, no turn, no pinned executor. ok is false while something does.
func (c *Coordinator) Idle() (since time.Time, ok bool) {
	c.update(func(k *core) { since, ok = c.start.Add(k.idleSince), k.idle() })
	return since, ok
}

// Shutdown ends every running turn as failed/internal, the code that a crash
// would have given it, makes that durable, ends what connections hold and gives
// the writer leases back. Turns that do not end before ctx is done are left to
// the recovery of the next opening, and the error says so.
func (c *Coordinator) Shutdown(ctx context.Context) error {
	c.update((*core).shutdown)
	err := c.drain(ctx)
	c.update((*core).disconnectAll)
	err = errors.Join(err, c.drain(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	return err
}

// drain waits until no goroutine of the coordinator is at work.
func (c *Coordinator) drain(ctx context.Context) error {
	c.mu.Lock()
	if c.working == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	drained := c.drained
	c.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return errors.New("the daemon stopped before all its turns had ended; they are closed when their sessions are next opened")
	}
}

// exists looks for a session outside the lock.
func (c *Coordinator) exists(id wirev2.ID) bool {
	c.mu.Lock()
	_, known := c.core.sessions[id]
	c.mu.Unlock()
	if known {
		return true
	}
	_, err := c.store.Summary(id)
	return !errors.Is(err, journal.ErrUnknown)
}

// update is the one door to the core: it lets time pass, does a verb and its
// effects, and sees to it that what comes next is not missed.
func (c *Coordinator) update(verb func(k *core)) {
	var few [4]Outbox
	for _, out := range c.step(verb, few[:0]) {
		out.Flush()
	}
}

// step is update under the lock. It adds to fed the outboxes into which it has
// queued something.
func (c *Coordinator) step(verb func(k *core), fed []Outbox) []Outbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	c.core.advance(now)
	verb(c.core)
	for effects := c.core.take(); len(effects) > 0; effects = c.core.take() {
		for _, e := range effects {
			c.perform(e)
			if conn := fedBy(e); conn != nil && !slices.Contains(fed, conn.out) {
				fed = append(fed, conn.out)
			}
		}
	}
	c.arm(now)
	return fed
}

// arm sees to it that the core's next deadline is not missed. A timer that fires too early does no harm, and to move it
// with every request would wake a thread with every request. The caller holds mu.
func (c *Coordinator) arm(now time.Duration) {
	if c.armed <= now {
		c.armed = never // it has fired, or will soon
	}
	next, ok := c.core.next()
	if !ok || next >= c.armed {
		return
	}
	c.armed = next
	if c.timer == nil {
		c.timer = time.AfterFunc(next-now, c.tick)
		return
	}
	c.timer.Reset(next - now)
}

// never is later than every deadline.
const never = time.Duration(math.MaxInt64)

// tick lets time pass.
func (c *Coordinator) tick() { c.update(func(*core) {}) }

// spawn runs work in a goroutine that Shutdown waits for. The caller holds mu.
func (c *Coordinator) spawn(work func()) {
	c.working++
	go func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.working--
			if c.working == 0 && c.drained != nil {
				close(c.drained)
				c.drained = nil
			}
		}()
		work()
	}()
}
