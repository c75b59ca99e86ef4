package tree

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// An invocation is the handler of its own session.
var _ run0.Handler = (*invocation)(nil)

// Call enters the ledger; what is new there is dispatched beside the reader.
func (i *invocation) Call(c run0.Call, done func(jsontext.Value, *fault.Error)) func() {
	op, cancel := i.ledger.Begin(c.OperationID, c.Preimage, done)
	if op != nil {
		i.tasks.Go(func() {
			i.dispatch(c, op)
		})
	}
	return cancel
}

// Create resolves what the channel carries before anything is allocated.
func (i *invocation) Create(c run0.Create) (channel.Created, *fault.Error) {
	o := channel.Options{Delivery: c.Delivery}
	invalid := func(message string) (channel.Created, *fault.Error) {
		return channel.Created{}, fault.New(fault.InvalidInput, message)
	}
	switch {
	case c.Schema != nil:
		item, err := contract.CompileItem(c.Schema)
		if err != nil {
			return invalid("the channel's schema is refused: " + err.Error())
		}
		o.Item = item
	case c.Path != "":
		if !contract.ValidReference(c.Path) {
			return invalid(`a channel contract is "./" and a plain path downward`)
		}
		raw, err := i.target.Package.Read(c.Path[len("./"):])
		if err != nil {
			return invalid("the channel contract cannot be read from the package")
		}
		if o.Contract, err = contract.ParseChannel(raw); err != nil {
			return invalid("the channel contract is refused: " + err.Error())
		}
	case c.Slot != "":
		used := i.target.Package.Uses[c.Slot]
		if used == nil || used.Ports[c.Channel].Contract == nil {
			return invalid("the package declares no such channel with a contract")
		}
		o.Contract = used.Ports[c.Channel].Contract
	}
	return i.root.broker.Create(i.party, o)
}

// Subscribe adds a reader to a source of this invocation.
func (i *invocation) Subscribe(source string) (channel.Grant, *fault.Error) {
	return i.root.broker.Subscribe(i.party, source)
}

// Send gives an item to the broker.
func (i *invocation) Send(endpoint string, value []byte, done func(*fault.Error)) func() {
	return i.root.broker.Send(i.party, endpoint, value, done)
}

// Next reads from the broker.
func (i *invocation) Next(endpoint string, done func(channel.Item, *fault.Error)) func() {
	return i.root.broker.Next(i.party, endpoint, done)
}

// Close ends a writer.
func (i *invocation) Close(endpoint string, lagged bool) *fault.Error {
	return i.root.broker.Close(i.party, endpoint, lagged)
}

// Release gives a receiver back.
func (i *invocation) Release(endpoint string) (channel.Released, *fault.Error) {
	return i.root.broker.Release(i.party, endpoint)
}

// Stop aborts owned work and answers whatever waits.
func (i *invocation) Stop() {
	i.root.broker.Stop(i.party)
	i.ledger.Abort()
}

// Answered settles the channels. What is abandoned is decided before anything is
// cleaned up.
func (i *invocation) Answered(result *contract.Result) *fault.Error {
	standing := i.root.broker.Inspect(i.party)
	undone := standing.Abandoned || standing.Pending
	i.root.broker.Finish(i.party, result != nil && !undone)
	switch {
	case standing.Abandoned:
		return fault.New(fault.ExecutionFailed, "the Flow left a receiver neither read to its end nor closed")
	case standing.Pending:
		return fault.New(fault.ExecutionFailed, "the Flow left sends that nobody had taken")
	}
	return nil
}
