package acp

import (
	"context"
	"errors"
	"io"

	"github.com/magi-jig/magi-jig/acpframing"
)

// readRequests makes frames of what the Flow sends.
func (c *conversation) readRequests(ctx context.Context) error {
	joiner, err := acpframing.NewJoiner(acpframing.Requests, acpframing.Limits{})
	if err != nil {
		return err
	}
	tell := func(r requested) error {
		select {
		case c.requested <- r:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		item, err := c.requests.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return &lost{"requests", err}
		case item.End:
			if err := joiner.Finish(); err != nil {
				return err
			}
			return tell(requested{})
		}
		frame, err := joiner.Add(item.Value)
		if err != nil {
			return err
		}
		if frame != nil {
			if err := tell(requested{frame: frame.Bytes()}); err != nil {
				return err
			}
		}
	}
}

// readNative makes lines of what the adapter writes.
func (c *conversation) readNative(ctx context.Context) error {
	in := newLines(c.scope.Output(), c.l)
	for {
		b, err := in.next()
		end := errors.Is(err, io.EOF)
		if end {
			b, err = nil, nil
		}
		select {
		case c.heard <- heard{b, err}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if end || err != nil {
			return nil
		}
	}
}

// writeNative is the one writer to the adapter: the launch frame, then the lines
// of the queue. It closes the input when the queue has ended, and only then: where
// the conversation fails, its scope is to be killed and not to be told. An adapter
// that has gone takes nothing; whether that matters is seen by what it leaves
// unanswered.
func (c *conversation) writeNative(ctx context.Context) error {
	in := c.scope.Input()
	_, err := in.Write(c.launch)
	clear(c.launch)
	for {
		select {
		case b, more := <-c.write:
			if !more {
				in.Close()
				return nil
			}
			if err == nil {
				_, err = in.Write(append(b, '\n'))
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendResponses is the one sender to the Flow: the ready record, then fragments.
func (c *conversation) sendResponses(ctx context.Context) error {
	splitter, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{})
	if err != nil {
		return err
	}
	send := func(item []byte) error {
		if err := c.responses.Send(ctx, item); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &lost{"responses", err}
		}
		return nil
	}
	if err := send(c.ready); err != nil {
		return err
	}
	var item []byte
	for {
		var frame []byte
		var more bool
		select {
		case frame, more = <-c.send:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !more {
			break
		}
		if err := splitter.Begin(frame); err != nil {
			return err
		}
		for splitter.More() {
			if item, err = splitter.Next(item[:0]); err != nil {
				return err
			}
			if err := send(item); err != nil {
				return err
			}
		}
	}
	if err := splitter.Finish(); err != nil {
		return err
	}
	if err := c.responses.Close(false); err != nil {
		return &lost{"responses", err}
	}
	return nil
}

func (c *conversation) drainErrors(context.Context) error {
	return drain(c.scope.Errors(), c.l.ErrorBytes)
}
