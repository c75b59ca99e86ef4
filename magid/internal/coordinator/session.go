package coordinator

import (
	"slices"

	"github.com/magi-jig/magi-jig/wirev2"
)

// session is what the daemon remembers of a session that somebody used since it
// started. It is kept to the end, because grant generations only rise
// (wire-v2 4: Claims); without controller, turn and retained terminal it is a
// few hundred bytes.
type session struct {
	id         wirev2.ID
	generation int64 // of the newest grant
	grant      *Grant
	holder     *Conn // nil where nobody controls
	token      digest

	lease     leaseState
	journal   lease    // while the lease is open or closing
	workspace string   // known once the lease has been open
	broken    bool     // a write failed: the journal has to be opened again
	waiting   []*ask   // requests whose step runs again when something changes
	then      []func() // what waits for the lease to be closed, or to stay open after all
	changed   bool     // in core.changed

	turn *turn // the one that prepares or runs
	last *turn // the last one that ended, while its terminal is retained
}

// remember gives the entry of a session that exists.
func (k *core) remember(id wirev2.ID) *session {
	s := &session{id: id}
	k.sessions[id] = s
	return s
}

// control checks the control token of a request (wire-v2 4).
func (k *core) control(a *ask) *wirev2.Error {
	if a.request.ControlToken == "" {
		return &wirev2.Error{Code: wirev2.CodeControlRequired, Message: "this method needs the session's control token"}
	}
	s := a.session
	matches := s.token.matches(a.request.ControlToken)
	if s.holder != a.conn || !matches {
		return stale()
	}
	a.grant = s.grant
	return nil
}

func stale() *wirev2.Error {
	return &wirev2.Error{
		Code:    wirev2.CodeStaleConnection,
		Message: "this connection does not control the session with this token; claim it",
	}
}

// wait lets a request's step run again when something of its session changes.
func (k *core) wait(a *ask) {
	if !a.waits {
		a.waits = true
		a.session.waiting = append(a.session.waiting, a)
	}
	k.await(a)
}

func (s *session) unwait(a *ask) {
	a.waits = false
	if i := slices.Index(s.waiting, a); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// wake runs the steps of the requests that wait, in the order of their
// admission. A step that still cannot decide waits again in its old place.
func (k *core) wake(s *session) {
	for _, a := range slices.Clone(s.waiting) {
		if !a.decided {
			k.run(a)
		}
	}
}

// emit queues a session event for the controller there is now, if any
// (wire-v2 2: Event).
func (k *core) emit(s *session, name wirev2.EventName, operation wirev2.ID, payload any) {
	if s.holder == nil {
		return
	}
	raw, err := wirev2.EncodePayload(payload)
	if err != nil {
		// Every payload here is made of checked parts; a hole in the events of a
		// grant would be a lie, so the connection ends instead.
		k.do(hangUp{s.holder, "an event could not be encoded"})
		return
	}
	event := k.event(s, name, operation)
	event.Payload = raw
	k.do(notify{s.holder, event, s.grant})
}

// event is an event's envelope for the controller there is now.
func (k *core) event(s *session, name wirev2.EventName, operation wirev2.ID) wirev2.Event {
	return wirev2.Event{
		Event:           name,
		InstanceID:      k.instance,
		ConnectionID:    s.holder.id,
		SessionID:       s.id,
		OperationID:     operation,
		GrantGeneration: s.grant.generation,
	}
}
