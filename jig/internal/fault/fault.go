// Package fault holds the closed set of operation failures that Run/0 knows
// (run-0 6.1). They cross every seam inside jig as an [*Error]: a code to branch
// on, a sentence for a person, and details that are JSON/0.
//
// An [*Error] is immutable and safe for concurrent use.
package fault

import "github.com/go-json-experiment/json/jsontext"

// Code is a failure code. An unknown one prints as itself.
type Code string

// The codes that go on the wire.
const (
	Cancelled         Code = "CANCELLED"
	DeadlineExceeded  Code = "DEADLINE_EXCEEDED"
	OwnerClosed       Code = "OWNER_CLOSED"
	OperationConflict Code = "OPERATION_CONFLICT"
	Unavailable       Code = "UNAVAILABLE"
	PermissionDenied  Code = "PERMISSION_DENIED"
	ResourceExhausted Code = "RESOURCE_EXHAUSTED"
	InvalidInput      Code = "INVALID_INPUT"
	InvalidResult     Code = "INVALID_RESULT"
	Uncertain         Code = "UNCERTAIN"
	ExecutionFailed   Code = "EXECUTION_FAILED"
	Lagged            Code = "LAGGED"
	Disconnected      Code = "DISCONNECTED"
)

// The codes that are a host's or a component's own finding and never go on the
// wire.
const (
	ProtocolError Code = "PROTOCOL_ERROR"
	ChannelLost   Code = "CHANNEL_LOST"
)

var onWire = map[Code]bool{
	Cancelled: true, DeadlineExceeded: true, OwnerClosed: true, OperationConflict: true, Unavailable: true, PermissionDenied: true,
	ResourceExhausted: true, InvalidInput: true, InvalidResult: true, Uncertain: true, ExecutionFailed: true, Lagged: true, Disconnected: true,
}

// OnWire says whether c may be sent.
func (c Code) OnWire() bool { return onWire[c] }

// Error is a failed operation.
type Error struct {
	Code    Code
	Message string         // 1 to 1,024 Unicode scalars, for a person; never branched on
	Details jsontext.Value // nil: none
}

// New is an Error without details.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
