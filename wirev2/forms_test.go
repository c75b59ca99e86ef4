package wirev2

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// requireForm decodes the encoding of q and wants it taken or refused with invalid_payload.
func requireForm(t *testing.T, ok bool, q, dst any, what string) {
	t.Helper()
	raw, err := EncodePayload(q)
	require.NoError(t, err)
	requireText(t, ok, string(raw), dst, what)
}

func requireText(t *testing.T, ok bool, text string, dst any, what string) {
	t.Helper()
	err := DecodePayload(jsontext.Value(text), dst)
	if ok {
		require.NoError(t, err, what)
		return
	}
	var answer *Error
	require.ErrorAs(t, err, &answer, what)
	require.Equal(t, CodeInvalidPayload, answer.Code)
}

func x(n int) string { return strings.Repeat("x", n) }

// rule: W-076
func TestClientNameAndVersionLengths(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 1: true, 2: true, 63: true, 64: true, 65: false} {
		requireForm(t, ok, InitializeRequest{Client: ClientInfo{x(n), "1"}}, new(InitializeRequest), "name")
		requireForm(t, ok, InitializeRequest{Client: ClientInfo{"a", x(n)}}, new(InitializeRequest), "version")
	}
	requireForm(t, false, InitializeRequest{Client: ClientInfo{strings.Repeat("é", 33), "1"}}, new(InitializeRequest), "66 bytes")
}

// rule: W-081, W-082
func TestRequestedCapabilities(t *testing.T) {
	tokens := func(n int) (all []Capability) {
		for i := range n {
			all = append(all, Capability(strconv.Itoa(i)))
		}
		return all
	}
	who := ClientInfo{"a", "1"}
	for n, ok := range map[int]bool{0: true, 31: true, 32: true, 33: false} {
		requireForm(t, ok, InitializeRequest{who, tokens(n)}, new(InitializeRequest), "tokens")
	}
	requireForm(t, false, InitializeRequest{who, append(tokens(3), "0")}, new(InitializeRequest), "twice")
	requireForm(t, false, InitializeRequest{who, []Capability{"a", "a"}}, new(InitializeRequest), "twice")
}

// rule: W-113, W-115
func TestSessionCreateForms(t *testing.T) {
	for n, ok := range map[int]bool{4095: true, 4096: true, 4097: false} {
		requireForm(t, ok, SessionCreateRequest{Workspace: "/" + x(n-1)}, new(SessionCreateRequest), "workspace")
	}
	for _, path := range []string{"", "w", "./w", "~/w", "\x00/w", "/w\x00"} {
		requireForm(t, false, SessionCreateRequest{Workspace: path}, new(SessionCreateRequest), "workspace")
	}
	for n, ok := range map[int]bool{0: true, 255: true, 256: true, 257: false} {
		requireForm(t, ok, SessionCreateRequest{"/w", new(x(n))}, new(SessionCreateRequest), "title")
	}
	var q SessionCreateRequest
	require.NoError(t, DecodePayload(jsontext.Value(`{"workspace":"/a//b/../c/"}`), &q))
	require.Equal(t, "/a//b/../c/", q.Workspace, "kept as sent")
	require.Nil(t, q.Title)
}

// rule: W-117, W-123
func TestPageLimits(t *testing.T) {
	for limit, ok := range map[int64]bool{-1: false, 0: false, 1: true, 2: true, 99: true, 100: true, 101: false} {
		requireForm(t, ok, SessionListRequest{Limit: &limit}, new(SessionListRequest), "list")
	}
	for limit, ok := range map[int64]bool{-1: false, 0: false, 1: true, 2: true, 199: true, 200: true, 201: false} {
		requireForm(t, ok, SessionHistoryRequest{Limit: &limit}, new(SessionHistoryRequest), "history")
	}
	for after, ok := range map[int64]bool{-1: false, 0: true, 1: true} {
		requireForm(t, ok, SessionHistoryRequest{After: &after}, new(SessionHistoryRequest), "after")
	}
	requireText(t, true, `{}`, new(SessionListRequest), "list")
	requireText(t, true, `{}`, new(SessionHistoryRequest), "history")
}

// rule: W-158
func TestPromptForms(t *testing.T) {
	for prompt, ok := range map[string]bool{"": false, "x": true, "\x00": false, "a\x00b": false, " ": true, "\u0001": true} {
		requireForm(t, ok, TurnStartRequest{Prompt: prompt}, new(TurnStartRequest), "prompt")
	}
	// A prompt over its budget is a matter of state (limit_exceeded), not of form.
	requireForm(t, true, TurnStartRequest{Prompt: x(24577)}, new(TurnStartRequest), "long prompt")
}

// rule
func TestApplicationForms(t *testing.T) {
	both := func(executor, generation string) string {
		return `{"prompt":"x","application":{"expected_registry_revision":"` + idA + `"` + executor + generation +
			`,"tool_authorizations":[]}}`
	}
	requireText(t, true, both(`,"executor_id":null`, `,"executor_generation":null`), new(TurnStartRequest), "both null")
	requireText(t, true, both(`,"executor_id":"`+idB+`"`, `,"executor_generation":1`), new(TurnStartRequest), "both there")
	requireText(t, false, both(`,"executor_id":null`, `,"executor_generation":1`), new(TurnStartRequest), "one null")
	requireText(t, false, both(`,"executor_id":"`+idB+`"`, `,"executor_generation":null`), new(TurnStartRequest), "one null")
	requireText(t, false, both(``, `,"executor_generation":null`), new(TurnStartRequest), "one absent")
	requireText(t, false, both(`,"executor_id":null`, ``), new(TurnStartRequest), "one absent")
	requireText(t, false, `{"prompt":"x","application":null}`, new(TurnStartRequest), "null")
	requireText(t, false, `{"prompt":"x","application":{"tool":{"name":"a"},"skill":null}}`, new(TurnStartRequest), "retired shape")
}

func register(change func(*Resource)) SessionResourcesRegisterRequest {
	r := Resource{KindTool, "lamp", "A lamp.", Source{SourceInline, new("{}"), nil}}
	change(&r)
	return SessionResourcesRegisterRequest{nil, r}
}

// rule, M-086, M-087, W-269
func TestResourceNamesAndDescriptions(t *testing.T) {
	dst := new(SessionResourcesRegisterRequest)
	for name, ok := range map[string]bool{
		"a": true, "a_1": true, "z9__": true, "": false, "_a": false, "1a": false, "A": false, "aB": false, "a-b": false,
		"a.b": false, "a b": false, "é": false, "a\n": false, x(47): true, x(48): true, x(49): false,
	} {
		requireForm(t, ok, register(func(r *Resource) { r.Name = name }), dst, "name "+name)
	}
	for description, ok := range map[string]bool{
		"": true, "a\n\tb": true, "a\rb": false, "\x00": false, "\x1f": false, "\x7f": false, "\u0080": false, "\u009f": false,
		"\u00a0": true, "é😀": true, x(511): true, x(512): true, x(513): false, strings.Repeat("é", 256): true,
		strings.Repeat("é", 257): false,
	} {
		requireForm(t, ok, register(func(r *Resource) { r.Description = description }), dst, "description "+description)
	}
	for kind, ok := range map[ResourceKind]bool{KindTool: true, KindSkill: true, "": false, "Tool": false, "agent": false} {
		requireForm(t, ok, register(func(r *Resource) { r.Kind = kind }), dst, "kind")
	}
	for _, legacy := range []string{
		`{"expected_revision":null,"resource":{"kind":"tool","name":"a","description":"","contract":{}}}`,
		`{"expected_revision":null,"resource":{"kind":"skill","name":"a","description":"","content":"x"}}`,
		`{"expected_revision":null,"resource":{"kind":"skill","name":"a","description":"","source":{"kind":"inline","content":"x"},"content":"x"}}`,
	} {
		requireText(t, false, legacy, dst, legacy)
	}
}

// rule: A-031, W-269
func TestSourceForms(t *testing.T) {
	dst := new(SessionResourcesRegisterRequest)
	some := new("x")
	for what, c := range map[string]struct {
		source Source
		ok     bool
	}{
		"inline":             {Source{SourceInline, some, nil}, true},
		"empty inline":       {Source{SourceInline, new(""), nil}, true},
		"inline of nothing":  {Source{SourceInline, nil, nil}, false},
		"inline path":        {Source{SourceInline, nil, some}, false},
		"inline of both":     {Source{SourceInline, some, some}, false},
		"file":               {Source{SourceWorkspaceFile, nil, some}, true},
		"file of nothing":    {Source{SourceWorkspaceFile, nil, nil}, false},
		"file of content":    {Source{SourceWorkspaceFile, some, nil}, false},
		"file of both":       {Source{SourceWorkspaceFile, some, some}, false},
		"another kind":       {Source{"url", some, nil}, false},
		"kind of other case": {Source{"Inline", some, nil}, false},
	} {
		requireForm(t, c.ok, register(func(r *Resource) { r.Source = c.source }), dst, what)
	}
	for path, ok := range map[string]bool{
		"a": true, "a/b/c.json": true, "...": true, ".a": true, "a b": true, "": false, "/": false, "/a": false, "a/": false,
		"a//b": false, ".": false, "./a": false, "a/./b": false, "..": false, "../a": false, "a/../b": false, "a/..": false,
		"a\x00b": false, x(1023): true, x(1024): true, x(1025): false,
	} {
		requireForm(t, ok, register(func(r *Resource) { r.Source = Source{SourceWorkspaceFile, nil, &path} }), dst, "path "+path)
	}
}

// rule: W-058
func TestResumeSecretLengths(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 1: true, 2: true, 127: true, 128: true, 129: false} {
		requireForm(t, ok, ExecutorConfirmRequest{idA, Secret(x(n))}, new(ExecutorConfirmRequest), "confirm")
		requireForm(t, ok, ExecutorResumeRequest{idA, Secret(x(n))}, new(ExecutorResumeRequest), "resume")
		requireForm(t, ok, ExecutorRotateConfirmRequest{idA, 1, Secret(x(n))}, new(ExecutorRotateConfirmRequest), "rotate_confirm")
	}
	requireForm(t, true, ExecutorResumeRequest{idA, "any \"string\" é\n"}, new(ExecutorResumeRequest), "any string")
}

// rule
func TestOutcomeForms(t *testing.T) {
	for outcome, ok := range map[string]bool{
		`{"status":"success","value":{}}`:                                        true,
		`{"status":"success","value":null}`:                                      true,
		`{"status":"success"}`:                                                   false,
		`{"status":"success","value":1,"message":"x"}`:                           false,
		`{"status":"success","value":1,"code":"execution_failed"}`:               false,
		`{"status":"error","code":"execution_failed","message":"x"}`:             true,
		`{"status":"error","code":"permission_denied","message":""}`:             true,
		`{"status":"error","code":"tool_timeout","message":"x"}`:                 false,
		`{"status":"error","code":"Execution_failed","message":"x"}`:             false,
		`{"status":"error","code":"execution_failed"}`:                           false,
		`{"status":"error","message":"x"}`:                                       false,
		`{"status":"error","code":"execution_failed","message":"x","value":1}`:   false,
		`{"status":"error","code":null,"message":"x"}`:                           false,
		`{"status":"error","code":"execution_failed","message":"x","extra":"x"}`: false,
		`{"status":"pending","value":1}`:                                         false,
		`{"value":1}`:                                                            false,
		`{"status":"success","value":{"a":1,"a":2}}`:                             false,
	} {
		text := `{"turn_id":"` + idA + `","call_id":"` + idA + `","executor_id":"` + idA + `","executor_generation":1,` +
			`"resource_id":"` + idA + `","revision_id":"` + idA + `","revision_sha256":"x","outcome":` + outcome + `}`
		requireText(t, ok, text, new(TurnApplicationToolResultRequest), outcome)
	}
}
