package journal

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Type names a record. (wire-v2 6)
type Type string

// The record types of a journal.
const (
	TypeSession      Type = "session"
	TypeUser         Type = "user"
	TypeToolContract Type = "tool_contract"
	TypeAssistant    Type = "assistant"
	TypeToolCall     Type = "tool_call"
	TypeToolResult   Type = "tool_result"
	TypeTerminal     Type = "terminal"
)

// Record is one of the record structs of this package, by value.
type Record interface {
	// Type names the record.
	Type() Type
	// check reports what in the record alone is not as wire-v2 6 wants it.
	check() error
}

// Entry is a record with its place in the journal.
type Entry struct {
	N      int64     // 1, 2, 3 … without a gap
	At     time.Time // UTC, milliseconds
	Record Record
}

// SessionRecord is the first record of every journal. (wire-v2 6)
type SessionRecord struct {
	SessionID wirev2.ID `json:"session_id"`
	Workspace string    `json:"workspace"` // as sent
	Title     *string   `json:"title"`     // nil is null
}

// UserRecord opens a turn. (wire-v2 6)
type UserRecord struct {
	TurnID              wirev2.ID      `json:"turn_id"`
	OperationID         wirev2.ID      `json:"operation_id"`
	Prompt              string         `json:"prompt"`
	ApplicationManifest jsontext.Value `json:"application_manifest"` // nil is null: a turn without application
}

// ToolContractRecord is an application tool as a turn accepted it; it stands before the first call that needs it.
// (wire-v2 6)
type ToolContractRecord struct {
	TurnID         wirev2.ID      `json:"turn_id"`
	ResourceID     wirev2.ID      `json:"resource_id"`
	RevisionID     wirev2.ID      `json:"revision_id"`
	RevisionSHA256 string         `json:"revision_sha256"`
	Name           string         `json:"name"`
	Description    string         `json:"description"`
	InputSchema    jsontext.Value `json:"input_schema"`
	OutputSchema   jsontext.Value `json:"output_schema"`
	TimeoutMS      int            `json:"timeout_ms"`
}

// AssistantRecord is one provider reply; it stands before that reply's calls. Text is the reply's own, without the
// "\n\n" that joins it to an earlier one. (wire-v2 6)
type AssistantRecord struct {
	TurnID    wirev2.ID   `json:"turn_id"`
	Text      string      `json:"text"`
	ToolCalls []wirev2.ID `json:"tool_calls"` // in the model's order; nil encodes as []
}

// ToolCallRecord binds one call of the last reply. The three resource members are nil together: a built-in tool.
// (wire-v2 6)
type ToolCallRecord struct {
	TurnID         wirev2.ID      `json:"turn_id"`
	CallID         wirev2.ID      `json:"call_id"`
	ProviderCallID string         `json:"provider_call_id"`
	Minted         bool           `json:"minted"` // the provider gave no id
	Name           string         `json:"name"`
	Arguments      jsontext.Value `json:"arguments"`               // a JSON object; nil is null: they were invalid
	ArgumentsText  *string        `json:"arguments_text,omitzero"` // only for invalid arguments, at most MaxArgumentsTextBytes
	ResourceID     *wirev2.ID     `json:"resource_id"`
	RevisionID     *wirev2.ID     `json:"revision_id"`
	RevisionSHA256 *string        `json:"revision_sha256"`
}

// Status says how a call or a turn ended.
type Status string

// A tool result is a success or an error; a terminal is completed, failed or cancelled.
const (
	StatusSuccess   Status = "success"
	StatusError     Status = "error"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Effects says what is known of a call's effects outside the daemon. (seed: Reconnect evidence)
type Effects string

// What a call may have done.
const (
	EffectsNotDispatched Effects = "not_dispatched"
	EffectsUncertain     Effects = "uncertain"
	EffectsReported      Effects = "reported"
)

// ToolResultRecord settles a call. A success has a Value and neither Code nor Message; an error has a Code and no
// Value. Synthetic says that the daemon made the result itself. (wire-v2 6)
type ToolResultRecord struct {
	TurnID          wirev2.ID      `json:"turn_id"`
	CallID          wirev2.ID      `json:"call_id"`
	Status          Status         `json:"status"`
	Value           jsontext.Value `json:"value,omitzero"`
	Code            string         `json:"code,omitzero"`
	Message         string         `json:"message,omitzero"`
	Synthetic       bool           `json:"synthetic"`
	ExternalEffects Effects        `json:"external_effects"`
}

// TerminalRecord closes a turn: a Terminal without its manifest. (wire-v2 4: Snapshot, 6)
type TerminalRecord struct {
	TurnID      wirev2.ID `json:"turn_id"`
	OperationID wirev2.ID `json:"operation_id"`
	Status      Status    `json:"status"`
	Text        string    `json:"text"`
	Error       *Failure  `json:"error"`
	Usage       *Usage    `json:"usage"`
}

// Failure says why a turn failed. Code is one of the terminal error codes of wire-v2 4.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"` // one line, at most 512 bytes
}

// Usage is the sum over a turn's provider replies.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Type implements Record.
func (SessionRecord) Type() Type      { return TypeSession }
func (UserRecord) Type() Type         { return TypeUser }         //nolint
func (ToolContractRecord) Type() Type { return TypeToolContract } //nolint
func (AssistantRecord) Type() Type    { return TypeAssistant }    //nolint
func (ToolCallRecord) Type() Type     { return TypeToolCall }     //nolint
func (ToolResultRecord) Type() Type   { return TypeToolResult }   //nolint
func (TerminalRecord) Type() Type     { return TypeTerminal }     //nolint

func (SessionRecord) check() error      { return nil }
func (UserRecord) check() error         { return nil }
func (ToolContractRecord) check() error { return nil }
func (AssistantRecord) check() error    { return nil }
func (ToolCallRecord) check() error     { return nil }
func (ToolResultRecord) check() error   { return nil }
func (TerminalRecord) check() error     { return nil }
