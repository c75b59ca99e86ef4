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

// Why a full queue ends its connection.
const (
	reasonRecords = "outgoing queue full: 1024 records wait and the reader does not keep up"
	reasonBytes   = "outgoing queue full: 4 MiB wait and the reader does not keep up"
)

// record is one thing in the queue. It is encoded when it leaves, because only then an
// event's live sequence is known and its text is complete.
type record struct {
	response *wirev2.Response // else an event
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
// A queue is safe for concurrent use. Its methods never block, save next and place.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond

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
	q.changed.L = &q.mu
	return q
}

// place waits until a further request may be read, and takes its place among the
// unanswered. False means that the connection is at its end.
func (q *queue) place() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.unanswered >= maxUnanswered && !q.dead && !q.sealed {
		q.changed.Wait()
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
	q.changed.Broadcast()
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
	q.mu.Lock()
	defer q.mu.Unlock()
	item := record{response: &r, slot: true, size: responseSize(&r)}
	if answers {
		item.id = r.RequestID
	}
	return q.push(item)
}

// push adds one record, or kills the queue. The caller holds mu.
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
	q.changed.Broadcast()
	return true
}

func (q *queue) pushEvent(event wirev2.Event, grant *coordinator.Grant) bool {
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

// next waits for the record to write now. False means that nothing comes any more.
// With the record the request it answers stops being outstanding: its
// client may use the request_id again the moment it has read the answer, which
// is before we know that the write is done.
func (q *queue) next() (record, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.dead && q.records.len() == 0 && !q.ended() {
		q.changed.Wait()
	}
	if q.dead || q.records.len() == 0 {
		return record{}, false
	}
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
		q.changed.Broadcast()
	}
	return item, true
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
	q.changed.Broadcast()
}

// drain lets what is queued leave, and the answers still to come.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = true
	q.changed.Broadcast()
}

// kill throws away what is queued. The first reason stays. The caller holds mu.
func (q *queue) kill(reason string) {
	if q.dead {
		return
	}
	q.dead, q.reason = true, reason
	q.records, q.bytes, q.latest = ring{}, 0, nil
	q.changed.Broadcast()
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
