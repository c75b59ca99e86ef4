package worker

import (
	"context"
	"fmt"
	"iter"
	"log/slog"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Journal is what a turn needs of its session's journal.
type Journal interface {
	// Append makes records durable, all or none.
	Append(records ...wirev2.Record) error
	// Turns is how many turns the session has had.
	Turns() int
	// Backward gives the turns from the newest to the oldest.
	Backward() iter.Seq2[journal.Turn, error]
}

// Catalog is the built-in tools.
type Catalog interface {
	Tools() []catalog.Tool
	Has(name string) bool
	CheckArguments(name string, arguments jsontext.Value) *catalog.ToolError
	Run(ctx context.Context, workspace, name string, arguments jsontext.Value) (jsontext.Value, *catalog.ToolError)
}

// Listener hears what a turn does, as soon as it is accepted or durable.
type Listener interface {
	// Text is a piece of the assistant's text.
	Text(text string)
	// Tool is how far a tool call has come.
	Tool(call wirev2.ID, name string, phase wirev2.ToolPhase)
}

// Limits is what is configured. 0 means the default, a negative value is an error.
type Limits struct {
	MaxReplies      int // provider replies a turn; default 64
	MaxHistoryBytes int // bytes of older turns in a request; default 400,000
	MaxOutputTokens int // tokens a reply; 0 leaves it to the provider
}

// withDefaults fills in the zeros.
func (l Limits) withDefaults() (Limits, error) {
	if l.MaxReplies < 0 || l.MaxHistoryBytes < 0 || l.MaxOutputTokens < 0 {
		return l, fmt.Errorf("worker: a limit is negative")
	}
	if l.MaxReplies == 0 {
		l.MaxReplies = 64
	}
	if l.MaxHistoryBytes == 0 {
		l.MaxHistoryBytes = 400000
	}
	return l, nil
}

// Worker runs turns with one provider and one catalog. It is safe for concurrent
// use.
type Worker struct {
	provider provider.Provider
	catalog  Catalog
	limits   Limits
	log      *slog.Logger
}

// New makes a worker. log is optional.
func New(p provider.Provider, c Catalog, limits Limits, log *slog.Logger) (*Worker, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Worker{provider: p, catalog: c, limits: limits, log: log}, nil
}

// Job is one turn to run.
type Job struct {
	Turn       wirev2.ID // required
	Workspace  string    // required
	Prompt     string    // required
	TextBudget int       // required: encoded bytes of assistant text
	Journal    Journal   // required
	Listener   Listener  // required
	History    History   // from [Worker.Prepare]
	// Application is what an application lends; nil for a turn without.
	Application *Application
}

// Outcome is how a turn ended.
type Outcome struct {
	// Failure is nil for a turn that came to its end, and for one whose context
	// was cancelled.
	Failure *wirev2.TurnError
	// Cancelled says that the context ended the turn.
	Cancelled bool
	// Usage is the sum over the provider's replies; nil where none said.
	Usage *wirev2.Usage
	// Tail is to be made durable together with the terminal: the last reply.
	Tail []wirev2.Record
}
