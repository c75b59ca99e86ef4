package tree

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// Target is one admitted invocation with everything its slots lead to. It is
// read only while a root runs.
type Target struct {
	Name     string // selector, for people: flow:flows/hello, binding:triage
	Package  *flowpkg.Package
	Settings jsontext.Value // nil means {}
	Slots    map[string]Slot
	// Request identifies what is requested, without selector or input
	// (jig.md 4); part of the scope of a retained session.
	Request string
}

// Slot is what fills a slot: a child Flow or a grant of a resource.
type Slot struct {
	Target *Target
	Grant  *Grant
}

// Grant is one resource in a recipient's hands.
type Grant struct {
	Kind     string         // acp, http
	Policy   jsontext.Value // normalised
	Provider string         // identity digest of what was reviewed
}

// Limits bounds a root. 0 means the default.
type Limits struct {
	Processes   int           // live Flow processes of a root; default 64
	Natives     int           // live native scopes of a root; default 4
	Depth       int           // levels of invocations, the root is 1; default 6: five child levels
	Grace       time.Duration // from cancel to kill for the root; default 1 s
	GraceStep   time.Duration // less for each child level; default 100 ms
	StderrBytes int64         // of one process; default 16 MiB
	StderrKept  int           // of one process for the record; default 64 KiB
}

func (l Limits) withDefaults() Limits {
	if l.Processes == 0 {
		l.Processes = 64
	}
	if l.Natives == 0 {
		l.Natives = 4
	}
	if l.Depth == 0 {
		l.Depth = 6
	}
	if l.Grace == 0 {
		l.Grace = time.Second
	}
	if l.GraceStep == 0 {
		l.GraceStep = 100 * time.Millisecond
	}
	if l.StderrBytes == 0 {
		l.StderrBytes = 16 << 20
	}
	if l.StderrKept == 0 {
		l.StderrKept = 64 << 10
	}
	return l
}

// Process is a started Flow process.
type Process interface {
	Input() io.WriteCloser
	Output() io.Reader
	Errors() io.Reader
	Kill()                  // at once, without waiting
	Ended() <-chan struct{} // closed when it is proved dead
	// Fence kills what is left and waits a bounded time for the proof. An error
	// means that there is none. The streams end soon afterwards in either case.
	Fence() (Exit, error)
	// Close puts away what belonged to it.
	Close() error
}

// Exit is how a process ended.
type Exit struct {
	Code   int
	Killed bool
	Limit  string // the bound it was killed for; empty: none
}

// ErrUnproved is in the error of a [Launcher] that could not prove the end of what
// it had begun to start.
var ErrUnproved = errors.New("the end of the process could not be confirmed")

// Launcher starts Flow processes. An error means that nothing of the process is
// alive, except where it is [ErrUnproved].
type Launcher interface {
	StartFlow(ctx context.Context, p *flowpkg.Package) (Process, error)
}

// Resource performs calls of one kind of grant.
type Resource interface {
	// Contract is the invocation contract of the resource.
	Contract() *contract.Invocation
	// Native says whether a call holds a native scope.
	Native() bool
	// Call performs one call and returns the whole {outcome, output}. ctx ends
	// when nobody waits any more; the deadline is the root's. When it returns,
	// nothing of the call is alive, else its error is UNCERTAIN.
	Call(ctx context.Context, c ResourceCall) (jsontext.Value, *fault.Error)
}

// Admitter is a resource that may refuse a call before any channel moves.
type Admitter interface {
	// Admit says what speaks against a call. The call has no channels yet.
	Admit(c ResourceCall) *fault.Error
}

// ResourceCall is one call of a resource.
type ResourceCall struct {
	Grant     *Grant
	Input     jsontext.Value
	Senders   map[string]*channel.Sender
	Receivers map[string]*channel.Receiver
	Deadline  time.Time
	Slot      string
	Lineage   []Ancestor // the root first, the caller last
	Label     string     // for people: the caller and the slot
	// Left is told that something of the call stays behind: alive, as far as
	// anybody knows, or only not put away. Its caller does not succeed then.
	// Never nil.
	Left func(alive bool)
}

// Ancestor is one invocation above a call.
type Ancestor struct {
	Target  string
	Request string
}
