package wirev2

import (
	"fmt"
	"slices"
)

// Code is one of the closed list of error codes of wire v2. (wire-v2 5)
type Code string

// The 25 error codes of wire v2, in the order of the specification.
const (
	CodeInvalidRecord         Code = "invalid_record"
	CodeInvalidRequest        Code = "invalid_request"
	CodeUnknownMethod         Code = "unknown_method"
	CodeNotInitialized        Code = "not_initialized"
	CodeAlreadyInitialized    Code = "already_initialized"
	CodeUnsupportedCapability Code = "unsupported_capability"
	CodeInvalidPayload        Code = "invalid_payload"
	CodeControlRequired       Code = "control_required"
	CodeStaleConnection       Code = "stale_connection"
	CodeUnknownSession        Code = "unknown_session"
	CodeSessionClaimed        Code = "session_claimed"
	CodeSessionLocked         Code = "session_locked"
	CodeUnknownOperation      Code = "unknown_operation"
	CodeOperationAlreadyKnown Code = "operation_already_known"
	CodeConflict              Code = "conflict"
	CodeResourceNotFound      Code = "resource_not_found"
	CodeConfigurationBusy     Code = "configuration_busy"
	CodeLimitExceeded         Code = "limit_exceeded"
	CodeTurnActive            Code = "turn_active"
	CodeUnknownTurn           Code = "unknown_turn"
	CodeExecutorRejected      Code = "executor_rejected"
	CodeDeadlineExceeded      Code = "deadline_exceeded"
	CodeProviderUnconfigured  Code = "provider_unconfigured"
	CodePreparationFailed     Code = "preparation_failed"
	CodeInternal              Code = "internal"
)

var codes = []Code{
	CodeInvalidRecord, CodeInvalidRequest, CodeUnknownMethod, CodeNotInitialized, CodeAlreadyInitialized,
	CodeUnsupportedCapability, CodeInvalidPayload, CodeControlRequired, CodeStaleConnection, CodeUnknownSession,
	CodeSessionClaimed, CodeSessionLocked, CodeUnknownOperation, CodeOperationAlreadyKnown, CodeConflict,
	CodeResourceNotFound, CodeConfigurationBusy, CodeLimitExceeded, CodeTurnActive, CodeUnknownTurn,
	CodeExecutorRejected, CodeDeadlineExceeded, CodeProviderUnconfigured, CodePreparationFailed, CodeInternal,
}

// Codes returns the closed list in the order of the specification.
func Codes() []Code { return slices.Clone(codes) }

// Known reports whether c is in the closed list. A reader takes an unknown code as it stands; a writer refuses it.
func (c Code) Known() bool { return slices.Contains(codes, c) }

// Error is the error of a response: a code a program branches on and one line for a person. (wire-v2 2)
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"` // AppendResponse makes it one line of at most MaxErrorMessageBytes
}

// Errorf returns an *Error whose message is one line.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{code, OneLine(fmt.Sprintf(format, args...), MaxErrorMessageBytes)}
}

// Error returns "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
