package chat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// ask is a request as the worker makes one.
var ask = provider.Request{
	System:   "be brief",
	Messages: []provider.Message{{Role: provider.RoleUser, Text: "hello"}},
	Tools: []provider.Tool{{
		Name:        "read_file",
		Description: "reads",
		InputSchema: jsontext.Value(`{"type":"object"}`),
	}},
}

// outcome is all that a caller sees of one Stream.
type outcome struct {
	reply provider.Reply
	text  string
	err   error
}

// code gives the closed code of an outcome that must have failed with one.
func (o outcome) code(t *testing.T) provider.Code {
	t.Helper()
	var e *provider.Error
	require.ErrorAs(t, o.err, &e)
	return e.Code
}

func run(ctx context.Context, c *Client, r provider.Request) outcome {
	var b strings.Builder
	reply, err := c.Stream(ctx, r, func(s string) error {
		b.WriteString(s)
		return nil
	})
	return outcome{reply, b.String(), err}
}

// pipe makes a client and a server joined inside the process, to be called in a
// bubble.
func pipe(t *testing.T, replies ...scripted.Reply) (*Client, *scripted.Server) {
	t.Helper()
	return pipeWith(t, provider.Options{}, replies...)
}

func pipeWith(t *testing.T, o provider.Options, replies ...scripted.Reply) (*Client, *scripted.Server) {
	t.Helper()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Replies: replies}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	o.BaseURL, o.Dial = s.URL(), s.Dial
	if o.Model == "" {
		o.Model = "scripted"
	}
	c, err := New(o)
	require.NoError(t, err)
	return c, s
}

// once runs one reply in a bubble.
func once(t *testing.T, reply scripted.Reply) outcome {
	t.Helper()
	var o outcome
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, reply)
		o = run(t.Context(), c, ask)
	})
	return o
}

// events is a reply of these events' data, ended by [DONE].
func events(data ...string) scripted.Reply {
	var r scripted.Reply
	for _, d := range data {
		r.Steps = append(r.Steps, scripted.Event(d))
	}
	r.Steps = append(r.Steps, scripted.Done())
	return r
}

// steps is a reply of these steps, ended by [DONE].
func steps(s ...scripted.Step) scripted.Reply {
	return scripted.Reply{Steps: append(s, scripted.Done())}
}

var errStopHere = errors.New("stop here")
