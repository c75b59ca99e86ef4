package executorauth_test

import (
	"fmt"
	"time"

	"github.com/magi-jig/magi-jig/executorauth"
)

// model is a second opinion. It keeps every executor that ever was, with its
// secrets in the clear, sweeps nothing, and asks of each whether it lives at the
// moment it is asked about.
type model struct {
	now  time.Duration
	all  []*modelExecutor
	most int
}

type modelExecutor struct {
	id         executorauth.ID
	generation int64
	born       time.Duration
	confirmed  bool
	released   bool
	conn       executorauth.ConnID
	idleSince  time.Duration
	pins       int
	secret     string
	candidate  string
	rotated    time.Duration
	issued     []string // every secret it ever had
}

func (m *model) alive(e *modelExecutor) bool {
	switch {
	case e.released:
		return false
	case !e.confirmed:
		return m.now < e.born+confirmTimeout
	case e.conn == "" && e.pins == 0:
		return m.now < e.idleSince+idleTimeout
	}
	return true
}

func (m *model) hasCandidate(e *modelExecutor) bool {
	return e.candidate != "" && m.now < e.rotated+rotationTimeout
}

func (m *model) find(id executorauth.ID) *modelExecutor {
	for _, e := range m.all {
		if e.id == id && m.alive(e) {
			return e
		}
	}
	return nil
}

func (m *model) holderOf(conn executorauth.ConnID) *modelExecutor {
	for _, e := range m.all {
		if e.conn == conn && m.alive(e) {
			return e
		}
	}
	return nil
}

func (m *model) living() (n int) {
	for _, e := range m.all {
		if m.alive(e) {
			n++
		}
	}
	return n
}

const (
	rejected = "executor_rejected"
	isStale  = "stale_connection"
)

func (m *model) create(conn executorauth.ConnID) string {
	switch {
	case m.holderOf(conn) != nil:
		return "conflict"
	case m.living() >= m.most:
		return "limit_exceeded"
	}
	return "generation 1"
}

// created takes what the authority made up.
func (m *model) created(conn executorauth.ConnID, c executorauth.Created) {
	s := c.Secret.Reveal()
	m.all = append(m.all, &modelExecutor{id: c.ID, generation: 1, born: m.now, conn: conn, secret: s, issued: []string{s}})
}

func (m *model) confirm(conn executorauth.ConnID, id executorauth.ID, s string) string {
	e := m.find(id)
	switch {
	case e == nil || s != e.secret && !(m.hasCandidate(e) && s == e.candidate):
		return rejected
	case e.confirmed || e.conn != conn:
		return isStale
	}
	e.confirmed = true
	return fmt.Sprint("generation ", e.generation)
}

func (m *model) resume(conn executorauth.ConnID, id executorauth.ID, s string) string {
	e := m.find(id)
	if e == nil {
		return rejected
	}
	old, fresh := s == e.secret, m.hasCandidate(e) && s == e.candidate
	if !old && !fresh {
		return rejected
	}
	if h := m.holderOf(conn); h != nil && h != e {
		return "conflict"
	}
	fenced := e.conn
	if fenced == conn {
		fenced = ""
	}
	was := fmt.Sprintf("fenced %q confirmed %v promoted %v cancelled %v", fenced, !e.confirmed, fresh, old && m.hasCandidate(e))
	if fresh {
		e.secret = e.candidate
	}
	e.candidate, e.confirmed, e.conn = "", true, conn
	e.generation++
	return fmt.Sprint("generation ", e.generation, " ", was)
}

func (m *model) mayAct(conn executorauth.ConnID, id executorauth.ID, generation int64) (*modelExecutor, string) {
	e := m.find(id)
	switch {
	case e == nil:
		return nil, rejected
	case e.conn != conn || e.generation != generation:
		return nil, isStale
	}
	return e, ""
}

func (m *model) rotate(conn executorauth.ConnID, id executorauth.ID, generation int64) string {
	e, refusal := m.mayAct(conn, id, generation)
	switch {
	case e == nil:
		return refusal
	case !e.confirmed:
		return isStale
	}
	return fmt.Sprint("generation ", e.generation)
}

func (m *model) rotatedTo(id executorauth.ID, s string) {
	e := m.find(id)
	e.candidate, e.rotated = s, m.now
	e.issued = append(e.issued, s)
}

func (m *model) rotateConfirm(conn executorauth.ConnID, id executorauth.ID, generation int64, s string) string {
	e := m.find(id)
	if e == nil {
		return rejected
	}
	knows := s == e.secret || m.hasCandidate(e) && s == e.candidate
	switch {
	case e.conn != conn && !knows:
		return rejected
	case e.conn != conn || e.generation != generation || !m.hasCandidate(e):
		return isStale
	case s != e.candidate:
		return rejected
	}
	e.secret, e.candidate = e.candidate, ""
	return fmt.Sprint("generation ", e.generation)
}

func (m *model) release(conn executorauth.ConnID, id executorauth.ID, generation int64) string {
	e, refusal := m.mayAct(conn, id, generation)
	if e == nil {
		return refusal
	}
	e.released = true
	return fmt.Sprint("pins ", e.pins)
}

func (m *model) disconnect(conn executorauth.ConnID) string {
	e := m.holderOf(conn)
	if e == nil {
		return "nothing"
	}
	e.conn, e.idleSince = "", m.now
	return fmt.Sprint("generation ", e.generation)
}

func (m *model) pin(conn executorauth.ConnID, id executorauth.ID, generation int64) string {
	e, refusal := m.mayAct(conn, id, generation)
	switch {
	case e == nil:
		return refusal
	case !e.confirmed:
		return isStale
	}
	e.pins++
	return "pinned"
}

func (m *model) unpin(id executorauth.ID) string {
	e := m.find(id)
	if e == nil {
		return "nothing"
	}
	e.pins--
	if e.conn == "" && e.pins == 0 {
		e.idleSince = m.now
	}
	return "unpinned"
}

// nextDeadline is the first instant after now at which something ends.
func (m *model) nextDeadline() (time.Duration, bool) {
	var next time.Duration
	found := false
	consider := func(d time.Duration) {
		if !found || d < next {
			next, found = d, true
		}
	}
	for _, e := range m.all {
		if !m.alive(e) {
			continue
		}
		if !e.confirmed {
			consider(e.born + confirmTimeout)
		} else if e.conn == "" && e.pins == 0 {
			consider(e.idleSince + idleTimeout)
		}
		if m.hasCandidate(e) {
			consider(e.rotated + rotationTimeout)
		}
	}
	return next, found
}

func (m *model) counts() (c executorauth.Counts) {
	for _, e := range m.all {
		if !m.alive(e) {
			continue
		}
		c.Executors++
		if !e.confirmed {
			c.Provisional++
		} else if e.conn != "" {
			c.Attached++
		}
		if m.hasCandidate(e) {
			c.Rotating++
		}
		if e.pins > 0 {
			c.Pinned++
		}
	}
	return c
}
