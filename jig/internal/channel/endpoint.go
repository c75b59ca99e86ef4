package channel

import (
	"context"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Sender is a writer in the hands of the host, for a resource that is no
// process. It is safe for concurrent use; concurrent sends have no order.
type Sender struct {
	broker *Broker
	party  Party
	token  string
}

// Receiver is a reader in the hands of the host. One Next at a time.
type Receiver struct {
	broker *Broker
	party  Party
	token  string
}

// Sender is the writer that p was granted.
func (b *Broker) Sender(p Party, g Grant) *Sender { return &Sender{b, p, g.Endpoint} }

// Receiver is the reader that p was granted.
func (b *Broker) Receiver(p Party, g Grant) *Receiver { return &Receiver{b, p, g.Endpoint} }

// Send waits until the item is accepted, or ctx is done and it was not.
func (s *Sender) Send(ctx context.Context, value []byte) error {
	done := make(chan *fault.Error, 1)
	cancel := s.broker.Send(s.party, s.token, value, func(err *fault.Error) { done <- err })
	select {
	case err := <-done:
		return plain(err)
	case <-ctx.Done():
		cancel()
		return plain(<-done)
	}
}

// Close ends the writer; see [Broker.Close].
func (s *Sender) Close(lagged bool) error { return plain(s.broker.Close(s.party, s.token, lagged)) }

// Fail ends the writer abnormally: its readers get err, and what they had not
// read is gone. A writer that has ended stays as it was.
func (s *Sender) Fail(err *fault.Error) error { return plain(s.broker.Fail(s.party, s.token, err)) }

// Next waits for the next item or the end. A read that ctx ends disposes of the
// receiver.
func (r *Receiver) Next(ctx context.Context) (Item, error) {
	type answer struct {
		item Item
		err  *fault.Error
	}
	done := make(chan answer, 1)
	cancel := r.broker.Next(r.party, r.token, func(i Item, err *fault.Error) { done <- answer{i, err} })
	select {
	case a := <-done:
		return a.item, plain(a.err)
	case <-ctx.Done():
		cancel()
		a := <-done
		return a.item, plain(a.err)
	}
}

// Release gives the receiver back.
func (r *Receiver) Release() error {
	_, err := r.broker.Release(r.party, r.token)
	return plain(err)
}

// plain keeps a nil *fault.Error from becoming an error that is not nil.
func plain(err *fault.Error) error {
	if err == nil {
		return nil
	}
	return err
}
