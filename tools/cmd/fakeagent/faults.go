package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/acphost"
)

// fault is one thing that can be wrong with an agent.
type fault struct {
	name string
	at   string // the method it strikes at; atStart, atEOF, or after+method
	want string // what a host makes of it
	what string // for people
	do   func(a *agent, r *request) (tookThePlaceOfTheAnswer bool, err error)
}

const (
	atStart = "start"
	atEOF   = "end of input"
	after   = "after "
)

// What a host of a finite conversation makes of a fault. Where the conversation
// goes on nothing is wrong: the fault looks like one only.
const (
	fine      = string(acphost.Fine)      // the conversation ends as if nothing had been
	refusal   = string(acphost.Refusal)   // that request has an error; the conversation is settled
	protocol  = string(acphost.Protocol)  // the conversation fails: an agent left the protocol
	native    = string(acphost.Native)    // the conversation fails: the agent says that its session did
	unsettled = string(acphost.Unsettled) // nothing more comes: the host's clock ends it
	lingers   = string(acphost.Lingers)   // answers all, but does not end with its input
	exits     = string(acphost.Exits)     // answers all, and ends with a status that is not 0
	noise     = string(acphost.Noise)     // answers all, but says more on stderr than it may
)

// find gives the fault of that name. A name that ends in a number is one of a
// family: exit-3 is exit-N.
func find(name string) (fault, bool) {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
	if i >= 0 {
		return faults[i], true
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "exit-")); err == nil && n >= 0 && n <= 255 {
		return exit(n), true
	}
	return fault{}, false
}

// faults are all there are, in the order of a conversation. They are put together
// here because they refer to agents that look them up.
var faults []fault

func init() {
	faults = slices.Concat(lineFaults, startFaults, sessionFaults, promptFaults, diagnosticFaults, ceilingFaults, endFaults)
}

// line makes a fault that writes one line of its own and lets the answer come.
func writes(text string) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		a.write(text)
		return false, nil
	}
}

// instead makes a fault that answers with this result.
func instead(result string) func(*agent, *request) (bool, error) {
	return func(a *agent, r *request) (bool, error) {
		a.result(r, result)
		return true, nil
	}
}

// sends makes a fault that sends an update and lets the answer come.
func sends(update string) func(*agent, *request) (bool, error) {
	return func(a *agent, _ *request) (bool, error) {
		a.update(update)
		return false, nil
	}
}

// never answers.
func never(*agent, *request) (bool, error) { return true, nil }

// Lines that are none, or no messages.
var lineFaults = []fault{
	{"not-json", methodPrompt, protocol, "a line is no JSON", writes("not-json\n")},
	{"empty-line", methodPrompt, protocol, "a line is empty", writes("\n")},
	{"array", methodPrompt, protocol, "a line is a batch", writes("[]\n")},
	{"bad-utf8", methodPrompt, protocol, "a line is no UTF-8", writes("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\"\xff\"}\n")},
	{"duplicate-member", methodPrompt, protocol, "a line has a member twice", func(a *agent, r *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + quote(a.session) + `,"update":{"sessionUpdate":"usage_update"}}}`)
		return false, nil
	}},
	{"other-version", methodPrompt, protocol, "a line is of JSON-RPC 1.0", writes(`{"jsonrpc":"1.0","method":"session/update","params":{}}` + "\n")},
	{"result-and-error", methodPrompt, protocol, "a reply has both a result and an error", func(a *agent, r *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"x"}}`)
		return true, nil
	}},
	{"extra-member", methodPrompt, protocol, "a reply has a member that no reply has", func(a *agent, r *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"stopReason":"end_turn"},"more":1}`)
		return true, nil
	}},
	{"white-space", methodPrompt, fine, "lines end in CR LF and hold blanks", func(a *agent, r *request) (bool, error) {
		a.write(" { \"jsonrpc\" : \"2.0\" , \"id\" : " + string(r.ID) + " , \"result\" : { \"stopReason\" : \"end_turn\" } } \r\n")
		return true, nil
	}},
	{"partial-line", after + methodPrompt, protocol, "the last line has no end", func(a *agent, _ *request) (bool, error) {
		a.write(`{"jsonrpc":"2.0"`)
		return false, errExit
	}},
}

// Faults ahead of a session.
var startFaults = []fault{
	{"early-line", atStart, protocol, "it speaks before it is asked", writes(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}` + "\n")},
	{"early-exit", atStart, unsettled, "it exits before it has said anything", func(a *agent, _ *request) (bool, error) {
		a.code = 1
		return false, errExit
	}},
	{"hang-initialize", methodInit, unsettled, "initialize has no answer", never},
	{"version-2", methodInit, protocol, "it speaks another version of the protocol", instead(`{"protocolVersion":2,"agentCapabilities":` + capabilities + `}`)},
	{"capabilities-text", methodInit, protocol, "its capabilities are no object", instead(`{"protocolVersion":1,"agentCapabilities":"all"}`)},
	{"capabilities-null", methodInit, fine, "its capabilities are null, so it offers no close", instead(`{"protocolVersion":1,"agentCapabilities":null}`)},
	{"no-close", methodInit, fine, "it does not offer close", instead(initializedAs + `{"sessionCapabilities":{"resume":{}}}}`)},
	{"no-resume", methodInit, fine, "it does not offer resume", instead(initializedAs + `{"sessionCapabilities":{"close":{}}}}`)},
	{"initialize-error", methodInit, refusal, "initialize is refused", func(a *agent, r *request) (bool, error) {
		a.error(r, -32000, secret, quote(secret))
		return true, nil
	}},
	{"initialize-twice", methodInit, protocol, "initialize is answered twice", func(a *agent, r *request) (bool, error) {
		a.answer(r)
		return false, nil
	}},
}

// secret stands for what an agent says that nobody must see.
const secret = "fake secret canary: Bearer fake-token, /home/fake/.codex"

// Faults of opening, restoring and configuring a session.
var sessionFaults = []fault{
	{"early-update", methodNew, fine, "updates of a session come ahead of its name", func(a *agent, _ *request) (bool, error) {
		for range 3 {
			a.updateOf("forged-session", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"forged"}}`)
		}
		return false, nil
	}},
	{"session-error", methodNew, refusal, "session/new is refused", func(a *agent, r *request) (bool, error) {
		a.error(r, -32000, secret, `{"details":`+quote(secret)+`}`)
		return true, nil
	}},
	{"managed-preferences", methodNew, refusal, "session/new is refused as Codex does for managed preferences on macOS", refuse(-32603, "Internal error", quote(managed+" "+secret))},
	{"managed-object", methodNew, refusal, "the same in an object", refuse(-32603, "Internal error", `{"details":`+quote(managed)+`}`)},
	{"managed-code", methodNew, refusal, "the same with another code", refuse(-32600, "Internal error", quote(managed))},
	{"managed-message", methodNew, refusal, "the same with another message", refuse(-32603, "Internal Error", quote(managed))},
	{"managed-prefix", methodNew, refusal, "the same with something ahead of it", refuse(-32603, "Internal error", quote("x"+managed))},
	{"error-code", methodNew, protocol, "an error's code is no safe integer", refuseRaw(`{"code":1.5,"message":"x"}`)},
	{"error-message", methodNew, protocol, "an error's message is no text", refuseRaw(`{"code":1,"message":null}`)},
	{"session-empty", methodNew, protocol, "the session has no name", instead(`{"sessionId":""}`)},
	{"session-1024", methodNew, fine, "the session's name has 1,024 bytes", func(a *agent, r *request) (bool, error) {
		a.session = strings.Repeat("s", 1024)
		a.result(r, `{"sessionId":`+quote(a.session)+`}`)
		return true, nil
	}},
	{"session-1025", methodNew, protocol, "the session's name has 1,025 bytes", instead(`{"sessionId":` + quote(strings.Repeat("s", 1025)) + `}`)},
	{"session-number", methodNew, protocol, "the session's name is a number", instead(`{"sessionId":1}`)},
	{"hang-session", methodNew, unsettled, "session/new has no answer", never},
	{"resume-error", methodResume, refusal, "session/resume is refused", refuse(-32002, secret, "")},
	{"resume-managed", methodResume, refusal, "session/resume is refused as managed-preferences refuses session/new", refuse(-32603, "Internal error", quote(managed))},
	{"resume-array", methodResume, protocol, "session/resume is answered with an array", instead(`[]`)},
	{"resume-replay", methodResume, fine, "the history comes ahead of session/resume's answer", func(a *agent, r *request) (bool, error) {
		a.updateOf(r.Params.SessionID, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"history"}}`)
		a.updateOf(r.Params.SessionID, `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"history"}}`)
		return false, nil
	}},
	{"config-other", methodConfig, protocol, "an option has another value than was set", instead(`{"configOptions":[{"id":"model","currentValue":"other"},{"id":"web","currentValue":null}]}`)},
	{"config-none", methodConfig, protocol, "an option that was set is not told", instead(`{"configOptions":[]}`)},
	{"config-twice", methodConfig, protocol, "an option is told twice", func(a *agent, r *request) (bool, error) {
		one := `{"id":` + quote(r.Params.ConfigID) + `,"currentValue":` + string(r.Params.Value) + `}`
		a.result(r, `{"configOptions":[`+one+`,`+one+`]}`)
		return true, nil
	}},
	{"config-error", methodConfig, refusal, "an option is refused", refuse(-32602, "Invalid params", "")},
	{"mode-error", methodMode, refusal, "the mode is refused", refuse(-32602, "Invalid params", "")},
	{"mode-text", methodMode, protocol, "the mode is answered with a text", instead(`"read-only"`)},
}

const managed = "failed to load configuration: Failed to synchronize managed preferences\n\nCheck"

func refuse(code int, message, data string) func(*agent, *request) (bool, error) {
	return func(a *agent, r *request) (bool, error) {
		a.error(r, code, message, data)
		return true, nil
	}
}

func refuseRaw(object string) func(*agent, *request) (bool, error) {
	return func(a *agent, r *request) (bool, error) {
		a.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":` + object + `}`)
		return true, nil
	}
}
