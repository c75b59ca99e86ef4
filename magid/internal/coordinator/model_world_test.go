package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// world is one random history.
type world struct {
	*core
	random *rand.Rand
	trace  func(format string, args ...any)
	seen   map[string]int

	peers    []*modelPeer
	sessions []*modelSession
	requests map[string]*modelRequest
	used     map[wirev2.ID]*modelOperation
	disk     []job
	n        int

	identities []*modelExecutor
	needed     []*modelCall
	doomed     []*modelPeer // whose queue was full: the server is ending them
}

// modelPeer is what a client knows.
type modelPeer struct {
	conn   *Conn
	tokens map[*modelSession]wirev2.Secret // the newest it was given, current or not
}

type modelSession struct {
	id         wirev2.ID
	holder     *modelPeer
	generation int64
	token      wirev2.Secret
	lost       map[int64]bool // grants that ended
	turn       *modelTurn
	last       *modelTurn
	turns      []wirev2.ID
	registry   *modelRegistry
	idle       bool // neither controller nor turn
	idleAt     time.Duration
}

type modelTurn struct {
	real     *turn
	start    *modelRequest
	accepted bool // turn.start was answered, or its user record is on its way
	told     bool // turn.started went out, or there was nobody to hear it
	stop     bool
	text     string
	failed   bool // its journal failed
	terminal *wirev2.Terminal
	ended    time.Duration
	app      *modelApplication // nil without one
	calls    []*modelCall
	fatal    bool
}

type modelRequest struct {
	id       string
	peer     *modelPeer
	q        wirev2.Request
	session  *modelSession
	takeover bool
	expect   wirev2.Code // what must be answered at once; "" leaves it open
	ok       bool        // a reply must come at once
	answered bool
	target   *modelTurn // of a turn.stop
	app      *modelApplication
	more     any // what a method of the profile has to remember
}

type modelOperation struct {
	session wirev2.ID
	state   wirev2.OperationState
	settled bool
	at      time.Duration
}

// job is something slow that is under way.
type job struct {
	name string
	done func(err error)
}

var errDisk = errors.New("no space left on device")

func newWorld(seed uint64) *world {
	w := &world{
		random:   rand.New(rand.NewPCG(seed, 0)),
		trace:    func(string, ...any) {},
		seen:     map[string]int{},
		requests: map[string]*modelRequest{},
		used:     map[wirev2.ID]*modelOperation{},
	}
	ids := uint64(0)
	newID := func() wirev2.ID {
		ids++
		return wirev2.ID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", ids))
	}
	k, err := newCore(settings{
		instance: newID(), newID: newID,
		newToken: func() wirev2.Secret { ids++; return wirev2.Secret(fmt.Sprint("token-", ids)) },
		random:   rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}),
	})
	if err != nil {
		panic(err)
	}
	w.core = k
	w.core.verify = verify
	for range 2 {
		w.sessions = append(w.sessions, &modelSession{id: newID(), lost: map[int64]bool{}})
	}
	for range 3 {
		w.join()
	}
	return w
}

func (w *world) join() *modelPeer {
	p := &modelPeer{tokens: map[*modelSession]wirev2.Secret{}}
	p.conn = w.connect(w.newID(), w.random.IntN(2) == 0, quiet{})
	w.peers = append(w.peers, p)
	return p
}

// finish brings everything to its end and looks that nothing stays.
func (w *world) finish() {
	for range 1000 {
		w.finishJob()
		for _, s := range w.sessions {
			if t := s.turn; t != nil && t.real.phase == running {
				w.cancelCalls(t.real)
				w.observe(w.take())
				w.end(s, t, nil)
				w.observe(w.take())
			}
		}
	}
	w.pass(30 * time.Second)
	for range 100 {
		w.finishJob()
	}
	for _, r := range w.requests {
		must(r.answered, r.id+" was never answered")
	}
	for _, p := range w.peers {
		w.leave(p)
	}
	for len(w.disk) > 0 {
		w.finishJob()
	}
	w.pass(retention)
	must(len(w.core.operations) == 0 && len(w.core.turns) == 0, "outcomes outlive their time")
	w.pass(15 * time.Minute)
	_, armed := w.next()
	must(!armed, "a deadline is left")
	must(w.core.resources.Usage().Registries == 0 && w.core.resources.Usage().Bytes == 0, "a registry is left")
	must(w.core.executors.Counts(w.now).Executors == 0, "an executor is left")
	must(len(w.core.calls) == 0, "a call is left")
	must(w.core.idle(), "not idle")
	for _, s := range w.core.sessions {
		must(s.lease == leaseClosed && s.turn == nil && s.last == nil, "a session is left with something")
	}
}

// lease is a journal for the core to hold.
func (w *world) opened(s *session) {
	w.disk = append(w.disk, job{"the opening of " + string(s.id[:8]), func(err error) {
		if err != nil {
			w.leaseOpened(s, nil, err)
			return
		}
		w.leaseOpened(s, &journal.Session{}, nil)
	}})
}

func (w *world) met(what string, args ...any) {
	w.seen[strings.TrimSpace(fmt.Sprintf(what, args...))]++
}
