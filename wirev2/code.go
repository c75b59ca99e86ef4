package wirev2

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

// Error is the error of a response: a code a program branches on and one line for a person. (wire-v2 2)
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error returns "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
