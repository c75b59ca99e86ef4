package wirev2

import "github.com/go-json-experiment/json/jsontext"

// ManifestMember is the member application_manifest where it may be absent: absent on an ordinary connection, null or a
// manifest on a selected one. The zero value is absent.
type ManifestMember struct {
	Present  bool
	Manifest *Manifest // nil is null where Present
}

// TurnState is the state of an active turn.
type TurnState string

// The states of an active turn.
const (
	TurnPreparing TurnState = "preparing"
	TurnRunning   TurnState = "running"
	TurnStopping  TurnState = "stopping"
)

// Turn is an active turn in a snapshot.
type Turn struct {
	TurnID              ID             `json:"turn_id"`
	OperationID         ID             `json:"operation_id"`
	State               TurnState      `json:"state"`
	Text                string         `json:"text"`
	ApplicationManifest ManifestMember `json:"application_manifest,omitzero"`
}

// TerminalStatus is how a turn ended.
type TerminalStatus string

// How a turn ends.
const (
	TerminalCompleted TerminalStatus = "completed"
	TerminalFailed    TerminalStatus = "failed"
	TerminalCancelled TerminalStatus = "cancelled"
)

// TurnCode is one of the closed list of codes in a Terminal's error.
type TurnCode string

// The error codes of a Terminal. (wire-v2 4: Turns)
const (
	TurnProviderUnavailable TurnCode = "provider_unavailable"
	TurnProviderError       TurnCode = "provider_error"
	TurnToolFailed          TurnCode = "tool_failed"
	TurnLimitExceeded       TurnCode = "limit_exceeded"
	TurnJournalFailed       TurnCode = "journal_failed"
	TurnInternal            TurnCode = "internal"
)

// TurnError is the error of a Terminal.
type TurnError struct {
	Code    TurnCode `json:"code"`
	Message string   `json:"message"` // at most 512 bytes
}

// Error returns "code: message".
func (e *TurnError) Error() string { return string(e.Code) + ": " + e.Message }

// Usage is what the provider charged, summed over its replies.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Terminal is the end of a turn; also the payload of turn.terminal.
type Terminal struct {
	TurnID              ID             `json:"turn_id"`
	OperationID         ID             `json:"operation_id"`
	Status              TerminalStatus `json:"status"`
	Text                string         `json:"text"`
	Error               *TurnError     `json:"error"`
	Usage               *Usage         `json:"usage"`
	ApplicationManifest ManifestMember `json:"application_manifest,omitzero"`
}

// TurnStartRequest is the payload of turn.start.
type TurnStartRequest struct {
	Prompt      string       `json:"prompt"`
	Application *Application `json:"application,omitzero"` // optional
}

// TurnStartReply is the reply to turn.start.
type TurnStartReply struct {
	TurnID              ID             `json:"turn_id"`
	ApplicationManifest ManifestMember `json:"application_manifest,omitzero"`
}

// TurnStartResult is the result of operation.lookup for a finished turn.start.
type TurnStartResult struct {
	TurnID              ID             `json:"turn_id"`
	Terminal            Terminal       `json:"terminal"` // without its own manifest
	ApplicationManifest ManifestMember `json:"application_manifest,omitzero"`
}

// StopStatus is what turn.stop found.
type StopStatus string

// The answers of turn.stop.
const (
	StopStopping StopStatus = "stopping"
	StopTerminal StopStatus = "terminal"
)

// TurnStopRequest is the payload of turn.stop.
type TurnStopRequest struct {
	TurnID ID `json:"turn_id"`
}

// TurnStopReply is the reply to turn.stop.
type TurnStopReply struct {
	TurnID ID         `json:"turn_id"`
	Status StopStatus `json:"status"`
}

// TurnStartedEvent is the payload of turn.started.
type TurnStartedEvent struct {
	TurnID       ID    `json:"turn_id"`
	OmittedTurns int64 `json:"omitted_turns"`
}

// TurnTextEvent is the payload of turn.text.
type TurnTextEvent struct {
	TurnID ID     `json:"turn_id"`
	Text   string `json:"text"`
}

// ToolPhase is how far a tool call has come.
type ToolPhase string

// The phases of a tool call.
const (
	ToolStarted   ToolPhase = "started"
	ToolSucceeded ToolPhase = "succeeded"
	ToolFailed    ToolPhase = "failed" // alone for a call that never ran
)

// TurnToolEvent is the payload of turn.tool.
type TurnToolEvent struct {
	TurnID ID        `json:"turn_id"`
	CallID ID        `json:"call_id"`
	Name   string    `json:"name"`
	Phase  ToolPhase `json:"phase"`
}

// TurnTerminalEvent is the payload of turn.terminal.
type TurnTerminalEvent = Terminal

// Application selects the snapshot of a turn. All members are required; the executor's are null for a snapshot
// without tools.
type Application struct {
	ExpectedRegistryRevision ID              `json:"expected_registry_revision"`
	ExecutorID               *ID             `json:"executor_id"`
	ExecutorGeneration       *int64          `json:"executor_generation"`
	ToolAuthorizations       []Authorization `json:"tool_authorizations"`
}

// Authorization allows one revision of one tool.
type Authorization struct {
	ResourceID     ID     `json:"resource_id"`
	RevisionID     ID     `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
}

// Manifest is what a turn was accepted with.
type Manifest struct {
	Profile            Capability      `json:"profile"`
	RegistryRevision   ID              `json:"registry_revision"`
	Resources          []Descriptor    `json:"resources"`
	Tools              []ToolManifest  `json:"tools"`
	AcceptedController Attribution     `json:"accepted_controller"`
	AcceptedExecutor   *ExecutorTarget `json:"accepted_executor"` // nil for a turn without tools
}

// ToolManifest is one callback of a manifest.
type ToolManifest struct {
	ResourceID     ID     `json:"resource_id"`
	RevisionID     ID     `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
	Name           string `json:"name"`
	TimeoutMS      int64  `json:"timeout_ms"`
}

// ExecutorTarget is an executor at one generation.
type ExecutorTarget struct {
	ExecutorID         ID    `json:"executor_id"`
	ExecutorGeneration int64 `json:"executor_generation"`
}

// Attribution names the connection action that registered a revision or started a turn.
type Attribution struct {
	InstanceID      ID    `json:"instance_id"`
	ConnectionID    ID    `json:"connection_id"`
	OperationID     ID    `json:"operation_id"`
	GrantGeneration int64 `json:"grant_generation"`
}

// CallStatus is the status of an application call.
type CallStatus string

// The statuses of an application call.
const (
	CallWaitingForExecutor CallStatus = "waiting_for_executor"
	CallPending            CallStatus = "pending"
	CallSucceeded          CallStatus = "succeeded"
	CallFailed             CallStatus = "failed"
	CallCancelled          CallStatus = "cancelled"
)

// Effects is what is known of a call's effects outside the daemon.
type Effects string

// What is known of a call's effects.
const (
	EffectsNotDispatched Effects = "not_dispatched"
	EffectsUncertain     Effects = "uncertain"
	EffectsReported      Effects = "reported"
)

// WaitKind is what an unsettled call waits for.
type WaitKind string

// What an unsettled call waits for.
const (
	WaitAvailability WaitKind = "availability"
	WaitExecution    WaitKind = "execution"
)

// TurnApplicationEvidenceRequest is the payload of turn.application_evidence.
type TurnApplicationEvidenceRequest struct {
	TurnID ID `json:"turn_id"`
}

// TurnApplicationEvidenceReply is the reply to turn.application_evidence. Its payload may take 30,720 bytes.
type TurnApplicationEvidenceReply struct {
	TurnID              ID             `json:"turn_id"`
	ApplicationManifest *Manifest      `json:"application_manifest"`
	Calls               []CallEvidence `json:"calls"`
}

// CallEvidence is one call of a turn, without arguments or result.
type CallEvidence struct {
	CallID             ID         `json:"call_id"`
	ProviderCallID     string     `json:"provider_call_id"`
	Name               string     `json:"name"`
	ExecutorID         ID         `json:"executor_id"`
	ExecutorGeneration int64      `json:"executor_generation"`
	RevisionSHA256     string     `json:"revision_sha256"`
	Status             CallStatus `json:"status"`
	ExternalEffects    Effects    `json:"external_effects"`
	WaitKind           *WaitKind  `json:"wait_kind"`
	RemainingMS        *int64     `json:"remaining_ms"`
	ResourceID         ID         `json:"resource_id"`
	RevisionID         ID         `json:"revision_id"`
}

// OutcomeStatus says whether an executor ran a call with success.
type OutcomeStatus string

// The statuses of an outcome.
const (
	OutcomeSuccess OutcomeStatus = "success"
	OutcomeError   OutcomeStatus = "error"
)

// ToolCode says why a tool call failed.
type ToolCode string

// The codes of failed tool calls: an executor reports the first two, the daemon writes the others.
const (
	ToolExecutionFailed     ToolCode = "execution_failed"
	ToolPermissionDenied    ToolCode = "permission_denied"
	ToolTimeout             ToolCode = "tool_timeout"
	ToolExecutorUnavailable ToolCode = "executor_unavailable"
	ToolCancelled           ToolCode = "cancelled"
	ToolInvalidArguments    ToolCode = "invalid_arguments"
	ToolLimitExceeded       ToolCode = "limit_exceeded"
)

// Outcome is exactly {status:"success",value} or {status:"error",code,message}.
type Outcome struct {
	Status  OutcomeStatus  `json:"status"`
	Value   jsontext.Value `json:"value,omitzero"`
	Code    *ToolCode      `json:"code,omitzero"`
	Message *string        `json:"message,omitzero"` // at most 512 bytes
}

// TurnApplicationToolResultRequest is the payload of turn.application_tool_result.
type TurnApplicationToolResultRequest struct {
	TurnID             ID      `json:"turn_id"`
	CallID             ID      `json:"call_id"`
	ExecutorID         ID      `json:"executor_id"`
	ExecutorGeneration int64   `json:"executor_generation"`
	ResourceID         ID      `json:"resource_id"`
	RevisionID         ID      `json:"revision_id"`
	RevisionSHA256     string  `json:"revision_sha256"`
	Outcome            Outcome `json:"outcome"`
}

// ToolResultAccepted is the one status of an acknowledged result: admitted for persistence, not yet durable.
const ToolResultAccepted = "accepted"

// TurnApplicationToolResultReply is the reply to turn.application_tool_result.
type TurnApplicationToolResultReply struct {
	CallID ID     `json:"call_id"`
	Status string `json:"status"` // ToolResultAccepted
}

// TurnApplicationToolCallEvent is the payload of turn.application_tool_call.
type TurnApplicationToolCallEvent struct {
	TurnID             ID             `json:"turn_id"`
	CallID             ID             `json:"call_id"`
	ProviderCallID     string         `json:"provider_call_id"`
	ExecutorID         ID             `json:"executor_id"`
	ExecutorGeneration int64          `json:"executor_generation"`
	ResourceID         ID             `json:"resource_id"`
	RevisionID         ID             `json:"revision_id"`
	RevisionSHA256     string         `json:"revision_sha256"`
	Name               string         `json:"name"`
	Arguments          jsontext.Value `json:"arguments"` // a JSON object
	TimeoutMS          int64          `json:"timeout_ms"`
}

// CancelReason says why a dispatched call is no longer wanted.
type CancelReason string

// Why a dispatched call is no longer wanted.
const (
	CancelCancelled   CancelReason = "cancelled"
	CancelToolTimeout CancelReason = "tool_timeout"
)

// TurnApplicationToolCancelEvent is the payload of turn.application_tool_cancel. It is advice, not a rollback.
type TurnApplicationToolCancelEvent struct {
	TurnID             ID           `json:"turn_id"`
	CallID             ID           `json:"call_id"`
	ExecutorID         ID           `json:"executor_id"`
	ExecutorGeneration int64        `json:"executor_generation"`
	Reason             CancelReason `json:"reason"`
}
