package client

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// grant is how far the events of a session's grant have come.
type grant struct{ generation, sequence int64 }

// incoming is what reading needs, and belongs to who reads.
type incoming struct {
	reader *wirev2.Reader
	m      wirev2.Message
	grants map[wirev2.ID]grant
	asked  wirev2.Request // the request of the answer that is read: a copy, since the call may end meanwhile
	lookup func(requestID []byte) (*wirev2.Request, bool)
}

func (c *Client) newIncoming(reader *wirev2.Reader) incoming {
	return incoming{reader: reader, grants: make(map[wirev2.ID]grant), lookup: func(requestID []byte) (*wirev2.Request, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		w, ok := c.pending[string(requestID)]
		if !ok || !w.sent {
			return nil, false
		}
		c.in.asked = w.request
		return &c.in.asked, true
	}}
}

// readOne reads one response or event and hands it on. woke says that somebody waited for it.
func (c *Client) readOne() (woke bool, err error) {
	m := &c.in.m
	if err = c.in.reader.ReadMessage(m, c.in.lookup); err != nil {
		return false, err
	}
	if m.IsEvent {
		if err = c.checkIDs(m.Event.InstanceID, m.Event.ConnectionID); err == nil {
			woke, err = c.event(&m.Event)
		}
		return woke, err
	}
	if m.Response.RequestID == "" {
		return false, m.Response.Error
	}
	if err = c.checkIDs(m.Response.InstanceID, m.Response.ConnectionID); err != nil {
		return false, err
	}
	if m.Response.Method == wirev2.MethodSessionRelease && m.Response.Error == nil {
		delete(c.in.grants, m.Response.SessionID)
	}
	return c.answer(&m.Response), nil
}

// checkIDs holds every record to the instance and connection of the first.
func (c *Client) checkIDs(instance, connection wirev2.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.instance == "" {
		c.instance, c.connection = instance, connection
	}
	if c.instance != instance || c.connection != connection {
		return errors.New("the daemon answered for another instance or connection")
	}
	return nil
}

// answer hands a response to the call that waits for it, and says whether one does.
func (c *Client) answer(p *wirev2.Response) bool {
	c.mu.Lock()
	w := c.pending[p.RequestID]
	if w == nil {
		c.mu.Unlock() // the connection was ended meanwhile
		return false
	}
	delete(c.pending, p.RequestID)
	abandoned := w.abandoned
	c.mu.Unlock()
	<-c.slots
	if abandoned {
		c.giveBack(w)
		return false
	}
	w.generation = p.GrantGeneration
	w.err = decodeReply(p, w.reply)
	w.answered <- struct{}{}
	return true
}

func decodeReply(p *wirev2.Response, reply any) error {
	if p.Error != nil {
		return p.Error
	}
	switch raw := reply.(type) {
	case nil:
		return nil
	case *jsontext.Value:
		*raw = bytes.Clone(p.Payload)
		return nil
	}
	if err := wirev2.DecodePayload(p.Payload, reply); err != nil {
		// Not wrapped: it is this side's verdict, and must not look like the daemon's.
		return fmt.Errorf("client: the reply to %s does not fit: %v", p.Method, err)
	}
	return nil
}

// event checks the order of a grant's events and hands the event to the subscriptions.
func (c *Client) event(e *wirev2.Event) (woke bool, err error) {
	grants := c.in.grants
	if e.GrantGeneration != 0 {
		next := grant{e.GrantGeneration, 1}
		if last, ok := grants[e.SessionID]; ok && last.generation == e.GrantGeneration {
			next.sequence = last.sequence + 1
		} else if ok && last.generation > e.GrantGeneration {
			return false, errors.New("the daemon sent an event of a grant that is over")
		}
		if e.LiveSequence != next.sequence {
			return false, fmt.Errorf("the daemon sent event %d of a grant where %d was due", e.LiveSequence, next.sequence)
		}
		if grants[e.SessionID] = next; e.Event == wirev2.EventSessionControlLost {
			delete(grants, e.SessionID)
		}
	}
	return c.publish(e), nil
}
