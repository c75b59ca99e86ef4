package coordinator

// markState is what the disk says of a call that waits. A crash must be able to
// tell a call that was never dispatched from one that may have been, and the
// journal alone cannot: it holds both. So a call that waits is marked beside the
// journal, and the mark is taken back, durably, before the call may be dispatched.
// A call whose executor is there at once is never marked and costs nothing.
type markState int

const (
	unmarked markState = iota
	marking            // on its way to the disk
	marked
	unmarking
)

// pursue brings a call that waits a step further: into the queue of its executor
// if that is attached, else onto the disk as waiting. It does nothing for a call
// that is dispatched or settled, or whose disk is under way.
func (k *core) pursue(c *appCall) {
	if c.settled() || c.dispatched || c.offered {
		return
	}
	to, generation, attached := k.route(c.executor())
	switch {
	case attached && c.mark == unmarked:
		k.offer(c, to, generation)
	case attached && c.mark == marked:
		c.mark = unmarking
		k.do(unmarkCall{c, c.turn.journal})
	case !attached && c.mark == unmarked:
		c.mark = marking
		k.do(markCall{c, c.turn.journal})
	}
}

// callMarked comes back from markCall. A mark that failed may stand all the same,
// so it is taken back like any other.
func (k *core) callMarked(c *appCall) {
	c.mark = marked
	k.pursue(c)
}

// callUnmarked comes back from unmarkCall. While the mark may stand the call must
// not be dispatched: it waits for the next thing that moves its executor, or for
// its deadline.
func (k *core) callUnmarked(c *appCall, err error) {
	if err != nil {
		c.mark = marked
		return
	}
	c.mark = unmarked
	k.pursue(c)
}
