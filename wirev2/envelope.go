package wirev2

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrInvalidRecord is what every *RecordError is.
var ErrInvalidRecord = errors.New("invalid record")

// ErrInvalidEnvelope is what every *RequestError and every fault in a message's envelope is.
var ErrInvalidEnvelope = errors.New("invalid envelope")

// Request is the envelope of a request. An empty SessionID, ControlToken or OperationID is null on the wire.
type Request struct {
	RequestID    string // 1 to 64 of [A-Za-z0-9._-]
	Method       Method
	SessionID    ID
	ControlToken Secret
	OperationID  ID
	DeadlineMS   int64          // 1 to 600,000; one that was absent is read as 30,000, and 0 is written as absent
	Payload      jsontext.Value // a JSON object; nil is written as {}

	// Body, where it is not nil, is written in place of Payload: a payload type or a pointer to one. Reading leaves it nil.
	Body any
}

// Response is the envelope of a response. On the wire it has Error where that is not nil, and Payload otherwise.
type Response struct {
	RequestID       string // "" is null: the answer to a broken record
	InstanceID      ID
	ConnectionID    ID
	SessionID       ID             // "" is null
	OperationID     ID             // "" is null
	GrantGeneration int64          // 0 is null
	Payload         jsontext.Value // a JSON object; nil is written as {}
	Error           *Error

	// Body, where it is not nil, is written in place of Payload: a payload type or a pointer to one. Reading leaves it nil.
	Body any

	// Method is not on the wire: AppendResponse takes the budget of the payload from it.
	Method Method
}

// Event is the envelope of an event.
type Event struct {
	Event           EventName
	InstanceID      ID
	ConnectionID    ID
	SessionID       ID             // "" is null
	OperationID     ID             // "" is null
	GrantGeneration int64          // 0 is null
	LiveSequence    int64          // 0 is null
	Payload         jsontext.Value // a JSON object; nil is written as {}

	// Body, where it is not nil, is written in place of Payload: a payload type or a pointer to one. Reading leaves it nil.
	Body any
}

// Message is what a daemon sends: a response or an event.
type Message struct {
	IsEvent  bool
	Response Response // where not IsEvent
	Event    Event    // where IsEvent
}

// RecordError says why a record is broken. A daemon answers it with one invalid_record response, all IDs null, and
// closes the connection; a client closes. (wire-v2 1)
type RecordError struct {
	Reason string // one line, without any of the record's content
}

// Error returns the reason.
func (e *RecordError) Error() string { return "invalid record: " + e.Reason }

// Is makes the error an ErrInvalidRecord.
func (e *RecordError) Is(target error) bool { return target == ErrInvalidRecord }

// RequestError says why a well-formed record is no request. A daemon answers it with invalid_request and reads on.
type RequestError struct {
	// Request holds the members that are valid by themselves, for the echo in the answer. (wire-v2 2)
	Request Request
	Reason  string // one line, without any of the record's content
}

// Error returns the reason.
func (e *RequestError) Error() string { return "invalid request: " + e.Reason }

// Is makes the error an ErrInvalidEnvelope.
func (e *RequestError) Is(target error) bool { return target == ErrInvalidEnvelope }

type messageError struct{ reason string }

func (e *messageError) Error() string        { return "invalid message: " + e.reason }
func (e *messageError) Is(target error) bool { return target == ErrInvalidEnvelope }

func validRequestID[S ~string | ~[]byte](s S) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
