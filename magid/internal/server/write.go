package server

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

// write sends what leaves the queue, one record a write, so that [writeTimeout] is the time
// of one record, until the queue has come to its end.
func (c *conn) write() {
	for mine := false; ; mine = true {
		item, rest, ok := c.queue.next(mine)
		if !ok {
			return
		}
		if rest == nil {
			if rest, ok = c.encoded(item); !ok {
				return
			}
		}
		if err := c.writeRecord(rest); err != nil {
			c.cut(writeReason(err))
			return
		}
		item.encoded.giveBack()
	}
}

// maxAtOnce bounds the records that somebody else than the writer writes before it goes on with its own work.
const maxAtOnce = 8

// writeAtOnce writes what is queued, from the goroutine that queued it and as far as that needs no waiting, beginning with
// item where ok says that the pen has been taken.
func (c *conn) writeAtOnce(item record, ok bool) {
	if !ok {
		return
	}
	if c.socket == nil {
		// No socket, no write that does not wait: the record goes back to the writer, whole.
		if encoded, ok := c.encoded(item); ok {
			c.queue.release(encoded)
		}
		return
	}
	for range maxAtOnce {
		encoded, ok := c.encoded(item)
		if !ok {
			return
		}
		n, err := c.socket.write(encoded)
		if err != nil {
			c.cut(writeReason(err))
			return
		}
		if n < len(encoded) {
			c.queue.release(encoded[n:])
			return
		}
		item.encoded.giveBack()
		if item, ok = c.queue.again(); !ok {
			return
		}
	}
	if encoded, ok := c.encoded(item); ok {
		c.queue.release(encoded)
	}
}

// encoded is a record as bytes, which are valid until the pen is taken again. False means that the connection has been
// cut because it cannot be encoded.
func (c *conn) encoded(item record) ([]byte, bool) {
	encoded, err := c.encode(c.buffer[:0], item)
	if err != nil {
		c.server.log.Error("record cannot be encoded", "connection", string(c.id), "error", err.Error())
		c.cut("record cannot be encoded")
		return nil, false
	}
	// One long record does not keep its buffer for the connection's life.
	if item.encoded == nil {
		if c.buffer = encoded; cap(encoded) > maxPayloadBytes {
			c.buffer = nil
		}
	}
	return encoded, true
}

func (c *conn) writeRecord(encoded []byte) error {
	if err := c.network.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.network.Write(encoded)
	return err
}

func writeReason(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "record not written in " + writeTimeout.String() + ": the reader has stopped"
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed):
		return "peer is gone"
	default:
		return "write failed: " + err.Error()
	}
}

func (c *conn) encode(dst []byte, item record) ([]byte, error) {
	switch {
	case item.encoded != nil:
		return item.encoded.bytes, nil
	case item.response != nil:
		return c.encodeResponse(dst, item)
	}
	if item.turn != "" {
		item.event.Body = &wirev2.TurnTextEvent{TurnID: item.turn, Text: string(item.text)}
	}
	if item.grant != nil {
		item.event.LiveSequence = item.grant.Next()
	}
	return wirev2.AppendEvent(dst, &item.event)
}

// encodeResponse falls back to an error, because a request gets an answer.
func (c *conn) encodeResponse(dst []byte, item record) ([]byte, error) {
	encoded, err := wirev2.AppendResponse(dst, item.response)
	if item.failure != nil || err != nil {
		c.server.log.Error("response cannot be encoded", "connection", string(c.id), "error", errors.Join(item.failure, err).Error())
	}
	if err == nil {
		return encoded, nil
	}
	fallback := *item.response
	fallback.Payload, fallback.Error = nil, errEncoding
	return wirev2.AppendResponse(dst, &fallback)
}
