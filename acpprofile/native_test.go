package acpprofile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

func TestNativeLinesThatAreRefused(t *testing.T) {
	// rule: P-032, P-034, P-035, P-036, P-058, J-175
	for _, line := range []string{
		``, `x`, `[]`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":2}`,
		`{"jsonrpc":"2.0","id":2,"result":{},"x":1}`, `{"jsonrpc":"2.0","id":2,"result":{},"params":{}}`, `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}x`,
		`{"jsonrpc":"2.0","id":"3","result":{"stopReason":"end_turn"}}`, `{"jsonrpc":"2.0","id":3.0,"result":{"stopReason":"end_turn"}}`, `{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":true,"message":42}}`, `{"jsonrpc":"2.0","id":3,"result":[]}`, `{"jsonrpc":"2.0","id":3,"result":null}`,
		`{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{}}`, `{"jsonrpc":"2.0","id":9,"method":"terminal/create","params":{}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}`, `{"jsonrpc":"2.0","id":9,"method":"authenticate","params":{}}`, `{"jsonrpc":"2.0","method":7}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":1.5,"message":"x"}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":9007199254740992,"message":"x"}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":3,"error":"x"}`,
	} {
		r := prompted(t, plain())
		require.Equal(t, nativeFault, r.native(line), line)
		r.closedNow()
	}
	r := settled(t, plain())
	require.Equal(t, nativeFault, r.result(`{"stopReason":"end_turn"}`), "a second reply")
}

func TestErrorsAreSanitised(t *testing.T) {
	// rule: P-044, P-045
	r := prompted(t, reviewed())
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":6,"error":{"code":-32001,"message":"Native ACP request failed"}}`,
		r.native(`{"jsonrpc":"2.0","id":6,"error":{"code":-32001,"message":"secret-canary","data":{"secret-canary":1}}}`))
	r.isSettled(true)
	require.Empty(t, r.Session(), "nothing can be retained")
	require.NoError(t, r.AdapterEOF())
	r = prompted(t, reviewed())
	r.native(`{"jsonrpc":"2.0","id":6,"error":{"code":1,"message":"x"}}`)
	r.mustAsk("session/close", owned)
}

func TestManagedPreferences(t *testing.T) {
	// rule: F-105
	exact := "failed to load configuration: Failed to synchronize managed preferences\\n\\nCheck /private/secret-canary"
	fail := func(c acpprofile.Config, code int, message, data string) string {
		r := initialized(t, c)
		r.mustAsk("session/new", work)
		return r.native(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"error":{"code":%d,"message":%q,"data":%s}}`, code, message, data))
	}
	quoted := `"` + exact + `"`
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Native ACP request failed","data":{"reason":"managed-preferences-unavailable"}}}`,
		fail(reviewed(), -32603, "Internal error", quoted))
	claude := reviewed()
	claude.Client = "claude"
	for _, got := range []string{
		fail(claude, -32603, "Internal error", quoted), fail(reviewed(), -32602, "Internal error", quoted), fail(reviewed(), -32603, "internal error", quoted),
		fail(reviewed(), -32603, "Internal error", `{"details":`+quoted+`}`), fail(reviewed(), -32603, "Internal error", `"x`+exact+`"`), fail(reviewed(), -32603, "Internal error", `"failed to load configuration: other"`),
	} {
		require.Contains(t, got, `"message":"Native ACP request failed"}}`)
	}
	restore := reviewed()
	restore.RestoreSessionID = "kept"
	r := initialized(t, restore)
	r.mustAsk("session/resume", `{"sessionId":"kept","cwd":"/work","mcpServers":[]}`)
	require.NotContains(t, r.native(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":`+quoted+`}}`), "data")
}

func TestPermissions(t *testing.T) {
	// rule: F-087, F-094, P-046, P-047
	ask := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"foreign","options":[]}}`
	}
	for _, at := range []func(*testing.T, acpprofile.Config) *rig{newRig, initialized, opened, prompted, settled} {
		r := at(t, plain())
		require.Equal(t, `native {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`, r.native(ask("0")))
		require.Equal(t, `native {"jsonrpc":"2.0","id":"0","result":{"outcome":{"outcome":"cancelled"}}}`, r.native(ask(`"0"`)))
		require.Equal(t, nativeFault, r.native(ask("0")), "the same id again")
	}
	for _, id := range []string{"null", "1.5", `""`, "{}"} {
		require.Equal(t, nativeFault, prompted(t, plain()).native(ask(id)), id)
	}
	require.Equal(t, nativeFault, prompted(t, plain()).native(strings.Replace(ask("0"), `"id":0,`, "", 1)))
	r := prompted(t, plain())
	for i := range 256 {
		require.Contains(t, r.native(ask(fmt.Sprint(i))), "native")
	}
	require.Equal(t, nativeFault, r.native(ask("256")))
}

func TestUpdatesOutOfPlace(t *testing.T) {
	// rule: F-089, P-048, P-049, P-050, P-051, P-053, P-054, P-056
	chunk := `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`
	plan := `{"sessionUpdate":"plan","entries":[]}`
	for _, at := range []func(*testing.T, acpprofile.Config) *rig{opened, ready, settled} {
		require.Equal(t, nativeFault, at(t, plain()).native(update(chunk)))
		require.Equal(t, nativeFault, at(t, plain()).native(update(plan)))
		require.Equal(t, nativeFault, at(t, plain()).native(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image"}}`)))
		require.Equal(t, "-", at(t, plain()).native(update(`{"sessionUpdate":"usage_update"}`)))
	}
	require.Equal(t, nativeFault, newRig(t, plain()).native(update(chunk)))
	require.Equal(t, nativeFault, initialized(t, plain()).native(update(`{"sessionUpdate":"usage_update"}`)))
	foreign := strings.Replace(update(chunk), `"s"`, `"forged"`, 1)
	r := initialized(t, plain())
	r.mustAsk("session/new", work)
	require.Equal(t, "-", r.native(foreign))
	require.Contains(t, r.result(owned), `"sessionId":"s"`)
	require.Equal(t, nativeFault, r.native(foreign))
	for _, bad := range []string{
		strings.Replace(update(chunk), `"method"`, `"id":7,"method"`, 1), strings.Replace(update(chunk), `"update"`, `"x":1,"update"`, 1), `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":[]}}`, `{"jsonrpc":"2.0","method":"session/update","params":{"update":` + chunk + `}}`, `{"jsonrpc":"2.0","method":"session/update"}`,
		update(`{"sessionUpdate":"plan"}`), update(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"urgent","status":"pending"}]}`), update(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"low","status":"done"}]}`),
		update(`{"sessionUpdate":"plan","entries":[{"priority":"low","status":"pending"}]}`), update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}`),
	} {
		require.Equal(t, nativeFault, prompted(t, plain()).native(bad), bad)
	}
	require.Contains(t, prompted(t, plain()).native(strings.Replace(update(chunk), `"update":`, `"_meta":{"x":1},"update":`, 1)), "adapter")
}

func warningAt(body string) string {
	return `{"sessionUpdate":"session_info_update","content":{"type":"text","text":"private"},"_meta":{"jetbrains":{"air":{"sessionFailure":` + body + `}}}}`
}

const warned = `adapter {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}}}`

func TestDiagnostics(t *testing.T) {
	// rule: F-106, F-107, P-052, P-060, P-061, P-062
	soft := `{"version":1,"severity":"warning","title":"private"}`
	for _, at := range []func(*testing.T, acpprofile.Config) *rig{opened, prompted, settled} {
		require.Equal(t, warned, at(t, plain()).native(update(warningAt(soft))))
		r := at(t, plain())
		require.Equal(t, "FAIL native native-session", r.native(update(warningAt(`{"version":1,"severity":"error"}`))))
		r.closedNow()
		require.Equal(t, "-", at(t, plain()).native(update(warningAt(`null`))))
		for _, bad := range []string{`{"version":2,"severity":"warning"}`, `{"version":1,"severity":"x"}`, `{"severity":"warning"}`, `{}`, `1`} {
			require.Equal(t, nativeFault, at(t, plain()).native(update(warningAt(bad))), bad)
		}
	}
	// The version stands where clients put it, or inside.
	placed := func(outer, inner string) string {
		return update(`{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{` + outer + `"sessionFailure":{` + inner + `"severity":"warning"}}}}}`)
	}
	for _, at := range [][2]string{{`"version":1,`, ``}, {``, `"version":1,`}, {`"version":1,`, `"version":1,`}} {
		require.Equal(t, warned, opened(t, plain()).native(placed(at[0], at[1])))
	}
	for _, at := range [][2]string{{``, ``}, {`"version":2,`, ``}, {`"version":1,`, `"version":2,`}, {`"version":2,`, `"version":1,`}, {`"version":"1",`, ``}} {
		require.Equal(t, nativeFault, opened(t, plain()).native(placed(at[0], at[1])))
	}
	// Text beside a warning is gone with it.
	text := strings.Replace(warningAt(soft), "session_info_update", "agent_message_chunk", 1)
	require.Equal(t, warned, prompted(t, plain()).native(update(text)))

	// Before the session is known they become one, after its reply.
	r := initialized(t, plain())
	r.mustAsk("session/new", work)
	for range 3 {
		require.Equal(t, "-", r.native(strings.Replace(update(warningAt(soft)), `"s"`, `"x"`, 1)))
	}
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`+"\n"+warned, r.result(owned))
	// On a result they come after the reply; before a session they wait for it.
	failure := func(severity string) string {
		return `"_meta":{"jetbrains":{"air":{"sessionFailure":{"version":1,"severity":"` + severity + `"}}}}`
	}
	r = newRig(t, plain())
	r.mustAsk("initialize", hello)
	require.NotContains(t, r.result(`{"protocolVersion":1,`+failure("warning")+`}`), "NATIVE_WARNING")
	r.mustAsk("session/new", work)
	require.Contains(t, r.result(owned), warned)
	r = prompted(t, plain())
	require.Equal(t, `adapter {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`+"\n"+warned, r.result(`{"stopReason":"end_turn",`+failure("warning")+`}`))
	require.Equal(t, "FAIL native native-session", prompted(t, plain()).result(`{"stopReason":"end_turn",`+failure("error")+`}`))
	r = newRig(t, plain())
	r.mustAsk("initialize", hello)
	require.Equal(t, "FAIL native native-session", r.result(`{"protocolVersion":1,`+failure("error")+`}`))
}

func TestCeilings(t *testing.T) {
	// rule: F-090, F-092, F-093, F-095, P-018, P-031
	r := prompted(t, plain())
	for range 4096 {
		require.Equal(t, "-", r.native(update(`{"sessionUpdate":"usage_update"}`)))
	}
	require.Equal(t, nativeFault, r.native(update(`{"sessionUpdate":"usage_update"}`)))

	chunk := func(n int) string {
		return update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("x", n) + `"}}`)
	}
	r = prompted(t, reviewed())
	require.Contains(t, r.native(chunk(8<<20-1)), "adapter")
	r.mustResult(`{"stopReason":"end_turn"}`)
	r.mustAsk("session/prompt", prompt(`"x"`))
	require.Contains(t, r.native(chunk(1)), "adapter", "the second turn has what the first left")
	require.Equal(t, nativeFault, r.native(chunk(1)))

	small := plain()
	small.Limits = acpprofile.Limits{NativeBytes: 1000, NativeFrames: 10, AdapterFrames: 3, AdapterBytes: 400, FrameBytes: 500}
	pad := func(n int) string {
		line := update(`{"sessionUpdate":"usage_update"}`)
		return line + strings.Repeat(" ", n-len(line))
	}
	used := len(`{"jsonrpc":"2.0","id":1,"result":`+capable+`}`) + len(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`)
	r = opened(t, small)
	require.Equal(t, "-", r.native(pad(500)))
	require.Equal(t, "-", r.native(pad(500-used)))
	require.Equal(t, nativeFault, r.native(pad(200)))
	require.Equal(t, nativeFault, opened(t, small).native(pad(501)))
	r = opened(t, small)
	for i := range 8 {
		require.Contains(t, r.native(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission"}`, 100+i)), "native")
	}
	require.Equal(t, nativeFault, r.native(`{"jsonrpc":"2.0","id":200,"method":"session/request_permission"}`), "the eleventh line")

	r = opened(t, small)
	r.mustAsk("session/prompt", prompt(`"x"`))
	r.mustResult(`{"stopReason":"end_turn"}`)
	require.Equal(t, adapterFault, r.raw(cancel), "the fourth frame")
	r = opened(t, small)
	require.Equal(t, adapterFault, r.raw("not JSON "+strings.Repeat("x", 400)), "counted before it is read")
}

func TestRealCeilings(t *testing.T) {
	// rule: F-095, P-018
	r := newRig(t, plain())
	r.mustAsk("initialize", hello)
	line := `{"jsonrpc":"2.0","id":1,"result":` + capable + `}`
	big := line + strings.Repeat(" ", 16<<20-len(line))
	require.Contains(t, r.native(big), "adapter")
	r.mustAsk("session/new", work)
	line = `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`
	require.Contains(t, r.native(line+strings.Repeat(" ", 16<<20-len(line))), "adapter")
	require.Equal(t, nativeFault, r.native(` `), "32 MiB")
	require.Equal(t, nativeFault, newRig(t, plain()).native(strings.Repeat(" ", 16<<20+1)))

	frame := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`
	require.Contains(t, newRig(t, plain()).raw(frame+strings.Repeat(" ", 8<<20-len(frame))), "native")
	require.Equal(t, adapterFault, newRig(t, plain()).raw(frame+strings.Repeat(" ", 8<<20-len(frame)+1)))
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(*acpprofile.Config){
		"no prompts":   func(c *acpprofile.Config) { c.MaxTurns = 0 },
		"nine prompts": func(c *acpprofile.Config) { c.MaxTurns = 9 },
		"17 settings": func(c *acpprofile.Config) {
			for i := range 17 {
				c.Configuration = append(c.Configuration, acpprofile.Setting{ID: fmt.Sprint(i), Value: "x"})
			}
		},
		"twice": func(c *acpprofile.Config) {
			c.Configuration = []acpprofile.Setting{{ID: "a", Value: "x"}, {ID: "a", Value: "x"}}
		},
		"NUL":          func(c *acpprofile.Config) { c.Configuration = []acpprofile.Setting{{ID: "a", Value: "x\x00"}} },
		"empty value":  func(c *acpprofile.Config) { c.Configuration = []acpprofile.Setting{{ID: "a"}} },
		"long mode":    func(c *acpprofile.Config) { c.ModeID = strings.Repeat("x", 1025) },
		"long session": func(c *acpprofile.Config) { c.RestoreSessionID = strings.Repeat("x", 1025) },
		"negative":     func(c *acpprofile.Config) { c.Limits.Updates = -1 },
	} {
		c := plain()
		change(&c)
		_, err := acpprofile.New(c)
		require.Error(t, err, name)
	}
	c := plain()
	c.MaxTurns = 8
	for i := range 16 {
		c.Configuration = append(c.Configuration, acpprofile.Setting{ID: fmt.Sprint(i), Value: strings.Repeat("x", 1024)})
	}
	_, err := acpprofile.New(c)
	require.NoError(t, err)
}

func FuzzMachine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}` + "\n" + update(warningAt(`{"version":1,"severity":"warning"}`))))
	f.Add([]byte(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{}}`))
	f.Add([]byte(update(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}`)))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := prompted(t, plain())
		for line := range strings.Lines(string(input)) {
			line = strings.TrimSuffix(line, "\n")
			d, err := r.Machine.Native([]byte(line))
			if err != nil {
				require.NotContains(t, err.Error(), "canary")
				require.Equal(t, "CLOSED", r.native(line))
				return
			}
			for _, b := range append(d.ToAdapter, d.ToNative...) {
				require.NotContains(t, string(b), "\n")
			}
		}
		r.raw(string(input))
	})
}
