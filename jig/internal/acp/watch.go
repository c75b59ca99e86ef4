package acp

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Event is something of a conversation that a person may want to see.
type Event struct {
	Label string // the caller and the slot
	Phase string // what it does now; empty: as before
	Turn  int    // of MaxTurns; 0: as before
	Of    int
	Text  string // more of the assistant's answer, as it wrote it
	End   bool   // it is over
	// Diagnostic is for the operator; fixed sentences. Without a message there is
	// none.
	Diagnostic project.Diagnostic
}

// The codes of diagnostics that come from here.
const (
	CodeConversation = "NATIVE_CONVERSATION" // why it failed, or what else went wrong
	CodeProvider     = "NATIVE_PROVIDER"     // what kind of trouble the client has had
)

// watch tells a person what a conversation is about. Whoever is told may be slow,
// or not listen at all: the conversation never waits for it. What an assistant says
// is left out then; everything else is told in its order. A nil hook is nobody.
type watch struct {
	tell  func(Event)
	label string
	turns int
	of    int
	now   string // the phase; of the goroutine of the call

	mu    sync.Mutex
	queue []Event       // guarded by mu
	busy  bool          // somebody empties the queue; guarded by mu
	quiet chan struct{} // closed when the queue was emptied after the end; guarded by mu
}

// heldEvents is how many events wait before text is left out.
const heldEvents = 256

func (w *watch) event(e Event) {
	if w.tell == nil {
		return
	}
	e.Label = w.label
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Text != "" && len(w.queue) >= heldEvents {
		return
	}
	w.queue = append(w.queue, e)
	if !w.busy {
		w.busy = true
		go w.empty()
	}
}

// empty tells what waits, one event after the other.
func (w *watch) empty() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.busy = false
			if w.quiet != nil {
				close(w.quiet)
				w.quiet = nil
			}
			w.mu.Unlock()
			return
		}
		e := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		w.tell(e)
	}
}

// lastWord is how long the end of a call waits for who is told of it.
const lastWord = time.Second

// end tells of the end, and gives whoever is told a moment to have heard it all.
func (w *watch) end() {
	if w.tell == nil {
		return
	}
	quiet := make(chan struct{})
	w.mu.Lock()
	w.quiet = quiet
	w.mu.Unlock()
	w.event(Event{End: true})
	timer := time.NewTimer(lastWord)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	}
}

func (w *watch) phase(name string, turn int) {
	w.now = name
	w.event(Event{Phase: name, Turn: turn, Of: w.of})
}

// rests notes, and tells nobody, that a prompt was answered and nothing has followed.
func (w *watch) rests() { w.now = resting }

const resting = "its prompt was answered, and its requests had not ended"

// last is the phase that was told last, and its turn.
func (w *watch) last() (phase string, turn, of int) { return w.now, w.turns, w.of }

func (w *watch) turn() {
	w.turns++
	w.phase("prompting", w.turns)
}

func (w *watch) note(text string) { w.advise(text, "") }

// advise is note, with the rule that it is about.
func (w *watch) advise(text, hint string) {
	w.event(Event{Diagnostic: project.Diagnostic{Code: CodeConversation, Message: text, Hint: hint}})
}

// trouble are the sentences of the closed kinds of a failure of the client's.
var trouble = map[launch.Category]string{
	launch.Auth:    "the provider refused the credential of the native client",
	launch.Rate:    "the provider limits how much the native client may ask for",
	launch.Network: "the native client did not reach its provider, or the connection broke off",
	launch.Model:   "the provider does not offer the native client's model, or the task is beyond a limit of that model",
	launch.Service: "the provider of the native client failed",
	launch.Expired: "the credential of the native client has ended",
}

// remedies say where to look for each of them.
var remedies = map[launch.Category]string{
	launch.Auth:    "jig doctor %s looks at the credential; sign in again, or take another key",
	launch.Rate:    "wait, or look at the limits of the account that %s is signed in to",
	launch.Network: "look at this machine's network, at JIG_HTTPS_PROXY, and at the endpoint of %s that jig review --plan shows",
	launch.Model:   "choose a model that the account of %s offers, in the grant or in the client's variable, or ask it for less at once",
	launch.Service: "try again; what the provider of %s says of its service may tell more",
	launch.Expired: "run %s once, or sign in again, which renews the credential",
}

// Where the client has no word for it.
const (
	sayRefused   = "the provider of the native client refused its request or could not serve it; the client did not say which"
	sayFailed    = "the native client answered with an error and did not say of what kind"
	lookYourself = "run %s once outside jig, with the same model and account: it shows the provider's own words; jig doctor looks at its setup"
)

// categories tells the operator what the adapter reported, each kind once. refused is
// the method that the client answered with an error, or empty: where no kind is known
// of that, at least it is said.
func (w *watch) categories(all []launch.Category, refused, client string) {
	told := map[launch.Category]bool{}
	tell := func(text, look string) {
		w.event(Event{Diagnostic: project.Diagnostic{Code: CodeProvider, Message: text, Hint: fmt.Sprintf(look, client)}})
	}
	for _, c := range all {
		if text := trouble[c]; text != "" && !told[c] {
			told[c] = true
			tell(text, remedies[c])
		}
	}
	switch {
	case len(told) > 0 || refused == "":
	case refused == "session/prompt":
		tell(sayRefused, lookYourself)
	default:
		tell(sayFailed, lookYourself)
	}
}

// frame shows the text of a frame that goes to the Flow.
func (w *watch) frame(b []byte) {
	if w.tell == nil {
		return
	}
	var f struct {
		Params struct {
			Update struct {
				Kind    string `json:"sessionUpdate"`
				Content struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"update"`
		} `json:"params"`
	}
	if json.Unmarshal(b, &f) == nil && f.Params.Update.Kind == "agent_message_chunk" {
		w.event(Event{Text: f.Params.Update.Content.Text})
	}
}
