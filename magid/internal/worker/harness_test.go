package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// bench is a session with a real journal, and a provider and a catalog that do
// what a test says. It keeps the order of what happened.
type bench struct {
	t        *testing.T
	store    *journal.Store
	session  *journal.Session
	limits   Limits
	provider *script
	catalog  *tools
	budget   int

	application *Application
	panicAt     string // what the listener panics at

	mu    sync.Mutex
	trace []string
	text  string
	fail  func(journal.Step) error // guarded by mu
}

func newBench(t *testing.T, steps ...step) *bench {
	t.Helper()
	b := &bench{t: t, budget: 20000}
	store, err := journal.OpenHooked(t.TempDir(), func(s journal.Step) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.fail == nil {
			return nil
		}
		return b.fail(s)
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	session, err := store.Create(&wirev2.SessionRecord{SessionID: wirev2.NewID(), Workspace: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	b.store, b.session = store, session
	b.provider = &script{bench: b, steps: steps}
	b.catalog = &tools{bench: b}
	return b
}

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trace = append(b.trace, fmt.Sprintf(format, args...))
}

func (b *bench) traced() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.trace, "\n")
}

// failJournal makes durable steps fail from now on.
func (b *bench) failJournal(fail func(journal.Step) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

// breakJournal makes every write from now on fail.
func (b *bench) breakJournal() {
	b.failJournal(func(s journal.Step) error {
		if s == journal.StepWrite {
			return errors.New("no space left on device")
		}
		return nil
	})
}

// run runs one turn as the coordinator does: prepare, user record, worker,
// terminal.
func (b *bench) run(ctx context.Context, prompt string) Outcome {
	b.t.Helper()
	out, err := b.try(ctx, prompt)
	require.NoError(b.t, err)
	return out
}

func (b *bench) try(ctx context.Context, prompt string) (Outcome, error) {
	b.t.Helper()
	w, err := New(b.provider, b.catalog, b.limits, nil)
	require.NoError(b.t, err)
	history, err := w.Prepare(b.session)
	require.NoError(b.t, err)
	turn, operation := wirev2.NewID(), wirev2.NewID()
	b.mu.Lock()
	b.text, b.trace = "", nil
	b.mu.Unlock()
	require.NoError(b.t, b.session.Append(&wirev2.UserRecord{
		TurnID: turn, OperationID: operation, Prompt: prompt, ApplicationManifest: wirev2.ManifestMember{Present: true},
	}))
	out := w.Run(ctx, Job{
		Turn: turn, Workspace: b.session.Workspace(), Prompt: prompt, TextBudget: b.budget,
		Journal: tracedJournal{b.session, b}, Listener: ear{b}, History: history, Application: b.application,
	})
	b.provider.omitted = history.Omitted
	terminal := &wirev2.TerminalRecord{TurnID: turn, OperationID: operation, Status: wirev2.TerminalCompleted, Text: b.text}
	switch {
	case out.Cancelled:
		terminal.Status = wirev2.TerminalCancelled
	case out.Failure != nil:
		terminal.Status, terminal.Error = wirev2.TerminalFailed, out.Failure
	}
	return out, b.session.Append(append(out.Tail, terminal)...)
}

// records are the durable records of one type, of the last turn.
func (b *bench) last() journal.Turn {
	b.t.Helper()
	for turn, err := range b.session.Backward() {
		require.NoError(b.t, err)
		return turn
	}
	b.t.Fatal("there is no turn")
	return journal.Turn{}
}

// tracedJournal notes what is made durable, and when.
type tracedJournal struct {
	*journal.Session
	b *bench
}

func (j tracedJournal) Append(records ...wirev2.Record) error {
	var kinds []string
	for _, r := range records {
		kinds = append(kinds, string(r.RecordType()))
	}
	err := j.Session.Append(records...)
	if err != nil {
		j.b.note("append failed")
		return err
	}
	j.b.note("append %s", strings.Join(kinds, " "))
	return nil
}

type ear struct{ b *bench }

func (e ear) Text(text string) {
	e.b.mu.Lock()
	e.b.text += text
	e.b.mu.Unlock()
	e.b.note("text %q", text)
}

func (e ear) Tool(_ wirev2.ID, name string, phase wirev2.ToolPhase) {
	e.b.note("%s %s", name, phase)
	if e.b.panicAt == name+" "+string(phase) {
		panic("a bug in the listener")
	}
}

// step is one reply of the scripted provider.
type step func(ctx context.Context, q provider.Request, text func(string) error) (provider.Reply, error)

// say is a reply of text and calls.
func say(text string, calls ...provider.Call) step {
	return func(_ context.Context, _ provider.Request, accept func(string) error) (provider.Reply, error) {
		if text != "" {
			if err := accept(text); err != nil {
				return provider.Reply{}, fmt.Errorf("text: %w", err)
			}
		}
		return provider.Reply{Calls: calls}, nil
	}
}

func ask(id, name, arguments string) provider.Call {
	return provider.Call{ID: id, Name: name, Arguments: arguments}
}

// script is a provider that answers from a list.
type script struct {
	bench    *bench
	steps    []step
	requests []provider.Request
	omitted  int
}

func (s *script) Stream(ctx context.Context, q provider.Request, text func(string) error) (provider.Reply, error) {
	s.bench.note("request")
	checkPairs(s.bench.t, q.Messages)
	q.Messages = append([]provider.Message(nil), q.Messages...)
	s.requests = append(s.requests, q)
	require.NotEmpty(s.bench.t, s.steps, "the provider was asked once too often")
	next := s.steps[0]
	s.steps = s.steps[1:]
	return next(ctx, q, text)
}

// checkPairs is what every provider asks of a history: each assistant message
// with calls is followed by exactly the results of these calls, in their order.
func checkPairs(t *testing.T, messages []provider.Message) {
	t.Helper()
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		require.NotEqual(t, provider.RoleTool, m.Role, "a result without its call at %d", i)
		for _, call := range m.Calls {
			i++
			require.Less(t, i, len(messages), "a call without its result")
			require.Equal(t, provider.RoleTool, messages[i].Role)
			require.Equal(t, call.ID, messages[i].CallID)
			require.True(t, jsontext.Value(call.Arguments).IsValid())
		}
	}
}

// tools is a catalog with two tools: echo, which gives back {"said":text}, and
// wait, which does what its function says.
type tools struct {
	bench *bench
	run   func(ctx context.Context, name string, arguments jsontext.Value) (jsontext.Value, *catalog.ToolError)
}

func (c *tools) Tools() []catalog.Tool {
	schema := jsontext.Value(`{"type":"object"}`)
	return []catalog.Tool{{Name: "echo", Description: "Says it again.", InputSchema: schema}, {Name: "wait", InputSchema: schema}}
}

func (c *tools) Has(name string) bool { return name == "echo" || name == "wait" }

func (c *tools) CheckArguments(_ string, arguments jsontext.Value) *catalog.ToolError {
	if strings.Contains(string(arguments), `"bad"`) {
		return &catalog.ToolError{Code: catalog.CodeInvalidArguments, Message: "bad is not a member of this tool"}
	}
	return nil
}

func (c *tools) Run(ctx context.Context, _, name string, arguments jsontext.Value) (jsontext.Value, *catalog.ToolError) {
	if c.run != nil {
		return c.run(ctx, name, arguments)
	}
	c.bench.note("run %s %s", name, arguments)
	return arguments, nil
}
