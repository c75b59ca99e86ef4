package attempt

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// never is a dialer that opens nothing until it is told to stop.
func never(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// silent is a dialer whose peer neither reads nor writes: TCP without TLS.
func silent(context.Context, string, string) (net.Conn, error) {
	here, _ := net.Pipe()
	return here, nil
}

func event(wait time.Duration) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{scripted.Wait(wait), scripted.Event("a"), scripted.Done()}}
}

func idle(wait time.Duration) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{scripted.Event("a"), scripted.Wait(wait), scripted.Event("b"), scripted.Done()}}
}

func header(wait time.Duration) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{scripted.Wait(wait), scripted.Head(), scripted.Event("a"), scripted.Done()}}
}

// every streams n events, each after that wait.
func every(wait time.Duration, n int) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{
		scripted.Repeat(n, scripted.Wait(wait), scripted.Event("a")), scripted.Done(),
	}}
}

// rule: M-035, W-193
func TestTimeouts(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		o     provider.Options
		reply scripted.Reply
		took  time.Duration
		posts int
		code  provider.Code // "" where it ends well
		text  string
	}{
		"connect, three times": {
			o: provider.Options{Dial: never}, took: 30 * time.Second,
			code: provider.CodeUnavailable, text: "no connection to the provider within 10s",
		},
		"connect, as set": {
			o: provider.Options{Dial: never, Timeouts: provider.Timeouts{Connect: 7 * time.Second}}, took: 21 * time.Second,
			code: provider.CodeUnavailable, text: "no connection to the provider within 7s",
		},
		"headers, n-1": {reply: header(60*time.Second - ms), took: 60*time.Second - ms, posts: 1},
		"headers, n+1": {
			reply: header(60*time.Second + ms), took: 60 * time.Second, posts: 1,
			code: provider.CodeUnavailable, text: "no header from the provider within 1m0s",
		},
		"first event, n-1": {reply: event(120*time.Second - ms), took: 120*time.Second - ms, posts: 1},
		"first event, n+1": {
			reply: event(120*time.Second + ms), took: 120 * time.Second, posts: 1,
			code: provider.CodeUnavailable, text: "no event from the provider within 2m0s",
		},
		"idle, n-1": {reply: idle(120*time.Second - ms), took: 120*time.Second - ms, posts: 1},
		"idle, n+1": {
			reply: idle(120*time.Second + ms), took: 120 * time.Second, posts: 1,
			code: provider.CodeFailed, text: "nothing more from the provider within 2m0s",
		},
		"total, n-1": {reply: every(100*time.Second-ms, 6), took: 600*time.Second - 6*ms, posts: 1},
		"total, n+1": {
			reply: every(100*time.Second+ms, 6), took: 600 * time.Second, posts: 1,
			code: provider.CodeFailed, text: "no end of the provider's reply within 10m0s",
		},
		"total before the first event": {
			o: provider.Options{Timeouts: provider.Timeouts{Total: time.Second}}, reply: event(2 * time.Second), took: time.Second, posts: 1,
			code: provider.CodeUnavailable, text: "no end of the provider's reply within 1s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.o, []scripted.Reply{tt.reply}, func(t *testing.T, c *Client, s *scripted.Server) {
				began := time.Now()
				err := post(t.Context(), c, &sink{})
				require.Equal(t, tt.took, time.Since(began))
				require.Len(t, s.Requests(), tt.posts)
				if tt.code == "" {
					require.NoError(t, err)
					return
				}
				require.Equal(t, tt.text, fails(t, err, tt.code))
				for _, r := range s.Requests() {
					require.True(t, ends(t, r), "the upstream request goes on")
				}
			})
		})
	}
}

// A retried attempt has all its time again.
//
// rule: M-035
func TestTimeoutsAreForEachAttempt(t *testing.T) {
	refusal := scripted.ErrorReply(503, "busy")
	refusal.Steps = append([]scripted.Step{scripted.Wait(50 * time.Second), scripted.Head()}, refusal.Steps...)
	bubble(t, provider.Options{}, []scripted.Reply{refusal, refusal, every(100*time.Second-time.Millisecond, 6)}, func(t *testing.T, c *Client, s *scripted.Server) {
		began := time.Now()
		require.NoError(t, post(t.Context(), c, &sink{}))
		require.Equal(t, 700*time.Second-6*time.Millisecond, time.Since(began))
		require.Len(t, s.Requests(), 3)
	})
}

func TestAHandshakeCountsAsConnecting(t *testing.T) {
	bubble(t, provider.Options{}, nil, func(t *testing.T, _ *Client, _ *scripted.Server) {
		c := client(t, provider.Options{BaseURL: "https://model.example/v1", Dial: silent, Jitter: noWait, Proxy: direct})
		began := time.Now()
		err := post(t.Context(), c, &sink{})
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Equal(t, "no connection to the provider within 10s", fails(t, err, provider.CodeUnavailable))
	})
}

func TestNegativeTimeoutsAreRefused(t *testing.T) {
	for name, timeouts := range map[string]provider.Timeouts{
		"connect":     {Connect: -1},
		"headers":     {Headers: -1},
		"first_event": {FirstEvent: -1},
		"idle":        {Idle: -1},
		"total":       {Total: -1},
	} {
		_, err := New(provider.Options{BaseURL: "http://127.0.0.1/v1", Timeouts: timeouts}, "/x", nil)
		require.ErrorContains(t, err, name)
	}
}

// complaint: 17 aaif-goose/goose#11679 - a stream of nothing but ": ping" kept every timer alive, and the turn hung
// rule: M-112, W-193
func TestComplaint17Goose11679CommentsAreNoLife(t *testing.T) {
	ping := scripted.Forever(scripted.Wait(100*time.Millisecond), scripted.Comment("ping"))
	t.Run("from the start", func(t *testing.T) {
		bubble(t, provider.Options{}, []scripted.Reply{{Steps: []scripted.Step{ping}}, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			began := time.Now()
			err := post(t.Context(), c, &sink{})
			require.Equal(t, 120*time.Second, time.Since(began))
			require.Equal(t, "no event from the provider within 2m0s", fails(t, err, provider.CodeUnavailable))
			require.Len(t, s.Requests(), 1, "a byte of the body has come")
			require.True(t, ends(t, s.Requests()[0]))
		})
	})
	t.Run("after an event", func(t *testing.T) {
		reply := scripted.Reply{Steps: []scripted.Step{scripted.Event("a"), ping}}
		bubble(t, provider.Options{}, []scripted.Reply{reply}, func(t *testing.T, c *Client, _ *scripted.Server) {
			began := time.Now()
			err := post(t.Context(), c, &sink{})
			require.Equal(t, 120*time.Second, time.Since(began))
			require.Equal(t, "nothing more from the provider within 2m0s", fails(t, err, provider.CodeFailed))
		})
	})
	t.Run("with data lines it lives", func(t *testing.T) {
		reply := scripted.Reply{Steps: []scripted.Step{
			scripted.Repeat(4, scripted.Wait(119*time.Second), scripted.Event("a"), scripted.Comment("ping")), scripted.Done(),
		}}
		bubble(t, provider.Options{}, []scripted.Reply{reply}, func(t *testing.T, c *Client, _ *scripted.Server) {
			require.NoError(t, post(t.Context(), c, &sink{}))
		})
	})
	t.Run("data lines of one event count too", func(t *testing.T) {
		reply := scripted.Reply{Steps: []scripted.Step{
			scripted.Repeat(4, scripted.Wait(119*time.Second), scripted.Write("data: a\n")), scripted.Write("\n"), scripted.Done(),
		}}
		bubble(t, provider.Options{}, []scripted.Reply{reply}, func(t *testing.T, c *Client, _ *scripted.Server) {
			got := &sink{}
			require.NoError(t, post(t.Context(), c, got))
			require.Equal(t, []string{"a\na\na\na"}, got.events)
		})
	})
}

// What the format does with an event is not the provider's time.
func TestASlowSinkIsNoIdleProvider(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{{Steps: []scripted.Step{scripted.Event("a"), scripted.Event("b"), scripted.Done()}}}, func(t *testing.T, c *Client, _ *scripted.Server) {
		require.NoError(t, c.Post(t.Context(), nil, &slow{}))
	})
}

type slow struct{ sink }

func (s *slow) Event(e sse.Event) (bool, error) {
	time.Sleep(150 * time.Second) // the bubble's time
	return s.sink.Event(e)
}
