package appresources

import (
	"errors"
	"fmt"
)

// Code says what kind of refusal an [Error] is. The values are error codes of
// the wire (wire-v2 5).
type Code string

// The codes of this package's refusals.
const (
	CodeConflict         Code = "conflict"           // a revision, name or kind is not what the caller believes
	CodeResourceNotFound Code = "resource_not_found" // no resource has this ID
	CodeLimitExceeded    Code = "limit_exceeded"     // a budget; the error names which
	CodeInvalidPayload   Code = "invalid_payload"    // a name, description, source or authorization is malformed
	CodeBusy             Code = "configuration_busy" // the capture slot is occupied
)

// Budget names a limit that refused. It prints as a person reads it.
type Budget string

// The budgets.
const (
	BudgetTools            Budget = "tools per session"
	BudgetSkills           Budget = "skills per session"
	BudgetRegistryBytes    Budget = "registry bytes"
	BudgetSkillText        Budget = "combined skill text bytes"
	BudgetToolSource       Budget = "tool source bytes"
	BudgetSkillSource      Budget = "skill source bytes"
	BudgetSnapshots        Budget = "retained snapshots"
	BudgetEntries          Budget = "retained resource entries"
	BudgetRetainedBytes    Budget = "retained bytes"
	BudgetRegistrySessions Budget = "registry sessions"
	BudgetManifest         Budget = "application manifest bytes"
)

// Error is a refusal. Nothing was changed by the call that returned it.
type Error struct {
	Code    Code
	Budget  Budget // what is exceeded; empty unless Code is CodeLimitExceeded
	Message string // one line for a person; no body, value, path or secret
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// CodeOf returns the code of the [Error] or [ValueError] in err's chain, and
// the empty code where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var v *ValueError
	if errors.As(err, &v) {
		return CodeInvalidPayload
	}
	return ""
}

// ErrUnclaimed is returned where a registry is used whose session has no
// controller: the caller missed a check, no application can cause it.
var ErrUnclaimed = errors.New("appresources: the session is not claimed")

func conflict(text string) *Error { return &Error{Code: CodeConflict, Message: text} }

func invalid(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidPayload, Message: fmt.Sprintf(format, args...)}
}

func exceeded(b Budget, limit int) *Error {
	return &Error{Code: CodeLimitExceeded, Budget: b, Message: fmt.Sprintf("limit exceeded: %s (at most %d)", b, limit)}
}
