package acp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// A call that is stopped from outside answers a Flow that may have returned already.
// What was open, and what became of it, is for the operator to know.
func TestWhatWasStillOpenIsToldToTheOperator(t *testing.T) {
	const (
		killed = "; jig killed the client and everything in its scope, and what it had done by then is not known"
		gone   = "when its call ended: it was cancelled, or the Flow did not wait for it"
	)
	for want, until := range map[string]func(r *rig){
		"initializing": func(r *rig) {
			r.peer = silent
			r.start()
			r.next()
			r.send(request(1, "initialize", initialize))
		},
		"prompting, turn 1 of 1": func(r *rig) {
			r.peer = hangs
			r.start()
			r.open()
			r.send(request(3, "session/prompt", prompt("wait")))
		},
		"prompting, turn 2 of 2": func(r *rig) {
			r.grant, r.peer = two, func(p *peer) { p.s.greet = true; hangs(p) }
			r.start()
			r.open()
			r.turn(3, "hello")
			r.send(request(4, "session/prompt", prompt("wait")))
		},
		"its prompt was answered, and its requests had not ended, turn 1 of 1": func(r *rig) {
			r.start()
			r.open()
			r.turn(3, "hello")
		},
	} {
		bubble(t, func(r *rig) {
			until(r)
			time.Sleep(time.Second)
			r.cancel()
			r.fails(fault.Cancelled)
			require.Contains(t, r.notes(), "the native conversation was still open ("+want+") "+gone+killed)
		})
		bubble(t, func(r *rig) {
			r.deadline = 2 * time.Second
			until(r)
			r.fails(fault.DeadlineExceeded)
			require.Contains(t, r.notes(), "the native conversation was still open ("+want+") at the deadline"+killed)
		})
	}
	// What had not begun, and what has ended, was not open.
	bubble(t, func(r *rig) {
		r.cancel()
		r.start()
		r.fails(fault.Cancelled)
		require.NotContains(t, r.notes(), "still open")
	})
	bubble(t, func(r *rig) {
		r.oneTurn()
		r.succeeds(exited)
		require.NotContains(t, r.notes(), "still open")
	})
}
