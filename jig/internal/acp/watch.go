package acp

import "github.com/go-json-experiment/json"

// Event is something of a conversation that a person may want to see.
type Event struct {
	Label string // the caller and the slot
	Phase string // what it does now; empty: as before
	Turn  int    // of MaxTurns; 0: as before
	Of    int
	Text  string // more of the assistant's answer, as it wrote it
	Note  string // a fixed sentence for the operator
	End   bool   // it is over
}

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
