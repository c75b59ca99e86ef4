package wirev2

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrInvalidRecord is the cause of every error about a record that breaks the rules of section 1: the connection can
// only be closed after it.
var ErrInvalidRecord = errors.New("invalid record")

// RequestError is a well-formed record with a bad envelope: answer it with invalid_request and go on. Request holds the
// members that are valid by themselves, for the echo.
type RequestError struct {
	Request Request
	Message string
}

func (e *RequestError) Error() string { return string(CodeInvalidRequest) + ": " + e.Message }

// Reader reads records. It is not safe for concurrent use.
type Reader struct{}

// NewReader returns a Reader of r.
func NewReader(r io.Reader, limits Limits) (*Reader, error) { panic("not yet") }

// ReadRequest reads the next record as a request, whose memory belongs to the caller. Errors: io.EOF at the end of
// input between records, io.ErrUnexpectedEOF inside one, ErrInvalidRecord, *RequestError, or the underlying reader's.
func (r *Reader) ReadRequest() (Request, error) { panic("not yet") }

// ReadMessage reads the next record as a response or an event.
func (r *Reader) ReadMessage() (*Response, *Event, error) { panic("not yet") }

// DecodePayload decodes raw strictly into dst, a pointer to one of this package's payload types: unknown, duplicate,
// missing, mistyped and differently cased members are errors. Use Describe for a line to send.
func DecodePayload(raw jsontext.Value, dst any) error {
	return json.Unmarshal(raw, dst, json.RejectUnknownMembers(true))
}

// EncodePayload encodes a payload struct compactly, as the daemon writes it.
func EncodePayload(v any) (jsontext.Value, error) { b, err := json.Marshal(v); return b, err }

// AppendRequest appends q as one record with its LF.
func AppendRequest(dst []byte, q *Request) ([]byte, error) { panic("not yet") }

// AppendResponse appends p as one record with its LF.
func AppendResponse(dst []byte, p *Response) ([]byte, error) { panic("not yet") }

// AppendEvent appends e as one record with its LF.
func AppendEvent(dst []byte, e *Event) ([]byte, error) { panic("not yet") }

// EncodedStringLen returns how many bytes s takes between the quotes as the daemon encodes it.
func EncodedStringLen(s string) int { panic("not yet") }

// AppendString appends s as the daemon encodes it, quotes included.
func AppendString(dst []byte, s string) []byte { panic("not yet") }
