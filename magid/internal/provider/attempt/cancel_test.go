package attempt

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

var errStop = errors.New("the turn was stopped")

// A cancelled request comes back at once with the cause, whatever it was waiting
// for, and its upstream request ends. That nothing is left running is checked by
// the bubble.
func TestCancelling(t *testing.T) {
	hold := scripted.Hold("")
	tests := map[string]struct {
		o       provider.Options
		url     string
		replies []scripted.Reply
	}{
		"while dialing":              {o: provider.Options{Dial: never}},
		"while TLS is being set up":  {o: provider.Options{Dial: silent, Proxy: direct}, url: "https://model.example/v1"},
		"before the header":          {replies: []scripted.Reply{{Steps: []scripted.Step{hold, scripted.Head()}}}},
		"in the header":              {replies: []scripted.Reply{{Framing: scripted.Raw, Steps: []scripted.Step{scripted.Write("HTTP/1.1 200 OK\r\n"), hold}}}},
		"after the header":           {replies: []scripted.Reply{{Steps: []scripted.Step{hold}}}},
		"in an event":                {replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Write("data: a"), hold}}}},
		"between events":             {replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Event("a"), hold}}}},
		"while comments come":        {replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Forever(scripted.Wait(7*time.Millisecond), scripted.Comment("x"))}}}},
		"in a refusal":               {replies: []scripted.Reply{{Status: 400, Steps: []scripted.Step{scripted.Write("no"), hold}}}},
		"in a refusal to come again": {replies: []scripted.Reply{{Status: 503, Steps: []scripted.Step{scripted.Write("no"), hold}}}},
		"between two tries":          {replies: []scripted.Reply{scripted.ErrorReply(503, "busy", scripted.Field{Name: "Retry-After", Value: "50"})}},
		"after a broken connection":  {o: provider.Options{Jitter: func(time.Duration) time.Duration { return time.Hour }}, replies: []scripted.Reply{gone}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.o, tt.replies, func(t *testing.T, c *Client, s *scripted.Server) {
				if tt.url != "" {
					tt.o.BaseURL = tt.url
					c = client(t, tt.o)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(time.Second, func() { cancel(errStop) })
				err := post(ctx, c, &sink{})
				require.Equal(t, time.Second, time.Since(began))
				require.ErrorIs(t, err, errStop)
				var own *provider.Error
				require.False(t, errors.As(err, &own), "a stop is not the provider's failure")
				require.Len(t, s.Requests(), len(tt.replies), "nothing is asked again")
				synctest.Wait()
				require.Zero(t, s.Open(), "the upstream connection is open")
			})
		})
	}
}

func TestACancelledContextAsksNothing(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{well}, func(t *testing.T, c *Client, s *scripted.Server) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		require.ErrorIs(t, post(ctx, c, &sink{}), errStop)
		require.Empty(t, s.Requests())
	})
}

// A deadline of the caller's is the caller's end, not the provider's.
func TestADeadlineOfTheCallerIsAStop(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{{Steps: []scripted.Step{scripted.Hold("")}}}, func(t *testing.T, c *Client, _ *scripted.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := post(ctx, c, &sink{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var own *provider.Error
		require.False(t, errors.As(err, &own))
	})
}

// complaint: 23 anomalyco/opencode#36739 - headers came and then nothing; retries piled up requests that nobody ended
func TestComplaint23Opencode36739HeadersThenNothing(t *testing.T) {
	silent := scripted.Reply{Steps: []scripted.Step{scripted.Hold("")}}
	t.Run("it ends by itself and is not asked again", func(t *testing.T) {
		bubble(t, provider.Options{}, []scripted.Reply{silent, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			began := time.Now()
			fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
			require.Equal(t, 120*time.Second, time.Since(began))
			require.Len(t, s.Requests(), 1)
			require.True(t, ends(t, s.Requests()[0]))
			synctest.Wait()
			require.Zero(t, s.Open())
		})
	})
	t.Run("stopped, it leaves no file descriptor", func(t *testing.T) {
		const rounds = 20
		s, err := scripted.Start(scripted.Options{Script: scripted.Script{Replies: []scripted.Reply{silent}, Loop: true}})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		c := client(t, provider.Options{BaseURL: s.URL()})
		before := 0
		for n := range rounds {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				r, err := s.Next(ctx)
				if err == nil {
					cancel(errStop)
					<-r.Ended()
				}
			}()
			require.ErrorIs(t, post(ctx, c, &sink{}), errStop)
			require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond)
			if n == 0 {
				before = descriptors(t) // what the runtime opens once is open now
			}
		}
		require.Eventually(t, func() bool { return descriptors(t) <= before }, 10*time.Second, time.Millisecond)
		require.Len(t, s.Requests(), rounds)
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}
