package coordinator

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

var update = flag.Bool("update", false, "write the transition tables of testdata anew")

// quiet is an outbox of core tests: the core never calls it.
type quiet struct{}

func (quiet) Respond(wirev2.Response)                           {}
func (quiet) Event(wirev2.Event, *Grant) bool                   { return true }
func (quiet) Text(wirev2.Event, *Grant, wirev2.ID, string) bool { return true }
func (quiet) Flush()                                            {}
func (quiet) Disconnect(string)                                 {}

// bareCore is a core with nothing around it.
func bareCore() *core {
	k, err := newCore(settings{
		instance: wirev2.NewID(), newID: wirev2.NewID, newToken: wirev2.NewSecret, random: rand.Reader,
		reserved: func(name string) bool { return name == "read_file" },
	})
	if err != nil {
		panic(err)
	}
	k.verify = verify
	return k
}

// desk is a bare core with one connection that controls one session, and what
// the core asked for.
type desk struct {
	*core
	conn    *Conn
	session *session
	token   wirev2.Secret
	n       int
}

func newDesk() *desk {
	k := bareCore()
	d := &desk{core: k}
	d.conn = k.connect(wirev2.NewID(), false, quiet{})
	d.session = &session{id: wirev2.NewID()}
	k.sessions[d.session.id] = d.session
	d.claim(d.conn)
	return d
}

// ask hands a request of the desk's connection on and gives what came of it.
// take is what the core would have done, with replies as their connection encodes them.
func (d *desk) take() []effect {
	effects := d.core.take()
	for i, e := range effects {
		if r, ok := e.(respond); ok {
			r.response = encoded(r.response)
			effects[i] = r
		}
	}
	return effects
}

// encoded is a response with its payload encoded.
func encoded(r wirev2.Response) wirev2.Response {
	if r.Body == nil {
		return r
	}
	payload, err := wirev2.EncodePayload(r.Body)
	if err != nil {
		panic(err)
	}
	r.Payload, r.Body = payload, nil
	return r
}

func (d *desk) ask(conn *Conn, method wirev2.Method, payload string) []effect {
	d.n++
	info, _ := method.Lookup()
	q := wirev2.Request{RequestID: fmt.Sprint(d.n), Method: method, SessionID: d.session.id, Payload: []byte(payload)}
	if info.Operation == wirev2.Required {
		q.OperationID = wirev2.NewID()
	}
	if info.Control != wirev2.Null {
		q.ControlToken = d.token
	}
	d.handle(conn, q, d.now+1000, true)
	return d.take()
}

// claim claims the session by takeover; its journal opens at once.
func (d *desk) claim(conn *Conn) []effect {
	effects := d.ask(conn, wirev2.MethodSessionClaim, `{"takeover":true}`)
	if d.session.lease == leaseOpening {
		d.leaseOpened(d.session, &journal.Session{}, nil)
		effects = append(effects, d.take()...)
	}
	for _, e := range effects {
		if r, ok := e.(respond); ok && r.response.Error == nil {
			var reply wirev2.SessionClaimReply
			if err := wirev2.DecodePayload(r.response.Payload, &reply); err != nil {
				panic(err)
			}
			d.token = reply.ControlToken
		}
	}
	return effects
}

// told writes effects down in a word each.
func told(effects []effect) string {
	var words []string
	for _, e := range effects {
		switch e := e.(type) {
		case respond:
			word := "ok"
			if e.response.Error != nil {
				word = string(e.response.Error.Code)
			} else if strings.Contains(string(e.response.Payload), `"status"`) && len(e.response.Payload) < 100 {
				word = strings.TrimSuffix(string(e.response.Payload[strings.LastIndex(string(e.response.Payload), ":")+2:]), `"}`)
			}
			words = append(words, "#"+e.response.RequestID+" "+word)
		case notify:
			words = append(words, string(e.event.Event))
		case notifyText:
			words = append(words, "turn.text")
		default:
			words = append(words, strings.TrimPrefix(fmt.Sprintf("%T", e), "coordinator."))
		}
	}
	return strings.Join(words, ", ")
}

// golden compares a printed table with the one kept.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run go test -update and look at the difference")
	t.Log("\n" + got)
}

// TestTurnTransitions prints what each event does to a turn in each of its
// phases. Request 2 is its turn.start, request 3 is the event's own.
func TestTurnTransitions(t *testing.T) {
	failed := errors.New("failed")
	end := func(code wirev2.TurnCode) func(d *desk, t *turn) {
		return func(d *desk, t *turn) { d.admitTerminal(t, &wirev2.TurnError{Code: code}, nil) }
	}
	phases := []struct {
		name string
		to   func(d *desk, t *turn)
	}{
		{"preparing", func(*desk, *turn) {}},
		{"admitted", func(d *desk, t *turn) { d.admitTurn(t, 0, nil) }},
		{"running", func(d *desk, t *turn) { d.admitTurn(t, 0, nil); d.userRecorded(t, nil) }},
		{"running, stopped", func(d *desk, t *turn) { d.admitTurn(t, 0, nil); d.userRecorded(t, nil); d.stopTurn(t) }},
		{"closing", func(d *desk, t *turn) { d.admitTurn(t, 0, nil); d.userRecorded(t, nil); d.admitTerminal(t, nil, nil) }},
		{"ended", func(d *desk, t *turn) {
			d.admitTurn(t, 0, nil)
			d.userRecorded(t, nil)
			d.admitTerminal(t, nil, nil)
			d.turnEnded(t, nil)
		}},
	}
	events := []struct {
		name string
		in   string // phases that can meet it; "" is all
		do   func(d *desk, t *turn) []effect
	}{
		{"turn.start", "", func(d *desk, _ *turn) []effect { return d.ask(d.conn, wirev2.MethodTurnStart, `{"prompt":"x"}`) }},
		{"turn.stop", "", func(d *desk, t *turn) []effect {
			return d.ask(d.conn, wirev2.MethodTurnStop, `{"turn_id":"`+string(t.id)+`"}`)
		}},
		{"takeover", "", func(d *desk, _ *turn) []effect { return d.claim(d.connect(wirev2.NewID(), false, quiet{})) }},
		{"claim anew", "", func(d *desk, _ *turn) []effect { return d.claim(d.conn) }},
		{"release", "", func(d *desk, _ *turn) []effect { return d.ask(d.conn, wirev2.MethodSessionRelease, `{}`) }},
		{"disconnect", "", func(d *desk, _ *turn) []effect { d.disconnect(d.conn); return d.take() }},
		{"deadline", "", func(d *desk, _ *turn) []effect { d.advance(d.now + 1000); return d.take() }},
		{"shutdown", "", func(d *desk, _ *turn) []effect { d.shutdown(); return d.take() }},
		{"crash", "", func(d *desk, t *turn) []effect { d.turnCrashed(t); return d.take() }},
		{"prepared", "preparing", func(d *desk, t *turn) []effect { d.admitTurn(t, 0, nil); return d.take() }},
		{"preparation failed", "preparing", func(d *desk, t *turn) []effect { d.admitTurn(t, 0, failed); return d.take() }},
		{"user record durable", "admitted", func(d *desk, t *turn) []effect { d.userRecorded(t, nil); return d.take() }},
		{"user record failed", "admitted", func(d *desk, t *turn) []effect { d.userRecorded(t, failed); return d.take() }},
		{"text", "running", func(d *desk, t *turn) []effect { d.acceptText(t, "x"); return d.take() }},
		{"worker done", "running", func(d *desk, t *turn) []effect { d.admitTerminal(t, nil, nil); return d.take() }},
		{"worker failed", "running", func(d *desk, t *turn) []effect { end(wirev2.TurnProviderError)(d, t); return d.take() }},
		{"journal failed", "running", func(d *desk, t *turn) []effect {
			end(wirev2.TurnJournalFailed)(d, t)
			d.turnEnded(t, failed)
			return d.take()
		}},
		{"terminal durable", "closing", func(d *desk, t *turn) []effect { d.turnEnded(t, nil); return d.take() }},
		{"terminal failed", "closing", func(d *desk, t *turn) []effect { d.turnEnded(t, failed); return d.take() }},
	}
	var b strings.Builder
	for _, p := range phases {
		for _, e := range events {
			if e.in != "" && !strings.HasPrefix(p.name, e.in) {
				continue
			}
			d := newDesk()
			d.ask(d.conn, wirev2.MethodTurnStart, `{"prompt":"x"}`)
			turn := d.session.turn
			p.to(d, turn)
			d.take()
			effects := e.do(d, turn)
			after := turn.phase.String()
			if turn.stop && turn.phase == running {
				after += ", stopped"
			}
			if turn.terminal != nil {
				after += " as " + string(turn.terminal.Status)
				if turn.terminal.Error != nil {
					after += "/" + string(turn.terminal.Error.Code)
				}
			}
			fmt.Fprintf(&b, "%-17s + %-20s -> %-35s %s\n", p.name, e.name, after, told(effects))
		}
	}
	golden(t, "turn-transitions.txt", b.String())
}

// TestLeaseTransitions prints what each event does to the writer lease of a
// session in each of its states. Numbers are those of the requests.
func TestLeaseTransitions(t *testing.T) {
	failed := errors.New("failed")
	opened := func(d *desk) { d.leaseOpened(d.session, &journal.Session{}, nil); d.take() }
	states := []struct {
		name string
		to   func(d *desk)
	}{
		{"open, claimed", func(*desk) {}},
		{"open, turn only", func(d *desk) {
			d.ask(d.conn, wirev2.MethodTurnStart, `{"prompt":"x"}`)
			d.admitTurn(d.session.turn, 0, nil)
			d.userRecorded(d.session.turn, nil)
			d.disconnect(d.conn)
		}},
		{"closing", func(d *desk) { d.disconnect(d.conn) }},
		{"closing, broken", func(d *desk) { d.session.broken = true; d.change(d.session) }},
		{"closed", func(d *desk) { d.disconnect(d.conn); d.take(); d.leaseClosed(d.session) }},
		{"closed, claimed", func(d *desk) {
			d.session.broken = true
			d.change(d.session)
			d.take()
			d.leaseClosed(d.session)
			d.take()
			d.leaseOpened(d.session, nil, failed)
		}},
		{"opening", func(d *desk) {
			d.disconnect(d.conn)
			d.take()
			d.leaseClosed(d.session)
			d.ask(d.connect(wirev2.NewID(), false, quiet{}), wirev2.MethodSessionClaim, `{}`)
		}},
	}
	events := []struct {
		name string
		in   string
		do   func(d *desk) []effect
	}{
		{"claim", "", func(d *desk) []effect {
			return d.ask(d.connect(wirev2.NewID(), false, quiet{}), wirev2.MethodSessionClaim, `{"takeover":true}`)
		}},
		{"turn ends", "open, turn", func(d *desk) []effect {
			t := d.session.turn
			d.admitTerminal(t, nil, nil)
			d.turnEnded(t, nil)
			return d.take()
		}},
		{"disconnect", "open, claimed", func(d *desk) []effect { d.disconnect(d.conn); return d.take() }},
		{"history", "closed, claimed", func(d *desk) []effect { return d.ask(d.conn, wirev2.MethodSessionHistory, `{}`) }},
		{"opened", "opening", func(d *desk) []effect { d.leaseOpened(d.session, &journal.Session{}, nil); return d.take() }},
		{"opened, all expired", "opening", func(d *desk) []effect {
			d.advance(d.now + 1000)
			effects := d.take()
			d.leaseOpened(d.session, &journal.Session{}, nil)
			return append(effects, d.take()...)
		}},
		{"locked", "opening", func(d *desk) []effect { d.leaseOpened(d.session, nil, journal.ErrLocked); return d.take() }},
		{"failed", "opening", func(d *desk) []effect { d.leaseOpened(d.session, nil, failed); return d.take() }},
		{"closed", "closing", func(d *desk) []effect { d.leaseClosed(d.session); return d.take() }},
		{"claim, then closed", "closing", func(d *desk) []effect {
			effects := d.ask(d.connect(wirev2.NewID(), false, quiet{}), wirev2.MethodSessionClaim, `{"takeover":true}`)
			d.leaseClosed(d.session)
			effects = append(effects, d.take()...)
			opened(d)
			return effects
		}},
	}
	var b strings.Builder
	for _, s := range states {
		for _, e := range events {
			if e.in != "" && !strings.HasPrefix(s.name, e.in) {
				continue
			}
			d := newDesk()
			s.to(d)
			d.take()
			effects := e.do(d)
			fmt.Fprintf(&b, "%-15s + %-20s -> %-8s %s\n", s.name, e.name, d.session.lease, told(effects))
		}
	}
	golden(t, "lease-transitions.txt", b.String())
}
