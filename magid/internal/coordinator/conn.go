package coordinator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Conn is one initialised connection as the coordinator knows it. The server
// holds it and passes it back; it has no methods of its own.
type Conn struct {
	id       wirev2.ID
	selected bool // it negotiated application_resources_v1
	out      Outbox
	gone     bool
	controls map[*session]struct{}
}

func (k *core) connect(id wirev2.ID, selected bool, out Outbox) *Conn {
	c := &Conn{id: id, selected: selected, out: out, controls: make(map[*session]struct{})}
	k.conns[c] = struct{}{}
	k.peers[c.executorConn()] = c
	return c
}

// disconnect frees what the connection held, at once (wire-v2 2).
func (k *core) disconnect(c *Conn) {
	if c.gone {
		return
	}
	before := k.idle()
	c.gone = true
	delete(k.conns, c)
	for _, s := range slices.SortedFunc(maps.Keys(c.controls), byID) {
		k.ungrant(s, "the connection ended")
		k.resources.Unclaim(appresources.ID(s.id), k.now)
	}
	delete(k.peers, c.executorConn())
	if at, held := k.executors.Disconnect(c.executorConn(), k.now); held {
		k.executorsChanged = true
		k.executorMoved(at.ID)
	}
	k.settleIdle(before)
}

func byID(x, y *session) int { return cmp.Compare(x.id, y.id) }

// shutdown begins the end: what prepares is refused, what runs is cancelled.
func (k *core) shutdown() {
	k.stopping = true
	for _, t := range slices.SortedFunc(maps.Values(k.turns), byTurn) {
		switch t.phase {
		case preparing:
			k.dropTurn(t, &wirev2.Error{Code: wirev2.CodePreparationFailed, Message: errShutdown.Error()})
		case admitted, running, closing:
			k.do(cancelTurn{t, errShutdown})
		case ended, dropped:
		}
	}
}

// disconnectAll frees what every connection holds.
func (k *core) disconnectAll() {
	for _, c := range slices.SortedFunc(maps.Keys(k.conns), func(x, y *Conn) int { return cmp.Compare(x.id, y.id) }) {
		k.disconnect(c)
	}
}

func byTurn(x, y *turn) int { return cmp.Compare(x.id, y.id) }
