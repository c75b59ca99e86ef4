package wirev2

import "github.com/go-json-experiment/json/jsontext"

// Request is the envelope of a request. An empty SessionID, ControlToken or OperationID is null on the wire.
type Request struct {
	RequestID    string
	Method       Method
	SessionID    ID
	ControlToken Secret
	OperationID  ID
	DeadlineMS   int            // 1 to 600,000; a decoded request always has one, 0 encodes as absent
	Payload      jsontext.Value // a JSON object; nil encodes as {}
}

// Response is the envelope of a response: exactly one of Payload and Error is on the wire, Error where it is not nil.
type Response struct {
	RequestID       string // "" is null: the answer to a broken record
	InstanceID      ID
	ConnectionID    ID
	SessionID       ID             // "" is null
	OperationID     ID             // "" is null
	GrantGeneration int64          // 0 is null
	Payload         jsontext.Value // a JSON object; nil encodes as {}
	Error           *Error
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
	Payload         jsontext.Value // a JSON object; nil encodes as {}
}
