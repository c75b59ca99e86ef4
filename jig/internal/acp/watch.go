package acp

import (
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

// watch tells a person what a conversation is about. A nil Event hook is nobody.
type watch struct {
	tell  func(Event)
	label string
	turns int
	of    int
}

func (w *watch) event(e Event) {
	if w.tell != nil {
		e.Label = w.label
		w.tell(e)
	}
}

func (w *watch) phase(name string, turn int) { w.event(Event{Phase: name, Turn: turn, Of: w.of}) }

func (w *watch) turn() {
	w.turns++
	w.phase("prompting", w.turns)
}

func (w *watch) note(text string) {
	w.event(Event{Diagnostic: project.Diagnostic{Code: CodeConversation, Message: text}})
}

// trouble are the sentences of the closed kinds of a failure of the client's.
var trouble = map[launch.Category]string{
	launch.Auth:    "the provider refused the credential of the native client",
	launch.Rate:    "the provider limits how much the native client may ask for",
	launch.Network: "the native client did not reach its provider",
	launch.Model:   "the provider does not offer the native client's model",
	launch.Service: "the provider of the native client failed",
	launch.Expired: "the credential of the native client has ended",
}

// categories tells the operator what the adapter reported, each kind once.
func (w *watch) categories(all []launch.Category) {
	told := map[launch.Category]bool{}
	for _, c := range all {
		if text := trouble[c]; text != "" && !told[c] {
			told[c] = true
			w.event(Event{Diagnostic: project.Diagnostic{Code: CodeProvider, Message: text}})
		}
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
