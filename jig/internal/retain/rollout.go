package retain

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/sessionstore"
)

// Version is the one version of Codex whose rollouts are kept.
const Version = "0.154.0"

// workFolder is the client's working folder in its scope.
const workFolder = "/work"

// Check says whether content, found at path, is a whole and plain history of the
// session nativeID. Every refusal is [ErrUnsupported].
func Check(path string, content []byte, nativeID string) error {
	if !sessionstore.ValidPath(path, nativeID) {
		return unsupported(-1, "its path is not that of the session")
	}
	switch {
	case len(content) < 1 || len(content) > MaxBytes:
		return unsupported(-1, "it has 1 to 8,388,608 bytes")
	case content[len(content)-1] != '\n':
		return unsupported(-1, "its last line has no end")
	case bytes.Count(content, []byte{'\n'}) > MaxLines:
		return unsupported(-1, "it has more than 16,384 lines")
	}
	h := history{id: nativeID}
	for i := 0; len(content) > 0; i++ {
		end := bytes.IndexByte(content, '\n')
		if why := h.line(i, content[:end]); why != "" {
			return unsupported(i, why)
		}
		content = content[end+1:]
	}
	switch {
	case h.active != "":
		return unsupported(-1, "a turn has no end")
	case !h.ended:
		return unsupported(-1, "the end of a turn is not its last record")
	}
	return nil
}

func unsupported(line int, why string) error {
	if line < 0 {
		return fmt.Errorf("%w: %s", ErrUnsupported, why)
	}
	return fmt.Errorf("%w: record %d: %s", ErrUnsupported, line, why)
}

// history is how far a rollout has been read. Its methods return why not, or
// nothing.
type history struct {
	id     string
	active string // the turn under way
	ended  bool   // the last record completed a turn
}

type recordLine struct {
	Timestamp *string        `json:"timestamp"`
	Ordinal   *float64       `json:"ordinal"`
	Type      *string        `json:"type"`
	Payload   jsontext.Value `json:"payload"`
}

func (h *history) line(i int, raw []byte) string {
	var r recordLine
	// A carriage return could only be white space, which Codex never writes: the
	// file has passed through something that rewrites lines.
	if bytes.IndexByte(raw, '\r') >= 0 || json0.Decode(raw, &r) != nil {
		return "it is not a record in JSON/0"
	}
	switch {
	case r.Timestamp == nil || r.Ordinal == nil || r.Type == nil || r.Payload.Kind() != '{':
		return "it has a timestamp, an ordinal, a type and a payload"
	case *r.Ordinal != float64(i):
		return "its ordinal is not its place"
	case (*r.Type == "session_meta") != (i == 0):
		return "the session's meta record is the first, and only that"
	}
	h.ended = false
	switch *r.Type {
	case "session_meta":
		return h.meta(r.Payload)
	case "event_msg":
		return h.event(r.Payload)
	case "response_item":
		return item(r.Payload)
	case "turn_context":
		return h.context(r.Payload)
	case "world_state", "token_usage_record":
		return ""
	}
	return "it is of another type"
}

// members reads those members of an object that v names and leaves the others
// alone. The object has passed JSON/0.
func members(raw jsontext.Value, v any) bool { return json.Unmarshal(raw, v) == nil }

// closed reads an object that has no other members than v.
func closed(raw jsontext.Value, v any) bool {
	return json.Unmarshal(raw, v, json.RejectUnknownMembers(true)) == nil
}

func is(s *string, want string) bool { return s != nil && *s == want }

func (h *history) meta(raw jsontext.Value) string {
	var m struct {
		SessionID        *string        `json:"session_id"`
		ID               *string        `json:"id"`
		Timestamp        jsontext.Value `json:"timestamp"`
		Cwd              *string        `json:"cwd"`
		Originator       jsontext.Value `json:"originator"`
		CLIVersion       *string        `json:"cli_version"`
		Source           jsontext.Value `json:"source"`
		ModelProvider    jsontext.Value `json:"model_provider"`
		BaseInstructions jsontext.Value `json:"base_instructions"`
		HistoryMode      jsontext.Value `json:"history_mode"`
		ContextWindow    jsontext.Value `json:"context_window"`
	}
	switch {
	case !closed(raw, &m):
		return "the meta record has a member that it may not have"
	case !is(m.CLIVersion, Version):
		return "it was written by another version"
	case !is(m.ID, h.id) || !is(m.SessionID, h.id):
		return "it belongs to another session"
	case !is(m.Cwd, workFolder):
		return "it was written in another folder"
	}
	return ""
}

func (h *history) event(raw jsontext.Value) string {
	var e struct {
		Type     *string        `json:"type"`
		TurnID   *string        `json:"turn_id"`
		ThreadID *string        `json:"thread_id"`
		Error    jsontext.Value `json:"error"`
		Item     jsontext.Value `json:"item"`
	}
	if !members(raw, &e) || e.Type == nil {
		return "the event cannot be read"
	}
	switch *e.Type {
	case "token_count", "thread_settings_applied", "agent_reasoning", "agent_reasoning_raw_content", "agent_message", "user_message":
		return ""
	case "task_started":
		if h.active != "" || e.TurnID == nil || *e.TurnID == "" {
			return "a turn begins inside another one, or without a name"
		}
		h.active = *e.TurnID
		return ""
	case "task_complete":
		switch {
		case h.active == "" || !is(e.TurnID, h.active):
			return "a turn ends that is not under way"
		case e.Error != nil && e.Error.Kind() != 'n':
			return "a turn failed"
		}
		h.active, h.ended = "", true
		return ""
	case "item_completed":
		var item struct {
			Type *string `json:"type"`
		}
		switch {
		case h.active == "" || !is(e.TurnID, h.active) || !is(e.ThreadID, h.id):
			return "an item belongs to no turn of this session that is under way"
		case !members(e.Item, &item) || item.Type == nil || !slices.Contains([]string{"UserMessage", "AgentMessage", "Reasoning"}, *item.Type):
			return "an item is neither a message nor reasoning"
		}
		return ""
	}
	return "the event is of another type"
}

func item(raw jsontext.Value) string {
	var r struct {
		Type    *string          `json:"type"`
		Role    *string          `json:"role"`
		Content []jsontext.Value `json:"content"`
	}
	var kind struct {
		Type *string `json:"type"`
	}
	if !members(raw, &kind) || kind.Type == nil {
		return "the item cannot be read"
	}
	switch *kind.Type {
	case "reasoning":
		return ""
	case "message":
	default:
		return "the item is neither a message nor reasoning"
	}
	if !members(raw, &r) || r.Role == nil || r.Content == nil || !slices.Contains([]string{"system", "developer", "user", "assistant"}, *r.Role) {
		return "the message has no role or content that it may have"
	}
	for _, part := range r.Content {
		var p struct {
			Type *string `json:"type"`
		}
		if part.Kind() != '{' || !members(part, &p) || !is(p.Type, "input_text") && !is(p.Type, "output_text") {
			return "a part of the message is no text"
		}
	}
	return ""
}

func (h *history) context(raw jsontext.Value) string {
	var c struct {
		TurnID   *string        `json:"turn_id"`
		Cwd      *string        `json:"cwd"`
		Approval *string        `json:"approval_policy"`
		Sandbox  jsontext.Value `json:"sandbox_policy"`
	}
	switch {
	case !members(raw, &c):
		return "the turn's context cannot be read"
	case h.active == "" || !is(c.TurnID, h.active):
		return "a context belongs to no turn that is under way"
	case !is(c.Cwd, workFolder):
		return "a turn ran in another folder"
	case !is(c.Approval, "never") && !is(c.Approval, "on-request"):
		return "a turn had another approval policy"
	case !confined(c.Sandbox):
		return "a turn had another sandbox"
	}
	return ""
}

// confined says whether a sandbox policy is one of the two that give no power.
func confined(raw jsontext.Value) bool {
	var p struct {
		Type     *string           `json:"type"`
		Network  *bool             `json:"network_access"`
		NoTmpdir *bool             `json:"exclude_tmpdir_env_var"`
		NoTmp    *bool             `json:"exclude_slash_tmp"`
		Roots    *[]jsontext.Value `json:"writable_roots"`
	}
	var only struct {
		Type *string `json:"type"`
	}
	if raw.Kind() != '{' {
		return false
	}
	if closed(raw, &only) {
		return is(only.Type, "read-only")
	}
	off := func(b *bool) bool { return b != nil && !*b }
	// A null would read as an absent list: roots that are there are a list.
	return closed(raw, &p) && is(p.Type, "workspace-write") && off(p.Network) && off(p.NoTmpdir) && off(p.NoTmp) &&
		(p.Roots == nil && !present(raw, "writable_roots") || p.Roots != nil && len(*p.Roots) == 0)
}

func present(raw jsontext.Value, name string) bool {
	var all map[string]jsontext.Value
	return members(raw, &all) && all[name] != nil
}
