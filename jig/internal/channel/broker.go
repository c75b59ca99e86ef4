package channel

import (
	"crypto/rand"
	"encoding/hex"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Limits bounds a broker. 0 means the default, a negative value panics in New:
// it is the host's own constant.
type Limits struct {
	Sources       int   // in a root's life; default 16
	Receivers     int   // in a root's life; default 16
	Descriptors   int   // distinct channel descriptors; default 16
	ItemBytes     int   // canonical bytes of an item; default 65,536
	SourceBytes   int64 // accepted bytes in a source's life; default 64 MiB
	BufferItems   int   // of a receiver, the one handed out included; default 16
	BufferBytes   int   // of a receiver, the one handed out included; default 256 KiB
	PendingSends  int   // sends not yet accepted, over the root; default 16
	PendingBytes  int   // of those; default 256 KiB
	PartyEndpoint int   // endpoints one invocation may ever hold; default 512
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		at  *int
		def int
	}{
		{&l.Sources, 16}, {&l.Receivers, 16}, {&l.Descriptors, 16}, {&l.ItemBytes, 65_536}, {&l.BufferItems, 16},
		{&l.BufferBytes, 256 << 10}, {&l.PendingSends, 16}, {&l.PendingBytes, 256 << 10}, {&l.PartyEndpoint, 512},
	} {
		if *f.at < 0 {
			panic("channel: a negative limit")
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	if l.SourceBytes < 0 {
		panic("channel: a negative limit")
	}
	if l.SourceBytes == 0 {
		l.SourceBytes = 64 << 20
	}
	return l
}

// Party is one invocation of the root, or the host itself.
type Party int

// Grant is an endpoint as its holder sees it.
type Grant struct {
	Endpoint      string             `json:"endpoint"`
	Direction     string             `json:"direction"`
	Delivery      string             `json:"delivery"`
	StartSequence int64              `json:"startSequence,omitzero"` // receivers only, from 1
	Contract      *contract.Identity `json:"contract,omitzero"`
}

// Item is what a read gives: an item, or the end.
type Item struct {
	End      bool
	Sequence int64 // of the item, or the last one where End
	Value    jsontext.Value
}

// Released is what the release of a receiver gives.
type Released struct {
	Status       string // released, ended or failed
	LastSequence int64  // where ended
	Failure      *fault.Error
}

// Broker holds the channels of one root Run. It is safe for concurrent use.
type Broker struct {
	limits Limits

	mu        sync.Mutex
	endpoints map[string]*endpoint // by token; guarded by mu
	sources   map[string]*source   // broadcast sources by reference; guarded by mu
	all       []*source            // guarded by mu
	held      map[Party]int        // endpoints ever given to a party; guarded by mu
	stopped   map[Party]bool       // no new channel, no waiting; guarded by mu
	receivers int                  // allocated; guarded by mu
	named     map[string]bool      // descriptor digests; guarded by mu
	pending   int                  // unaccepted sends; guarded by mu
	pendingB  int                  // and their bytes; guarded by mu
	after     []func()             // callbacks to run once mu is released
}

// New returns an empty broker.
func New(l Limits) *Broker {
	return &Broker{
		limits: l.withDefaults(), endpoints: map[string]*endpoint{}, sources: map[string]*source{},
		held: map[Party]int{}, stopped: map[Party]bool{}, named: map[string]bool{},
	}
}

// endpoint is one end in one holder's hands.
type endpoint struct {
	token    string
	holder   Party
	source   *source
	receiver *receiver // nil for the writer
	used     bool
}

// source is one channel.
type source struct {
	delivery    string
	creator     Party
	contract    *contract.Channel
	constraints []*contract.ItemSchema

	writer    *endpoint
	receivers []*receiver
	touched   bool // either half of a direct pair was used or moved

	sequence int64 // of the last accepted item
	bytes    int64 // accepted in its life
	waiting  int64 // bytes of pending sends
	sealed   bool
	failure  *fault.Error
	pending  []*send // direct only, first come first accepted
}

// send is one not yet accepted send.
type send struct {
	value jsontext.Value
	done  func(*fault.Error)
}

// receiver is one reader of a source.
type receiver struct {
	source      *source
	end         *endpoint
	start       int64
	constraints []*contract.ItemSchema // its own, beside those of the source

	queue    []Item
	out      *Item // handed out and not yet followed by another read
	parked   *read
	failure  *fault.Error
	released bool
	ended    bool
}

type read struct{ done func(Item, *fault.Error) }

// lock and unlock frame every operation; unlock runs the callbacks it caused.
func (b *Broker) lock() { b.mu.Lock() }

func (b *Broker) unlock() {
	after := b.after
	b.after = nil
	b.mu.Unlock()
	for _, f := range after {
		f()
	}
}

func (b *Broker) later(f func()) { b.after = append(b.after, f) }

// give makes an endpoint for a holder. The token is unguessable and the holder
// is checked as well.
func (b *Broker) give(p Party, s *source, r *receiver) (*endpoint, Grant) {
	var random [16]byte
	rand.Read(random[:])
	e := &endpoint{token: "e" + hex.EncodeToString(random[:]), holder: p, source: s, receiver: r}
	b.endpoints[e.token] = e
	b.held[p]++
	g := Grant{Endpoint: e.token, Direction: contract.Send, Delivery: s.delivery}
	if s.contract != nil {
		id := s.contract.Identity
		g.Contract = &id
	}
	if r != nil {
		g.Direction, g.StartSequence = contract.Receive, r.start
		r.end = e
	} else {
		s.writer = e
	}
	return e, g
}

// at finds an endpoint that p holds. A foreign, unknown or wrong one answers
// alike.
func (b *Broker) at(p Party, token string, direction string) (*endpoint, *fault.Error) {
	e := b.endpoints[token]
	if e == nil || e.holder != p || (e.receiver != nil) != (direction == contract.Receive) {
		return nil, fault.New(fault.PermissionDenied, "this invocation holds no such endpoint")
	}
	return e, nil
}

func (e *endpoint) use() {
	e.used = true
	e.source.touched = true
}
