package wirev2

// Method names a request. (wire-v2 4)
type Method string

// The methods of wire v2; the second block belongs to the profile application_resources_v1.
const (
	MethodInitialize      Method = "initialize"
	MethodCapabilities    Method = "capabilities"
	MethodDaemonStatus    Method = "daemon.status"
	MethodSessionCreate   Method = "session.create"
	MethodSessionList     Method = "session.list"
	MethodSessionClaim    Method = "session.claim"
	MethodSessionRelease  Method = "session.release"
	MethodSessionSnapshot Method = "session.snapshot"
	MethodSessionHistory  Method = "session.history"
	MethodTurnStart       Method = "turn.start"
	MethodTurnStop        Method = "turn.stop"
	MethodOperationLookup Method = "operation.lookup"

	MethodSessionResourcesList       Method = "session.resources.list"
	MethodSessionResourcesRegister   Method = "session.resources.register"
	MethodSessionResourcesUnregister Method = "session.resources.unregister"
	MethodSessionResourcesClear      Method = "session.resources.clear"
	MethodTurnApplicationEvidence    Method = "turn.application_evidence"
	MethodTurnApplicationToolResult  Method = "turn.application_tool_result"
	MethodExecutorCreate             Method = "executor.create"
	MethodExecutorConfirm            Method = "executor.confirm"
	MethodExecutorResume             Method = "executor.resume"
	MethodExecutorRotate             Method = "executor.rotate"
	MethodExecutorRotateConfirm      Method = "executor.rotate_confirm"
	MethodExecutorRelease            Method = "executor.release"
)

// Need says what a method does with an envelope member.
type Need uint8

// What a method does with session_id, control_token or operation_id.
const (
	Null     Need = iota // must be null
	Required             // must be there; a null control token answers control_required, any other null invalid_request
	Either               // operation.lookup: both null or both there
)

// MethodInfo is one row of the method table. (wire-v2 4)
type MethodInfo struct {
	Method    Method
	Session   Need // S
	Control   Need // C
	Operation Need // O: the method is a mutation
	Profile   bool // open to connections that negotiated application_resources_v1 only
}

var methods = []MethodInfo{
	{MethodInitialize, Null, Null, Null, false},
	{MethodCapabilities, Null, Null, Null, false},
	{MethodDaemonStatus, Null, Null, Null, false},
	{MethodSessionCreate, Null, Null, Required, false},
	{MethodSessionList, Null, Null, Null, false},
	{MethodSessionClaim, Required, Null, Required, false},
	{MethodSessionRelease, Required, Required, Required, false},
	{MethodSessionSnapshot, Required, Required, Null, false},
	{MethodSessionHistory, Required, Required, Null, false},
	{MethodSessionResourcesList, Required, Required, Null, true},
	{MethodSessionResourcesRegister, Required, Required, Required, true},
	{MethodSessionResourcesUnregister, Required, Required, Required, true},
	{MethodSessionResourcesClear, Required, Required, Required, true},
	{MethodTurnStart, Required, Required, Required, false},
	{MethodTurnStop, Required, Required, Required, false},
	{MethodTurnApplicationEvidence, Required, Required, Null, true},
	{MethodTurnApplicationToolResult, Required, Null, Required, true},
	{MethodExecutorCreate, Null, Null, Required, true},
	{MethodExecutorConfirm, Null, Null, Required, true},
	{MethodExecutorResume, Null, Null, Required, true},
	{MethodExecutorRotate, Null, Null, Required, true},
	{MethodExecutorRotateConfirm, Null, Null, Required, true},
	{MethodExecutorRelease, Null, Null, Required, true},
	{MethodOperationLookup, Either, Either, Null, false},
}

// Lookup returns the row of m in the method table, and whether wire v2 has the method at all.
func (m Method) Lookup() (MethodInfo, bool) {
	i, ok := methodIndex[m]
	if !ok {
		return MethodInfo{}, false
	}
	return methods[i], true
}

var methodIndex = func() map[Method]int {
	index := make(map[Method]int, len(methods))
	for i, info := range methods {
		index[info.Method] = i
	}
	return index
}()

// Methods returns the method table in the order of the specification.
func Methods() []MethodInfo { return append([]MethodInfo(nil), methods...) }

// EventName names an event. (wire-v2 4; seed: Execute once)
type EventName string

// The events of wire v2; the last two belong to the profile and go to executors.
const (
	EventSessionControlLost        EventName = "session.control_lost"
	EventTurnStarted               EventName = "turn.started"
	EventTurnText                  EventName = "turn.text"
	EventTurnTool                  EventName = "turn.tool"
	EventTurnTerminal              EventName = "turn.terminal"
	EventTurnApplicationToolCall   EventName = "turn.application_tool_call"
	EventTurnApplicationToolCancel EventName = "turn.application_tool_cancel"
)

// Decode decodes the event's payload strictly into a pointer to its type: *TurnTextEvent, *Terminal and so on. For an
// event that this package does not know it returns nil and no error.
func (e *Event) Decode() (any, error) {
	var dst any
	switch e.Event {
	case EventSessionControlLost:
		dst = new(SessionControlLostEvent)
	case EventTurnStarted:
		dst = new(TurnStartedEvent)
	case EventTurnText:
		dst = new(TurnTextEvent)
	case EventTurnTool:
		dst = new(TurnToolEvent)
	case EventTurnTerminal:
		dst = new(TurnTerminalEvent)
	case EventTurnApplicationToolCall:
		dst = new(TurnApplicationToolCallEvent)
	case EventTurnApplicationToolCancel:
		dst = new(TurnApplicationToolCancelEvent)
	default:
		return nil, nil
	}
	if err := DecodePayload(e.Payload, dst); err != nil {
		return nil, err
	}
	return dst, nil
}
