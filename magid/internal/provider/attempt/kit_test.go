package attempt

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// sink keeps what it is told. [DONE] is its last event.
type sink struct {
	events     []string
	ended      bool
	unfinished string
	refused    int
	refusal    string
	fail       error
}

func (s *sink) Event(e sse.Event) (bool, error) {
	if string(e.Data) == "[DONE]" {
		return true, nil
	}
	s.events = append(s.events, string(e.Data))
	return false, s.fail
}

func (s *sink) End(unfinished *sse.Event) error {
	s.ended = true
	if unfinished != nil {
		s.unfinished = string(unfinished.Data)
	}
	return errEnd
}

func (s *sink) Refused(status int, body []byte) {
	s.refused, s.refusal = status, string(body)
}

var errEnd = errors.New("the stream ended")

// noWait is a jitter that never waits.
func noWait(time.Duration) time.Duration { return 0 }

// bubble runs f with a client and a server joined inside the process.
func bubble(t *testing.T, o provider.Options, replies []scripted.Reply, f func(t *testing.T, c *Client, s *scripted.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := scripted.New(scripted.Options{Script: scripted.Script{Replies: replies}})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		o.BaseURL = s.URL()
		if o.Dial == nil {
			o.Dial = s.Dial
		}
		if o.Jitter == nil {
			o.Jitter = noWait
		}
		f(t, client(t, o), s)
	})
}

func client(t *testing.T, o provider.Options) *Client {
	t.Helper()
	c, err := New(o, "/chat/completions", func(h http.Header, key string) {
		h.Set("Authorization", "Bearer "+key)
	})
	require.NoError(t, err)
	return c
}

func post(ctx context.Context, c *Client, s *sink) error {
	return c.Post(ctx, []byte(`{"model":"m"}`), s)
}

// fails checks that an error is the provider's, with that code, and gives its
// message.
func fails(t *testing.T, err error, code provider.Code) string {
	t.Helper()
	var e *provider.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, "%v", err)
	require.NotContains(t, e.Message, "\n")
	require.LessOrEqual(t, len(e.Message), provider.MaxMessageBytes)
	return e.Message
}

// ends reports that a request's reply is over and whether the client left it.
func ends(t *testing.T, r scripted.Request) bool {
	t.Helper()
	<-r.Ended()
	return r.HungUp()
}

// well is a reply that ends well.
var well = scripted.Reply{Steps: []scripted.Step{scripted.Event("a"), scripted.Done()}}

// gone is a connection that is closed where an answer was due.
var gone = scripted.Reply{Framing: scripted.Raw, Steps: []scripted.Step{scripted.Close()}}
