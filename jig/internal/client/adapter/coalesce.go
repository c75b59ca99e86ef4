package adapter

import (
	"time"
	"unicode/utf8"
)

// How long text is held, and how much of it goes out at once (jig.md 7).
const (
	pieceBytes     = 4 << 10
	holdTime       = 50 * time.Millisecond
	slowUpdates    = 2048
	slowHoldTime   = 500 * time.Millisecond
	scarceUpdates  = 3072
	scarceBytes    = 8 << 10
	maxUpdateBytes = 64 << 10 // one update, whatever the client sent at once
)

// coalescer holds the text of an answer until it is worth an update. It is told
// the time and starts nothing.
type coalescer struct {
	updates int    // sent so far, of every kind
	id      string // of the text that is held
	text    []byte
	since   time.Time // when the first byte of text came
}

// piece is text that goes out as one update.
type piece struct{ id, text string }

// add takes text and returns what has to go out now.
func (c *coalescer) add(now time.Time, id, text string) []piece {
	var out []piece
	if id != c.id {
		out = c.flush()
		c.id = id
	}
	if len(c.text) == 0 {
		c.since = now
	}
	c.text = append(c.text, text...)
	enough := pieceBytes
	if c.updates >= scarceUpdates {
		enough = scarceBytes
	}
	if len(c.text) >= enough {
		out = append(out, c.flush()...)
	}
	return out
}

// due is when held text has to go out, if at any time.
func (c *coalescer) due() (time.Time, bool) {
	if len(c.text) == 0 || c.updates >= scarceUpdates {
		return time.Time{}, false
	}
	if c.updates >= slowUpdates {
		return c.since.Add(slowHoldTime), true
	}
	return c.since.Add(holdTime), true
}

// flush is everything that is held.
func (c *coalescer) flush() (out []piece) {
	rest := c.text
	for len(rest) > 0 {
		n := min(len(rest), maxUpdateBytes)
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		out = append(out, piece{c.id, string(rest[:n])})
		rest = rest[n:]
		c.updates++
	}
	c.text = c.text[:0]
	return out
}
