package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/appresources/capture"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// perform does one effect. The caller holds mu: what only queues a record is
// done at once, so that records leave in the order of what was decided; what
// touches a disk gets a goroutine and comes back through update.
func (c *Coordinator) perform(e effect) {
	switch e := e.(type) {
	case respond:
		e.conn.out.Respond(e.response)
	case notify:
		e.conn.out.Event(e.event, e.grant)
	case notifyText:
		e.conn.out.Text(e.event, e.grant, e.turn, e.text)
	case hangUp:
		e.conn.out.Disconnect(e.reason)
	case dispatchCall:
		c.core.dispatchedCall(e.call, e.conn.out.Event(e.event, nil))
	case startTurn:
		c.startTurn(e.turn)
	case cancelTurn:
		if cancel := c.cancels[e.turn]; cancel != nil {
			cancel(e.cause)
		}
	default:
		c.spawn(func() { c.touchDisk(e) })
	}
}

// touchDisk does an effect that may take its time.
func (c *Coordinator) touchDisk(e effect) {
	switch e := e.(type) {
	case checkWorkspace:
		info, err := os.Stat(openable(e.path))
		isFolder := err == nil && info.IsDir()
		c.update(func(k *core) { k.workspaceChecked(e, isFolder) })
	case createSession:
		err := c.guard("a session could not be made", e.id, func() error { return c.createSession(e) })
		c.update(func(k *core) { k.sessionCreated(e, err) })
	case listSessions:
		var all []journal.Summary
		err := c.guard("the sessions could not be listed", "", func() (err error) {
			all, err = c.store.List()
			return err
		})
		c.update(func(*core) { e.then(all, err) })
	case readHistory:
		var page journal.Page
		err := c.guard("a journal could not be read", e.ask.session.id, func() (err error) {
			page, err = e.lease.Read(e.view)
			return err
		})
		c.update(func(k *core) { k.historyRead(e.ask, page, err) })
	case captureSource:
		var content []byte
		err := c.guard("a source was not captured", e.ask.session.id, func() (err error) {
			content, err = capture.Read(capture.Request{
				Workspace: openable(e.workspace), Path: e.path, MaxBytes: e.staging.MaxBytes(), Excluded: c.excluded(),
			})
			return err
		})
		c.update(func(k *core) { k.captured(e, content, err) })
	case markCall:
		_ = c.guard("a call could not be marked as waiting", e.call.turn.session.id, func() error {
			return e.lease.MarkWaiting(e.call.id)
		}) // in the log; after a crash the call would then show as uncertain
		c.update(func(k *core) { k.callMarked(e.call) })
	case unmarkCall:
		err := c.guard("the mark of a waiting call could not be taken back", e.call.turn.session.id, func() error {
			return e.lease.MarkDispatching(e.call.id)
		})
		c.update(func(k *core) { k.callUnmarked(e.call, err) })
	case openLease:
		var opened lease
		err := c.guard("a journal could not be opened", e.session.id, func() (err error) {
			opened, err = c.store.Open(e.session.id)
			return err
		})
		c.update(func(k *core) { k.leaseOpened(e.session, opened, err) })
	case closeLease:
		_ = c.guard("a journal could not be closed", e.session.id, e.lease.Close) // in the log, and no more to be done
		c.update(func(k *core) { k.leaseClosed(e.session) })
	}
}

// excluded is what no capture reads.
func (c *Coordinator) excluded() []string {
	if c.state == "" {
		return nil
	}
	return []string{c.state}
}

// openable is a workspace as the kernel takes it, which is one byte shorter than
// the wire allows: a path of that length still works if it can be written shorter.
func openable(workspace string) string {
	if len(workspace) < unix.PathMax {
		return workspace
	}
	return filepath.Clean(workspace)
}

// createSession makes a session and gives its lease back: nobody has claimed it.
func (c *Coordinator) createSession(e createSession) error {
	created, err := c.store.Create(&wirev2.SessionRecord{SessionID: e.id, Workspace: e.workspace, Title: e.title})
	if err != nil {
		return err
	}
	c.logFailure("a journal could not be closed", e.id, created.Close())
	return nil
}

// guard does what touches a disk. A panic is an error of this request or session
// alone, and what failed is in the log.
func (c *Coordinator) guard(what string, session wirev2.ID, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error(what, "session", session, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errPanic
			return
		}
		c.logFailure(what, session, err)
	}()
	return do()
}

func (c *Coordinator) logFailure(what string, session wirev2.ID, err error) {
	if err != nil {
		c.log.Warn(what, "session", session, "error", err)
	}
}
