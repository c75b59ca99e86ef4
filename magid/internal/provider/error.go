package provider

// Code is a terminal error code that a provider can cause (wire-v2 4: Turns).
type Code string

// The codes of an [Error].
const (
	// CodeUnavailable: connection failed, no header or first event in time, 429
	// or 5xx after the retries.
	CodeUnavailable Code = "provider_unavailable"
	// CodeFailed: everything else the provider does wrong or refuses.
	CodeFailed Code = "provider_error"
	// CodeLimitExceeded: the model stopped at its output limit; the text stands.
	CodeLimitExceeded Code = "limit_exceeded"
)

// MaxMessageBytes bounds Error.Message; a terminal's error message is at most
// 512 bytes (wire-v2 4: Snapshot).
const MaxMessageBytes = 512

// Error is a provider's failure.
type Error struct {
	Code Code
	// Message is one line for a person: valid UTF-8, no control character, no
	// key, at most MaxMessageBytes.
	Message string

	cause error
}

// NewError makes an Error. message must already be fit for a person; it is cut
// at MaxMessageBytes. cause is optional, is reached by errors.Is and errors.As,
// and is never printed.
func NewError(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: cut(message, MaxMessageBytes), cause: cause}
}

// Error gives the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause, nil where there is none.
func (e *Error) Unwrap() error { return e.cause }
