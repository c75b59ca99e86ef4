// Package adaptertest has the other sides of an adapter, for tests: a [Host] that
// does nothing and writes down what a native protocol asks it for, and a [Process]
// that holds the host's finite conversation with a whole `jig __adapter`, under the
// same rules as a real one.
//
// # Concurrency
//
// A [Host] and a [Process] are for one goroutine each.
package adaptertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// Host writes down what a client does, one line each. It is for one goroutine.
type Host struct {
	did     []string
	refuse  []func()
	settled int
}

func (h *Host) add(format string, a ...any) { h.did = append(h.did, fmt.Sprintf(format, a...)) }

// Took returns what was done since the last call.
func (h *Host) Took() []string {
	did := h.did
	h.did = nil
	return did
}

// Settled is how many requests were settled.
func (h *Host) Settled() int { return h.settled }

// Answer answers the permissions that were asked for since the last call.
func (h *Host) Answer() {
	refuse := h.refuse
	h.refuse = nil
	for _, f := range refuse {
		f()
	}
}

// Send implements [adapter.Host].
func (h *Host) Send(line []byte) { h.add("send %s", line) }

// Done implements [adapter.Host]. Any session id is written as "session".
func (h *Host) Done(r adapter.Result) {
	h.settled++
	session := ""
	if r.SessionID != "" {
		session = "session"
	}
	h.add("done %s%s", session, r.StopReason)
}

// Fail implements [adapter.Host].
func (h *Host) Fail(f adapter.Failure) {
	h.settled++
	h.add("fail %s%s%s", f.Category, map[bool]string{true: "invalid"}[f.Invalid], f.Data)
}

// Text implements [adapter.Host].
func (h *Host) Text(id, text string) { h.add("text %s %q", id, text) }

// Plan implements [adapter.Host].
func (h *Host) Plan(e []adapter.Entry) { h.add("plan %v", e) }

// Warn implements [adapter.Host].
func (h *Host) Warn() { h.add("warn") }

// Broken implements [adapter.Host].
func (h *Host) Broken(c launch.Category) { h.add("broken %s", c) }

// Permission implements [adapter.Host].
func (h *Host) Permission(id string, refuse func()) {
	h.add("permission %s", id)
	h.refuse = append(h.refuse, refuse)
}

// After implements [adapter.Host]; nothing is ever called.
func (h *Host) After(d time.Duration, f func()) func() {
	h.add("after %s", d)
	return func() {}
}

// Lines feeds lines to c and demands that none breaks the protocol.
func Lines(t testing.TB, c adapter.Client, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := c.Line([]byte(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}
