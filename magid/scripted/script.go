package scripted

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Script is what a server does: its replies in order, one a request.
type Script struct {
	Replies []Reply
	// Loop starts again with the first reply after the last. Otherwise a request
	// after the last reply is answered 500.
	Loop bool
}

// Framing says how the end of a reply's body is told.
type Framing int

// The framings.
const (
	// Chunked writes every write as one chunk, and the last chunk at the end.
	Chunked Framing = iota
	// UntilClose gives no length: the body ends where the connection does, so a
	// clean end and a cut look alike.
	UntilClose
	// Length declares the body's whole length ahead. Steps that never end cannot
	// have it.
	Length
	// Raw writes the steps alone, with no status line and no header, and closes.
	Raw
)

// Field is one field of a header, written as it stands.
type Field struct{ Name, Value string }

// Reply is one reply of a script. The zero Reply is an empty, well-ended 200.
type Reply struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	// Header is written after Date and Content-Type. A Content-Type in it takes
	// the place of the usual one: text/event-stream with 200, application/json
	// with any other status.
	Header  []Field
	Framing Framing
	// Steps run in order. The status line and header go out ahead of the first,
	// or where a Head step stands.
	Steps []Step
	// Split writes the body in pieces of at most so many bytes, each a write of
	// its own (and a chunk of its own); 0 writes each step whole.
	Split int
	// Pace is a wait between two pieces of Split; 0 waits not at all.
	Pace time.Duration

	declared int // Length: the bytes the header promises; 0: as many as there are
}

// TextReply streams the pieces, then ends well with a usage of one token for
// each piece.
func TextReply(pieces ...string) Reply {
	var r Reply
	for _, p := range pieces {
		r.Steps = append(r.Steps, Text(p))
	}
	r.Steps = append(r.Steps, Finish("stop"), Usage(1, len(pieces)), Done())
	return r
}

// CallReply asks for the calls, each in one piece, then ends well.
func CallReply(calls ...Call) Reply {
	var r Reply
	for _, c := range calls {
		r.Steps = append(r.Steps, ToolCall(c))
	}
	r.Steps = append(r.Steps, Finish("tool_calls"), Usage(1, len(calls)), Done())
	return r
}

// ErrorReply refuses with a status and the error object of the request's format.
func ErrorReply(status int, message string, header ...Field) Reply {
	return Reply{Status: status, Header: header, Framing: Length, Steps: []Step{
		{op: opError, data: message, in: status},
	}}
}

// Cut gives the reply cut after n bytes of its body in the given format; the end
// it then meets is last, usually [Close] or [Reset]. Waits and holds before the
// cut stay. n beyond the body leaves the whole body, still followed by last.
func (r Reply) Cut(f Format, n int, last Step) Reply {
	if r.Framing == Length && r.declared == 0 {
		r.declared = size(f.writer(0, ""), r.Steps) // the header still promises the whole
	}
	var steps []Step
	for _, s := range flatten(f.writer(0, ""), r.Steps) {
		if len(s.written()) > n {
			steps = append(steps, Write(s.data[:n]))
			break
		}
		n -= len(s.written())
		steps = append(steps, s)
	}
	r.Steps = append(steps, last)
	return r
}

// Body gives the bytes of the body in the given format, waits left out. A step
// that never ends is taken once.
func (r Reply) Body(f Format) []byte {
	var b []byte
	for _, s := range flatten(f.writer(0, ""), r.Steps) {
		b = append(b, s.written()...)
	}
	return b
}

// Wire gives the bytes that the reply is on the wire in the given format, waits
// left out and the Date field left out, to be cut or changed and served [Raw].
func (r Reply) Wire(f Format) []byte {
	if r.Framing == Raw {
		return r.Body(f)
	}
	b := r.head(f.writer(0, ""), time.Time{}, false)
	for _, s := range flatten(f.writer(0, ""), r.Steps) {
		for _, piece := range r.pieces(s.written()) {
			b = r.frame(b, piece)
		}
	}
	if r.Framing == Chunked {
		b = append(b, "0\r\n\r\n"...)
	}
	return b
}

func (r Reply) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// head gives the status line and the header. A zero date is left out.
func (r Reply) head(w *writer, date time.Time, keep bool) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", r.status(), http.StatusText(r.status()))
	if !date.IsZero() {
		b = fmt.Appendf(b, "Date: %s\r\n", date.UTC().Format(http.TimeFormat))
	}
	typed := false
	for _, h := range r.Header {
		typed = typed || http.CanonicalHeaderKey(h.Name) == "Content-Type"
	}
	switch {
	case typed:
	case r.status() == http.StatusOK:
		b = append(b, "Content-Type: text/event-stream\r\n"...)
	default:
		b = append(b, "Content-Type: application/json\r\n"...)
	}
	for _, h := range r.Header {
		b = fmt.Appendf(b, "%s: %s\r\n", h.Name, h.Value)
	}
	switch r.Framing {
	case Chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case Length:
		b = fmt.Appendf(b, "Content-Length: %d\r\n", cmp.Or(r.declared, size(w, r.Steps)))
	}
	if !keep {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// pieces splits one write.
func (r Reply) pieces(data string) []string {
	if r.Split <= 0 {
		if data == "" {
			return nil
		}
		return []string{data}
	}
	var p []string
	for len(data) > r.Split {
		p = append(p, data[:r.Split])
		data = data[r.Split:]
	}
	if data != "" {
		p = append(p, data)
	}
	return p
}

// frame appends one piece as the framing wants it. An empty piece is no chunk: it
// would end the body.
func (r Reply) frame(b []byte, piece string) []byte {
	if r.Framing != Chunked {
		return append(b, piece...)
	}
	b = strconv.AppendInt(b, int64(len(piece)), 16)
	b = append(b, "\r\n"...)
	b = append(b, piece...)
	return append(b, "\r\n"...)
}
