package wirev2

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// sample is one payload type with the exact text that the specification asks for.
type sample struct {
	value    any    // a pointer to the payload
	want     string // members in the order of the specification
	optional string // paths of members that may be absent, separated by spaces
	nullable string // paths of members that may be null
	opaque   string // paths of members that may be any JSON
	choice   string // paths whose presence or type depends on others: left to the tests of forms
}

const (
	sum        = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	fourIDs    = `"instance_id":"` + idA + `","connection_id":"` + idB + `","operation_id":"` + idC + `","grant_generation":3`
	descriptor = `{"resource_id":"` + idA + `","revision_id":"` + idB + `","kind":"tool","name":"lamp","description":"Turns.",` +
		`"content_sha256":"` + sum + `","revision_sha256":"` + sum + `","captured_bytes":7,"registered_by":{` + fourIDs + `}}`
	manifestText = `{"profile":"application_resources_v1","registry_revision":"` + idA + `","resources":[` + descriptor + `],` +
		`"tools":[{"resource_id":"` + idA + `","revision_id":"` + idB + `","revision_sha256":"` + sum + `","name":"lamp",` +
		`"timeout_ms":1000}],"accepted_controller":{` + fourIDs + `},"accepted_executor":{"executor_id":"` + idD +
		`","executor_generation":2}}`
	terminalText = `{"turn_id":"` + idA + `","operation_id":"` + idB + `","status":"failed","text":"Hm.","error":{"code":` +
		`"tool_failed","message":"no"},"usage":{"input_tokens":5,"output_tokens":6},"application_manifest":` + manifestText + `}`
	limitsText = `{"max_record_bytes":65536,"max_payload_bytes":32768,"max_depth":32,"max_prompt_bytes":24576,` +
		`"max_text_bytes":20000,"max_snapshot_bytes":24576,"max_requests_in_flight":64,"max_queue_records":1024,` +
		`"max_queue_bytes":4194304,"max_connections":512,"max_operations":4096,"operation_retention_ms":600000,` +
		`"max_deadline_ms":600000,"default_deadline_ms":30000,"max_provider_replies":64}`
	callbacksText = `{"profile":"application_resources_v1","source_kinds":["inline","workspace_file"],"max_tools":16,` +
		`"max_skills":16,"max_registry_bytes":32768,"max_skill_text_bytes":16384,"max_snapshots":256,` +
		`"max_retained_entries":1024,"max_retained_bytes":8388608,"max_registry_sessions":256,` +
		`"registry_idle_timeout_ms":900000,"max_tool_source_bytes":32768,"max_skill_source_bytes":16384,"max_captures":1,` +
		`"max_source_path_bytes":1024,"max_name_bytes":48,"max_description_bytes":512,"max_schema_properties":32,` +
		`"max_string_length":4096,"max_value_bytes":16384,"max_error_bytes":512,"max_executors":256,` +
		`"executor_confirm_timeout_ms":60000,"executor_idle_timeout_ms":900000,"executor_availability_timeout_ms":60000,` +
		`"rotation_timeout_ms":60000,"max_calls":32,"max_calls_per_turn":32,"max_evidence_turns":256,` +
		`"max_evidence_bytes":30720,"min_timeout_ms":1000,"max_timeout_ms":600000,"default_timeout_ms":120000,` +
		`"outcome_retention_ms":600000,"max_manifest_bytes":18000,"registry":true,"reconnect_evidence":true}`
	capabilitiesText = `{"negotiated_capabilities":["application_resources_v1"],"operations":["capabilities"],` +
		`"events":["turn.text"],"limits":` + limitsText + `,"application_callbacks":` + callbacksText + `}`
	callMembers = `"call_id":"` + idB + `","provider_call_id":"c1","name":"lamp",`
)

func sampleManifest() *Manifest {
	who := Attribution{InstanceID: idA, ConnectionID: idB, OperationID: idC, GrantGeneration: 3}
	return &Manifest{
		Profile: CapabilityApplicationResources, RegistryRevision: idA, Resources: []Descriptor{sampleDescriptor()},
		Tools:              []ToolManifest{{ResourceID: idA, RevisionID: idB, RevisionSHA256: sum, Name: "lamp", TimeoutMS: 1000}},
		AcceptedController: who, AcceptedExecutor: &ExecutorTarget{ExecutorID: idD, ExecutorGeneration: 2},
	}
}

func sampleDescriptor() Descriptor {
	return Descriptor{
		ResourceID: idA, RevisionID: idB, Kind: KindTool, Name: "lamp", Description: "Turns.", ContentSHA256: sum,
		RevisionSHA256: sum, CapturedBytes: 7,
		RegisteredBy: Attribution{InstanceID: idA, ConnectionID: idB, OperationID: idC, GrantGeneration: 3},
	}
}

func sampleTerminal() *Terminal {
	return &Terminal{
		TurnID: idA, OperationID: idB, Status: TerminalFailed, Text: "Hm.", Error: &TurnError{TurnToolFailed, "no"},
		Usage: &Usage{5, 6}, ApplicationManifest: ManifestMember{Present: true, Manifest: sampleManifest()},
	}
}

func sampleCapabilities() *Capabilities {
	callbacks := DefaultApplicationCallbacks()
	return &Capabilities{
		NegotiatedCapabilities: []Capability{CapabilityApplicationResources}, Operations: []Method{MethodCapabilities},
		Events: []EventName{EventTurnText}, Limits: DefaultLimits(), ApplicationCallbacks: &callbacks,
	}
}

// under puts a path before each of the paths.
func under(prefix, paths string) string {
	all := strings.Fields(paths)
	for i := range all {
		all[i] = prefix + "." + all[i]
	}
	return strings.Join(all, " ")
}

func connectionSamples() []sample {
	return []sample{
		{&InitializeRequest{ClientInfo{"app", "1.0"}, []Capability{"x"}},
			`{"client":{"name":"app","version":"1.0"},"requested_capabilities":["x"]}`, "", "", "", ""},
		{&InitializeReply{DaemonInfo{"magid", "0.1.0"}, []Capability{CapabilityApplicationResources}, *sampleCapabilities()},
			`{"daemon":{"name":"magid","version":"0.1.0"},"negotiated_capabilities":["application_resources_v1"],"capabilities":` +
				capabilitiesText + `}`, "capabilities.application_callbacks", "", "", ""},
		{&CapabilitiesRequest{}, `{}`, "", "", "", ""},
		{sampleCapabilities(), capabilitiesText, "application_callbacks", "", "", ""},
		{&Capabilities{Limits: DefaultLimits()},
			`{"negotiated_capabilities":[],"operations":[],"events":[],"limits":` + limitsText + `}`, "", "", "", ""},
		{&DaemonStatusRequest{}, `{}`, "", "", "", ""},
		{&DaemonStatusReply{idA, "0.1.0", 1, 2, 3, 4, 5, 6, 7, Retained{8, 9, 10}},
			`{"instance_id":"` + idA + `","version":"0.1.0","uptime_ms":1,"connections":2,"sessions":3,"claimed_sessions":4,` +
				`"active_turns":5,"executors":6,"pending_calls":7,"retained":{"snapshots":8,"entries":9,"bytes":10}}`, "", "", "", ""},
	}
}

func sessionSamples() []sample {
	return []sample{
		{&SessionCreateRequest{"/w", new("T")}, `{"workspace":"/w","title":"T"}`, "title", "", "", ""},
		{&SessionCreateReply{idA}, `{"session_id":"` + idA + `"}`, "", "", "", ""},
		{&SessionListRequest{new("c"), new(int64(9))}, `{"cursor":"c","limit":9}`, "cursor limit", "", "", ""},
		{&SessionListReply{[]SessionInfo{{idA, "/w", new("T"), "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.679Z", true, new(ID(idB))}}, new("c")},
			`{"sessions":[{"session_id":"` + idA + `","workspace":"/w","title":"T","created_at":"2026-01-02T03:04:05.678Z",` +
				`"updated_at":"2026-01-02T03:04:05.679Z","claimed":true,"active_turn":"` + idB + `"}],"next_cursor":"c"}`,
			"", "sessions[0].title sessions[0].active_turn next_cursor", "", ""},
		{&SessionListReply{}, `{"sessions":[],"next_cursor":null}`, "", "next_cursor", "", ""},
		{&SessionClaimRequest{true}, `{"takeover":true}`, "takeover", "", "", ""},
		{&SessionClaimReply{"tok", 4, Snapshot{Turn: &Turn{idA, idB, TurnRunning, "Hi", ManifestMember{Present: true}}}},
			`{"control_token":"tok","grant_generation":4,"snapshot":{"turn":{"turn_id":"` + idA + `","operation_id":"` + idB +
				`","state":"running","text":"Hi","application_manifest":null},"terminal":null}}`,
			"snapshot.turn.application_manifest", "snapshot.turn snapshot.terminal snapshot.turn.application_manifest", "", ""},
		{&SessionReleaseRequest{}, `{}`, "", "", "", ""},
		{&SessionReleaseReply{}, `{}`, "", "", "", ""},
		{&SessionSnapshotRequest{}, `{}`, "", "", "", ""},
		{&SessionSnapshotReply{Snapshot{Terminal: sampleTerminal()}}, `{"snapshot":{"turn":null,"terminal":` + terminalText + `}}`,
			"snapshot.terminal.application_manifest",
			"snapshot.turn snapshot.terminal " + under("snapshot.terminal", "error usage application_manifest application_manifest.accepted_executor"), "", ""},
		{&SessionHistoryRequest{new(int64(1)), new(int64(2))}, `{"after":1,"limit":2}`, "after limit", "", "", ""},
		{&SessionHistoryReply{[]jsontext.Value{jsontext.Value(`{"n":1}`)}, new(int64(7))}, `{"records":[{"n":1}],"next_after":7}`,
			"", "next_after", "records[0]", ""},
		{&SessionControlLostEvent{ControlLostTakeover}, `{"reason":"takeover"}`, "", "", "", ""},
		{&OperationLookupRequest{idA}, `{"operation_id":"` + idA + `"}`, "", "", "", ""},
		{&OperationLookupReply{idA, MethodTurnStart, OperationRejected, jsontext.Value(`{"a":1}`), &Error{CodeConflict, "no"}},
			`{"operation_id":"` + idA + `","method":"turn.start","state":"rejected","result":{"a":1},"error":{"code":"conflict",` +
				`"message":"no"}}`, "", "error", "result", ""},
	}
}

func turnSamples() []sample {
	return []sample{
		{&TurnStartRequest{"Hi", &Application{idA, new(ID(idB)), new(int64(2)), []Authorization{{idC, idD, sum}}}},
			`{"prompt":"Hi","application":{"expected_registry_revision":"` + idA + `","executor_id":"` + idB +
				`","executor_generation":2,"tool_authorizations":[{"resource_id":"` + idC + `","revision_id":"` + idD +
				`","revision_sha256":"` + sum + `"}]}}`, "application", "", "",
			"application.executor_id application.executor_generation"},
		{&TurnStartRequest{"Hi", &Application{ExpectedRegistryRevision: idA}},
			`{"prompt":"Hi","application":{"expected_registry_revision":"` + idA + `","executor_id":null,` +
				`"executor_generation":null,"tool_authorizations":[]}}`, "application",
			"application.executor_id application.executor_generation", "", ""},
		{&TurnStartReply{idA, ManifestMember{}}, `{"turn_id":"` + idA + `"}`, "", "", "", ""},
		{&TurnStartReply{idA, ManifestMember{Present: true, Manifest: sampleManifest()}},
			`{"turn_id":"` + idA + `","application_manifest":` + manifestText + `}`, "application_manifest",
			"application_manifest application_manifest.accepted_executor", "", ""},
		{&TurnStartResult{idA, Terminal{TurnID: idA, OperationID: idB, Status: TerminalCompleted, Text: "Hi"}, ManifestMember{Present: true}},
			`{"turn_id":"` + idA + `","terminal":{"turn_id":"` + idA + `","operation_id":"` + idB + `","status":"completed",` +
				`"text":"Hi","error":null,"usage":null},"application_manifest":null}`, "application_manifest",
			"terminal.error terminal.usage application_manifest", "", ""},
		{&TurnStopRequest{idA}, `{"turn_id":"` + idA + `"}`, "", "", "", ""},
		{&TurnStopReply{idA, StopStopping}, `{"turn_id":"` + idA + `","status":"stopping"}`, "", "", "", ""},
		{&TurnStartedEvent{idA, 3}, `{"turn_id":"` + idA + `","omitted_turns":3}`, "", "", "", ""},
		{&TurnTextEvent{idA, "Hi"}, `{"turn_id":"` + idA + `","text":"Hi"}`, "", "", "", ""},
		{&TurnToolEvent{idA, idB, "lamp", ToolStarted},
			`{"turn_id":"` + idA + `","call_id":"` + idB + `","name":"lamp","phase":"started"}`, "", "", "", ""},
		{sampleTerminal(), terminalText, "application_manifest",
			"error usage application_manifest application_manifest.accepted_executor", "", ""},
	}
}

func profileSamples() []sample {
	effects := `"status":"pending","external_effects":"uncertain","wait_kind":"execution","remaining_ms":59999`
	tuple := `"resource_id":"` + idC + `","revision_id":"` + idD + `","revision_sha256":"` + sum + `"`
	executor := `"executor_id":"` + idA + `","executor_generation":2`
	return []sample{
		{&SessionResourcesListRequest{}, `{}`, "", "", "", ""},
		{&SessionResourcesListReply{idA, []Descriptor{sampleDescriptor()}}, `{"registry_revision":"` + idA + `","entries":[` + descriptor + `]}`, "", "", "", ""},
		{&SessionResourcesRegisterRequest{nil, Resource{KindSkill, "be_kind", "", Source{SourceInline, new("Be kind."), nil}}},
			`{"expected_revision":null,"resource":{"kind":"skill","name":"be_kind","description":"","source":{"kind":"inline",` +
				`"content":"Be kind."}}}`, "", "expected_revision", "", "resource.source.content"},
		{&SessionResourcesRegisterRequest{new(ID(idA)), Resource{KindTool, "lamp", "L", Source{SourceWorkspaceFile, nil, new("a/b.json")}}},
			`{"expected_revision":"` + idA + `","resource":{"kind":"tool","name":"lamp","description":"L","source":{"kind":` +
				`"workspace_file","path":"a/b.json"}}}`, "", "expected_revision", "", "resource.source.path"},
		{&SessionResourcesRegisterReply{sampleDescriptor(), idA}, `{"entry":` + descriptor + `,"registry_revision":"` + idA + `"}`, "", "", "", ""},
		{&SessionResourcesUnregisterRequest{idA, idB}, `{"resource_id":"` + idA + `","expected_revision":"` + idB + `"}`, "", "", "", ""},
		{&SessionResourcesUnregisterReply{idA, idB, idC},
			`{"resource_id":"` + idA + `","removed_revision":"` + idB + `","registry_revision":"` + idC + `"}`, "", "", "", ""},
		{&SessionResourcesClearRequest{idA}, `{"expected_registry_revision":"` + idA + `"}`, "", "", "", ""},
		{&SessionResourcesClearReply{idA, 4}, `{"registry_revision":"` + idA + `","removed_count":4}`, "", "", "", ""},
		{&TurnApplicationEvidenceRequest{idA}, `{"turn_id":"` + idA + `"}`, "", "", "", ""},
		{&TurnApplicationEvidenceReply{idA, sampleManifest(), []CallEvidence{{
			idB, "c1", "lamp", idA, 2, sum, CallPending, EffectsUncertain, new(WaitExecution), new(int64(59999)), idC, idD}}},
			`{"turn_id":"` + idA + `","application_manifest":` + manifestText + `,"calls":[{` + callMembers + executor +
				`,"revision_sha256":"` + sum + `",` + effects + `,"resource_id":"` + idC + `","revision_id":"` + idD + `"}]}`, "",
			"application_manifest application_manifest.accepted_executor calls[0].wait_kind calls[0].remaining_ms", "", ""},
		{&TurnApplicationToolResultRequest{idA, idB, idA, 2, idC, idD, sum, Outcome{Status: OutcomeSuccess, Value: jsontext.Value(`{"on":true}`)}},
			`{"turn_id":"` + idA + `","call_id":"` + idB + `",` + executor + `,` + tuple + `,"outcome":{"status":"success",` +
				`"value":{"on":true}}}`, "", "", "outcome.value", "outcome.value"},
		{&TurnApplicationToolResultRequest{idA, idB, idA, 2, idC, idD, sum, Outcome{OutcomeError, nil, new(ToolExecutionFailed), new("no")}},
			`{"turn_id":"` + idA + `","call_id":"` + idB + `",` + executor + `,` + tuple + `,"outcome":{"status":"error",` +
				`"code":"execution_failed","message":"no"}}`, "", "", "", "outcome.code outcome.message"},
		{&TurnApplicationToolResultReply{idA, ToolResultAccepted}, `{"call_id":"` + idA + `","status":"accepted"}`, "", "", "", ""},
		{&TurnApplicationToolCallEvent{idA, idB, "c1", idA, 2, idC, idD, sum, "lamp", jsontext.Value(`{"on":true}`), 1000},
			`{"turn_id":"` + idA + `","call_id":"` + idB + `","provider_call_id":"c1",` + executor + `,` + tuple +
				`,"name":"lamp","arguments":{"on":true},"timeout_ms":1000}`, "", "", "arguments", ""},
		{&TurnApplicationToolCancelEvent{idA, idB, idA, 2, CancelToolTimeout},
			`{"turn_id":"` + idA + `","call_id":"` + idB + `",` + executor + `,"reason":"tool_timeout"}`, "", "", "", ""},
		{&ExecutorCreateRequest{}, `{}`, "", "", "", ""},
		{&ExecutorCreateReply{idA, 2, "s"}, `{` + executor + `,"resume_secret":"s"}`, "", "", "", ""},
		{&ExecutorConfirmRequest{idA, "s"}, `{"executor_id":"` + idA + `","resume_secret":"s"}`, "", "", "", ""},
		{&ExecutorConfirmReply{idA, 2}, `{` + executor + `}`, "", "", "", ""},
		{&ExecutorResumeRequest{idA, "s"}, `{"executor_id":"` + idA + `","resume_secret":"s"}`, "", "", "", ""},
		{&ExecutorResumeReply{idA, 2, []PendingCall{{idD, idA, idB, "c1", "lamp", idC, idD, sum, CallPending, EffectsUncertain, new(WaitExecution), new(int64(59999))}}},
			`{` + executor + `,"pending_calls":[{"session_id":"` + idD + `","turn_id":"` + idA + `",` + callMembers + tuple + `,` +
				effects + `}]}`, "", "pending_calls[0].wait_kind pending_calls[0].remaining_ms", "", ""},
		{&ExecutorRotateRequest{idA, 2}, `{` + executor + `}`, "", "", "", ""},
		{&ExecutorRotateReply{idA, 2, "s", RotationPending, 60000},
			`{` + executor + `,"resume_secret":"s","status":"rotation_pending","pending_timeout_ms":60000}`, "", "", "", ""},
		{&ExecutorRotateConfirmRequest{idA, 2, "s"}, `{` + executor + `,"resume_secret":"s"}`, "", "", "", ""},
		{&ExecutorRotateConfirmReply{idA, 2}, `{` + executor + `}`, "", "", "", ""},
		{&ExecutorReleaseRequest{idA, 2}, `{` + executor + `}`, "", "", "", ""},
		{&ExecutorReleaseReply{idA}, `{"executor_id":"` + idA + `"}`, "", "", "", ""},
		{&ExecutorResult{"completed", idA, 2, 60000},
			`{"status":"completed",` + executor + `,"pending_timeout_ms":60000}`,
			"executor_id executor_generation pending_timeout_ms", "", "", ""},
	}
}

func allSamples() []sample {
	return slices.Concat(connectionSamples(), sessionSamples(), turnSamples(), profileSamples())
}

func (s *sample) name() string { return reflect.TypeOf(s.value).Elem().Name() }

func (s *sample) fresh() any { return reflect.New(reflect.TypeOf(s.value).Elem()).Interface() }

func requireSamples(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		got, err := EncodePayload(s.value)
		require.NoError(t, err, s.name())
		require.Equal(t, s.want, string(got), s.name())
		byValue, err := EncodePayload(reflect.ValueOf(s.value).Elem().Interface())
		require.NoError(t, err, s.name())
		require.Equal(t, got, byValue)

		back := s.fresh()
		require.NoError(t, DecodePayload(got, back), s.name())
		again, err := EncodePayload(back)
		require.NoError(t, err)
		require.Equal(t, s.want, string(again), s.name())
	}
}

// rule: W-026, W-027, W-075, W-077, W-085, W-107, W-108
// rule: W-090, W-091, W-092, W-093, W-094, W-095
// rule: W-096, W-097, W-098, W-099, W-100, W-101, W-102, W-103, W-104, W-105, W-106
func TestConnectionPayloads(t *testing.T) { requireSamples(t, connectionSamples()) }

// rule: W-027, W-116, W-120, W-150, W-204
func TestSessionPayloads(t *testing.T) { requireSamples(t, sessionSamples()) }

// rule: W-027, W-126, W-151, W-180, W-181, W-182, W-184, W-208
func TestTurnPayloads(t *testing.T) { requireSamples(t, turnSamples()) }

// rule: W-220, W-221, W-222, W-223, W-226, W-227, W-250, M-077, M-078
// rule
// rule
func TestProfilePayloads(t *testing.T) { requireSamples(t, profileSamples()) }
