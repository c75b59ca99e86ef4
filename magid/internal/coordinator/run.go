package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// errPanic stands for what a panic kept from its end.
var errPanic = errors.New("the daemon failed; its log says how")

// startTurn gives a turn its goroutine. The caller holds mu.
func (c *Coordinator) startTurn(t *turn) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.cancels[t] = cancel
	journal := t.journal
	c.spawn(func() {
		defer func() {
			cancel(nil)
			p := recover()
			if p != nil {
				c.log.Error("a turn's goroutine panicked", "turn", t.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			c.update(func(k *core) {
				delete(c.cancels, t)
				if p != nil {
					k.turnCrashed(t)
				}
			})
		}()
		c.runTurn(ctx, t, journal)
	})
}

// runTurn takes a turn from its preparation to its end. Between the steps of the
// core it does what may take time: reading the history, the provider, the tools,
// the disk. Nothing is reported before the step that follows the disk.
func (c *Coordinator) runTurn(ctx context.Context, t *turn, journal lease) {
	history, err := c.worker.Prepare(journal)
	c.logFailure("a turn could not be prepared", t.session.id, err)
	var user *wirev2.UserRecord
	c.update(func(k *core) { user = k.admitTurn(t, history.Omitted, err) })
	if user == nil {
		return
	}
	err = journal.Append(user)
	c.logFailure("a prompt could not be made durable", t.session.id, err)
	c.update(func(k *core) { k.userRecorded(t, err) })
	if err != nil {
		return
	}
	out := c.worker.Run(ctx, worker.Job{
		Turn:        t.id,
		Workspace:   openable(journal.Workspace()),
		Prompt:      t.prompt,
		TextBudget:  t.textBudget(),
		Journal:     journal,
		Listener:    listener{c, t},
		History:     history,
		Application: c.lent(t),
	})
	if out.Cancelled && errors.Is(context.Cause(ctx), errShutdown) {
		out.Failure = &wirev2.TurnError{Code: wirev2.TurnInternal, Message: "the daemon was stopped before the turn ended"}
	}
	var terminal *wirev2.TerminalRecord
	c.update(func(k *core) { terminal = k.admitTerminal(t, out.Failure, out.Usage) })
	if terminal == nil {
		err = errJournal
	} else {
		err = journal.Append(append(out.Tail, terminal)...)
		c.logFailure("a turn's end could not be made durable", t.session.id, err)
	}
	c.update(func(k *core) { k.turnEnded(t, err) })
}

// errJournal says that a turn's journal failed before its end.
var errJournal = errors.New("the journal failed")

// listener brings what a worker reports into the core.
type listener struct {
	c *Coordinator
	t *turn
}

func (l listener) Text(text string) {
	l.c.update(func(k *core) { k.acceptText(l.t, text) })
}

func (l listener) Tool(call wirev2.ID, name string, phase wirev2.ToolPhase) {
	l.c.update(func(k *core) { k.toolPhase(l.t, call, name, phase) })
}
