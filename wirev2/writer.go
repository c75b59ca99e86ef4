package wirev2

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrTooLarge is the cause of an error about a record or payload over its limit.
var ErrTooLarge = errors.New("too large")

// Budgets of the payloads that have their own. (wire-v2 1)
const (
	MaxEvidencePayloadBytes = 30720
	MaxHistoryPayloadBytes  = 49152

	// MaxErrorMessageBytes bounds the message of an error; a longer one is cut and ends in "…".
	MaxErrorMessageBytes = 512
)

// MaxReplyBytes returns how many bytes the payload of a reply to m may take; limits gives what most methods share.
func (m Method) MaxReplyBytes(limits Limits) int {
	switch m {
	case MethodSessionHistory:
		return MaxHistoryPayloadBytes
	case MethodTurnApplicationEvidence:
		return MaxEvidencePayloadBytes
	}
	return int(limits.MaxPayloadBytes)
}

// AppendRequest appends q as one record with its LF, in the form of AppendString and without white space. It refuses
// what a daemon would: dst is then returned as it was.
func AppendRequest(dst []byte, q *Request) ([]byte, error) {
	switch {
	case !validRequestID(q.RequestID):
		return dst, errors.New("wirev2: request_id is not 1 to 64 of [A-Za-z0-9._-]")
	case q.SessionID != "" && !q.SessionID.Valid():
		return dst, fmt.Errorf("wirev2: session_id: %w", errIDForm)
	case q.OperationID != "" && !q.OperationID.Valid():
		return dst, fmt.Errorf("wirev2: operation_id: %w", errIDForm)
	case q.ControlToken != "" && !q.ControlToken.Valid():
		return dst, errors.New("wirev2: control_token is longer than 128 bytes")
	case q.DeadlineMS < 0 || q.DeadlineMS > defaultMaxDeadlineMS:
		return dst, fmt.Errorf("wirev2: deadline_ms is not in 1 to %d", defaultMaxDeadlineMS)
	}
	b := append(dst, `{"v":2,"kind":"request","request_id":"`...)
	b = append(b, q.RequestID...)
	b = AppendString(append(b, `","method":`...), string(q.Method))
	b = appendID(append(b, `,"session_id":`...), q.SessionID)
	b = append(b, `,"control_token":`...)
	if q.ControlToken == "" {
		b = append(b, nullLiteral...)
	} else {
		b = AppendString(b, string(q.ControlToken))
	}
	b = appendID(append(b, `,"operation_id":`...), q.OperationID)
	if q.DeadlineMS > 0 {
		b = strconv.AppendInt(append(b, `,"deadline_ms":`...), q.DeadlineMS, 10)
	}
	return finish(dst, b, q.Payload, q.Body, defaultMaxPayloadBytes)
}

// AppendResponse appends p as one record with its LF. The payload is written anew in the daemon's form; its budget is
// that of p.Method. An error's message is made one line.
func AppendResponse(dst []byte, p *Response) ([]byte, error) {
	if p.RequestID != "" && !validRequestID(p.RequestID) {
		return dst, errors.New("wirev2: request_id is not 1 to 64 of [A-Za-z0-9._-]")
	}
	b := append(dst, `{"v":2,"kind":"response","request_id":`...)
	if p.RequestID == "" {
		b = append(b, nullLiteral...)
	} else {
		b = append(append(append(b, '"'), p.RequestID...), '"')
	}
	b, err := appendIDs(b, p.InstanceID, p.ConnectionID, p.SessionID, p.OperationID, p.GrantGeneration)
	if err != nil {
		return dst, err
	}
	if p.Error == nil {
		limit := p.Method.MaxReplyBytes(Limits{MaxPayloadBytes: defaultMaxPayloadBytes})
		return finish(dst, b, p.Payload, p.Body, limit)
	}
	if !p.Error.Code.Known() {
		return dst, fmt.Errorf("wirev2: error code %q is not in the closed list", p.Error.Code)
	}
	b = append(append(b, `,"error":{"code":"`...), p.Error.Code...)
	b = AppendString(append(b, `","message":`...), OneLine(p.Error.Message, MaxErrorMessageBytes))
	return append(b, "}}\n"...), nil
}

// AppendEvent appends e as one record with its LF. The payload is written anew in the daemon's form.
func AppendEvent(dst []byte, e *Event) ([]byte, error) {
	b := AppendString(append(dst, `{"v":2,"kind":"event","event":`...), string(e.Event))
	b, err := appendIDs(b, e.InstanceID, e.ConnectionID, e.SessionID, e.OperationID, e.GrantGeneration)
	if err != nil {
		return dst, err
	}
	b = appendPositive(append(b, `,"live_sequence":`...), e.LiveSequence)
	return finish(dst, b, e.Payload, e.Body, defaultMaxPayloadBytes)
}

func appendIDs(b []byte, instance, connection, session, operation ID, generation int64) ([]byte, error) {
	for _, id := range [...]ID{instance, connection, session, operation} {
		if id != "" && !id.Valid() {
			return b, errIDForm
		}
	}
	if instance == "" || connection == "" {
		return b, errors.New("wirev2: instance_id or connection_id is missing")
	}
	b = appendID(append(b, `,"instance_id":`...), instance)
	b = appendID(append(b, `,"connection_id":`...), connection)
	b = appendID(append(b, `,"session_id":`...), session)
	b = appendID(append(b, `,"operation_id":`...), operation)
	return appendPositive(append(b, `,"grant_generation":`...), generation), nil
}

func appendID(b []byte, id ID) []byte {
	if id == "" {
		return append(b, nullLiteral...)
	}
	return append(append(append(b, '"'), id...), '"')
}

func appendPositive(b []byte, n int64) []byte {
	if n == 0 {
		return append(b, nullLiteral...)
	}
	return strconv.AppendInt(b, n, 10)
}

// finish appends the payload and the end of the record to b, or returns dst as it was.
func finish(dst, b, payload []byte, body any, limit int) ([]byte, error) {
	b = append(b, `,"payload":`...)
	from := len(b)
	var err error
	switch {
	case body != nil:
		b, err = AppendPayload(b, body)
	case payload == nil:
		b = append(b, "{}"...)
	default:
		b, err = appendValue(b, payload, payloadDepth)
	}
	if err != nil {
		return dst, err
	}
	if b[from] != '{' {
		return dst, errors.New("wirev2: payload is not an object")
	}
	if size := len(b) - from; size > limit {
		return dst, fmt.Errorf("wirev2: payload of %d bytes is over its limit of %d: %w", size, limit, ErrTooLarge)
	}
	return append(b, "}\n"...), nil
}

// Writer writes records, each in one Write, through a buffer it keeps. A Writer is not safe for concurrent use. An error
// about a record (not from the destination) leaves nothing written.
type Writer struct {
	dst io.Writer
	buf []byte
}

// NewWriter returns a Writer to dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// WriteRequest writes q.
func (w *Writer) WriteRequest(q *Request) error { return w.write(AppendRequest(w.buf[:0], q)) }

// WriteResponse writes p.
func (w *Writer) WriteResponse(p *Response) error { return w.write(AppendResponse(w.buf[:0], p)) }

// WriteEvent writes e.
func (w *Writer) WriteEvent(e *Event) error { return w.write(AppendEvent(w.buf[:0], e)) }

func (w *Writer) write(record []byte, err error) error {
	if err != nil {
		return err
	}
	w.buf = record
	_, err = w.dst.Write(record)
	return err
}
