package apptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is a Chat Completions server that says what it is told to, one answer a request.
type model struct {
	t   testing.TB
	url string

	mu       sync.Mutex
	answers  []answer
	requests []object
	bodies   []string
	arrived  chan object
}

// answer writes one streamed answer. It may wait.
type answer func(w http.ResponseWriter, r *http.Request)

func newModel(t testing.TB) *model {
	m := &model{t: t, arrived: make(chan object, 1024)}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	m.url = s.URL + "/v1"
	return m
}

// will says what the model answers next.
func (m *model) will(answers ...answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, answers...)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request object
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	next := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"nothing was prepared"}}`, http.StatusBadRequest)
	}
	if len(m.answers) > 0 {
		next, m.answers = m.answers[0], m.answers[1:]
	}
	m.requests = append(m.requests, request)
	m.bodies = append(m.bodies, string(body))
	m.mu.Unlock()
	m.arrived <- request
	next(w, r)
}

// asked gives the requests so far.
func (m *model) asked() []object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]object(nil), m.requests...)
}

// body is the text of a request, counted from 0.
func (m *model) body(n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Greater(m.t, len(m.bodies), n)
	return m.bodies[n]
}

// toolCall is one call of an answer.
type toolCall struct{ id, name, arguments string }

func event(w io.Writer, data string) {
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// text is the model saying something and nothing else.
func text(said string) answer { return held(nil, said) }

// calls is the model calling tools, in one answer.
func calls(all ...toolCall) answer { return held(nil, "", all...) }

// held is an answer that begins when the channel is closed.
func held(free <-chan struct{}, said string, all ...toolCall) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		event(w, `{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`)
		if free != nil {
			select {
			case <-free:
			case <-r.Context().Done():
				return
			}
		}
		if said != "" {
			event(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, quoted(said)))
		}
		for i, c := range all {
			event(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}}]}`,
				i, quoted(c.id), quoted(c.name), quoted(c.arguments)))
		}
		reason := "stop"
		if len(all) > 0 {
			reason = "tool_calls"
		}
		event(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason))
		event(w, "[DONE]")
	}
}

// refuses is the model answering with an HTTP status.
func refuses(status int, message string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":%s}}`, quoted(message))
	}
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// messages gives the texts that a request has of one role.
func messages(request object, role string) (out []string) {
	for _, m := range request.list("messages") {
		if m["role"] == role {
			content, _ := m["content"].(string)
			out = append(out, content)
		}
	}
	return out
}

// offered gives the functions that a request offers, by name, without the built-in ones.
func offered(request object) map[string]object {
	out := make(map[string]object)
	for _, tool := range request.list("tools") {
		f := tool.object("function")
		switch name := f.text("name"); {
		case name == "read_file", name == "list_files", name == "find_text":
		default:
			out[name] = f
		}
	}
	return out
}

func joined(parts []string) string { return strings.Join(parts, "\x00") }
