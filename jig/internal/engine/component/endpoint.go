package component

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// endpoint is one end of a channel in the author's hands.
type endpoint struct {
	n     int
	grant grant
	pair  *endpoint // the other half of a direct pair made here

	connected bool // it came with the run, or from subscribe
	used      bool // by the author
	offered   bool // in the channels of a call

	// of a sender
	sends   int // unanswered
	closing *closing

	// of a receiver
	reading bool  // a read is unanswered
	last    int64 // sequence of the last item delivered
	ended   bool
	failure *fault.Error // sticky
	shown   bool         // an operation of the author's has shown it
	release *release
	closers []int // waiters of close and return
}

type closing struct {
	lagged  bool
	request *request
	done    bool
	err     *fault.Error
}

type release struct {
	done bool
}

// grant is an endpoint as the host describes it.
type grant struct {
	Endpoint      string             `json:"endpoint"`
	Direction     string             `json:"direction"`
	Delivery      string             `json:"delivery"`
	Contract      *contract.Identity `json:"contract,omitzero"`
	StartSequence *int64             `json:"startSequence,omitzero"`
}

func readGrant(raw jsontext.Value) (g grant, ok bool) {
	var f struct {
		Endpoint      *string        `json:"endpoint"`
		Direction     *string        `json:"direction"`
		Delivery      *string        `json:"delivery"`
		Contract      jsontext.Value `json:"contract"`
		StartSequence *int64         `json:"startSequence"`
	}
	if raw.Kind() != '{' || json0.Decode(raw, &f) != nil || f.Endpoint == nil || f.Direction == nil || f.Delivery == nil || !run0.WireID(*f.Endpoint) {
		return g, false
	}
	g = grant{Endpoint: *f.Endpoint, Direction: *f.Direction, Delivery: *f.Delivery, StartSequence: f.StartSequence}
	if f.Contract != nil {
		id, ok := readIdentity(f.Contract)
		if !ok {
			return g, false
		}
		g.Contract = &id
	}
	if g.Delivery != contract.Direct && g.Delivery != contract.Broadcast {
		return g, false
	}
	switch g.Direction {
	case contract.Send:
		return g, g.StartSequence == nil
	case contract.Receive:
		n := g.StartSequence
		return g, n != nil && *n >= 1 && (*n == 1 || g.Delivery == contract.Broadcast)
	}
	return g, false
}

func readIdentity(raw jsontext.Value) (id contract.Identity, ok bool) {
	members, ok := exactly(raw, "id", "version", "digest")
	if !ok || json0.Decode(raw, &id) != nil {
		return id, false
	}
	for _, m := range members {
		if m.Kind() != '"' {
			return id, false
		}
	}
	hex, ok := strings.CutPrefix(id.Digest, "sha256:")
	return id, ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == "" && id.ID != "" && id.Version != ""
}

func sameContract(a, b *contract.Identity) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// hold makes the author's end of a grant.
func (c *Component) hold(g grant) *endpoint {
	c.number++
	e := &endpoint{n: c.number, grant: g}
	if g.StartSequence != nil {
		e.last = *g.StartSequence - 1
	}
	c.ends[e.n] = e
	c.tokens[g.Endpoint] = true
	return e
}

// view is what the author sees of an endpoint, with its number.
func (e *endpoint) view() jsontext.Value {
	b, err := json0.Marshal(struct {
		N             int                `json:"n"`
		Direction     string             `json:"direction"`
		Delivery      string             `json:"delivery"`
		Contract      *contract.Identity `json:"contract,omitzero"`
		StartSequence *int64             `json:"startSequence,omitzero"`
	}{e.n, e.grant.Direction, e.grant.Delivery, e.grant.Contract, e.grant.StartSequence})
	if err != nil { // every field was checked
		panic("component: a checked grant has no JSON form")
	}
	return b
}

func (e *endpoint) receives() bool { return e.grant.Direction == contract.Receive }

// ending says whether the endpoint needs no further close or release.
func (e *endpoint) ending() bool { return e.closing != nil || e.release != nil }

// Use records that the author has opened an iterator.
func (c *Component) Use(n int) {
	if e := c.ends[n]; e != nil {
		e.used = true
	}
}

// abandoned says whether the author has left a receiver hanging.
func (e *endpoint) abandoned() bool {
	touched := e.connected || e.used || e.pair != nil && (e.pair.used || e.pair.offered)
	return e.loose() && touched
}

// loose is a receiver that nobody has put away.
func (e *endpoint) loose() bool {
	return e.receives() && !e.offered && e.release == nil && !e.ended && e.failure == nil
}
