package acp

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpprofile"
)

// broken is a violation with what it happened over, for the operator: several
// violations have one text.
type broken struct {
	err   error
	where string // follows what was broken; may be empty
	rule  string // that was broken
}

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// rules say what of the conversation holds for a method: for the Flow who asks, and for
// the client who answers. They are told to the operator, and hold nothing of either.
var rules = map[string]struct{ asked, answered string }{
	"initialize": {
		"initialize is the first request and comes once, with protocolVersion 1, no client capabilities, and a clientInfo of name, version and title at most",
		"initialize is answered with protocolVersion 1 and capabilities that are objects; where a session is restored, resume is one of them",
	},
	"session/new": {
		"session/new comes once, where the ready record names no session to restore, with the cwd /work and no mcpServers, and nothing else",
		"session/new is answered with a sessionId of 1 to 1024 bytes",
	},
	"session/resume": {
		"session/resume comes once, where the ready record names the session to restore, with its sessionId, the cwd /work and no mcpServers, and nothing else",
		"session/resume is answered with an object",
	},
	"session/set_config_option": {
		"each reviewed setting is sent once and as it was reviewed, in the order of the ready record, before the mode and the first prompt",
		"a setting is answered with configOptions in which it stands once, with the value that was asked for",
	},
	"session/set_mode": {
		"the reviewed mode is set once, after all settings and before the first prompt",
		"session/set_mode is answered with an object",
	},
	"session/prompt": {
		"a prompt comes when everything that was reviewed is set and the one before it is answered, at most maxTurns times; it is one text that does not begin with a slash",
		"a prompt is answered with a stopReason: end_turn, max_tokens, max_turn_requests, refusal or cancelled",
	},
	"session/cancel": {
		"a cancel is a notification with the sessionId alone; it comes once a prompt, and before a close",
		"",
	},
	"session/close": {
		"a close comes once, where the client offers it and the last prompt is answered, with the sessionId alone",
		"session/close is answered with an object",
	},
}

// Rules of what is no request of theirs.
const (
	ruleFrame  = "a frame of the Flow is a JSON-RPC 2.0 request with params, or a cancel, in strict JSON: no member twice, no integer beyond 2^53-1, whole Unicode"
	ruleMethod = "a Flow may send initialize, session/new or session/resume, session/set_config_option, session/set_mode, session/prompt, session/cancel and session/close"
	ruleEnd    = "a Flow ends its requests when its last prompt is answered, or the client has answered with an error"
	ruleStop   = "a client may end when its last prompt is answered, or it has answered with an error"
	ruleClient = "a client may send the answer to the one pending request, session/update for the one session (at most 4096, with 8388608 bytes of text; text and plans while a prompt is pending), and session/request_permission (at most 256)"
	ruleStream = "requests have at most 8388608 bytes and 64 frames, responses 33554432 bytes and 8192 frames; either comes in at most 16384 fragments of 1 to 8192 bytes, a frame in at most 16777216 bytes"
)

// asked is a violation over a frame of the Flow.
func asked(err error, frame []byte) error {
	method, readable := methodOf(frame)
	b := &broken{err: err, rule: rules[method].asked}
	switch {
	case !readable:
		b.rule = ruleFrame
	case b.rule == "":
		b.rule = ruleMethod
	default:
		b.where = " (in its " + method + ")"
	}
	return b
}

// answered is a violation over a line of the client, while a method was pending.
func answered(err error, line []byte, pending string) error {
	b := &broken{err, during(pending), rules[pending].answered}
	if _, readable := methodOf(line); readable || b.rule == "" { // it is no answer
		b.rule = ruleClient
	}
	return b
}

// during says what waited for an answer.
func during(pending string) string {
	if pending == "" {
		return ""
	}
	return " (while " + pending + " waited for its answer)"
}

// methodOf is the method of a message, if it is one of those that rules knows. Of
// anything else nothing is repeated.
func methodOf(message []byte) (method string, readable bool) {
	var m struct {
		Method jsontext.Value `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method.Kind() != '"' || json.Unmarshal(m.Method, &method) != nil {
		return "", false
	}
	if _, known := rules[method]; !known {
		method = ""
	}
	return method, true
}

// hint is the rule that an end of a conversation broke, for the operator; empty:
// none, or nobody knows.
func hint(err error) string {
	var b *broken
	var framing *acpframing.Violation
	switch {
	case errors.As(err, &framing):
		return ruleStream
	case errors.As(err, &b) && protocol(err):
		return b.rule
	}
	return ""
}

// protocol says whether one of the two sides left what was agreed.
func protocol(err error) bool {
	var reported *acpprofile.Failure
	return errors.As(err, &reported) && reported.Reason == acpprofile.ReasonProtocol
}
