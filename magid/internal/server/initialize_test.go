package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func initialize(name, version, tokens string) string {
	return request("i", "initialize", fmt.Sprintf(`{"client":{"name":%q,"version":%q},"requested_capabilities":%s}`, name, version, tokens))
}

// rule: W-075
func TestInitializeTakesExactlyItsMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		for _, payload := range []string{
			`{}`, `{"client":{"name":"n","version":"1"}}`, `{"requested_capabilities":[]}`,
			`{"client":{"name":"n"},"requested_capabilities":[]}`, `{"client":{"version":"1"},"requested_capabilities":[]}`,
			`{"client":{"name":"n","version":"1","x":1},"requested_capabilities":[]}`,
			`{"client":{"name":"n","version":"1"},"requested_capabilities":[],"x":1}`,
			`{"client":{"name":1,"version":"1"},"requested_capabilities":[]}`,
			`{"client":{"name":"n","version":1},"requested_capabilities":[]}`,
			`{"client":{"name":null,"version":"1"},"requested_capabilities":[]}`,
			`{"client":null,"requested_capabilities":[]}`, `{"client":"n","requested_capabilities":[]}`,
			`{"client":{"name":"n","version":"1"},"requested_capabilities":null}`,
			`{"client":{"name":"n","version":"1"},"requested_capabilities":"x"}`,
			`{"client":{"name":"n","version":"1"},"requested_capabilities":[1]}`,
			`{"client":{"name":"n","version":"1"},"requested_capabilities":[null]}`,
		} {
			require.Equal(t, "invalid_payload", c.code(request("a", "initialize", payload)), payload)
		}
		require.Empty(t, c.code(initialize("n", "1", "[]")), "the connection can still be initialised")
	})
}

// rule: W-076
func TestClientNameAndVersionAreOneTo64Bytes(t *testing.T) {
	for bytes, want := range map[int]string{0: "invalid_payload", 1: "", 63: "", 64: "", 65: "invalid_payload"} {
		inBubble(t, func(t *testing.T, w *world) {
			require.Equal(t, want, w.dial().code(initialize(strings.Repeat("n", bytes), "1", "[]")), bytes)
			require.Equal(t, want, w.dial().code(initialize("n", strings.Repeat("1", bytes), "[]")), bytes)
		})
	}
	inBubble(t, func(t *testing.T, w *world) {
		require.Equal(t, "invalid_payload", w.dial().code(initialize(strings.Repeat("é", 33), "1", "[]")), "bytes, not characters")
		require.Empty(t, w.dial().code(initialize(strings.Repeat("é", 32), "1", "[]")))
	})
}

func tokens(count int) string {
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(`"token_%d"`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// rule: W-078, W-081, W-082
func TestRequestedTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for count, want := range map[int]string{31: "", 32: "", 33: "invalid_payload"} {
			answer := w.dial().ask(initialize("n", "1", tokens(count)))
			require.Equal(t, want, code(answer), count)
			if want == "" {
				require.Equal(t, []any{}, answer["payload"].(map[string]any)["negotiated_capabilities"])
			}
		}
		require.Equal(t, "invalid_payload", w.dial().code(initialize("n", "1", `["x","x"]`)))
		require.Equal(t, "invalid_payload", w.dial().code(initialize("n", "1", `["application_resources_v1","application_resources_v1"]`)))
	})
}

// rule: W-079, W-080
func TestRetiredTokensAreRefusedAndLeaveTheConnectionUninitialised(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		c := w.dial()
		for _, retired := range []string{"application_callbacks_inline_v1", "application_callbacks_session_v1"} {
			for _, list := range []string{`["` + retired + `"]`, `["application_resources_v1","` + retired + `"]`, `["` + retired + `","other"]`} {
				require.Equal(t, "unsupported_capability", c.code(initialize("n", "1", list)), list)
				require.Equal(t, "not_initialized", c.code(status("s")))
			}
		}
		require.Empty(t, w.fake.arrivals)
		require.Empty(t, c.code(initialize("n", "1", `["application_resources_v1"]`)))
		require.Empty(t, c.code(status("s")))
		require.True(t, w.fake.peer(0).selected)
	})
}

// members lists the members of an object in their order.
func members(t *testing.T, object jsontext.Value) (names []string, values map[string]jsontext.Value) {
	t.Helper()
	values = make(map[string]jsontext.Value)
	require.NoError(t, json.Unmarshal(object, &values))
	dec := jsontext.NewDecoder(strings.NewReader(string(object)))
	_, err := dec.ReadToken()
	require.NoError(t, err)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		require.NoError(t, err)
		names = append(names, name.String())
		require.NoError(t, dec.SkipValue())
	}
	return names, values
}

func (c *client) payload(record string) jsontext.Value {
	c.t.Helper()
	c.send(record)
	line, err := c.line()
	require.NoError(c.t, err)
	_, values := members(c.t, jsontext.Value(line))
	require.Contains(c.t, values, "payload", line)
	return values["payload"]
}

var ordinaryOperations = []string{
	"capabilities", "daemon.status", "operation.lookup", "session.claim", "session.create", "session.history", "session.list",
	"session.release", "session.snapshot", "turn.start", "turn.stop",
}

var profileOperations = []string{
	"executor.confirm", "executor.create", "executor.release", "executor.resume", "executor.rotate", "executor.rotate_confirm",
	"session.resources.clear", "session.resources.list", "session.resources.register", "session.resources.unregister",
	"turn.application_evidence", "turn.application_tool_result",
}

func stringsOf(t *testing.T, value jsontext.Value) []string {
	t.Helper()
	var list []string
	require.NoError(t, json.Unmarshal(value, &list))
	return list
}

// rule: W-077, W-084, W-085, W-086, W-087, W-107
func TestOrdinaryCapabilities(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		names, reply := members(t, c.payload(initialize("n", "1", `["application_resources_v1","other"]`)))
		require.Equal(t, []string{"daemon", "negotiated_capabilities", "capabilities"}, names)
		require.Equal(t, `{"name":"magid","version":"0.1.0"}`, string(reply["daemon"]))
		require.Equal(t, `[]`, string(reply["negotiated_capabilities"]), "a daemon without the profile does not know its token")
		names, offer := members(t, reply["capabilities"])
		require.Equal(t, []string{"negotiated_capabilities", "operations", "events", "limits"}, names)
		require.Equal(t, ordinaryOperations, stringsOf(t, offer["operations"]))
		require.Equal(t, []string{"session.control_lost", "turn.started", "turn.terminal", "turn.text", "turn.tool"}, stringsOf(t, offer["events"]))
		require.Equal(t, string(reply["capabilities"]), string(c.payload(request("c", "capabilities", "{}"))))
		require.Equal(t, "invalid_payload", c.code(request("c", "capabilities", `{"x":1}`)))
	})
}

// rule: W-083, W-088, W-089
func TestSelectedCapabilities(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		c := w.dial()
		_, reply := members(t, c.payload(initialize("n", "1", `["other","application_resources_v1"]`)))
		require.Equal(t, `["application_resources_v1"]`, string(reply["negotiated_capabilities"]))
		names, offer := members(t, reply["capabilities"])
		require.Equal(t, []string{"negotiated_capabilities", "operations", "events", "limits", "application_callbacks"}, names)
		all := slices.Sorted(slices.Values(append(slices.Clone(ordinaryOperations), profileOperations...)))
		require.Equal(t, all, stringsOf(t, offer["operations"]))
		require.Equal(t, []string{
			"session.control_lost", "turn.application_tool_call", "turn.application_tool_cancel",
			"turn.started", "turn.terminal", "turn.text", "turn.tool",
		}, stringsOf(t, offer["events"]))
		require.Equal(t, string(reply["capabilities"]), string(c.payload(request("c", "capabilities", "{}"))))

		_, reply = members(t, w.dial().payload(initialize("n", "1", `["other"]`)))
		names, offer = members(t, reply["capabilities"])
		require.NotContains(t, names, "application_callbacks", "the profile is each connection's own choice")
		require.Equal(t, ordinaryOperations, stringsOf(t, offer["operations"]))
	})
}

// rule: A-003
func TestSelectionOfAConnectionNeverChanges(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		for first, second := range map[string]string{`["application_resources_v1"]`: `[]`, `[]`: `["application_resources_v1"]`} {
			c := w.dial()
			_, reply := members(t, c.payload(initialize("n", "1", first)))
			again := `{"client":{"name":"n","version":"1"},"requested_capabilities":` + second + `}`
			require.Equal(t, "already_initialized", c.code(request("b", "initialize", again)))
			retired := `{"client":{"name":"n","version":"1"},"requested_capabilities":["application_callbacks_session_v1"]}`
			require.Equal(t, "already_initialized", c.code(request("c", "initialize", retired)))
			require.Equal(t, string(reply["capabilities"]), string(c.payload(request("d", "capabilities", "{}"))))
			// The operation is missing, which is only looked at where the method is open.
			want := map[string]string{`["application_resources_v1"]`: "invalid_request", `[]`: "unsupported_capability"}[first]
			require.Equal(t, want, c.code(request("e", "executor.create", "{}")), first)
		}
	})
}

// rule: W-090, W-091, W-092, W-093, W-094, W-095
func TestLimitsAreTheSpecifications(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, reply := members(t, w.dial().payload(initialize("n", "1", "[]")))
		_, offer := members(t, reply["capabilities"])
		require.Equal(t, `{"max_record_bytes":65536,"max_payload_bytes":32768,"max_depth":32,"max_prompt_bytes":24576,"max_text_bytes":20000,`+
			`"max_snapshot_bytes":24576,"max_requests_in_flight":64,"max_queue_records":1024,"max_queue_bytes":4194304,"max_connections":512,`+
			`"max_operations":4096,"operation_retention_ms":600000,"max_deadline_ms":600000,"default_deadline_ms":30000,"max_provider_replies":64}`,
			string(offer["limits"]))
	})
}

// rule: M-143
func TestConfiguredRepliesAreAdvertised(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.MaxReplies = 7 }, func(t *testing.T, w *world) {
		_, reply := members(t, w.dial().payload(initialize("n", "1", "[]")))
		_, offer := members(t, reply["capabilities"])
		require.Contains(t, string(offer["limits"]), `"max_provider_replies":7}`)
	})
}

// rule: W-096, W-097, W-098, W-099, W-100, W-101, W-102, W-103, W-104, W-105, W-106
func TestApplicationCallbacksAreTheSpecifications(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		_, reply := members(t, w.dial().payload(initialize("n", "1", `["application_resources_v1"]`)))
		_, offer := members(t, reply["capabilities"])
		require.Equal(t, `{"profile":"application_resources_v1","source_kinds":["inline","workspace_file"],"max_tools":16,"max_skills":16,`+
			`"max_registry_bytes":32768,"max_skill_text_bytes":16384,"max_snapshots":256,"max_retained_entries":1024,"max_retained_bytes":8388608,`+
			`"max_registry_sessions":256,"registry_idle_timeout_ms":900000,"max_tool_source_bytes":32768,"max_skill_source_bytes":16384,"max_captures":1,`+
			`"max_source_path_bytes":1024,"max_name_bytes":48,"max_description_bytes":512,"max_schema_properties":32,"max_string_length":4096,`+
			`"max_value_bytes":16384,"max_error_bytes":512,"max_executors":256,"executor_confirm_timeout_ms":60000,"executor_idle_timeout_ms":900000,`+
			`"executor_availability_timeout_ms":60000,"rotation_timeout_ms":60000,"max_calls":32,"max_calls_per_turn":32,"max_evidence_turns":256,`+
			`"max_evidence_bytes":30720,"min_timeout_ms":1000,"max_timeout_ms":600000,"default_timeout_ms":120000,"outcome_retention_ms":600000,`+
			`"max_manifest_bytes":18000,"registry":true,"reconnect_evidence":true}`, string(offer["application_callbacks"]))
	})
}
