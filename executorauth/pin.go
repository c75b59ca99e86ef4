package executorauth

import "time"

// Pin is one active turn's hold on an executor. Its zero value is no pin.
type Pin struct {
	id     ID
	serial uint64
}

// Authorize says whether the connection may start a turn with the executor: it
// must hold the confirmed executor with that generation.
//
// Errors: [ErrRejected] for an unknown ID; [ErrStale] for everything else.
func (a *Authority) Authorize(conn ConnID, id ID, generation int64, now time.Duration) error {
	a.advance(now)
	_, err := a.ready(conn, id, generation)
	return err
}

// Pin does what [Authority.Authorize] does and keeps the executor from expiring
// until [Authority.Unpin]. A turn pins once, in the step that admits it.
func (a *Authority) Pin(conn ConnID, id ID, generation int64, now time.Duration) (Pin, error) {
	a.advance(now)
	e, err := a.ready(conn, id, generation)
	if err != nil {
		return Pin{}, err
	}
	if e.pins == nil {
		e.pins = make(map[uint64]struct{})
	}
	a.serial++
	e.pins[a.serial] = struct{}{}
	return Pin{id, a.serial}, nil
}

// Unpin ends a pin and says whether it still held anything: it did not if the
// executor was released meanwhile or the pin was ended before. The idle time of
// a detached executor begins with the end of its last pin.
func (a *Authority) Unpin(p Pin, now time.Duration) bool {
	now = a.advance(now)
	e, known := a.executors[p.id]
	if !known {
		return false
	}
	if _, pinned := e.pins[p.serial]; !pinned {
		return false
	}
	delete(e.pins, p.serial)
	a.idle(e, now)
	return true
}

// ready is authorized for confirmed executors only.
func (a *Authority) ready(conn ConnID, id ID, generation int64) (*executor, error) {
	e, err := a.authorized(conn, id, generation)
	if err != nil {
		return nil, err
	}
	if !e.confirmed {
		return nil, errUnready
	}
	return e, nil
}
