package wirev2

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Timestamp is RFC 3339 in UTC with milliseconds: 2026-01-02T03:04:05.678Z. (wire-v2 6)
type Timestamp string

const timestampLayout = "2006-01-02T15:04:05.000Z"

// NewTimestamp returns t to the millisecond, rounded down.
func NewTimestamp(t time.Time) Timestamp { return Timestamp(t.UTC().Format(timestampLayout)) }

// Time returns the moment, or an error when the form is another.
func (t Timestamp) Time() (time.Time, error) { return time.Parse(timestampLayout, string(t)) }

// RecordType is the type of a journal record.
type RecordType string

// The types of journal records. (wire-v2 6)
const (
	RecordSession      RecordType = "session"
	RecordUser         RecordType = "user"
	RecordToolContract RecordType = "tool_contract"
	RecordAssistant    RecordType = "assistant"
	RecordToolCall     RecordType = "tool_call"
	RecordToolResult   RecordType = "tool_result"
	RecordTerminal     RecordType = "terminal"
)

// RecordHead is what every journal record begins with.
type RecordHead struct {
	N    int64      `json:"n"` // 1, 2, 3 …
	At   Timestamp  `json:"at"`
	Type RecordType `json:"type"`
}

// Head returns the head, to read or to fill in.
func (h *RecordHead) Head() *RecordHead { return h }

// Record is one of the seven journal records of section 6, by pointer.
type Record interface {
	Head() *RecordHead
	// RecordType returns the type that Head().Type must have.
	RecordType() RecordType
}

// SessionRecord opens a journal.
type SessionRecord struct {
	RecordHead
	SessionID ID      `json:"session_id"`
	Workspace string  `json:"workspace"`
	Title     *string `json:"title"`
}

// UserRecord is an accepted turn.
type UserRecord struct {
	RecordHead
	TurnID      ID     `json:"turn_id"`
	OperationID ID     `json:"operation_id"`
	Prompt      string `json:"prompt"`
	// ApplicationManifest is present in the journal (null without application) and absent in session.history of an
	// ordinary connection.
	ApplicationManifest ManifestMember `json:"application_manifest,omitzero"`
}

// ToolContractRecord is the contract of an application tool, before the first call that needs it.
type ToolContractRecord struct {
	RecordHead
	TurnID         ID             `json:"turn_id"`
	ResourceID     ID             `json:"resource_id"`
	RevisionID     ID             `json:"revision_id"`
	RevisionSHA256 string         `json:"revision_sha256"`
	Name           string         `json:"name"`
	Description    string         `json:"description"`
	InputSchema    jsontext.Value `json:"input_schema"`
	OutputSchema   jsontext.Value `json:"output_schema"`
	TimeoutMS      int64          `json:"timeout_ms"`
}

// AssistantRecord is one provider reply, before its calls.
type AssistantRecord struct {
	RecordHead
	TurnID    ID     `json:"turn_id"`
	Text      string `json:"text"`
	ToolCalls []ID   `json:"tool_calls"`
}

// ToolCallRecord is a call the model asked for.
type ToolCallRecord struct {
	RecordHead
	TurnID         ID             `json:"turn_id"`
	CallID         ID             `json:"call_id"`
	ProviderCallID string         `json:"provider_call_id"`
	Minted         bool           `json:"minted"` // the daemon made up the provider's id
	Name           string         `json:"name"`
	Arguments      jsontext.Value `json:"arguments"`               // an object; null for invalid ones
	ArgumentsText  *string        `json:"arguments_text,omitzero"` // only for invalid ones, at most 1 KiB
	ResourceID     *ID            `json:"resource_id"`             // these three are nil for a built-in tool
	RevisionID     *ID            `json:"revision_id"`
	RevisionSHA256 *string        `json:"revision_sha256"`
}

// ToolResultRecord is the end of a call.
type ToolResultRecord struct {
	RecordHead
	TurnID          ID             `json:"turn_id"`
	CallID          ID             `json:"call_id"`
	Status          OutcomeStatus  `json:"status"`
	Value           jsontext.Value `json:"value,omitzero"`
	Code            *ToolCode      `json:"code,omitzero"`
	Message         *string        `json:"message,omitzero"`
	Synthetic       bool           `json:"synthetic"` // the daemon wrote it, no tool did
	ExternalEffects Effects        `json:"external_effects"`
}

// TerminalRecord is a Terminal without manifest.
type TerminalRecord struct {
	RecordHead
	TurnID      ID             `json:"turn_id"`
	OperationID ID             `json:"operation_id"`
	Status      TerminalStatus `json:"status"`
	Text        string         `json:"text"`
	Error       *TurnError     `json:"error"`
	Usage       *Usage         `json:"usage"`
}

// RecordType returns RecordSession.
func (*SessionRecord) RecordType() RecordType { return RecordSession }

// RecordType returns RecordUser.
func (*UserRecord) RecordType() RecordType { return RecordUser }

// RecordType returns RecordToolContract.
func (*ToolContractRecord) RecordType() RecordType { return RecordToolContract }

// RecordType returns RecordAssistant.
func (*AssistantRecord) RecordType() RecordType { return RecordAssistant }

// RecordType returns RecordToolCall.
func (*ToolCallRecord) RecordType() RecordType { return RecordToolCall }

// RecordType returns RecordToolResult.
func (*ToolResultRecord) RecordType() RecordType { return RecordToolResult }

// RecordType returns RecordTerminal.
func (*TerminalRecord) RecordType() RecordType { return RecordTerminal }

// DecodeRecord decodes one journal record strictly, as DecodePayload does.
func DecodeRecord(raw jsontext.Value) (Record, error) {
	kind, ok := recordType(raw)
	if !ok {
		return nil, errors.New("wirev2: a journal record of no known type")
	}
	r := kind.New()
	if why, err := decode(raw, r, recordDepth); err != nil {
		return nil, err
	} else if why != "" {
		return nil, fmt.Errorf("wirev2: a journal record of type %s %s", kind, why)
	}
	if h := r.Head(); h.N < 1 {
		return nil, errors.New("wirev2: a journal record with n below 1")
	} else if _, err := h.At.Time(); err != nil {
		return nil, errors.New("wirev2: a journal record whose at is no UTC time with milliseconds")
	}
	return r, nil
}

// recordType returns the type that raw, which may be anything, has as a journal record.
func recordType(raw []byte) (RecordType, bool) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	if s.scan(raw, recordDepth, defaultMaxDepth) {
		for _, m := range s.members {
			if string(m.name) == "type" {
				name, ok := text(m.value)
				return RecordType(name), ok && RecordType(name).New() != nil
			}
		}
	}
	return "", false
}

// New returns an empty record of that type with its type filled in, or nil when there is no such type.
func (t RecordType) New() Record {
	head := RecordHead{Type: t}
	switch t {
	case RecordSession:
		return &SessionRecord{RecordHead: head}
	case RecordUser:
		return &UserRecord{RecordHead: head}
	case RecordToolContract:
		return &ToolContractRecord{RecordHead: head}
	case RecordAssistant:
		return &AssistantRecord{RecordHead: head}
	case RecordToolCall:
		return &ToolCallRecord{RecordHead: head}
	case RecordToolResult:
		return &ToolResultRecord{RecordHead: head}
	case RecordTerminal:
		return &TerminalRecord{RecordHead: head}
	}
	return nil
}

// EncodeRecord encodes one journal record as the daemon writes it, without LF. A value in it may be nested as deep as a
// session.history reply can carry: 28 levels.
func EncodeRecord(r Record) (jsontext.Value, error) { return AppendRecord(nil, r) }

// AppendRecord appends what EncodeRecord returns.
func AppendRecord(dst []byte, r Record) ([]byte, error) {
	if h := r.Head(); h.Type != r.RecordType() {
		return dst, fmt.Errorf("wirev2: a %s record that says it is of type %q", r.RecordType(), h.Type)
	}
	return encode(dst, r, recordDepth)
}
