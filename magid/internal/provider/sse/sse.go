// Package sse reads event streams (text/event-stream) as model servers send them.
// It is the only such reader in the code base.
//
// It takes LF, CR and CRLF as line ends, joins data lines with LF, skips comments
// and one leading byte order mark, and gives the same events however the bytes
// are split over reads. A CR ends its line at once: the reader never waits for
// the byte after it.
//
// What it refuses: an event over its limit, and a line that is no comment and no
// field of an event stream (data, event, id, retry). The standard ignores unknown
// fields; here a damaged field name must not drop an event in silence, because
// the rest of the stream could then still look whole. The fields id and retry
// serve reconnection, which no model server offers, and are skipped.
//
// # Limits
//
// An event's data, its lines joined, is at most the limit given to [NewReader].
// A comment may have any length: it is not kept. The reader holds one event and
// one line, each at most the limit, and one buffer of 16 KiB.
//
// # Errors
//
// io.EOF is an end between events. io.ErrUnexpectedEOF is an end inside one.
// [ErrTooLong] and [ErrField] come wrapped. Errors of the source come back as
// they are. Every error is final.
//
// # Concurrency
//
// A [Reader] is for one goroutine.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The reader's own errors.
var (
	ErrTooLong = errors.New("sse: an event is too long")
	ErrField   = errors.New("sse: a line is no field of an event stream")
)

const (
	bufferBytes = 16 << 10
	prefixBytes = len("event: ") // the longest name and separator of a field that is kept
)

// Event is one event.
type Event struct {
	// Name is the event field, "" where there was none.
	Name string
	// Data is the data lines joined. It is valid until the next call of Next.
	Data []byte
}

// Reader reads events.
//
// A Reader is for one goroutine.
type Reader struct {
	src    io.Reader
	limit  int
	onData func()

	buf      []byte // what was read and not yet looked at
	store    []byte
	line     []byte // the line so far, where it did not end in the buffer it began in
	comment  bool   // the line is a comment and is not kept
	skipLF   bool   // the last line ended with CR: an LF now belongs to it
	begun    bool   // the first line has been seen
	event    Event
	hasData  bool
	hasField bool // the event has a field that counts
	given    bool // event was handed out and is to be cleared
	err      error
}

// NewReader reads from src. limit bounds an event's data in bytes and must be
// positive. onData is optional and is called at each data line.
func NewReader(src io.Reader, limit int, onData func()) *Reader {
	if onData == nil {
		onData = func() {}
	}
	return &Reader{src: src, limit: limit, onData: onData, store: make([]byte, bufferBytes)}
}

// Next gives the next event that has a data line. With io.ErrUnexpectedEOF it
// gives what the unfinished event held, for the caller who knows a last line that
// servers leave unfinished.
func (r *Reader) Next() (Event, error) {
	if r.given {
		r.clear()
	}
	for r.err == nil {
		if len(r.buf) == 0 {
			r.fill()
			continue
		}
		done, err := r.scan()
		if err != nil {
			r.err = err
			break
		}
		if done {
			r.given = true
			return r.event, nil
		}
	}
	if r.err == io.ErrUnexpectedEOF {
		return r.event, r.err
	}
	return Event{}, r.err
}

func (r *Reader) clear() {
	r.event = Event{Data: r.event.Data[:0]}
	r.hasData, r.hasField, r.given = false, false, false
}

// fill reads once. An error stays until what came with it has been used up.
func (r *Reader) fill() {
	n, err := r.src.Read(r.store)
	r.buf = r.store[:n]
	if n > 0 && err != nil {
		r.src = failed{err}
		return
	}
	if err != io.EOF {
		r.err = err
		return
	}
	r.err = io.EOF
	if len(r.line) > 0 {
		// The unfinished line takes part in what is handed over. If it is
		// wrong, that it is unfinished says enough.
		_ = r.field(r.line)
		r.hasField = true
	}
	if r.hasField {
		r.err = io.ErrUnexpectedEOF
	}
}

// failed is a source that has come to its end.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// scan takes the buffer up to the next line end, or all of it, and reports
// whether an event is complete.
func (r *Reader) scan() (bool, error) {
	if r.skipLF {
		r.skipLF = false
		if r.buf[0] == '\n' {
			r.buf = r.buf[1:]
			return false, nil
		}
	}
	if len(r.line) == 0 && r.buf[0] == ':' {
		r.comment = true
	}
	end := lineEnd(r.buf)
	part := r.buf
	if end >= 0 {
		part = r.buf[:end]
	}
	if !r.comment && len(r.line)+len(part) > r.limit+prefixBytes {
		return false, r.tooLong()
	}
	if end < 0 {
		if !r.comment {
			r.line = append(r.line, part...)
		}
		r.buf = nil
		return false, nil
	}
	r.skipLF = r.buf[end] == '\r'
	r.buf = r.buf[end+1:]
	if r.comment {
		r.comment, r.begun = false, true
		return false, nil
	}
	if len(r.line) > 0 {
		r.line = append(r.line, part...)
		part = r.line
		r.line = r.line[:0]
	}
	if !r.begun {
		r.begun = true
		part = bytes.TrimPrefix(part, []byte("\uFEFF"))
	}
	if len(part) > 0 {
		return false, r.field(part)
	}
	if !r.hasData {
		r.clear() // a name without data is no event
	}
	return r.hasData, nil
}

// field takes one line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "": // a comment behind a byte order mark
	case "data":
		r.onData()
		size := len(r.event.Data) + len(value)
		if r.hasData {
			size++
		}
		if size > r.limit {
			return r.tooLong()
		}
		if r.hasData {
			r.event.Data = append(r.event.Data, '\n')
		}
		r.event.Data = append(r.event.Data, value...)
		r.hasData, r.hasField = true, true
	case "event":
		r.event.Name = string(value)
		r.hasField = true
	case "id", "retry":
	default:
		return ErrField
	}
	return nil
}

func (r *Reader) tooLong() error {
	return fmt.Errorf("%w: the limit is %d bytes", ErrTooLong, r.limit)
}

// lineEnd gives the place of the first CR or LF, -1 if there is none.
func lineEnd(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:end], '\r'); cr >= 0 {
		return cr
	}
	return end
}
