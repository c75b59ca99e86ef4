package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	forgedText = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"forged"}}`
	aPlan      = `{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"pending"}]}`
)

// Faults of a turn.
var promptFaults = []fault{
	{"foreign-update", methodPrompt, protocol, "an update is of another session", func(a *agent, _ *request) (bool, error) {
		a.updateOf("another-session", `{"sessionUpdate":"usage_update"}`)
		return false, nil
	}},
	{"update-with-id", methodPrompt, protocol, "an update wants an answer", func(a *agent, _ *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":9,"method":"session/update","params":{"sessionId":` + quote(a.session) + `,"update":{"sessionUpdate":"usage_update"}}}`)
		return false, nil
	}},
	{"late-text", after + methodPrompt, protocol, "text comes after the turn", sends(forgedText)},
	{"late-plan", after + methodPrompt, protocol, "a plan comes after the turn", sends(aPlan)},
	{"late-usage", after + methodPrompt, fine, "usage is told after the turn", sends(`{"sessionUpdate":"usage_update","used":1}`)},
	{"late-image", after + methodPrompt, protocol, "a picture comes after the turn", sends(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"image/png"}}`)},
	{"image", methodPrompt, fine, "the answer holds a picture", sends(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"image/png"}}`)},
	{"plan", methodPrompt, fine, "the turn has a plan", sends(aPlan)},
	{"plan-status", methodPrompt, protocol, "a plan has a status that there is none", sends(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"half"}]}`)},
	{"tool-call", methodPrompt, fine, "the turn calls a tool", sends(`{"sessionUpdate":"tool_call","toolCallId":"call-1","title":` + quote(secret) + `,"rawInput":{"command":` + quote(secret) + `}}`)},
	{"permission", methodPrompt, fine, "it asks for a permission", func(a *agent, _ *request) (bool, error) {
		a.permission("0", a.session)
		return false, nil
	}},
	{"foreign-permission", methodPrompt, fine, "it asks for a permission in another session", func(a *agent, _ *request) (bool, error) {
		a.permission(`"permit"`, "another-session")
		return false, nil
	}},
	{"early-permission", methodNew, fine, "it asks for a permission before there is a session", func(a *agent, _ *request) (bool, error) {
		a.permission("7", "none")
		return false, nil
	}},
	{"permission-twice", methodPrompt, protocol, "it asks twice under one id", func(a *agent, _ *request) (bool, error) {
		a.permission("0", a.session)
		a.permission("0", a.session)
		return false, nil
	}},
	{"permission-null", methodPrompt, protocol, "it asks under the id null", func(a *agent, _ *request) (bool, error) {
		a.permission("null", a.session)
		return false, nil
	}},
	{"read-file", methodPrompt, protocol, "it wants the host to read a file", asks("fs/read_text_file", `"path":"/etc/passwd"`)},
	{"write-file", methodPrompt, protocol, "it wants the host to write a file", asks("fs/write_text_file", `"path":"/work/x","content":"x"`)},
	{"terminal", methodPrompt, protocol, "it wants the host to run a command", asks("terminal/create", `"command":"id"`)},
	{"extension", methodPrompt, protocol, "it asks what only another host knows", asks("_fake/extension", `"x":1`)},
	{"extension-notice", methodPrompt, protocol, "it tells what only another host knows", writes(`{"jsonrpc":"2.0","method":"_fake/notice","params":{}}` + "\n")},
	{"agent-cancel", methodPrompt, protocol, "it cancels its own turn", func(a *agent, _ *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":` + quote(a.session) + `}}`)
		return false, nil
	}},
	{"prompt-error", methodPrompt, refusal, "the turn fails, and the error tells a secret", refuse(-32603, secret, `{"secret":`+quote(secret)+`}`)},
	{"reason-unknown", methodPrompt, protocol, "the turn ends for a reason that there is none", instead(`{"stopReason":"tired"}`)},
	{"reason-missing", methodPrompt, protocol, "the turn ends for no reason", instead(`{}`)},
	{"refusal", methodPrompt, fine, "the model refuses", instead(`{"stopReason":"refusal"}`)},
	{"other-id", methodPrompt, protocol, "a reply is to nothing that was asked", func(a *agent, _ *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":"never-asked","result":{}}`)
		return false, nil
	}},
	{"text-id", methodPrompt, protocol, "a reply has the id as a text", func(a *agent, r *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":` + quote(string(r.ID)) + `,"result":{"stopReason":"end_turn"}}`)
		return true, nil
	}},
	{"twice", methodPrompt, protocol, "a turn is answered twice", func(a *agent, r *request) (bool, error) {
		a.answer(r)
		return false, nil
	}},
	{"hang", methodPrompt, unsettled, "a turn never ends, cancelled or not", func(a *agent, _ *request) (bool, error) {
		a.say("Wait. ")
		return true, nil
	}},
	{"cancel-twice", methodCancel, protocol, "a cancelled turn is answered twice", func(a *agent, r *request) (bool, error) {
		if a.slow != nil {
			a.result(a.slow, `{"stopReason":"cancelled"}`)
		}
		return false, nil
	}},
	{"environment", methodPrompt, fine, "the answer is its environment", func(a *agent, _ *request) (bool, error) {
		all := os.Environ()
		slices.Sort(all)
		a.say(strings.Join(all, "\n"))
		return false, nil
	}},
	{"close-error", methodClose, refusal, "close is refused", refuse(-32603, secret, "")},
	{"hang-close", methodClose, unsettled, "close has no answer", never},
}

func asks(method, members string) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":1000,"method":` + quote(method) + `,"params":{"sessionId":` + quote(a.session) + `,` + members + `}}`)
		return false, nil
	}
}

// diagnostic is an update that tells a failure of the session.
func diagnostic(version, severity string) string {
	return `{"sessionUpdate":"session_info_update","_meta":` + meta(version, severity) + `}`
}

func meta(version, severity string) string {
	return `{"jetbrains":{"air":{"version":` + version + `,"sessionFailure":{"id":"f","revision":1,"category":"unknown","severity":` +
		quote(severity) + `,"title":` + quote(secret) + `,"actions":[]}}}}`
}

// Diagnostics that the host asked for.
var diagnosticFaults = []fault{
	{"early-warnings", methodNew, fine, "three warnings come ahead of the session", func(a *agent, _ *request) (bool, error) {
		for range 3 {
			a.updateOf("forged-session", diagnostic("1", "warning"))
		}
		return false, nil
	}},
	{"early-error", methodNew, native, "the session fails before there is one", func(a *agent, _ *request) (bool, error) {
		a.updateOf("forged-session", diagnostic("1", "error"))
		return false, nil
	}},
	{"warning", methodPrompt, fine, "a warning comes in the turn", sends(diagnostic("1", "warning"))},
	{"warning-with-text", methodPrompt, fine, "a piece of text is a warning", sends(
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + quote(secret) + `},"_meta":` + meta("1", "warning") + `}`)},
	{"late-warning", after + methodPrompt, fine, "a warning comes after the turn", sends(diagnostic("1", "warning"))},
	{"warning-on-result", methodPrompt, fine, "the turn's result carries a warning", instead(`{"stopReason":"end_turn","_meta":` + meta("1", "warning") + `}`)},
	{"error", methodPrompt, native, "the session fails in the turn", sends(diagnostic("1", "error"))},
	{"late-error", after + methodPrompt, native, "the session fails after the turn", sends(diagnostic("1", "error"))},
	{"error-on-result", methodPrompt, native, "the turn ends well, and its result says that the session failed", instead(`{"stopReason":"end_turn","_meta":` + meta("1", "error") + `}`)},
	{"diagnostic-version", methodPrompt, protocol, "a diagnostic is of another version", sends(diagnostic("2", "warning"))},
	{"diagnostic-severity", methodPrompt, protocol, "a diagnostic is of a severity that there is none", sends(diagnostic("1", "x"))},
}

// Ceilings. What the agent says in a conversation without faults is little beside
// them, and counts.
var ceilingFaults = []fault{
	{"updates-4000", methodPrompt, fine, "4,000 updates that nobody sees", updates(4000)},
	{"updates-4097", methodPrompt, protocol, "4,097 updates that nobody sees", updates(4097)},
	{"text-8-million", methodPrompt, fine, "8,000,000 bytes of text", texts(80)},
	{"text-9-million", methodPrompt, protocol, "9,000,000 bytes of text", texts(90)},
	{"long-line", methodPrompt, protocol, "a line of 16 MiB and one byte", func(a *agent, _ *request) (bool, error) {
		a.line(strings.Repeat("x", 16<<20+1))
		return false, nil
	}},
	{"bytes-33-million", methodPrompt, fine, "33,000,000 bytes that nobody sees", ignored(33)},
	{"bytes-34-million", methodPrompt, protocol, "34,000,000 bytes that nobody sees", ignored(34)},
	{"lines-8193", methodPrompt, protocol, "8,193 lines", func(a *agent, _ *request) (bool, error) {
		for range 8193 {
			a.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + quote(a.session) + `,"update":{"sessionUpdate":"usage_update"}}}`)
		}
		return false, nil
	}},
	{"permissions-256", methodPrompt, fine, "it asks for 256 permissions", permissions(256)},
	{"permissions-257", methodPrompt, protocol, "it asks for 257 permissions", permissions(257)},
	{"stderr-65536", methodPrompt, fine, "65,536 bytes on stderr", stderr(65536)},
	{"stderr-65537", methodPrompt, noise, "65,537 bytes on stderr", stderr(65537)},
}

func updates(n int) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		for range n {
			a.update(`{"sessionUpdate":"usage_update","used":1,"size":2}`)
		}
		return false, nil
	}
}

// texts sends so many pieces of 100,000 bytes.
func texts(n int) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		piece := strings.Repeat("0123456789", 10_000)
		for range n {
			a.say(piece)
		}
		return false, nil
	}
}

// ignored sends so many million bytes of updates that no host shows.
func ignored(millions int) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		piece := strings.Repeat("x", 1_000_000)
		for range millions {
			a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` + piece + `"}}`)
		}
		return false, nil
	}
}

func permissions(n int) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		for i := range n {
			a.permission(strconv.Itoa(i), a.session)
		}
		return false, nil
	}
}

func stderr(n int) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		_, _ = a.errs.Write([]byte(strings.Repeat("e", n)))
		return false, nil
	}
}
