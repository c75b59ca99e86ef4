package wirev2

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Reader reads the records of one side of a connection, however the bytes arrive. Memory: it holds one buffer that
// grows to the longest record seen and never beyond the record limit; a record that is too long is refused as soon as
// the limit is reached, wherever its end may be. Buffers are not given back while the Reader lives.
//
// A Reader is not safe for concurrent use. After any error it is spent, and every later read returns the same error, but
// after a *RequestError, and after an error that is os.ErrDeadlineExceeded: nothing is lost, and reading may go on.
type Reader struct {
	src        io.Reader
	limits     Limits
	buf        []byte
	start, end int // the bytes in buf that are not consumed
	scan       scanner
	err        error
}

const (
	startBuffer   = 4096
	maxEmptyReads = 100
	byteOrderMark = "\xef\xbb\xbf"
	nullLiteral   = "null"
)

// NewReader returns a Reader of src. It uses the first three limits, and the deadlines.
func NewReader(src io.Reader, limits Limits) (*Reader, error) {
	limits, err := limits.OrDefault()
	if err != nil {
		return nil, err
	}
	return &Reader{src: src, limits: limits}, nil
}

// ReadRequest reads the next record as a request, whose memory belongs to the caller.
//
// Errors: io.EOF where the input ends behind a record; io.ErrUnexpectedEOF where it ends inside one, which is a
// disconnect and not a broken record, since no LF ended it; *RecordError; *RequestError, after which reading goes on;
// else what the underlying reader returned.
func (r *Reader) ReadRequest() (Request, error) {
	if err := r.next(); err != nil {
		return Request{}, err
	}
	return r.request()
}

// ReadMessage reads the next record as a response or an event into m. Payloads share the Reader's buffer and are valid
// until the next read.
//
// pending is asked for the request that a response answers: the response must echo its session and its operation, and a
// response to no request is an error. A nil pending leaves that unchecked.
//
// Errors are those of ReadRequest, with a fault in the envelope (ErrInvalidEnvelope) in place of *RequestError: a
// daemon that sends one can only be disconnected.
func (r *Reader) ReadMessage(m *Message, pending func(requestID []byte) (*Request, bool)) error {
	if err := r.next(); err != nil {
		return err
	}
	if why := r.message(m, pending); why != "" {
		r.err = &messageError{why}
	}
	return r.err
}

// next reads and validates one record, and leaves its members in the scanner.
func (r *Reader) next() error {
	if r.err != nil {
		return r.err
	}
	line, err := r.line()
	if err == nil && !r.scan.scan(line, 1, int(r.limits.MaxDepth)) {
		switch {
		case len(line) == 0:
			err = &RecordError{"the line is empty"}
		case bytes.HasPrefix(line, []byte(byteOrderMark)):
			err = &RecordError{"it begins with a byte order mark"}
		default:
			err = &RecordError{r.scan.complaint()}
		}
	}
	if err == nil && bytes.TrimLeft(line, " \t\r")[0] != '{' {
		err = &RecordError{"it is not an object"}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		r.err = err
	}
	return err
}

// line returns the next line without its LF, which is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	limit := int(r.limits.MaxRecordBytes)
	seen := 0 // bytes of this record that hold no LF
	for empty := 0; ; {
		window := r.buf[r.start:r.end]
		if len(window) > limit {
			window = window[:limit]
		}
		if i := bytes.IndexByte(window[seen:], '\n'); i >= 0 {
			line := window[:seen+i]
			r.start += len(line) + 1
			return line, nil
		}
		if seen = len(window); seen == limit {
			return nil, &RecordError{"it is too long"}
		}
		if r.start == r.end {
			r.start, r.end = 0, 0
		}
		if r.end == len(r.buf) {
			r.makeRoom(limit)
		}
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		switch {
		case n > 0:
			empty = 0 // an error that came with bytes comes again
		case err == io.EOF && r.start != r.end:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		default:
			if empty++; empty == maxEmptyReads {
				return nil, io.ErrNoProgress
			}
		}
	}
}

// makeRoom moves what is not consumed to the front, and grows the buffer when that is not enough.
func (r *Reader) makeRoom(limit int) {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
		if r.end <= len(r.buf)/2 {
			return
		}
	}
	if size := min(max(2*len(r.buf), startBuffer), limit); size > len(r.buf) {
		grown := make([]byte, size)
		r.end = copy(grown, r.buf[:r.end])
		r.buf = grown
	}
}
