package coordinator

import (
	"io"
	"time"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/wirev2"
)

// What the wire promises and nobody configures (wire-v2 3, 4).
const (
	maxOperations      = 4096
	reservedOperations = 512
	retention          = 600 * time.Second
	maxPromptBytes     = 24576
	maxPayloadBytes    = 32768
	maxHistoryBytes    = 49152
	maxTextBytes       = 20000
	maxErrorBytes      = 512
)

// core is everything the coordinator knows, as a state machine: verbs go in,
// effects come out. It has no clock, goroutine or lock and does no I/O; its host
// calls it under one lock, tells it the time with advance before each verb, and
// then does the effects in their order.
//
// A core is not safe for concurrent use.
type core struct {
	settings
	now      time.Duration // since the start of the daemon, never going back
	effects  []effect
	changed  []*session // to be settled when the verb ends
	timers   deadlines
	stopping bool        // the daemon is being shut down
	verify   func(*core) // looks at the state after each verb; nil but in tests

	conns      map[*Conn]struct{}
	sessions   map[wirev2.ID]*session
	operations map[wirev2.ID]*operation
	turns      map[wirev2.ID]*turn // active ones and those whose operation is retained
	active     int                 // turns that prepare or run
	idleSince  time.Duration       // valid while idle

	resources *appresources.Set
	executors *executorauth.Authority
	peers     map[executorauth.ConnID]*Conn

	executorsChanged bool          // executorNext has to be asked for again
	executorNext     time.Duration // the first deadline of an executor, where executorArmed
	executorArmed    bool

	capturing *ask                   // the registration that has the capture slot
	calls     map[wirev2.ID]*appCall // of active turns, settled ones too
	needs     uint64                 // of the newest call
}

// settings is what a core is told once.
type settings struct {
	instance     wirev2.ID
	version      string
	unconfigured string // why there is no provider; "" where there is one
	newID        func() wirev2.ID
	newToken     func() wirev2.Secret
	random       io.Reader              // of executor ids and secrets
	reserved     func(name string) bool // names that no resource may have
}

func newCore(s settings) (*core, error) {
	resources, err := appresources.New(appresources.Options{
		NewID: func() appresources.ID { return appresources.ID(s.newID()) },
	})
	if err != nil {
		return nil, err
	}
	executors, err := executorauth.New(s.random, executorauth.Limits{})
	if err != nil {
		return nil, err
	}
	return &core{
		settings:   s,
		conns:      make(map[*Conn]struct{}),
		sessions:   make(map[wirev2.ID]*session),
		operations: make(map[wirev2.ID]*operation),
		turns:      make(map[wirev2.ID]*turn),
		resources:  resources,
		executors:  executors,
		peers:      make(map[executorauth.ConnID]*Conn),
		calls:      make(map[wirev2.ID]*appCall),
	}, nil
}

// advance moves time on and does what has come due. It comes before every verb,
// so that expiry wins over whatever happens at the same instant (magid: Ties).
func (k *core) advance(now time.Duration) {
	k.now = max(k.now, now)
	k.resources.Expire(k.now)
	if len(k.executors.Expire(k.now)) > 0 {
		k.executorsChanged = true
	}
	for d := k.timers.due(k.now); d != nil; d = k.timers.due(k.now) {
		d.fire()
	}
}

// next is when advance has something to do again.
func (k *core) next() (time.Duration, bool) {
	next, ok := k.timers.next()
	if at, armed := k.resources.NextDeadline(); armed && (!ok || at < next) {
		next, ok = at, true
	}
	if k.executorsChanged {
		// It looks at every executor, which a piece of text need not pay for.
		k.executorNext, k.executorArmed = k.executors.NextDeadline()
		k.executorsChanged = false
	}
	if k.executorArmed && (!ok || k.executorNext < next) {
		next, ok = k.executorNext, true
	}
	return next, ok
}

// do adds an effect.
func (k *core) do(e effect) { k.effects = append(k.effects, e) }

// change notes that something of a session changed on which requests or the
// lease may depend.
func (k *core) change(s *session) {
	if !s.changed {
		s.changed = true
		k.changed = append(k.changed, s)
	}
}

// take ends a verb: it settles what the verb changed and hands out what has to
// be done, in order.
func (k *core) take() []effect {
	for len(k.changed) > 0 {
		s := k.changed[0]
		k.changed = k.changed[1:]
		s.changed = false
		k.wake(s)
		k.settleLease(s)
	}
	if k.verify != nil {
		k.verify(k)
	}
	out := k.effects
	k.effects = nil
	return out
}

// idle says whether nothing keeps the daemon from its idle exit (magid: Command line).
func (k *core) idle() bool { return len(k.conns) == 0 && k.active == 0 }

// settleIdle notes when the daemon became idle. It follows every change of what
// idle looks at.
func (k *core) settleIdle(before bool) {
	if !before && k.idle() {
		k.idleSince = k.now
	}
}
