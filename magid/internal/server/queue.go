package server

import (
	"sync"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Bounds of a connection, advertised in `limits` (wire-v2 2, 3).
const (
	maxUnanswered   = 64
	maxQueueRecords = 1024
	maxQueueBytes   = 4 << 20
	maxPayloadBytes = 32 << 10
)

// Why a queue ends its connection.
const (
	reasonRecords = "outgoing queue full: 1024 records wait and the reader does not keep up"
	reasonBytes   = "outgoing queue full: 4 MiB wait and the reader does not keep up"

	reasonEncoding = "a record cannot be encoded"
)

// errEncoding is what a request gets whose reply is none.
var errEncoding = &wirev2.Error{Code: wirev2.CodeInternal, Message: "the reply cannot be encoded"}

// record is one thing in the queue. It is encoded when it leaves, because only then an
// event's live sequence is known and its text is complete.
type record struct {
	response *wirev2.Response // else an event
	encoded  *buffer          // the response where it came with a Body, whose size only its encoding tells
	failure  error            // why that could not be done; the response is an error then
	slot     bool             // a response that frees one of the 64 places
	id       string           // of the request that becomes answered; "" where none was outstanding

	event wirev2.Event
	grant *coordinator.Grant // nil for executor events
	turn  wirev2.ID          // not empty for a turn.text event, whose payload is turn and text
	text  []byte

	size int // encoded bytes, with the longest live sequence
}

func (r *record) session() wirev2.ID {
	if r.response != nil {
		return r.response.SessionID
	}
	return r.event.SessionID
}

// queue is what waits to be written to one connection, and the account of the requests
// that wait for an answer.
//
// One goroutine at a time has the pen: it took a record out and writes it. That is whoever queued something, where nothing
// else is being written and as far as it need not wait, so that an answer and an event cost no change of goroutines; else
// it is the connection's writer.
//
// A queue is safe for concurrent use. Its methods never block, save next and place.
type queue struct {
	mu    sync.Mutex
	work  sync.Cond // the writer waits here
	space sync.Cond // the reader waits here

	pen  bool   // somebody writes
	held bool   // the reader hands on a request, and looks after the queue when it is done
	rest []byte // of a record that the kernel did not take whole, to be written before all else

	records ring
	bytes   int
	latest  map[wirev2.ID]int // where the last queued record of a session is, counted from the first ever

	unanswered int
	ids        map[string]struct{} // outstanding request_ids

	sealed   bool   // takes no more records; what is queued still leaves
	draining bool   // sealed as soon as nothing is unanswered
	dead     bool   // nothing leaves any more
	reason   string // why it died
}

func newQueue() *queue {
	q := &queue{ids: make(map[string]struct{}), latest: make(map[wirev2.ID]int)}
	q.work.L, q.space.L = &q.mu, &q.mu
	return q
}

// place waits until a further request may be read, and takes its place among the
// unanswered. False means that the connection is at its end.
func (q *queue) place() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.unanswered >= maxUnanswered && !q.dead && !q.sealed {
		q.space.Wait()
	}
	if q.dead || q.sealed {
		return false
	}
	q.unanswered++
	return true
}

// unplace gives the place back where no record came.
func (q *queue) unplace() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unanswered--
	q.work.Signal()
}

// outstanding registers a request_id until its answer leaves the queue. False
// means that it is taken.
func (q *queue) outstanding(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, taken := q.ids[id]; taken {
		return false
	}
	q.ids[id] = struct{}{}
	return true
}

// respond queues the answer of a request. answers is false for the refusal of a request
// whose request_id was not registered, and perhaps belongs to another one.
func (q *queue) respond(r wirev2.Response, answers bool) bool {
	item := record{response: &r, slot: true}
	if r.Body != nil {
		if item.encoded, item.failure = encodedResponse(&r); item.failure != nil {
			r.Body, r.Error = nil, errEncoding
		}
	}
	if item.encoded != nil {
		item.size = len(item.encoded.bytes)
	} else {
		item.size = responseSize(&r)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if answers {
		item.id = r.RequestID
	}
	return q.push(item)
}

// push adds one record, or kills the queue. It wakes nobody: who queues something takes the pen when it is done. The
// caller holds mu.
func (q *queue) push(item record) bool {
	switch {
	case q.dead || q.sealed:
		return false
	case q.records.len() >= maxQueueRecords:
		q.kill(reasonRecords)
		return false
	case q.bytes+item.size > maxQueueBytes:
		q.kill(reasonBytes)
		return false
	}
	q.bytes += item.size
	q.latest[item.session()] = q.records.push(item)
	return true
}

// wake calls the writer where there is something for it and nobody else will look at the queue soon. A call for
// nothing would cost a request more than all its checks. The caller holds mu.
func (q *queue) wake() {
	if q.pen || q.held {
		return
	}
	if q.dead || q.rest != nil || q.records.len() > 0 || q.ended() {
		q.work.Signal()
	}
}

func (q *queue) pushEvent(event wirev2.Event, grant *coordinator.Grant) bool {
	if event.Body != nil {
		payload, err := wirev2.EncodePayload(event.Body)
		if err != nil {
			q.disconnect(reasonEncoding)
			return false
		}
		event.Payload, event.Body = payload, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(record{event: event, grant: grant, size: eventSize(&event)})
}

// pushText queues a turn.text event, or joins it to the last queued record of its session where that
// is a text of the same grant and turn (wire-v2 2). Records of other sessions may stand
// between the two, for what a grant sees keeps its order: a connection with several turns
// is joined like one with a single turn. A reply of the same session, a snapshot say, is never overtaken.
func (q *queue) pushText(event wirev2.Event, grant *coordinator.Grant, turn wirev2.ID, text string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	encoded := wirev2.EncodedStringLen(text)
	if last := q.last(event.SessionID); last != nil && last.turn == turn && last.grant == grant && joinable(last.size+encoded) && !q.sealed {
		if q.bytes+encoded > maxQueueBytes {
			q.kill(reasonBytes)
			return false
		}
		last.text = append(last.text, text...)
		last.size += encoded
		q.bytes += encoded
		return true
	}
	size := eventSize(&event) + textFrame + encoded
	return q.push(record{event: event, grant: grant, turn: turn, text: []byte(text), size: size})
}

// last is the last queued record of a session, nil where none is queued. The caller holds mu.
func (q *queue) last(session wirev2.ID) *record {
	at, queued := q.latest[session]
	if !queued {
		return nil
	}
	return q.records.at(at)
}

// joinable keeps a joined text well within one payload. The texts of one turn never come near it.
func joinable(size int) bool { return size <= maxPayloadBytes }

// next waits for the record to write now, and takes the pen; rest is what has to be written before any record. False
// means that nothing comes any more. mine says that the writer has the pen from its last call: the first time it has not,
// and somebody else may have it.
func (q *queue) next(mine bool) (item record, rest []byte, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if mine {
		q.pen = false
	}
	for {
		switch {
		case q.dead:
			return record{}, nil, false
		case q.pen:
		case q.rest != nil:
			q.pen, rest, q.rest = true, q.rest, nil
			return record{}, rest, true
		case q.records.len() > 0 && !q.held:
			q.pen = true
			return q.pop(), nil, true
		case q.records.len() == 0 && q.ended():
			return record{}, nil, false
		}
		q.work.Wait()
	}
}

// hold keeps the writer from the records of the request that is about to be handed on.
func (q *queue) hold() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = true
}

// unhold ends hold, and takes the pen as take does.
func (q *queue) unhold() (record, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = false
	return q.seize()
}

// take takes the pen and a record where there is one and nobody writes or is about to.
func (q *queue) take() (record, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seize()
}

func (q *queue) seize() (record, bool) {
	if q.dead || q.pen || q.held || q.rest != nil || q.records.len() == 0 {
		q.wake()
		return record{}, false
	}
	q.pen = true
	return q.pop(), true
}

// release gives the pen back, with what could not be written at once.
func (q *queue) release(rest []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pen, q.rest = false, rest
	q.wake()
}

// again goes on with the next record, as take does.
func (q *queue) again() (record, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dead || q.records.len() == 0 {
		q.pen = false
		q.wake()
		return record{}, false
	}
	return q.pop(), true
}

// pop takes out the first record. With it the request it answers stops being outstanding: its client may use the
// request_id again the moment it has read the answer, which is before we know that the write is done. The caller holds
// mu.
func (q *queue) pop() record {
	item, at := q.records.pop()
	if session := item.session(); q.latest[session] == at {
		delete(q.latest, session)
	}
	q.bytes -= item.size
	if item.slot {
		q.unanswered--
		if item.id != "" {
			delete(q.ids, item.id)
		}
		q.space.Signal()
	}
	return item
}

func (q *queue) ended() bool { return q.sealed || q.draining && q.unanswered == 0 }

// seal lets what is queued leave and takes nothing more. last, if any, leaves last.
func (q *queue) seal(last *wirev2.Response) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last != nil {
		// It is the one record that is not measured: the connection ends with it.
		if !q.dead && !q.sealed {
			q.records.push(record{response: last})
		}
	}
	q.sealed = true
	q.work.Signal()
	q.space.Signal()
}

// drain lets what is queued leave, and the answers still to come.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = true
	q.work.Signal()
}

// kill throws away what is queued. The first reason stays. The caller holds mu.
func (q *queue) kill(reason string) {
	if q.dead {
		return
	}
	q.dead, q.reason = true, reason
	q.records, q.bytes, q.latest = ring{}, 0, nil
	q.work.Signal()
	q.space.Signal()
}

func (q *queue) disconnect(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kill(reason)
}

func (q *queue) isSealed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sealed
}

// death says why the queue died, "" while it has not.
func (q *queue) death() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reason
}
