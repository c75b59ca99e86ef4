package executorauth_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// history plays a program of bytes against an authority and the model, and
// compares every answer and everything that can be seen after each step.
type history struct {
	t     testing.TB
	a     *executorauth.Authority
	m     *model
	conns [4]executorauth.ConnID // the living connections
	ends  int
	pins  []heldPin
	steps []string
}

type heldPin struct {
	pin executorauth.Pin
	id  executorauth.ID
}

const mostInHistory = 5

func playHistory(t testing.TB, program []byte) {
	a, err := executorauth.New(random(3), executorauth.Limits{MaxExecutors: mostInHistory})
	require.NoError(t, err)
	h := &history{t: t, a: a, m: &model{most: mostInHistory}}
	for i := range h.conns {
		h.conns[i] = executorauth.ConnID(fmt.Sprint("c", i))
	}
	for len(program) >= 4 {
		h.step(program[0], program[1], program[2], program[3])
		program = program[4:]
	}
}

func (h *history) step(op, who, what, how byte) {
	conn := h.conns[int(who)%len(h.conns)]
	id, e := executorauth.ID("nobody"), &modelExecutor{generation: 1, issued: []string{"x"}}
	if n := len(h.m.all); n > 0 && what != 255 {
		// Newer executors are likelier to be alive.
		e = h.m.all[n-1-int(what)%min(n, 8)]
		id = e.id
	}
	generation := e.generation
	if how >= 240 {
		generation += int64(how) - 247
	}
	secretText := "guess"
	if n := len(e.issued); how < 230 {
		secretText = e.issued[n-1-int(how)%n]
	}
	proof := secret(h.t, secretText)

	var got, want string
	switch op % 12 {
	case 0, 1:
		want = h.m.create(conn)
		c, err := h.a.Create(conn, h.m.now)
		got = answer(err, "generation ", c.Generation)
		if err == nil {
			h.m.created(conn, c)
		}
	case 2:
		want = h.m.confirm(conn, id, secretText)
		c, err := h.a.Confirm(conn, id, proof, h.m.now)
		got = answer(err, "generation ", c.Generation)
	case 3, 4:
		want = h.m.resume(conn, id, secretText)
		r, err := h.a.Resume(conn, id, proof, h.m.now)
		got = answer(err, "generation ", r.Generation, fmt.Sprintf(" fenced %q confirmed %v promoted %v cancelled %v",
			r.Fenced, r.Confirmed, r.Promoted, r.Cancelled))
	case 5:
		want = h.m.rotate(conn, id, generation)
		r, err := h.a.Rotate(conn, id, generation, h.m.now)
		got = answer(err, "generation ", r.Generation)
		if err == nil {
			h.m.rotatedTo(id, r.Secret.Reveal())
		}
	case 6:
		want = h.m.rotateConfirm(conn, id, generation, secretText)
		c, err := h.a.RotateConfirm(conn, id, generation, proof, h.m.now)
		got = answer(err, "generation ", c.Generation)
	case 7:
		if how%4 != 0 {
			return // else nothing lives long
		}
		want = h.m.release(conn, id, generation)
		r, err := h.a.Release(conn, id, generation, h.m.now)
		got = answer(err, "pins ", r.Pins)
	case 8:
		want = h.m.disconnect(conn)
		i, held := h.a.Disconnect(conn, h.m.now)
		got = "nothing"
		if held {
			got = fmt.Sprint("generation ", i.Generation)
		}
		h.ends++
		h.conns[int(who)%len(h.conns)] = executorauth.ConnID(fmt.Sprint("d", h.ends))
	case 9:
		want = h.m.pin(conn, id, generation)
		p, err := h.a.Pin(conn, id, generation, h.m.now)
		got = answer(err, "pinned")
		if err == nil {
			h.pins = append(h.pins, heldPin{p, id})
		}
	case 10:
		if len(h.pins) == 0 {
			return
		}
		i := int(what) % len(h.pins)
		p := h.pins[i]
		h.pins = append(h.pins[:i], h.pins[i+1:]...)
		want = h.m.unpin(p.id)
		got = "nothing"
		if h.a.Unpin(p.pin, h.m.now) {
			got = "unpinned"
		}
		require.False(h.t, h.a.Unpin(p.pin, h.m.now), "a pin ends once")
	case 11:
		h.advance(how)
		want, got = h.m.now.String(), h.m.now.String()
	}
	h.steps = append(h.steps, fmt.Sprintf("%s %d %s exec %d secret %d: %s", conn, op%12, h.m.now, what, how, got))
	require.Equal(h.t, want, got, "%v", h.steps)
	h.compare()
}

func answer(err error, ok ...any) string {
	if err != nil {
		return code(err)
	}
	return fmt.Sprint(ok...)
}

// advance moves time: often to the edge of the next deadline.
func (h *history) advance(how byte) {
	steps := []time.Duration{0, 1, time.Second, 20 * time.Second, confirmTimeout, 5 * time.Minute, idleTimeout}
	next, waiting := h.m.nextDeadline()
	if how%2 == 0 && waiting {
		h.m.now = max(h.m.now, next+time.Duration(how/2%3)-1)
		return
	}
	h.m.now += steps[int(how/2)%len(steps)]
}

// compare looks at everything that can be seen.
func (h *history) compare() {
	t, now := h.t, h.m.now
	h.a.Expire(now)
	next, waiting := h.a.NextDeadline()
	wantNext, wantWaiting := h.m.nextDeadline()
	require.Equal(t, wantWaiting, waiting, "%v", h.steps)
	if waiting {
		require.Equal(t, wantNext, next, "%v", h.steps)
	}
	require.Equal(t, h.m.counts(), h.a.Counts(now), "%v", h.steps)
	for _, c := range h.conns {
		held, ok := h.a.Held(c, now)
		want := h.m.holderOf(c)
		require.Equal(t, want != nil, ok, "%v", h.steps)
		if ok {
			require.Equal(t, executorauth.Identity{ID: want.id, Generation: want.generation}, held, "%v", h.steps)
		}
	}
	for _, e := range h.m.all {
		s, ok := h.a.Lookup(e.id, now)
		require.Equal(t, h.m.alive(e), ok, "%v", h.steps)
		conn, generation, routed := h.a.Route(e.id, now)
		require.Equal(t, ok && e.confirmed && e.conn != "", routed, "%v", h.steps)
		if routed {
			require.Equal(t, e.conn, conn, "%v", h.steps)
			require.Equal(t, e.generation, generation, "%v", h.steps)
		}
		for _, c := range h.conns {
			for _, generation := range []int64{e.generation - 1, e.generation, e.generation + 1} {
				require.Equal(t, routed && c == e.conn && generation == e.generation,
					h.a.Attached(c, e.id, generation, now), "%v", h.steps)
			}
		}
		if !ok {
			continue
		}
		want := executorauth.Status{
			Identity: executorauth.Identity{ID: e.id, Generation: e.generation},
			State:    executorauth.Confirmed, Conn: e.conn, Pins: e.pins,
		}
		switch {
		case !e.confirmed:
			want.State, want.Expires = executorauth.Provisional, e.born+confirmTimeout
		case e.conn == "" && e.pins == 0:
			want.Expires = e.idleSince + idleTimeout
		}
		if h.m.hasCandidate(e) {
			want.State, want.Rotation = executorauth.Rotating, e.rotated+rotationTimeout
		}
		require.Equal(t, want, s, "%v", h.steps)
	}
}

// One seed is one history; a failure names it.
//
// rule: W-228, W-229, W-230, W-231, W-232, W-233, W-234, A-135, A-139, A-147, A-151, A-154
func TestRandomHistoriesAgreeWithTheModel(t *testing.T) {
	histories := 400
	if *long {
		histories = 20_000
	}
	for seed := range histories {
		source := rand.New(rand.NewPCG(uint64(seed), 1))
		program := make([]byte, 4*(10+source.IntN(90)))
		for i := range program {
			program[i] = byte(source.Uint32())
		}
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playHistory(t, program) })
		if !ok {
			return
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 3, 1, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 11, 0, 0, 0, 11, 0, 0, 2, 3, 1, 0, 0, 3, 1, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 11, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 11, 0, 0, 13, 10, 0, 0, 0, 11, 0, 0, 2})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 4*400 {
			return
		}
		playHistory(t, program)
	})
}
