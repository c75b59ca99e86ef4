package adapter

import (
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// Client speaks one native protocol. Its methods are called from one goroutine, in
// this order: Prepare once, Start once, then the others as they come. It does no I/O
// but what Prepare writes, and reads no clock: the [Host] it gets does both.
type Client interface {
	// Prepare readies what the program finds when it starts: files in its own
	// folders (0600, exclusive), and variables beyond the frame's environment, as
	// NAME=value, for the program alone. What it keeps of the frame's secrets it
	// copies, and zeroes after use: the frame is zeroed when Prepare has returned.
	Prepare(f *launch.Frame) (env []string, err error)
	// Offers says what the client can beyond a plain conversation.
	Offers() Offers
	// Start is called when the program runs. It may send.
	Start(h Host)
	// Request begins a request of the host. It is settled by one Done or Fail,
	// now or later; there is never a second one before.
	Request(r Request)
	// Cancel asks for the end of the prompt that is in progress. It is called at
	// most once a prompt and never after it was settled. The prompt settles as
	// always, with the reason "cancelled" if the client stopped it.
	Cancel()
	// Line takes one line of the program's standard output, without its end. The
	// bytes are the client's. An error is a breach of the native protocol; its
	// text goes nowhere.
	Line(line []byte) error
}

// Offers are ACP capabilities.
type Offers struct {
	Resume bool
}

// Kind is what a request asks for.
type Kind uint8

// The requests, in the order of a conversation.
const (
	Initialize Kind = iota + 1 // done when the client can take a session
	New                        // Done with SessionID
	Resume                     // of Request.SessionID
	Configure                  // ConfigID and Value
	Mode                       // ModeID
	Prompt                     // Text; Done with StopReason
	Close                      // answered here; it never reaches a Client
)

// Request is one request of the host. The session of every request after New or
// Resume is the owned one.
type Request struct {
	Kind      Kind
	SessionID string // Resume
	ConfigID  string // Configure
	Value     string // Configure
	ModeID    string // Mode
	Text      string // Prompt
}

// Result settles a request.
type Result struct {
	SessionID  string // New
	StopReason Stop   // Prompt
}

// Stop is why a prompt ended.
type Stop string

// The reasons a prompt may end for.
const (
	EndTurn         Stop = "end_turn"
	MaxTokens       Stop = "max_tokens"
	MaxTurnRequests Stop = "max_turn_requests"
	Refusal         Stop = "refusal"
	Cancelled       Stop = "cancelled"
)

// Failure settles a request that failed.
type Failure struct {
	// Category says to the host's operator what kind of failure it was; empty:
	// unknown. The conversation does not show it.
	Category launch.Category
	// Data becomes the error's data. Only Codex's "failed to load configuration:"
	// has one; the host shows none of it.
	Data string
	// Invalid makes the error -32602 `Invalid params` instead of -32603 `Internal
	// error`: a configuration or mode the client does not know.
	Invalid bool
}

// Entry is one line of a plan.
type Entry struct {
	Content  string
	Priority string // high, medium or low
	Status   string // pending, in_progress or completed
}

// Host is what a [Client] calls.
type Host interface {
	// Send writes one line to the program. It takes the bytes over, adds the end
	// of the line, and zeroes them when they are written.
	Send(line []byte)
	// Done and Fail settle the request that is in progress.
	Done(Result)
	Fail(Failure)
	// Text is a piece of the answer to the prompt in progress; messageID may be
	// empty. Outside a prompt it is dropped.
	Text(messageID, text string)
	// Plan is the client's whole plan as it now stands. Outside a prompt it is
	// dropped.
	Plan([]Entry)
	// Warn passes on that the client gave notice of something.
	Warn()
	// Permission asks the host for permission, for the count of it. refuse is
	// called when the host has answered, whatever it answered.
	Permission(toolCallID string, refuse func())
	// Broken reports a failure outside a request. It is the end: the client is not
	// called again.
	Broken(launch.Category)
	// After calls f after d, unless it is stopped before.
	After(d time.Duration, f func()) (stop func())
}

// Factory makes the client of one launch.
type Factory func() Client
