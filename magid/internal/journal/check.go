package journal

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Limits of single members. (wire-v2 4, 6; seed: Callback bounds)
const (
	// MaxArgumentsTextBytes bounds arguments_text of a tool_call record.
	MaxArgumentsTextBytes = 1024

	maxWorkspaceBytes      = 4096
	maxTitleBytes          = 256
	maxPromptBytes         = 24576
	maxTextBytes           = 20000
	maxProviderCallIDBytes = 128
	maxFailureBytes        = 512
	maxReplyCalls          = 64 // tool-call indexes are 0 to 63
	minTimeoutMS           = 1000
	maxTimeoutMS           = 600000
)

// check says what in a record alone is not as wire-v2 6 wants it. The texts name members and rules, never content: they
// become messages of session_locked.
func check(rec wirev2.Record) error {
	switch r := rec.(type) {
	case *wirev2.SessionRecord:
		return checkSession(r)
	case *wirev2.UserRecord:
		return checkUser(r)
	case *wirev2.ToolContractRecord:
		return checkContract(r)
	case *wirev2.AssistantRecord:
		return checkAssistant(r)
	case *wirev2.ToolCallRecord:
		return checkCall(r)
	case *wirev2.ToolResultRecord:
		return checkResult(r)
	case *wirev2.TerminalRecord:
		return checkTerminal(r)
	}
	return errors.New("unknown type")
}

var errID = errors.New("an id is no canonical UUID")

func checkSession(r *wirev2.SessionRecord) error {
	switch {
	case !r.SessionID.Valid():
		return errID
	case !filepath.IsAbs(r.Workspace) || strings.ContainsRune(r.Workspace, 0):
		return errors.New("workspace is no absolute path")
	case len(r.Workspace) > maxWorkspaceBytes:
		return errors.New("workspace is longer than 4096 bytes")
	case r.Title != nil && len(*r.Title) > maxTitleBytes:
		return errors.New("title is longer than 256 bytes")
	}
	return nil
}

func checkUser(r *wirev2.UserRecord) error {
	switch {
	case !r.TurnID.Valid() || !r.OperationID.Valid():
		return errID
	case r.Prompt == "" || strings.ContainsRune(r.Prompt, 0):
		return errors.New("prompt is empty or holds a NUL")
	case len(r.Prompt) > maxPromptBytes:
		return errors.New("prompt is longer than 24576 bytes")
	case !r.ApplicationManifest.Present:
		return errors.New("application_manifest is missing")
	}
	return nil
}

func checkContract(r *wirev2.ToolContractRecord) error {
	switch {
	case !r.TurnID.Valid() || !r.ResourceID.Valid() || !r.RevisionID.Valid():
		return errID
	case !isSHA256(r.RevisionSHA256):
		return errors.New("revision_sha256 is no SHA-256 in lower-case hex")
	case r.Name == "":
		return errors.New("name is empty")
	case !isObject(r.InputSchema) || !isObject(r.OutputSchema):
		return errors.New("a schema is no object")
	case r.TimeoutMS < minTimeoutMS || r.TimeoutMS > maxTimeoutMS:
		return errors.New("timeout_ms is not from 1000 to 600000")
	}
	return nil
}

func checkAssistant(r *wirev2.AssistantRecord) error {
	switch {
	case !r.TurnID.Valid():
		return errID
	case len(r.Text) > maxTextBytes:
		return errors.New("text is longer than 20000 bytes")
	case len(r.ToolCalls) > maxReplyCalls:
		return errors.New("tool_calls names more than 64 calls")
	}
	for _, id := range r.ToolCalls {
		if !id.Valid() {
			return errID
		}
	}
	return nil
}

func checkCall(r *wirev2.ToolCallRecord) error {
	switch {
	case !r.TurnID.Valid() || !r.CallID.Valid():
		return errID
	case r.ProviderCallID == "" || len(r.ProviderCallID) > maxProviderCallIDBytes:
		return errors.New("provider_call_id is not 1 to 128 bytes long")
	case r.Name == "":
		return errors.New("name is empty")
	case !isNull(r.Arguments) && !isObject(r.Arguments):
		return errors.New("arguments is neither an object nor null")
	case r.ArgumentsText != nil && !isNull(r.Arguments):
		return errors.New("arguments_text stands beside valid arguments")
	case r.ArgumentsText != nil && len(*r.ArgumentsText) > MaxArgumentsTextBytes:
		return errors.New("arguments_text is longer than 1024 bytes")
	case (r.ResourceID == nil) != (r.RevisionID == nil) || (r.ResourceID == nil) != (r.RevisionSHA256 == nil):
		return errors.New("resource_id, revision_id and revision_sha256 are not null together")
	case r.ResourceID != nil && (!r.ResourceID.Valid() || !r.RevisionID.Valid()):
		return errID
	case r.RevisionSHA256 != nil && !isSHA256(*r.RevisionSHA256):
		return errors.New("revision_sha256 is no SHA-256 in lower-case hex")
	}
	return nil
}

func checkResult(r *wirev2.ToolResultRecord) error {
	if !r.TurnID.Valid() || !r.CallID.Valid() {
		return errID
	}
	switch r.Status {
	case wirev2.OutcomeSuccess:
		if r.Value == nil || r.Code != nil || r.Message != nil {
			return errors.New("a success has a value and neither code nor message")
		}
		if r.Synthetic {
			return errors.New("a success is never synthetic")
		}
	case wirev2.OutcomeError:
		if r.Value != nil || r.Code == nil || *r.Code == "" || r.Message == nil {
			return errors.New("an error has a code and a message and no value")
		}
	default:
		return errors.New("status is neither success nor error")
	}
	switch r.ExternalEffects {
	case wirev2.EffectsNotDispatched, wirev2.EffectsUncertain:
	case wirev2.EffectsReported:
		if r.Synthetic {
			return errors.New("a synthetic result reports no effects")
		}
	default:
		return errors.New("external_effects is not not_dispatched, uncertain or reported")
	}
	return nil
}

func checkTerminal(r *wirev2.TerminalRecord) error {
	switch {
	case !r.TurnID.Valid() || !r.OperationID.Valid():
		return errID
	case r.Status != wirev2.TerminalCompleted && r.Status != wirev2.TerminalFailed && r.Status != wirev2.TerminalCancelled:
		return errors.New("status is not completed, failed or cancelled")
	case r.Status == wirev2.TerminalCompleted && r.Error != nil:
		return errors.New("a completed turn has an error")
	case r.Status == wirev2.TerminalFailed && r.Error == nil:
		return errors.New("a failed turn has no error")
	case len(r.Text) > maxTextBytes:
		return errors.New("text is longer than 20000 bytes")
	case r.Error != nil && !terminalCode(r.Error.Code):
		return errors.New("error.code is no terminal error code")
	case r.Error != nil && (len(r.Error.Message) > maxFailureBytes || strings.ContainsAny(r.Error.Message, "\r\n")):
		return errors.New("error.message is not one line of at most 512 bytes")
	case r.Usage != nil && (r.Usage.InputTokens < 0 || r.Usage.OutputTokens < 0):
		return errors.New("usage is negative")
	}
	return nil
}

// The closed list of terminal error codes. (wire-v2 4: Events)
func terminalCode(code wirev2.TurnCode) bool {
	switch code {
	case wirev2.TurnProviderUnavailable, wirev2.TurnProviderError, wirev2.TurnToolFailed,
		wirev2.TurnLimitExceeded, wirev2.TurnJournalFailed, wirev2.TurnInternal:
		return true
	}
	return false
}

func isObject(v jsontext.Value) bool { return v.Kind() == '{' }

func isNull(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

func isSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
