package acpprofile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

func TestWholeConversation(t *testing.T) {
	// rule: P-038, P-039, P-040, P-041, P-042, P-043, P-055, P-056, P-057, P-059, F-081, F-091, F-109
	r := newRig(t, reviewed())
	require.Equal(t, `native {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"_meta":{"jetbrains":{"air":{"capabilities":["sessionFailure"],"version":1}}}},"clientInfo":{"name":"n","version":"1"}}}`,
		r.ask("initialize", `{"clientInfo":{"version":"1","name":"n"},"protocolVersion":1,"clientCapabilities":{}}`))
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"resume":{}}}}}`,
		r.result(`{"protocolVersion":1,"authMethods":[{"id":"x"}],"_meta":{"secret":1},"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true},"sessionCapabilities":{"close":{"x":1},"resume":{},"fork":{}}}}`))
	require.Equal(t, `native {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`, r.ask("session/new", "{\n\"mcpServers\" : [],\"cwd\":\"/work\"}"))
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`, r.result(`{"sessionId":"s","modes":{},"_meta":{"private":1}}`))
	r.mustAsk("session/set_config_option", `{"sessionId":"s","configId":"model","value":"m-1"}`)
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":3,"result":{"configOptions":[{"id":"model","name":"model","currentValue":"m-1","type":"select","options":[{"value":"m-1","name":"m-1"}]}]}}`,
		r.result(`{"configOptions":[{"id":"mode","currentValue":"x"},{"id":"model","name":"Private","currentValue":"m-1","options":[{"value":"other"}]}]}`))
	r.mustAsk("session/set_config_option", `{"sessionId":"s","configId":"web","type":"boolean","value":true}`)
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":4,"result":{"configOptions":[{"id":"web","name":"web","currentValue":true,"type":"boolean"}]}}`,
		r.result(`{"configOptions":[{"id":"web","currentValue":true}]}`))
	r.mustAsk("session/set_mode", `{"sessionId":"s","modeId":"read-only"}`)
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":5,"result":{}}`, r.result(`{"_meta":{"x":1}}`))
	r.isSettled(false)
	require.Equal(t, `native {"id":6,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"hi","type":"text"}],"sessionId":"s"}}`, r.ask("session/prompt", prompt(`"hi"`)))
	require.True(t, r.Prompting())
	for _, withheld := range []string{"agent_thought_chunk", "tool_call", "tool_call_update", "usage_update", "current_mode_update", "available_commands_update", "config_option_update", "anything"} {
		require.Equal(t, "-", r.native(update(`{"sessionUpdate":"`+withheld+`","content":{"type":"text","text":"private"}}`)), withheld)
	}
	require.Equal(t, `adapter {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\n\u0001b"},"messageId":"m"}}}`,
		r.native(update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","_meta":{"private":1},"content":{"type":"text","text":"a\n\u0001b","annotations":{}}}`)))
	require.Equal(t, `adapter {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"}}}}`,
		r.native(update(`{"sessionUpdate":"agent_message_chunk","messageId":"","content":{"type":"text","text":"b"}}`)))
	require.Equal(t, "-", r.native(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}`)))
	require.Equal(t, `adapter {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"in_progress"}]}}}`,
		r.native(update(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"in_progress","_meta":{}}]}`)))
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":6,"result":{"stopReason":"end_turn"}}`, r.result(`{"stopReason":"end_turn","usage":{"x":1},"_meta":{"quota":{}}}`))
	r.isSettled(true)
	require.Equal(t, "s", r.Session())
	r.mustAsk("session/close", `{"sessionId":"s"}`)
	r.isSettled(false)
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":7,"result":{}}`, r.result(`{}`))
	r.isSettled(true)
	require.NoError(t, r.AdapterEOF())
	require.NoError(t, r.NativeEOF())
}

func TestAdapterFramesThatAreRefused(t *testing.T) {
	// rule: P-017, P-019, P-020, P-021, P-022, P-023, F-061, F-088
	for name, frame := range map[string]string{
		"duplicate": `{"jsonrpc":"2.0","id":9,"id":9,"method":"initialize","params":{"protocolVersion":1}}`,
		"utf-8":     "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}",
		"surrogate": `{"jsonrpc":"2.0","id":"\ud800","method":"initialize","params":{"protocolVersion":1}}`,
		"2^53":      `{"jsonrpc":"2.0","id":9007199254740992,"method":"initialize","params":{"protocolVersion":1}}`,
		"batch":     `[{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":1}}]`,
		"version":   `{"jsonrpc":"1.0","id":9,"method":"initialize","params":{"protocolVersion":1}}`,
		"extra":     `{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":1},"x":1}`,
		"no params": `{"jsonrpc":"2.0","id":9,"method":"initialize"}`,
		"list":      `{"jsonrpc":"2.0","id":9,"method":"initialize","params":[]}`,
		"reply":     `{"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected"}}}`,
		"null id":   `{"jsonrpc":"2.0","id":null,"method":"initialize","params":{"protocolVersion":1}}`,
		"no id":     `{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}`,
		"1.5":       `{"jsonrpc":"2.0","id":1.5,"method":"initialize","params":{"protocolVersion":1}}`,
		"1.0":       `{"jsonrpc":"2.0","id":1.0,"method":"initialize","params":{"protocolVersion":1}}`,
		"empty id":  `{"jsonrpc":"2.0","id":"","method":"initialize","params":{"protocolVersion":1}}`,
		"NUL id":    `{"jsonrpc":"2.0","id":"\u0000","method":"initialize","params":{"protocolVersion":1}}`,
		"long id":   `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1025) + `","method":"initialize","params":{"protocolVersion":1}}`,
		"not JSON":  `x`, "empty": ``,
	} {
		r := newRig(t, plain())
		require.Equal(t, adapterFault, r.raw(frame), name)
		r.closedNow()
	}
	r := newRig(t, plain())
	require.Contains(t, r.raw(`{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 1024)+`","method":"initialize","params":{"protocolVersion":1}}`), "native")
	// 1 and "1" are two ids; either may be used once.
	r = newRig(t, plain())
	require.Contains(t, r.raw(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`), "native")
	require.Equal(t, nativeFault, words(r.Machine.Native([]byte(`{"jsonrpc":"2.0","id":"1","result":`+capable+`}`))))
	r = newRig(t, plain())
	r.raw(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	r.native(`{"jsonrpc":"2.0","id":1,"result":` + capable + `}`)
	require.Contains(t, r.raw(`{"jsonrpc":"2.0","id":"1","method":"session/new","params":`+work+`}`), "native")
	require.Contains(t, r.native(`{"jsonrpc":"2.0","id":"1","result":{"sessionId":"s"}}`), "adapter")
	require.Equal(t, adapterFault, r.raw(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":`+prompt(`"x"`)+`}`))
}

func TestInitialize(t *testing.T) {
	// rule: F-062, F-063, P-024, P-037
	for _, params := range []string{
		`{"protocolVersion":2}`, `{"protocolVersion":"1"}`, `{}`, `{"protocolVersion":1,"clientCapabilities":{"fs":{}}}`, `{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`,
		`{"protocolVersion":1,"clientCapabilities":{"_meta":{}}}`, `{"protocolVersion":1,"clientCapabilities":{"auth":{}}}`, `{"protocolVersion":1,"clientCapabilities":[]}`,
		`{"protocolVersion":1,"_meta":{}}`, `{"protocolVersion":1,"clientInfo":{}}`, `{"protocolVersion":1,"clientInfo":{"name":""}}`, `{"protocolVersion":1,"clientInfo":{"name":"a","x":1}}`,
	} {
		r := newRig(t, plain())
		require.Equal(t, adapterFault, r.ask("initialize", params), params)
		r.closedNow()
	}
	r := newRig(t, plain())
	require.Equal(t, adapterFault, r.ask("session/new", work))
	r = initialized(t, plain())
	require.Equal(t, adapterFault, r.ask("initialize", hello))
	for value, ok := range map[string]bool{
		`{"protocolVersion":1}`: true, `{"protocolVersion":1,"agentCapabilities":null}`: true, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":null}}`: true,
		`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":null}}}`: true,
		`{"protocolVersion":2}`: false, `{}`: false, `{"protocolVersion":1,"agentCapabilities":[]}`: false, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":1}}`: false,
		`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":true}}}`: false,
	} {
		r := newRig(t, plain())
		r.mustAsk("initialize", hello)
		if ok {
			require.Equal(t, `adapter {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}`, r.result(value))
		} else {
			require.Equal(t, nativeFault, r.result(value), value)
		}
	}
}

func TestSession(t *testing.T) {
	// rule: F-064, F-065, F-066, F-067, F-083, F-084, P-025
	for _, params := range []string{
		`{"cwd":"/","mcpServers":[]}`, `{"cwd":"/work"}`, `{"cwd":"/work","mcpServers":[{}]}`, `{"cwd":"/work","mcpServers":[],"_meta":{}}`, `{"cwd":"/work","mcpServers":[],"additionalDirectories":[]}`,
	} {
		require.Equal(t, adapterFault, initialized(t, plain()).ask("session/new", params), params)
	}
	require.Equal(t, adapterFault, opened(t, plain()).ask("session/new", work))
	require.Equal(t, adapterFault, initialized(t, plain()).ask("session/resume", `{"sessionId":"s","cwd":"/work","mcpServers":[]}`))
	for _, bad := range []string{`{"sessionId":""}`, `{"sessionId":1}`, `{}`, `{"sessionId":"` + strings.Repeat("x", 1025) + `"}`, `{"sessionId":"\u0000"}`} {
		r := initialized(t, plain())
		r.mustAsk("session/new", work)
		require.Equal(t, nativeFault, r.result(bad), bad)
	}
	restore := plain()
	restore.RestoreSessionID = "kept"
	resume := `{"sessionId":"kept","cwd":"/work","mcpServers":[]}`
	r := initialized(t, restore)
	require.Equal(t, adapterFault, r.ask("session/new", work))
	for _, params := range []string{strings.Replace(resume, "kept", "other", 1), strings.Replace(resume, "/work", "/", 1), strings.Replace(resume, "[]", "[{}]", 1), strings.Replace(resume, "}", `,"_meta":{}}`, 1)} {
		require.Equal(t, adapterFault, initialized(t, restore).ask("session/resume", params), params)
	}
	r = newRig(t, restore)
	r.mustAsk("initialize", hello)
	require.Equal(t, nativeFault, r.result(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`), "resume is not offered")
	r = initialized(t, restore)
	r.mustAsk("session/resume", resume)
	require.Equal(t, "-", r.native(strings.Replace(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"history"}}`), `"s"`, `"forged"`, 1)))
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":2,"result":{}}`, r.result(`{"sessionId":"forged","modes":{}}`))
	require.Contains(t, r.ask("session/prompt", strings.Replace(prompt(`"x"`), `"s"`, `"kept"`, 1)), "native")
	r.mustResult(`{"stopReason":"end_turn"}`)
	require.Equal(t, "kept", r.Session())
}

func TestConfigurationAndMode(t *testing.T) {
	// rule: F-068, F-069, F-070, F-071, F-072, F-079, F-085, P-026, P-016
	model := `{"sessionId":"s","configId":"model","value":"m-1"}`
	web := `{"sessionId":"s","configId":"web","type":"boolean","value":true}`
	mode := `{"sessionId":"s","modeId":"read-only"}`
	for _, params := range []string{
		web, strings.Replace(model, "m-1", "m-2", 1), strings.Replace(model, `"s"`, `"t"`, 1), strings.Replace(model, "}", `,"type":"boolean"}`, 1), strings.Replace(model, "}", `,"_meta":{}}`, 1),
	} {
		require.Equal(t, adapterFault, opened(t, reviewed()).ask("session/set_config_option", params), params)
	}
	require.Equal(t, adapterFault, opened(t, reviewed()).ask("session/set_mode", mode), "before the configuration")
	require.Equal(t, adapterFault, opened(t, reviewed()).ask("session/prompt", prompt(`"x"`)))
	for _, reply := range []string{
		`{"configOptions":[]}`, `{}`, `{"configOptions":{}}`, `{"configOptions":[{"id":"model","currentValue":"m-2"}]}`, `{"configOptions":[{"id":"model"}]}`,
		`{"configOptions":[{"id":"model","currentValue":"m-1"},{"id":"model","currentValue":"m-1"}]}`, `{"configOptions":[{"id":"other","currentValue":"m-1"}]}`,
	} {
		r := opened(t, reviewed())
		r.mustAsk("session/set_config_option", model)
		require.Equal(t, nativeFault, r.result(reply), reply)
	}
	second := func() *rig {
		r := opened(t, reviewed())
		r.mustAsk("session/set_config_option", model)
		r.mustResult(`{"configOptions":[{"id":"model","currentValue":"m-1"}]}`)
		return r
	}
	for _, params := range []string{model, strings.Replace(web, `"type":"boolean",`, "", 1), strings.Replace(web, "true", "false", 1), strings.Replace(web, "true", `"true"`, 1)} {
		require.Equal(t, adapterFault, second().ask("session/set_config_option", params), params)
	}
	for _, reply := range []string{`{"configOptions":[{"id":"web","currentValue":"true"}]}`, `{"configOptions":[{"id":"web","currentValue":false}]}`, `{"configOptions":[{"id":"web","currentValue":1}]}`} {
		r := second()
		r.mustAsk("session/set_config_option", web)
		require.Equal(t, nativeFault, r.result(reply), reply)
	}
	configured := func() *rig {
		r := second()
		r.mustAsk("session/set_config_option", web)
		r.mustResult(`{"configOptions":[{"id":"web","currentValue":true}]}`)
		return r
	}
	require.Equal(t, adapterFault, configured().ask("session/prompt", prompt(`"x"`)), "the mode is missing")
	require.Equal(t, adapterFault, configured().ask("session/set_mode", strings.Replace(mode, "read-only", "full", 1)))
	require.Equal(t, adapterFault, configured().ask("session/set_config_option", web), "all are confirmed")
	require.Equal(t, adapterFault, ready(t, reviewed()).ask("session/set_mode", mode), "twice")
	require.Equal(t, adapterFault, ready(t, reviewed()).ask("session/set_config_option", model))
	require.Equal(t, adapterFault, opened(t, plain()).ask("session/set_mode", mode), "none was reviewed")

	// What was reviewed is copied.
	c := reviewed()
	m, err := acpprofile.New(c)
	require.NoError(t, err)
	c.Configuration[0].Value = "m-2"
	*c.Configuration[1].Boolean = false
	r := &rig{T: t, Machine: m}
	r.mustAsk("initialize", hello)
	r.mustResult(capable)
	r.mustAsk("session/new", work)
	r.mustResult(owned)
	r.mustAsk("session/set_config_option", model)
	r.mustResult(`{"configOptions":[{"id":"model","currentValue":"m-1"}]}`)
	r.mustAsk("session/set_config_option", web)
}

func TestPrompts(t *testing.T) {
	// rule: F-073, F-074, F-075, F-076, F-077, F-086, P-213, J-175
	for _, text := range []string{`""`, `"/compact"`, `" \n/x"`, `"\u2003/x"`, `"\ufeff/x"`, `"\u2028\u00a0\u000b\f/x"`, `"a\u0000b"`, `"` + strings.Repeat("x", 1<<20+1) + `"`, `1`, `null`} {
		require.Equal(t, adapterFault, ready(t, plain()).ask("session/prompt", prompt(text)), text[:min(20, len(text))])
	}
	for _, text := range []string{`"x"`, `"a/b"`, `"\u0085/x"`, `"\u200b/x"`, `"` + strings.Repeat("x", 1<<20) + `"`} {
		require.Contains(t, ready(t, plain()).ask("session/prompt", prompt(text)), "native")
	}
	for _, params := range []string{
		`{"sessionId":"s","prompt":[]}`, `{"sessionId":"s","prompt":{}}`, `{"sessionId":"s","prompt":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
		`{"sessionId":"s","prompt":[{"type":"resource_link","uri":"x"}]}`, `{"sessionId":"s","prompt":[{"type":"text","text":"a","annotations":{}}]}`,
		`{"sessionId":"t","prompt":[{"type":"text","text":"a"}]}`, `{"sessionId":"s","prompt":[{"type":"text","text":"a"}],"_meta":{}}`,
	} {
		require.Equal(t, adapterFault, ready(t, plain()).ask("session/prompt", params), params)
	}
	require.Equal(t, adapterFault, settled(t, plain()).ask("session/prompt", prompt(`"x"`)), "one prompt was reviewed")
	require.Equal(t, adapterFault, prompted(t, reviewed()).ask("session/prompt", prompt(`"x"`)), "one at a time")
	r := settled(t, reviewed())
	r.mustAsk("session/prompt", prompt(`"again"`))
	r.mustResult(`{"stopReason":"refusal"}`)
	require.Equal(t, adapterFault, r.ask("session/prompt", prompt(`"third"`)))
	for _, method := range []string{"authenticate", "session/load", "session/fork", "session/set_model", "providers/set", "session/steer", "fs/read_text_file", "terminal/create", "session/update", "nonsense"} {
		require.Equal(t, adapterFault, ready(t, plain()).ask(method, owned), method)
	}
	for reason, ok := range map[string]bool{"end_turn": true, "max_tokens": true, "max_turn_requests": true, "refusal": true, "cancelled": true, "other": false, "": false} {
		got := prompted(t, plain()).result(`{"stopReason":"` + reason + `"}`)
		require.Equal(t, !ok, got == nativeFault, reason)
	}
}

func TestCancel(t *testing.T) {
	// rule: F-080, F-081, P-027, P-028, P-029, P-064
	require.Equal(t, adapterFault, ready(t, plain()).raw(cancel), "before any prompt")
	for _, bad := range []string{strings.Replace(cancel, `"s"`, `"t"`, 1), strings.Replace(cancel, `{"session`, `{"x":1,"session`, 1), strings.Replace(cancel, `"method"`, `"id":9,"method"`, 1)} {
		require.Equal(t, adapterFault, prompted(t, plain()).raw(bad), bad)
	}
	r := prompted(t, reviewed())
	d, err := r.Adapter([]byte(cancel))
	require.NoError(t, err)
	require.True(t, d.Cancel)
	require.Equal(t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, string(d.ToNative[0]))
	require.True(t, r.Cancelling())
	r.isSettled(false)
	r.mustResult(`{"stopReason":"cancelled"}`)
	require.False(t, r.Cancelling(), "a cancel still in the queue is dropped")
	r.isSettled(true)
	require.Equal(t, adapterFault, r.raw(cancel), "a second one for the same prompt")
	// One that comes too late is consumed, and the next prompt gets none of it.
	r = settled(t, reviewed())
	require.Equal(t, "consumed", r.raw(cancel))
	r.mustAsk("session/prompt", prompt(`"next"`))
	require.False(t, r.Cancelling())
	require.Contains(t, r.raw(cancel), "native")
	// So it is after an error.
	r = prompted(t, reviewed())
	require.Contains(t, r.native(`{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"x"}}`), "adapter")
	require.Equal(t, "consumed", r.raw(cancel))
	require.Equal(t, adapterFault, r.ask("session/prompt", prompt(`"x"`)))
	r = settled(t, reviewed())
	r.mustAsk("session/close", owned)
	require.Equal(t, adapterFault, r.raw(cancel))
}

func TestClose(t *testing.T) {
	// rule: F-078, F-109, P-030
	require.Equal(t, adapterFault, ready(t, plain()).ask("session/close", owned), "nothing has settled")
	require.Equal(t, adapterFault, prompted(t, plain()).ask("session/close", owned))
	require.Equal(t, adapterFault, settled(t, plain()).ask("session/close", `{"sessionId":"t"}`))
	r := newRig(t, plain())
	r.mustAsk("initialize", hello)
	r.mustResult(`{"protocolVersion":1}`)
	r.mustAsk("session/new", work)
	r.mustResult(owned)
	r.mustAsk("session/prompt", prompt(`"x"`))
	r.mustResult(`{"stopReason":"end_turn"}`)
	require.Equal(t, adapterFault, r.ask("session/close", owned), "not advertised")
	r = settled(t, reviewed())
	r.mustAsk("session/close", owned)
	require.Error(t, r.AdapterEOF(), "its answer is missing")
	r = settled(t, reviewed())
	r.mustAsk("session/close", owned)
	r.mustResult(`{"any":1}`)
	require.Equal(t, adapterFault, r.ask("session/prompt", prompt(`"x"`)))
	for _, early := range []func(*testing.T, acpprofile.Config) *rig{initialized, opened, ready, prompted} {
		r := early(t, plain())
		require.Error(t, r.AdapterEOF())
		r.closedNow()
		require.Error(t, early(t, plain()).NativeEOF())
	}
}

func TestPendingNamesTheRequestThatWaits(t *testing.T) {
	r := newRig(t, plain())
	require.Empty(t, r.Pending())
	r.mustAsk("initialize", hello)
	require.Equal(t, "initialize", r.Pending())
	r.mustResult(capable)
	require.Empty(t, r.Pending())
	r.mustAsk("session/new", work)
	require.Equal(t, "session/new", r.Pending())
	require.Equal(t, nativeFault, r.native("nonsense"))
	require.Empty(t, r.Pending(), "nothing is waited for after a violation")
}

func TestTheHostNegotiatesDiagnosticsWhateverTheAdapterSays(t *testing.T) {
	// rule: F-102, F-198
	const want = `"clientCapabilities":{"_meta":{"jetbrains":{"air":{"capabilities":["sessionFailure"],"version":1}}}}`
	for _, params := range []string{hello, `{"protocolVersion":1,"clientCapabilities":{}}`, `{"protocolVersion":1,"clientInfo":{"name":"n"}}`} {
		line := newRig(t, plain()).ask("initialize", params)
		require.Contains(t, line, want, params)
		require.NotContains(t, line, "fs")
		require.NotContains(t, line, "terminal")
		require.NotContains(t, line, "mcp")
	}
	for _, params := range []string{
		`{"protocolVersion":1,"clientCapabilities":{"_meta":{}}}`, `{"protocolVersion":1,"_meta":{}}`,
		`{"protocolVersion":1,"clientCapabilities":{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":[]}}}}}`, `{"protocolVersion":1,"clientCapabilities":null}`,
	} {
		require.Equal(t, adapterFault, newRig(t, plain()).ask("initialize", params), params)
	}
	require.Equal(t, `native {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`, initialized(t, plain()).ask("session/new", work))
}
