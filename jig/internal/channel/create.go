package channel

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Options says what a new channel is.
type Options struct {
	Delivery string               // direct or broadcast; required
	Item     *contract.ItemSchema // nil takes any; of Contract where that is set
	Contract *contract.Channel    // nil for an unnamed channel
}

// Created is a new channel. A direct one has both ends, a broadcast one the
// writer and a reference for [Broker.Subscribe].
type Created struct {
	Send    Grant
	Receive Grant  // direct
	Source  string // broadcast
}

// Create makes a channel that p owns.
func (b *Broker) Create(p Party, o Options) (Created, *fault.Error) {
	b.lock()
	defer b.unlock()
	direct := o.Delivery == contract.Direct
	ends := 1
	if direct {
		ends = 2
	}
	switch {
	case b.stopped[p]:
		return Created{}, fault.New(fault.OwnerClosed, "the run takes no new channel")
	case len(b.all) >= b.limits.Sources:
		return Created{}, fault.New(fault.ResourceExhausted, "the root run has made all the channels it may")
	case direct && b.receivers >= b.limits.Receivers:
		return Created{}, fault.New(fault.ResourceExhausted, "the root run has made all the receivers it may")
	case b.held[p]+ends > b.limits.PartyEndpoint:
		return Created{}, fault.New(fault.ResourceExhausted, "the invocation has held all the endpoints it may")
	}
	s := &source{delivery: o.Delivery, creator: p, contract: o.Contract}
	item := o.Item
	if o.Contract != nil {
		if err := b.name(o.Contract); err != nil {
			return Created{}, err
		}
		item = o.Contract.Item
	}
	if item != nil {
		s.constraints = append(s.constraints, item)
	}
	b.all = append(b.all, s)
	var c Created
	_, c.Send = b.give(p, s, nil)
	if direct {
		r := &receiver{source: s, start: 1}
		s.receivers = append(s.receivers, r)
		b.receivers++
		_, c.Receive = b.give(p, s, r)
		return c, nil
	}
	var random [16]byte
	rand.Read(random[:])
	c.Source = "s" + hex.EncodeToString(random[:])
	b.sources[c.Source] = s
	return c, nil
}

// name counts a distinct descriptor against the root's bound.
func (b *Broker) name(c *contract.Channel) *fault.Error {
	digest := c.Identity.Digest
	if b.named[digest] {
		return nil
	}
	if len(b.named) >= b.limits.Descriptors {
		return fault.New(fault.ResourceExhausted, "the root run has used all the channel descriptors it may")
	}
	b.named[digest] = true
	return nil
}

// Subscribe adds a reader to a broadcast source that p created. It sees what is
// accepted from now on.
func (b *Broker) Subscribe(p Party, reference string) (Grant, *fault.Error) {
	b.lock()
	defer b.unlock()
	s := b.sources[reference]
	switch {
	case s == nil || s.creator != p:
		return Grant{}, fault.New(fault.PermissionDenied, "this invocation has no such source")
	case b.stopped[p]:
		return Grant{}, fault.New(fault.OwnerClosed, "the run takes no new channel")
	case s.failure != nil:
		return Grant{}, s.failure
	case s.sealed:
		return Grant{}, fault.New(fault.Disconnected, "the source has ended")
	case b.receivers >= b.limits.Receivers:
		return Grant{}, fault.New(fault.ResourceExhausted, "the root run has made all the receivers it may")
	case b.held[p] >= b.limits.PartyEndpoint:
		return Grant{}, fault.New(fault.ResourceExhausted, "the invocation has held all the endpoints it may")
	}
	r := &receiver{source: s, start: s.sequence + 1}
	s.receivers = append(s.receivers, r)
	b.receivers++
	_, g := b.give(p, s, r)
	return g, nil
}
