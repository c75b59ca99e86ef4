package channel

import (
	"slices"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Check says whether the channels that from maps by name could move to an
// invocation with the given ports. It changes nothing; [Broker.Transfer] checks
// again, because the world may have moved on.
func (b *Broker) Check(from Party, ports map[string]contract.Port, channels map[string]string) *fault.Error {
	b.lock()
	defer b.unlock()
	_, err := b.plan(from, ports, channels)
	return err
}

// Transfer moves the mapped channels to another party, all or none, and returns
// its grants by name. Nothing can fail once anything has moved.
func (b *Broker) Transfer(from, to Party, ports map[string]contract.Port, channels map[string]string) (map[string]Grant, *fault.Error) {
	b.lock()
	defer b.unlock()
	plan, err := b.plan(from, ports, channels)
	if err != nil {
		return nil, err
	}
	if b.held[to]+len(plan) > b.limits.PartyEndpoint {
		return nil, fault.New(fault.ResourceExhausted, "the callee would hold too many endpoints")
	}
	grants := make(map[string]Grant, len(plan))
	for _, m := range plan {
		s, r := m.end.source, m.end.receiver
		if item := m.port.Item; item != nil {
			if r != nil && s.delivery == contract.Broadcast {
				r.constraints = with(r.constraints, item)
			} else {
				s.constraints = with(s.constraints, item)
			}
		}
		s.touched = true
		delete(b.endpoints, m.end.token)
		_, grants[m.name] = b.give(to, s, r)
	}
	return grants, nil
}

func with(schemas []*contract.ItemSchema, item *contract.ItemSchema) []*contract.ItemSchema {
	if slices.ContainsFunc(schemas, item.Same) {
		return schemas
	}
	return append(schemas, item)
}

// move is one endpoint about to change hands.
type move struct {
	name string
	port contract.Port
	end  *endpoint
}

// plan checks a whole map in the order of run-0 4.5.
func (b *Broker) plan(from Party, ports map[string]contract.Port, channels map[string]string) ([]move, *fault.Error) {
	invalid := func(message string) *fault.Error { return fault.New(fault.InvalidInput, message) }
	for name, p := range ports {
		if _, mapped := channels[name]; p.Required && !mapped {
			return nil, invalid("a channel that the callee requires is not mapped")
		}
	}
	names := make([]string, 0, len(channels))
	for name := range channels {
		if _, declared := ports[name]; !declared {
			return nil, invalid("a channel is mapped that the callee does not declare")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var plan []move
	for _, name := range names {
		e := b.endpoints[channels[name]]
		if e == nil || e.holder != from || e.used || slices.ContainsFunc(plan, func(m move) bool { return m.end == e }) {
			return nil, fault.New(fault.PermissionDenied, "a mapped endpoint is not held, used or mapped twice")
		}
		m := move{name, ports[name], e}
		if err := m.check(); err != nil {
			return nil, err
		}
		if !m.sameSchemas(plan) {
			return nil, invalid("the channel's schema and the port's differ")
		}
		if !m.prefixFits() {
			return nil, invalid("items that already wait do not fit the port's schema")
		}
		plan = append(plan, m)
	}
	return plan, nil
}

func (m move) check() *fault.Error {
	s, r, p := m.end.source, m.end.receiver, m.port
	invalid := func(message string) *fault.Error { return fault.New(fault.InvalidInput, message) }
	switch {
	case (r != nil) != (p.Direction == contract.Receive):
		return invalid("the channel runs in the other direction")
	case p.Delivery != "" && p.Delivery != s.delivery:
		return invalid("the channel is delivered in another way")
	case s.failure != nil,
		r != nil && !r.alive(),
		r == nil && s.sealed:
		return fault.New(fault.Disconnected, "the channel has failed or ended")
	case r != nil && p.Start != contract.Suffix && r.start != 1:
		return invalid("the port needs a channel from its beginning")
	}
	switch {
	case p.Contract != nil && s.contract != nil:
		if p.Contract.Identity != s.contract.Identity {
			return invalid("the channel carries another contract")
		}
	case p.Contract != nil && r != nil:
		return invalid("the port needs a channel of its contract")
	case p.Contract == nil && s.contract != nil && r == nil:
		return invalid("a channel with a contract is written only by a port that declares it")
	}
	return nil
}

// sameSchemas compares the port's schema with every other that binds the same
// channel, those about to be added by the same map included.
func (m move) sameSchemas(staged []move) bool {
	item := m.port.Item
	if item == nil {
		return true
	}
	s := m.end.source
	others := slices.Clone(s.constraints)
	if m.end.receiver != nil {
		others = append(others, m.end.receiver.constraints...)
	} else {
		for _, r := range s.receivers {
			if r.alive() {
				others = append(others, r.constraints...)
			}
		}
	}
	for _, other := range staged {
		if other.end.source == s && other.port.Item != nil {
			others = append(others, other.port.Item)
		}
	}
	return !slices.ContainsFunc(others, func(o *contract.ItemSchema) bool { return !item.Same(o) })
}

// prefixFits applies the port's schema to what is already on its way.
func (m move) prefixFits() bool {
	item := m.port.Item
	if item == nil {
		return true
	}
	readers := m.end.source.receivers
	if m.end.receiver != nil {
		readers = []*receiver{m.end.receiver}
	}
	for _, r := range readers {
		for _, i := range r.queue {
			if item.Check(i.Value) != nil {
				return false
			}
		}
		if r.out != nil && item.Check(r.out.Value) != nil {
			return false
		}
	}
	for _, w := range m.end.source.pending {
		if item.Check(w.value) != nil {
			return false
		}
	}
	return true
}
