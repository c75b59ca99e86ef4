package scripted

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Log writes down requests, one JSON object a line: each request before it is
// answered, and once more when its reply has ended. It holds the credentials of
// requests too. Set its Record as [Options].Record. Its zero value drops what it
// is given.
//
// A Log is safe for concurrent use.
type Log struct {
	ends sync.WaitGroup

	mu  sync.Mutex
	w   io.Writer // guarded by mu
	err error     // guarded by mu; the first
}

// NewLog makes a log. Each line is one write.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// line is a request as the log tells it.
type line struct {
	Number int         `json:"number"`
	At     time.Time   `json:"at"`
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Query  string      `json:"query"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Status int         `json:"status"`
}

// ending is the end of a reply as the log tells it.
type ending struct {
	Number int       `json:"number"`
	Ended  time.Time `json:"ended"`
	HungUp bool      `json:"hungUp"`
}

// Record writes a request down. What is no UTF-8 in its body becomes U+FFFD.
func (l *Log) Record(r Request) {
	l.write(line{r.Number, r.At.UTC(), r.Method, r.Path, r.Query, r.Header, strings.ToValidUTF8(string(r.Body), "\uFFFD"), r.Status})
	l.ends.Go(func() {
		<-r.Ended()
		l.write(ending{r.Number, time.Now().UTC(), r.HungUp()})
	})
}

// Wait waits until the ends of all replies are written; call it once the server
// is closed.
func (l *Log) Wait() { l.ends.Wait() }

// Err is the first error that kept a line from being written.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *Log) write(v any) {
	data, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return
	}
	if err == nil {
		_, err = l.w.Write(append(data, '\n'))
	}
	if err != nil {
		l.err = errors.Join(l.err, err)
		l.w = nil // a hole in the middle would not be seen
	}
}

// Addresses is an object with the addresses to configure: url, the base URL of
// OpenAI's formats; origin, the same without /v1, which is the base URL of
// Anthropic's; and, if it is not empty, authority, the file of the certificate to
// trust.
func (s *Server) Addresses(authority string) string {
	object := `{"url":` + quote(s.URL()) + `,"origin":` + quote(strings.TrimSuffix(s.URL(), "/v1"))
	if authority != "" {
		object += `,"authority":` + quote(authority)
	}
	return object + "}"
}
