package coordinator

import (
	"os"

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
	case startTurn:
		c.startTurn(e.turn)
	case cancelTurn:
		if cancel := c.cancels[e.turn]; cancel != nil {
			cancel(e.cause)
		}
	case checkWorkspace:
		c.spawn(func() {
			info, err := os.Stat(e.path)
			isFolder := err == nil && info.IsDir()
			c.update(func(k *core) { k.workspaceChecked(e, isFolder) })
		})
	case createSession:
		c.spawn(func() {
			err := c.createSession(e)
			c.update(func(k *core) { k.sessionCreated(e, err) })
		})
	case listSessions:
		c.spawn(func() {
			all, err := c.store.List()
			c.logFailure("the sessions could not be listed", "", err)
			c.update(func(*core) { e.then(all, err) })
		})
	case readHistory:
		c.spawn(func() {
			page, err := e.lease.Read(e.view)
			c.logFailure("a journal could not be read", e.ask.session.id, err)
			c.update(func(k *core) { k.historyRead(e.ask, page, err) })
		})
	case openLease:
		c.spawn(func() {
			opened, err := c.store.Open(e.session.id)
			c.logFailure("a journal could not be opened", e.session.id, err)
			c.update(func(k *core) { k.leaseOpened(e.session, opened, err) })
		})
	case closeLease:
		c.spawn(func() {
			c.logFailure("a journal could not be closed", e.session.id, e.lease.Close())
			c.update(func(k *core) { k.leaseClosed(e.session) })
		})
	}
}

// createSession makes a session and gives its lease back: nobody has claimed it.
func (c *Coordinator) createSession(e createSession) error {
	created, err := c.store.Create(&wirev2.SessionRecord{SessionID: e.id, Workspace: e.workspace, Title: e.title})
	if err != nil {
		c.logFailure("a session could not be made", e.id, err)
		return err
	}
	c.logFailure("a journal could not be closed", e.id, created.Close())
	return nil
}

func (c *Coordinator) logFailure(what string, session wirev2.ID, err error) {
	if err != nil {
		c.log.Warn(what, "session", session, "error", err)
	}
}
