package scripted

import "strconv"

// messages writes a step as Anthropic Messages. Each piece of the reply is a
// block: it starts, grows, and stops when the next one begins or the reply
// finishes. Why the model stopped and the tokens come with the last events.
func (w *writer) messages(s Step) string {
	switch s.op {
	case opError:
		return `{"type":"error","error":{"type":` + quote(messagesError(s.in)) + `,"message":` + quote(s.data) + `},"request_id":` +
			quote(w.id("req", 0)) + `}`
	case opText, opRefusal, opCall, opArguments:
		before := w.begin(w.messagesBegin)
		if !w.isOpen(s) {
			before += w.messagesClose() + w.messagesOpen(s)
		}
		delta, piece := `{"type":"text_delta","text":`, s.data
		switch s.op {
		case opCall:
			delta, piece = `{"type":"input_json_delta","partial_json":`, s.call.Arguments
		case opArguments:
			delta = `{"type":"input_json_delta","partial_json":`
		}
		if piece == "" {
			return before
		}
		return before + named("content_block_delta", w.messagesIndex(len(w.items))+`,"delta":`+delta+quote(piece)+`}`)
	case opFinish:
		w.reason = s.data
		return w.begin(w.messagesBegin) + w.messagesClose()
	case opUsage:
		w.in, w.out = s.in, s.out
		return ""
	case opDone:
		reason, ok := map[string]string{
			"": "end_turn", "stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal",
		}[w.reason]
		if !ok {
			reason = w.reason
		}
		return w.begin(w.messagesBegin) + w.messagesClose() +
			named("message_delta", `,"delta":{"stop_reason":`+quote(reason)+`,"stop_sequence":null},"usage":`+messagesUsage(w.in, w.out)) +
			named("message_stop", "")
	default:
		return ""
	}
}

func (w *writer) messagesBegin() string {
	return named("message_start", `,"message":{"id":`+quote(w.id("msg", 0))+`,"type":"message","role":"assistant","model":`+quote(w.model)+
		`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":`+messagesUsage(1, 1)+`}`)
}

func messagesUsage(in, out int) string {
	return `{"input_tokens":` + strconv.Itoa(in) + `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":` +
		strconv.Itoa(out) + `}`
}

func (w *writer) messagesIndex(n int) string { return `,"index":` + strconv.Itoa(n) }

// messagesOpen begins the block of a step. The format has no block of its own for
// a refusal: its text is text, and the reason to stop says what it is.
func (w *writer) messagesOpen(s Step) string {
	w.open, w.call = s.op, s.call
	block := `{"type":"text","text":""}`
	if s.op == opCall || s.op == opArguments {
		w.open = opCall
		id := ""
		if s.call.ID != "" {
			id = `,"id":` + quote(s.call.ID)
		}
		block = `{"type":"tool_use"` + id + `,"name":` + quote(s.call.Name) + `,"input":{}}`
	}
	return named("content_block_start", w.messagesIndex(len(w.items))+`,"content_block":`+block)
}

func (w *writer) messagesClose() string {
	if w.open == opNothing {
		return ""
	}
	w.open = opNothing
	w.items = append(w.items, "") // their number is the next block's index
	return named("content_block_stop", w.messagesIndex(len(w.items)-1))
}

// messagesError is the kind of error that goes with a status.
func messagesError(status int) string {
	switch status {
	case 400, 405, 413:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	default:
		return "api_error"
	}
}
