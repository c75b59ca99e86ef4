package coordinator

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

var (
	long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")
	seed = flag.Uint64("seed", 0, "run this one random history, and print it")
)

// TestRandomHistories plays random histories of several clients against the core:
// claims, takeovers, disconnects, turns, stops, lookups, lost and late disks,
// deadlines. Everything that comes out is held against a small model of what a
// client may believe. A failure names its seed.
//
// rule: W-138, W-140, W-157, W-190, W-203, W-274
func TestRandomHistories(t *testing.T) {
	if *seed != 0 {
		w := newWorld(*seed)
		w.trace = func(format string, args ...any) { t.Logf(format, args...) }
		if err := w.play(); err != nil {
			t.Fatal(err)
		}
		return
	}
	histories := uint64(3000)
	if *long {
		histories = 200000
	}
	seen := map[string]int{}
	for i := uint64(1); i <= histories; i++ {
		w := newWorld(i)
		if err := w.play(); err != nil {
			t.Fatalf("seed %d: %v (run with -seed %d)", i, err, i)
		}
		for what, n := range w.seen {
			seen[what] += n
		}
	}
	// A model that never meets a case proves nothing about it.
	for _, what := range []string{
		"session.claim ok", "session.claim session_claimed", "session.claim internal", "session.claim deadline_exceeded",
		"session.claim stale_connection", "session.release ok", "turn.start ok", "turn.start conflict", "turn.start stale_connection",
		"turn.start turn_active", "turn.start internal", "turn.start preparation_failed", "turn.start deadline_exceeded",
		"turn.stop ok", "turn.stop unknown_turn", "operation.lookup ok", "operation.lookup unknown_operation",
		"turn.start operation_already_known", "session.snapshot ok",
		"session.resources.register ok", "session.resources.register conflict", "session.resources.register configuration_busy",
		"session.resources.register stale_connection", "session.resources.register deadline_exceeded", "session.resources.unregister ok",
		"session.resources.clear ok", "session.resources.list ok", "turn.start unsupported_capability", "turn.start executor_rejected",
		"executor.create ok", "executor.create conflict", "executor.confirm ok", "executor.resume ok", "executor.resume executor_rejected",
		"executor.rotate ok", "executor.rotate_confirm ok", "executor.rotate_confirm stale_connection", "executor.release ok",
		"turn.application_tool_result ok", "turn.application_tool_result stale_connection", "turn.application_tool_result unknown_turn",
		"turn.application_tool_result invalid_payload", "turn.application_evidence ok", "turn.application_evidence unknown_turn",
		"call dispatched", "call refused by a full queue", "call tool_timeout", "call executor_unavailable", "call cancelled", "call success",
		"call marked", "cancel event", "pending call shown", "session.control_lost", "turn.terminal completed",
		"turn.terminal cancelled", "turn.terminal journal_failed", "turn.terminal provider_error",
	} {
		if seen[what] == 0 {
			t.Errorf("no history met %q", what)
		}
	}
	t.Logf("met: %v", seen)
}

// play plays the history. Invariants of the core panic.
func (w *world) play() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
			w.trace("%s", debug.Stack())
		}
	}()
	if w.random.IntN(4) > 0 {
		w.settleIn()
	}
	for range 40 + w.random.IntN(60) {
		w.act()
	}
	w.finish()
	return nil
}

// act does one random thing.
func (w *world) act() {
	for _, p := range w.doomed {
		w.remove(p)
	}
	w.doomed = nil
	w.endFatal()
	w.checkProgress()
	pick := w.random.IntN(100)
	switch {
	case pick < 18:
		w.request()
	case pick < 46:
		w.appRequest()
	case pick < 70:
		w.finishJob()
	case pick < 92:
		w.work()
	case pick < 94:
		steps := []time.Duration{1, time.Millisecond, time.Second, 10 * time.Second, time.Minute, retention, 15 * time.Minute}
		w.pass(steps[w.random.IntN(len(steps))])
	case pick < 96:
		if at, ok := w.next(); ok {
			w.pass(at - w.now + time.Duration(w.random.IntN(3)-1)) // one before, at, one after
		}
	case pick < 99:
		w.remove(w.peers[w.random.IntN(len(w.peers))])
	default:
		w.join()
	}
}

// remove ends a connection, and another one comes.
func (w *world) remove(p *modelPeer) {
	i := slices.Index(w.peers, p)
	if i < 0 {
		return
	}
	w.trace("%s leaves", p.conn.id[:8])
	w.peers = slices.Delete(w.peers, i, i+1)
	w.leave(p)
	w.join()
}

func (w *world) pass(d time.Duration) {
	if d <= 0 {
		return
	}
	w.trace("time passes: %v", d)
	w.advance(w.now + d)
	w.observe(w.take())
	w.checkTime()
}

func (w *world) leave(p *modelPeer) {
	for _, s := range w.sessions {
		if s.holder == p {
			w.unclaim(s)
		}
	}
	w.detach(p)
	w.disconnect(p.conn)
	w.observe(w.take())
}

// unhold is what a model knows of a grant that ended.
func (w *world) unhold(s *modelSession) {
	s.lost[s.generation] = true
	s.holder, s.token = nil, ""
}

// request sends a random request, right or wrong in random ways.
func (w *world) request() {
	p := w.peers[w.random.IntN(len(w.peers))]
	s := w.sessions[w.random.IntN(len(w.sessions))]
	if w.random.IntN(3) > 0 { // more often than chance: from one who holds the session
		for _, other := range w.peers {
			if s.holder == other {
				p = other
			}
		}
	}
	methods := []wirev2.Method{
		wirev2.MethodSessionClaim, wirev2.MethodSessionClaim, wirev2.MethodSessionRelease, wirev2.MethodSessionSnapshot,
		wirev2.MethodTurnStart, wirev2.MethodTurnStart, wirev2.MethodTurnStart, wirev2.MethodTurnStop, wirev2.MethodOperationLookup,
	}
	r := &modelRequest{peer: p, session: s}
	w.n++
	r.id = fmt.Sprint("r", w.n)
	r.q = wirev2.Request{RequestID: r.id, Method: methods[w.random.IntN(len(methods))], SessionID: s.id, Payload: []byte(`{}`)}
	info, _ := r.q.Method.Lookup()
	if info.Operation == wirev2.Required {
		r.q.OperationID = w.newID()
		if w.random.IntN(12) == 0 {
			r.q.OperationID = w.usedID()
		}
	}
	if info.Control != wirev2.Null {
		r.q.ControlToken = p.tokens[s] // perhaps none, perhaps an old one
	}
	switch r.q.Method {
	case wirev2.MethodSessionClaim:
		if r.takeover = w.random.IntN(2) == 0; r.takeover {
			r.q.Payload = []byte(`{"takeover":true}`)
		}
	case wirev2.MethodTurnStart:
		r.q.Payload = []byte(`{"prompt":"x"}`)
	case wirev2.MethodTurnStop:
		id := w.newID()
		if len(s.turns) > 0 && w.random.IntN(5) > 0 {
			id = s.turns[len(s.turns)-1-w.random.IntN(min(2, len(s.turns)))]
		} else if s.turn != nil {
			id = s.turn.real.id
		}
		r.q.Payload = []byte(`{"turn_id":"` + string(id) + `"}`)
		if s.turn != nil && s.turn.real.id == id {
			r.target = s.turn
		}
	case wirev2.MethodOperationLookup:
		r.q.Payload = []byte(`{"operation_id":"` + string(w.usedID()) + `"}`)
	}
	w.requests[r.id] = r
	w.predict(r)
	w.trace("%s: %s of %s by %s, %s", r.id, r.q.Method, s.id[:8], p.conn.id[:8], r.q.Payload)
	w.send(r)
}

func (w *world) send(r *modelRequest) {
	deadlines := []time.Duration{time.Millisecond, time.Second, 30 * time.Second}
	w.handle(r.peer.conn, r.q, w.now+deadlines[w.random.IntN(len(deadlines))], true)
	w.observe(w.take())
	if (r.expect != "" || r.ok) && !r.answered {
		panic(r.id + " was not answered at once")
	}
}

func (w *world) usedID() wirev2.ID {
	ids := make([]wirev2.ID, 0, len(w.used))
	for id := range w.used {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return w.newID()
	}
	slices.Sort(ids)
	return ids[w.random.IntN(len(ids))]
}

// known says whether the model holds an operation to be retained.
func (w *world) known(id wirev2.ID) *modelOperation {
	o := w.used[id]
	if o == nil || o.settled && w.now >= o.at+retention {
		return nil
	}
	return o
}

// predict says what a request must be answered at once, as far as the model knows.
func (w *world) predict(r *modelRequest) {
	s := r.session
	info, _ := r.q.Method.Lookup()
	if info.Operation == wirev2.Required && w.known(r.q.OperationID) != nil {
		r.expect = wirev2.CodeOperationAlreadyKnown
		return
	}
	if info.Control != wirev2.Null {
		if r.q.ControlToken == "" {
			r.expect = wirev2.CodeControlRequired
			return
		}
		if s.holder != r.peer || r.q.ControlToken != s.token {
			r.expect = wirev2.CodeStaleConnection
			return
		}
	}
	if info.Operation == wirev2.Required {
		w.used[r.q.OperationID] = &modelOperation{session: s.id, state: wirev2.OperationPending}
	}
	switch r.q.Method {
	case wirev2.MethodSessionClaim:
		if s.holder != nil && s.holder != r.peer && !r.takeover {
			r.expect = wirev2.CodeSessionClaimed
		}
	case wirev2.MethodSessionRelease:
		w.unclaim(s)
	case wirev2.MethodSessionSnapshot:
		r.ok = true
	case wirev2.MethodTurnStart:
		if s.turn != nil {
			r.expect = wirev2.CodeTurnActive
		}
	case wirev2.MethodOperationLookup:
		var q wirev2.OperationLookupRequest
		must(wirev2.DecodePayload(r.q.Payload, &q) == nil, "a lookup that is none")
		o := w.known(q.OperationID)
		if o == nil || o.session != s.id {
			r.expect = wirev2.CodeUnknownOperation
			return
		}
		r.ok = true
	case wirev2.MethodTurnStop:
		if r.target == nil {
			return
		}
		r.ok = !r.target.accepted || r.target.real.phase != admitted
	}
}

// finishJob lets one slow thing come back.
func (w *world) finishJob() {
	if len(w.disk) == 0 {
		return
	}
	i := w.random.IntN(len(w.disk))
	j := w.disk[i]
	w.disk = slices.Delete(w.disk, i, i+1)
	var err error
	if w.random.IntN(12) == 0 {
		err = errDisk
	}
	w.trace("%s comes back: %v", j.name, err)
	j.done(err)
	w.observe(w.take())
}

// work lets a running turn's worker do something.
func (w *world) work() {
	s := w.sessions[w.random.IntN(len(w.sessions))]
	t := s.turn
	if t == nil || t.real.phase != running {
		return
	}
	switch pick := w.random.IntN(10); {
	case t.app != nil && pick < 5:
		w.need(s, t)
	case t.open() > 0:
		return // its worker waits for results
	case pick < 6:
		piece := string(rune('a' + w.random.IntN(26)))
		t.text += piece
		w.trace("text %q of %s", piece, t.real.id[:8])
		w.acceptText(t.real, piece)
	case pick < 9:
		var failure *wirev2.TurnError
		if w.random.IntN(3) == 0 {
			failure = &wirev2.TurnError{Code: wirev2.TurnProviderError, Message: "no"}
		}
		w.end(s, t, failure)
	default:
		t.failed = true
		w.end(s, t, &wirev2.TurnError{Code: wirev2.TurnJournalFailed, Message: "no"})
	}
	w.observe(w.take())
}

// end is the worker's end of a turn, and the disk's.
func (w *world) end(s *modelSession, t *modelTurn, failure *wirev2.TurnError) {
	w.trace("turn %s ends: %v", t.real.id[:8], failure)
	w.cancelCalls(t.real)
	must(t.open() == 0, "a call is open after its turn")
	record := w.admitTerminal(t.real, failure, nil)
	must((record == nil) == t.failed, "a terminal for a broken journal")
	if record == nil {
		w.turnOver(s, t, errDisk)
		return
	}
	must(!t.stop || record.Status == wirev2.TerminalCancelled, "stopping was promised")
	w.disk = append(w.disk, job{"the terminal of " + string(t.real.id[:8]), func(err error) { w.turnOver(s, t, err) }})
}

func (w *world) turnOver(s *modelSession, t *modelTurn, err error) {
	w.freeTurn(s)
	s.last = t
	t.failed = t.failed || err != nil
	t.ended = w.now
	w.settle(t.start, wirev2.OperationCompleted)
	w.turnEnded(t.real, err)
	t.terminal = t.real.terminal
}

func (w *world) settle(r *modelRequest, state wirev2.OperationState) {
	if o := w.used[r.q.OperationID]; o != nil {
		o.state, o.settled, o.at = state, true, w.now
	}
}
