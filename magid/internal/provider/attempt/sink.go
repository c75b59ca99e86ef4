package attempt

import "github.com/magi-jig/magi-jig/magid/internal/provider/sse"

// Sink is the format's half of one reply. Its methods are called one at a time,
// and all of them before Post returns. Since nothing is tried again once a byte of
// a reply's body has come, events are always those of one stream, from its start.
type Sink interface {
	// Event takes one event. done ends the reply well: the format's last event has
	// come. An error ends it and is what Post returns.
	Event(e sse.Event) (done bool, err error)
	// End is told that the stream ended in order without a done. Its error, or
	// nil, is what Post returns. unfinished is what came of an event that was not
	// ended, nil where the stream ended between events.
	End(unfinished *sse.Event) error
	// Refused is told of a refusal that no repetition can change, with what could
	// be read of its body, before Post returns the error it made of it. It must
	// not keep body.
	Refused(status int, body []byte)
}
