package scripted

import (
	"strconv"
	"strings"
)

// responses writes a step as OpenAI Responses. Each piece of the reply is an
// item: it is added, grows, and is told whole when the next one begins or the
// reply finishes. The last event tells the whole reply.
func (w *writer) responses(s Step) string {
	switch s.op {
	case opError:
		return `{"error":` + errorObject(s) + `}`
	case opText, opRefusal, opCall, opArguments:
		before := w.begin(w.responsesBegin)
		if !w.isOpen(s) {
			before += w.responsesClose() + w.responsesOpen(s)
		}
		piece := s.data
		if s.op == opCall {
			piece = s.call.Arguments
		}
		w.told.WriteString(piece)
		if piece == "" {
			return before
		}
		return before + w.responsesEvent("delta", `,"delta":`+quote(piece))
	case opFinish:
		w.reason = s.data
		return w.begin(w.responsesBegin) + w.responsesClose()
	case opUsage:
		w.in, w.out = s.in, s.out
		return ""
	case opDone:
		begun := w.begin(w.responsesBegin) + w.responsesClose()
		switch w.reason {
		case "length", "max_output_tokens":
			return begun + named("response.incomplete", `,"response":`+w.response("incomplete", "max_output_tokens"))
		case "content_filter":
			return begun + named("response.incomplete", `,"response":`+w.response("incomplete", "content_filter"))
		}
		return begun + named("response.completed", `,"response":`+w.response("completed", ""))
	default:
		return ""
	}
}

// begin writes what a reply begins with, once.
func (w *writer) begin(how func() string) string {
	if w.began {
		return ""
	}
	w.began = true
	return how()
}

func (w *writer) responsesBegin() string {
	return named("response.created", `,"response":`+w.response("in_progress", "")) +
		named("response.in_progress", `,"response":`+w.response("in_progress", ""))
}

// response is the reply as a whole, as far as it has come.
func (w *writer) response(status, incomplete string) string {
	details, usage := "null", "null"
	if incomplete != "" {
		details = `{"reason":` + quote(incomplete) + `}`
	}
	if status != "in_progress" {
		usage = `{"input_tokens":` + strconv.Itoa(w.in) + `,"input_tokens_details":{"cached_tokens":0},"output_tokens":` +
			strconv.Itoa(w.out) + `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":` + strconv.Itoa(w.in+w.out) + `}`
	}
	return `{"id":` + quote(w.id("resp", 0)) + `,"object":"response","created_at":0,"status":` + quote(status) +
		`,"error":null,"incomplete_details":` + details + `,"model":` + quote(w.model) +
		`,"output":[` + strings.Join(w.items, ",") + `],"usage":` + usage + `}`
}

// responsesOpen begins the item of a step. Arguments of a call that was never
// begun belong to one without a name.
func (w *writer) responsesOpen(s Step) string {
	w.told.Reset()
	w.open, w.call = s.op, s.call
	if s.op == opArguments {
		w.open = opCall
	}
	added := `,"output_index":` + strconv.Itoa(len(w.items)) + `,"item":` + w.responsesItem("in_progress")
	event := named("response.output_item.added", added)
	if w.open != opCall {
		event += named("response.content_part.added", w.responsesPlace()+`,"part":`+w.responsesPart(""))
	}
	return event
}

// responsesClose tells the open item whole.
func (w *writer) responsesClose() string {
	if w.open == opNothing {
		return ""
	}
	var events string
	if w.open == opCall {
		events = w.responsesEvent("done", `,"name":`+quote(w.call.Name)+`,"arguments":`+quote(w.told.String()))
	} else {
		member := `,"text":`
		if w.open == opRefusal {
			member = `,"refusal":`
		}
		events = w.responsesEvent("done", member+quote(w.told.String())) +
			named("response.content_part.done", w.responsesPlace()+`,"part":`+w.responsesPart(w.told.String()))
	}
	item := w.responsesItem("completed")
	events += named("response.output_item.done", `,"output_index":`+strconv.Itoa(len(w.items))+`,"item":`+item)
	w.items = append(w.items, item)
	w.open = opNothing
	return events
}

// responsesEvent is an event of the open item that carries members.
func (w *writer) responsesEvent(what, members string) string {
	name := map[op]string{opText: "output_text", opRefusal: "refusal", opCall: "function_call_arguments"}[w.open]
	place := w.responsesPlace()
	if w.open == opText {
		members += `,"logprobs":[]`
	}
	return named("response."+name+"."+what, place+members)
}

func (w *writer) responsesPlace() string {
	place := `,"item_id":` + quote(w.responsesID()) + `,"output_index":` + strconv.Itoa(len(w.items))
	if w.open != opCall {
		place += `,"content_index":0`
	}
	return place
}

func (w *writer) responsesID() string {
	if w.open == opCall {
		return w.id("fc", len(w.items))
	}
	return w.id("msg", len(w.items))
}

func (w *writer) responsesPart(text string) string {
	if w.open == opRefusal {
		return `{"type":"refusal","refusal":` + quote(text) + `}`
	}
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
}

func (w *writer) responsesItem(status string) string {
	head := `{"id":` + quote(w.responsesID()) + `,"status":` + quote(status)
	if w.open != opCall {
		content := ""
		if status == "completed" {
			content = w.responsesPart(w.told.String())
		}
		return head + `,"type":"message","role":"assistant","content":[` + content + `]}`
	}
	id := ""
	if w.call.ID != "" {
		id = `,"call_id":` + quote(w.call.ID)
	}
	return head + `,"type":"function_call"` + id + `,"name":` + quote(w.call.Name) + `,"arguments":` + quote(w.told.String()) + `}`
}
