package acp

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// The errors to branch on.
var (
	// ErrNoSession: the session cannot be handed out. Nothing says why.
	ErrNoSession = errors.New("acp: the session is not available")
	// ErrUnproved: something of a scope may be alive, or still held.
	ErrUnproved = errors.New("acp: the end of a native scope is not proved")
)

// The sentences of an uncertain end. They are all there are, and the only thing
// that a Flow learns of a failure that is not its own (seed: Settlement and
// failure): no text of the client or of an error is ever in one.
const (
	unknown  = "; what the client had done by then is not known"
	sayOwn   = "the native client reported a failure of its session" + unknown
	sayRule  = "the conversation left the finite ACP protocol" + unknown
	sayLate  = "the native client did not answer in time" + unknown
	sayBroke = "the native conversation broke off" + unknown
	sayStart = "the native client could not be started" + unknown
	sayLimit = "the native client used more than its scope may" + unknown
	sayEnd   = "the end of the native client was not seen" + unknown
	sayStore = "the session could not be read or kept after the conversation" + unknown
	sayAlive = "the end of the native client's scope could not be confirmed"
	sayTidy  = "what belonged to the native client could not be put away"
	sayNone  = "the session is not available"
)

// The closed explanations.
const (
	explainNative   = `{"explanation":"native-session"}`
	explainProtocol = `{"explanation":"protocol"}`
)

func uncertain(message string) *fault.Error { return fault.New(fault.Uncertain, message) }

// explain turns the end of a conversation that may have had effects into a
// failure. What it says depends on the kind of the error and on nothing in it.
func explain(err error) *fault.Error {
	var reported *acpprofile.Failure
	var framing *acpframing.Violation
	var bounds *breach
	var channel *lost
	var slow *late
	protocol := func() *fault.Error {
		return &fault.Error{Code: fault.Uncertain, Message: sayRule, Details: jsontext.Value(explainProtocol)}
	}
	switch {
	case errors.As(err, &reported) && reported.Reason == acpprofile.ReasonNative:
		return &fault.Error{Code: fault.Uncertain, Message: sayOwn, Details: jsontext.Value(explainNative)}
	case reported != nil, errors.As(err, &framing), errors.As(err, &bounds) && bounds.protocol:
		return protocol()
	case errors.As(err, &slow):
		return uncertain(sayLate)
	case errors.As(err, &channel):
		code := fault.Disconnected
		var f *fault.Error
		if errors.As(channel.err, &f) {
			code = f.Code
		}
		return fault.New(code, "the "+channel.which+" channel was lost"+unknown)
	}
	return uncertain(sayBroke)
}

// note is what the operator, and nobody else, is told of err: a fixed sentence.
func note(err error) string {
	var reported *acpprofile.Failure
	var framing *acpframing.Violation
	var bounds *breach
	var channel *lost
	var slow *late
	switch {
	case errors.As(err, &reported):
		who := "the Flow"
		if reported.Side == "native" {
			who = "the client's adapter"
		}
		where := ""
		if b := (*broken)(nil); errors.As(err, &b) {
			where = b.where
		}
		return who + ": " + reported.What + where
	case errors.As(err, &framing):
		return framing.Direction.String() + ": " + string(framing.Rule)
	case errors.As(err, &bounds):
		return bounds.what
	case errors.As(err, &slow):
		return "no answer to " + slow.method + " in time"
	case errors.As(err, &channel):
		return "the " + channel.which + " channel was lost"
	}
	return ""
}
