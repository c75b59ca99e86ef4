package tree

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Options says what a root runs and with what.
type Options struct {
	Target    *Target
	Input     jsontext.Value
	Deadline  time.Time           // required; with its monotonic reading
	Receive   []string            // channels of the root that the host reads
	Launcher  Launcher            // required
	Resources map[string]Resource // by kind of grant
	Force     <-chan struct{}     // closed: kill everything at once; optional

	// Stderr gets what a Flow writes to standard error, labelled with the
	// invocation; optional. The bytes are the caller's for the call only.
	Stderr func(label string, b []byte)
	// Item gets what comes on a received channel, in order a channel; an item
	// with End is the last. A failure ends it too. Optional.
	Item func(name string, i channel.Item, err *fault.Error)

	Limits Limits
}

// Result is what became of a root.
type Result struct {
	Result *contract.Result // of a success
	Err    *fault.Error     // of anything else
	Stderr []byte           // the kept part of the root's standard error
}

// hostParty is the host's own place in the broker.
const hostParty channel.Party = 0

// root is the state that the invocations of one root share.
type root struct {
	o      Options
	l      Limits
	broker *channel.Broker

	hooks sync.Mutex // one hook at a time

	mu      sync.Mutex
	parties channel.Party // guarded by mu
	flows   int           // live Flow processes; guarded by mu
	natives int           // live native scopes; guarded by mu
}

// Run runs a root to its end. When ctx is done the root is cancelled in order;
// when Force is closed it is killed. Run returns when nothing of it is alive, or
// with UNCERTAIN.
func Run(ctx context.Context, o Options) Result {
	r := &root{o: o, l: o.Limits.withDefaults(), broker: channel.New(channel.Limits{})}
	if err := o.Target.check(o.Input); err != nil {
		return Result{Err: err}
	}
	channels, readers, err := r.receive()
	if err != nil {
		return Result{Err: err}
	}
	inv := r.invocation(nil, o.Target)
	var reading sync.WaitGroup
	for name, reader := range readers {
		reading.Go(func() { r.follow(name, reader) })
	}
	result, err := inv.run(ctx, o.Input, hostParty, channels)
	for _, endpoint := range channels {
		// One that the invocation was given has ended with it, and what it carried is
		// still being read; one that it never got ends here.
		_ = r.broker.Close(hostParty, endpoint, false)
	}
	reading.Wait()
	r.broker.Finish(hostParty, err == nil)
	return Result{Result: result, Err: err, Stderr: inv.stderr.kept()}
}

// check applies what the target declares, before anything runs.
func (t *Target) check(input []byte) *fault.Error {
	if t.Package == nil {
		return fault.New(fault.Unavailable, "the target has no package")
	}
	if _, err := t.Package.Runtime(); err != nil {
		return fault.New(fault.Unavailable, err.Error())
	}
	if err := t.Package.Contract.CheckInput(input); err != nil {
		return fault.New(fault.InvalidInput, err.Error())
	}
	return nil
}

// receive makes the channels that the host reads.
func (r *root) receive() (map[string]string, map[string]*channel.Receiver, *fault.Error) {
	ports := r.o.Target.Package.Contract.Ports
	channels, readers := map[string]string{}, map[string]*channel.Receiver{}
	for _, name := range r.o.Receive {
		p, declared := ports[name]
		if !declared || p.Direction != contract.Send {
			return nil, nil, fault.New(fault.InvalidInput, "the target sends nothing on a channel "+name)
		}
		made, err := r.broker.Create(hostParty, channel.Options{Delivery: contract.Direct, Contract: p.Contract, Item: p.Item})
		if err != nil {
			return nil, nil, err
		}
		channels[name] = made.Send.Endpoint
		readers[name] = r.broker.Receiver(hostParty, made.Receive)
	}
	return channels, readers, r.broker.Check(hostParty, ports, channels)
}

// follow passes one received channel on to its end.
func (r *root) follow(name string, reader *channel.Receiver) {
	for {
		item, err := reader.Next(context.Background())
		failure, _ := err.(*fault.Error)
		if r.o.Item != nil {
			r.hooks.Lock()
			r.o.Item(name, item, failure)
			r.hooks.Unlock()
		}
		if err != nil || item.End {
			return
		}
	}
}

// party is a new place in the broker.
func (r *root) party() channel.Party {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parties++
	return r.parties
}

// take counts a live process or native scope against its bound.
func (r *root) take(count *int, most int, what string) (release func(), err *fault.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *count >= most {
		return nil, fault.New(fault.ResourceExhausted, "too many "+what+" run in this root")
	}
	*count++
	return func() {
		r.mu.Lock()
		*count--
		r.mu.Unlock()
	}, nil
}
