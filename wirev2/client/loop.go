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

// read reads responses and events until the connection ends.
func (c *Client) read(reader *wirev2.Reader) {
	grants := make(map[wirev2.ID]grant)
	var asked wirev2.Request // a copy, since the call may end while its answer is read
	lookup := func(requestID []byte) (*wirev2.Request, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		w, ok := c.pending[string(requestID)]
		if !ok || !w.sent {
			return nil, false
		}
		asked = w.request
		return &asked, true
	}
	var m wirev2.Message
	for {
		err := reader.ReadMessage(&m, lookup)
		switch {
		case err != nil:
		case m.IsEvent:
			if err = c.checkIDs(m.Event.InstanceID, m.Event.ConnectionID); err == nil {
				err = c.event(&m.Event, grants)
			}
		case m.Response.RequestID == "":
			err = m.Response.Error
		default:
			if err = c.checkIDs(m.Response.InstanceID, m.Response.ConnectionID); err == nil {
				if m.Response.Method == wirev2.MethodSessionRelease && m.Response.Error == nil {
					delete(grants, m.Response.SessionID)
				}
				c.answer(&m.Response)
			}
		}
		if err != nil {
			c.end(&DisconnectError{err})
			return
		}
	}
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

// answer hands a response to the call that waits for it.
func (c *Client) answer(p *wirev2.Response) {
	c.mu.Lock()
	w := c.pending[p.RequestID]
	if w == nil {
		c.mu.Unlock() // the connection was ended meanwhile
		return
	}
	delete(c.pending, p.RequestID)
	abandoned := w.abandoned
	c.mu.Unlock()
	<-c.slots
	if abandoned {
		c.giveBack(w)
		return
	}
	w.generation = p.GrantGeneration
	w.err = decodeReply(p, w.reply)
	w.answered <- struct{}{}
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
func (c *Client) event(e *wirev2.Event, grants map[wirev2.ID]grant) error {
	if e.GrantGeneration != 0 {
		next := grant{e.GrantGeneration, 1}
		if last, ok := grants[e.SessionID]; ok && last.generation == e.GrantGeneration {
			next.sequence = last.sequence + 1
		} else if ok && last.generation > e.GrantGeneration {
			return errors.New("the daemon sent an event of a grant that is over")
		}
		if e.LiveSequence != next.sequence {
			return fmt.Errorf("the daemon sent event %d of a grant where %d was due", e.LiveSequence, next.sequence)
		}
		if grants[e.SessionID] = next; e.Event == wirev2.EventSessionControlLost {
			delete(grants, e.SessionID)
		}
	}
	c.publish(e)
	return nil
}
