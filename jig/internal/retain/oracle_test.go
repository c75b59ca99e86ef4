package retain

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// plausible says once more, in the plainest way and from the page of the
// specification alone, whether a rollout is one that is kept.
func plausible(text string) bool {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) < 2 || lines[len(lines)-1] != "" || len(lines)-1 > 16384 || len(text) > 8388608 {
		return false
	}
	active, completed, last := "", 0, ""
	only := func(m map[string]any, names ...string) bool {
		for name := range m {
			if !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}
	for i, line := range lines[:len(lines)-1] {
		var r map[string]any
		if strings.Contains(line, "\r") || json0.Check([]byte(line)) != nil || json.Unmarshal([]byte(line), &r) != nil || r == nil {
			return false
		}
		p, object := r["payload"].(map[string]any)
		_, timed := r["timestamp"].(string)
		if !timed || !object || r["ordinal"] != float64(i) || !only(r, "timestamp", "ordinal", "type", "payload") || (r["type"] == "session_meta") != (i == 0) {
			return false
		}
		last = ""
		kind, _ := p["type"].(string)
		switch r["type"] {
		case "session_meta":
			if p["cli_version"] != "0.154.0" || p["id"] != session || p["session_id"] != session || p["cwd"] != "/work" || !only(p, strings.Fields(
				"session_id id timestamp cwd originator cli_version source model_provider base_instructions history_mode context_window")...) {
				return false
			}
		case "event_msg":
			turn, _ := p["turn_id"].(string)
			switch kind {
			case "task_started":
				if active != "" || turn == "" {
					return false
				}
				active = turn
			case "task_complete":
				if active == "" || turn != active || p["error"] != nil {
					return false
				}
				active, last = "", kind
				completed++
			case "item_completed":
				item, _ := p["item"].(map[string]any)
				name, _ := item["type"].(string)
				if active == "" || turn != active || p["thread_id"] != session || !slices.Contains([]string{"UserMessage", "AgentMessage", "Reasoning"}, name) {
					return false
				}
			case "token_count", "thread_settings_applied", "agent_reasoning", "agent_reasoning_raw_content", "agent_message", "user_message":
			default:
				return false
			}
		case "response_item":
			if kind == "reasoning" {
				break
			}
			role, _ := p["role"].(string)
			content, list := p["content"].([]any)
			if kind != "message" || !list || !slices.Contains([]string{"system", "developer", "user", "assistant"}, role) {
				return false
			}
			for _, part := range content {
				m, _ := part.(map[string]any)
				if m["type"] != "input_text" && m["type"] != "output_text" {
					return false
				}
			}
		case "turn_context":
			policy, _ := p["sandbox_policy"].(map[string]any)
			roots, listed := policy["writable_roots"]
			list, _ := roots.([]any)
			readOnly := maps.Equal(policy, map[string]any{"type": "read-only"})
			write := policy["type"] == "workspace-write" && policy["network_access"] == false && policy["exclude_tmpdir_env_var"] == false && policy["exclude_slash_tmp"] == false &&
				(!listed || list != nil && len(list) == 0) && only(policy, "type", "network_access", "exclude_tmpdir_env_var", "exclude_slash_tmp", "writable_roots")
			if active == "" || p["turn_id"] != active || p["cwd"] != "/work" || p["approval_policy"] != "never" && p["approval_policy"] != "on-request" || !readOnly && !write {
				return false
			}
		case "world_state", "token_usage_record":
		default:
			return false
		}
	}
	return active == "" && completed > 0 && last == "task_complete"
}

// FuzzRecord puts a record of any kind and payload at any place of a good rollout,
// in place of what is there or before it.
func FuzzRecord(f *testing.F) {
	for i, e := range good() {
		f.Add(byte(i), e.kind, e.payload, false)
		f.Add(byte(i), e.kind, e.payload, true)
	}
	for _, payload := range []string{
		`{"type":"task_complete","turn_id":"` + turn + `","error":null}`, `{"type":"task_complete","turn_id":"` + turn + `","error":{}}`, `{"type":"turn_aborted"}`,
		`{"type":"read-only"}`, `{"type":"message","role":"user","content":null}`, `{"type":"message","role":"user","content":[{"type":null}]}`, `{}`, `null`, `[]`, `{"type":1}`,
		`{"turn_id":"` + turn + `","cwd":"/work","approval_policy":"never","sandbox_policy":{"type":"read-only"}}`,
		`{"turn_id":"` + turn + `","cwd":"/work","approval_policy":"never","sandbox_policy":{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false,"writable_roots":null}}`,
	} {
		for _, kind := range []string{"event_msg", "response_item", "turn_context", "world_state", "compacted", "session_meta"} {
			f.Add(byte(atContext), kind, payload, true)
			f.Add(byte(atEnd), kind, payload, false)
		}
	}
	f.Fuzz(func(t *testing.T, place byte, kind, payload string, insert bool) {
		all := good()
		at0 := int(place) % len(all)
		if insert {
			all = slices.Insert(all, at0, entry{kind, payload})
		} else {
			all[at0] = entry{kind, payload}
		}
		text := written(all)
		require.Equal(t, plausible(text), Check(at, []byte(text), session) == nil, text)
	})
}

func TestTheOracleKnowsTheRolloutsOfTheTests(t *testing.T) {
	require.True(t, plausible(written(good())))
	require.False(t, plausible(written(good()[:5])))
}
