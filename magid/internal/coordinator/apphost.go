package coordinator

import (
	"github.com/magi-jig/magi-jig/magid/internal/worker"
)

// lent is what a turn's worker gets of its application, nil for a turn without
// one.
func (c *Coordinator) lent(t *turn) *worker.Application {
	if t.app == nil {
		return nil
	}
	return &worker.Application{
		Instructions: t.app.snapshot.Instructions(),
		Tools:        t.app.snapshot.Tools(),
		Host:         applicationHost{c, t},
	}
}

// applicationHost brings a worker's application calls into the core.
type applicationHost struct {
	c *Coordinator
	t *turn
}

func (h applicationHost) Need(call worker.Call, deliver func(worker.Result)) (err error) {
	h.c.update(func(k *core) { err = k.needCall(h.t, call, deliver) })
	return err
}

func (h applicationHost) Cancel() {
	h.c.update(func(k *core) { k.cancelCalls(h.t) })
}
