package attempt

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

func replies(n int, r scripted.Reply) []scripted.Reply {
	var all []scripted.Reply
	for range n {
		all = append(all, r)
	}
	return all
}

// rule: M-114, W-193
func TestBusyAndBrokenIsTriedTwiceAgain(t *testing.T) {
	reset := scripted.Reply{Framing: scripted.Raw, Steps: []scripted.Step{scripted.Reset()}}
	half := scripted.Reply{Framing: scripted.Raw, Steps: []scripted.Step{scripted.Write("HTTP/1.1 200 OK\r\nContent-Ty"), scripted.Close()}}
	bare := scripted.Reply{Steps: []scripted.Step{scripted.Head(), scripted.Close()}}
	for name, bad := range map[string]scripted.Reply{
		"429":                         scripted.ErrorReply(429, "slow down"),
		"500":                         scripted.ErrorReply(500, "oh"),
		"502":                         scripted.ErrorReply(502, "oh"),
		"503":                         scripted.ErrorReply(503, "oh"),
		"529":                         scripted.ErrorReply(529, "oh"),
		"599":                         scripted.ErrorReply(599, "oh"),
		"closed before the header":    gone,
		"reset before the header":     reset,
		"closed in the header":        half,
		"closed after the header":     bare,
		"429 without a body":          {Status: 429},
		"503 whose body breaks":       scripted.ErrorReply(503, "oh").Cut(scripted.Chat, 5, scripted.Close()),
		"a 500 that says end of time": scripted.ErrorReply(500, "oh", scripted.Field{Name: "Retry-After", Value: "junk"}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, provider.Options{}, append(replies(2, bad), well), func(t *testing.T, c *Client, s *scripted.Server) {
				got := &sink{}
				require.NoError(t, post(t.Context(), c, got))
				require.Equal(t, []string{"a"}, got.events)
				require.Len(t, s.Requests(), 3)
			})
			bubble(t, provider.Options{}, append(replies(3, bad), well), func(t *testing.T, c *Client, s *scripted.Server) {
				got := &sink{}
				fails(t, post(t.Context(), c, got), provider.CodeUnavailable)
				require.Empty(t, got.events)
				require.Len(t, s.Requests(), 3)
				for _, r := range s.Requests() {
					require.Equal(t, s.Requests()[0].Body, r.Body)
					require.NotContains(t, r.Header, "Idempotency-Key")
				}
			})
		})
	}
}

// rule: M-114, W-193
func TestARefusedConnectionIsTriedTwiceAgain(t *testing.T) {
	dials := 0
	c := client(t, provider.Options{BaseURL: "http://127.0.0.1:1/v1", Jitter: noWait, Dial: func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}})
	message := fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
	require.Equal(t, "the connection to the provider failed: dial tcp: connection refused", message)
	require.Equal(t, 3, dials)
}

// A connection that is up is closed unanswered by a server of one connection at a
// time: net/http must not repeat the request by itself.
//
// rule: M-117
func TestNothingElseRepeatsARequest(t *testing.T) {
	s, err := scripted.StartReplies(replies(20, gone)...)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c := client(t, provider.Options{BaseURL: s.URL(), Jitter: noWait})
	fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
	require.Len(t, s.Requests(), 3)
}

// rule: M-113, W-194
func TestNothingIsTriedAgainOnceAByteOfTheBodyCame(t *testing.T) {
	for name, end := range map[string]scripted.Step{"closed": scripted.Close(), "reset": scripted.Reset()} {
		for n := 1; n < len(well.Body(scripted.Chat)); n++ {
			bad := well.Cut(scripted.Chat, n, end)
			bubble(t, provider.Options{}, []scripted.Reply{bad, well}, func(t *testing.T, c *Client, s *scripted.Server) {
				got := &sink{}
				err := post(t.Context(), c, got)
				require.Len(t, s.Requests(), 1, "%s after %d", name, n)
				message := fails(t, err, provider.CodeFailed)
				require.Equal(t, "the connection to the provider broke in the middle of its reply: the other side closed it", message)
			})
		}
	}
	t.Run("a comment is a byte", func(t *testing.T) {
		bad := scripted.Reply{Steps: []scripted.Step{scripted.Write(":"), scripted.Close()}}
		bubble(t, provider.Options{}, []scripted.Reply{bad, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Len(t, s.Requests(), 1)
		})
	})
	t.Run("a real reset", func(t *testing.T) {
		s, err := scripted.StartReplies(scripted.Reply{Steps: []scripted.Step{scripted.Event("a"), scripted.Hold("it is read"), scripted.Reset()}}, well)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		c := client(t, provider.Options{BaseURL: s.URL()})
		err = c.Post(t.Context(), nil, &releases{s: s, name: "it is read"})
		require.Contains(t, fails(t, err, provider.CodeFailed), "connection reset by peer")
		require.Len(t, s.Requests(), 1)
	})
}

// releases releases a hold with the first event.
type releases struct {
	sink
	s    *scripted.Server
	name string
}

func (r *releases) Event(e sse.Event) (bool, error) {
	r.s.Release(r.name)
	return r.sink.Event(e)
}

// An end in order is the format's to judge, even of nothing.
func TestAnEndInOrderIsNotTriedAgain(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"chunked":         {},
		"until the close": {Framing: scripted.UntilClose},
		"length 0":        {Framing: scripted.Length},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, provider.Options{}, []scripted.Reply{reply, well}, func(t *testing.T, c *Client, s *scripted.Server) {
				got := &sink{}
				require.Equal(t, errEnd, post(t.Context(), c, got))
				require.True(t, got.ended)
				require.Len(t, s.Requests(), 1)
			})
		})
	}
}

func TestAnUnfinishedEventIsHandedToTheSink(t *testing.T) {
	reply := scripted.Reply{Framing: scripted.UntilClose, Steps: []scripted.Step{scripted.Event("a"), scripted.Write("data: b\n")}}
	bubble(t, provider.Options{}, []scripted.Reply{reply}, func(t *testing.T, c *Client, _ *scripted.Server) {
		got := &sink{}
		require.Equal(t, errEnd, post(t.Context(), c, got))
		require.Equal(t, []string{"a"}, got.events)
		require.Equal(t, "b", got.unfinished)
	})
}

func TestAnErrorOfTheSinkEndsTheAttempt(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{{Steps: []scripted.Step{scripted.Event("a"), scripted.Hold("")}}, well}, func(t *testing.T, c *Client, s *scripted.Server) {
		refuse := errors.New("no")
		require.Equal(t, refuse, post(t.Context(), c, &sink{fail: refuse}))
		require.Len(t, s.Requests(), 1)
		require.True(t, ends(t, s.Requests()[0]))
	})
}

// rule: M-115
func TestBackoff(t *testing.T) {
	for try, want := range []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second,
	} {
		require.Equal(t, want, backoff(try))
	}
	require.Equal(t, 4*time.Second, backoff(1<<20))
}

// The waits are exactly what the random source picks of 500 ms and 1 s.
//
// rule: M-115
func TestWaitsAreJitter(t *testing.T) {
	picks := map[string]func(limit time.Duration) time.Duration{
		"none":   noWait,
		"all":    func(limit time.Duration) time.Duration { return limit },
		"a part": func(limit time.Duration) time.Duration { return limit / 3 },
	}
	for name, pick := range picks {
		t.Run(name, func(t *testing.T) {
			var limits []time.Duration
			o := provider.Options{Jitter: func(limit time.Duration) time.Duration {
				limits = append(limits, limit)
				return pick(limit)
			}}
			bubble(t, o, replies(3, scripted.ErrorReply(503, "busy")), func(t *testing.T, c *Client, s *scripted.Server) {
				fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
				require.Equal(t, []time.Duration{500 * time.Millisecond, time.Second}, limits)
				r := s.Requests()
				require.Equal(t, pick(500*time.Millisecond), r[1].At.Sub(r[0].At))
				require.Equal(t, pick(time.Second), r[2].At.Sub(r[1].At))
			})
		})
	}
}

// rule: M-115
func TestTheUsualJitterIsFull(t *testing.T) {
	c := client(t, provider.Options{BaseURL: "http://127.0.0.1/v1"})
	const limit = 7
	seen := map[time.Duration]bool{}
	for range 2000 {
		seen[c.jitter(limit)] = true
	}
	for d := range seen {
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, time.Duration(limit))
	}
	require.Len(t, seen, limit+1, "every wait from 0 to the limit comes up")
}

// complaint: 45 earendil-works/pi#4991 - Retry-After was ignored, or obeyed for sixteen days
// rule: M-116
func TestComplaint45Pi4991RetryAfter(t *testing.T) {
	const never = -1
	date := func(d time.Duration) string {
		// The bubble's clock starts at this instant.
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	tests := map[string]struct {
		value string
		wait  time.Duration
	}{
		"none":                   {"", 0},
		"0":                      {"0", 0},
		"3":                      {"3", 3 * time.Second},
		"blanks around":          {" 3\t", 3 * time.Second},
		"zeros ahead":            {"003", 3 * time.Second},
		"59":                     {"59", 59 * time.Second},
		"60":                     {"60", 60 * time.Second},
		"61":                     {"61", never},
		"86400":                  {"86400", never},
		"sixteen days":           {"1382400", never},
		"out of range":           {"99999999999999999999999", never},
		"a date to come":         {date(7 * time.Second), 7 * time.Second},
		"a date in 60 s":         {date(60 * time.Second), 60 * time.Second},
		"a date in 61 s":         {date(61 * time.Second), never},
		"a date past":            {date(-time.Hour), 0},
		"a date in another form": {time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC).Format(time.ANSIC), 5 * time.Second},
		"below zero":             {"-5", 0},
		"a fraction":             {"1.5", 0},
		"junk":                   {"soon", 0},
		"a date that is none":    {"Sat, 01 Jan 2000 00:99:00 GMT", 0},
	}
	for name, tt := range tests {
		for _, status := range []int{429, 503} {
			t.Run(name, func(t *testing.T) {
				refusal := scripted.ErrorReply(status, "slow down", scripted.Field{Name: "Retry-After", Value: tt.value})
				bubble(t, provider.Options{}, []scripted.Reply{refusal, well}, func(t *testing.T, c *Client, s *scripted.Server) {
					began := time.Now()
					err := post(t.Context(), c, &sink{})
					if tt.wait == never {
						require.Contains(t, fails(t, err, provider.CodeUnavailable), "longer than 1m0s: slow down")
						require.Zero(t, time.Since(began), "at once")
						require.Len(t, s.Requests(), 1)
						return
					}
					require.NoError(t, err)
					require.Len(t, s.Requests(), 2)
					require.Equal(t, tt.wait, time.Since(began))
				})
			})
		}
	}
}

// Jitter and Retry-After: the longer of the two is waited, so that many clients
// told to come back at once do not come back together.
//
// rule: M-116
func TestRetryAfterIsALowerBound(t *testing.T) {
	o := provider.Options{Jitter: func(limit time.Duration) time.Duration { return limit }}
	for value, want := range map[string]time.Duration{"0": 500 * time.Millisecond, "3": 3 * time.Second} {
		refusal := scripted.ErrorReply(429, "slow down", scripted.Field{Name: "Retry-After", Value: value})
		bubble(t, o, []scripted.Reply{refusal, well}, func(t *testing.T, c *Client, _ *scripted.Server) {
			began := time.Now()
			require.NoError(t, post(t.Context(), c, &sink{}))
			require.Equal(t, want, time.Since(began))
		})
	}
}

// A date is read against the reply's own clock.
func TestRetryAfterDoesNotTrustOurClock(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	h := http.Header{}
	h.Set("Date", now.Format(http.TimeFormat))
	h.Set("Retry-After", now.Add(9*time.Second).Format(http.TimeFormat))
	for _, ours := range []time.Time{now, now.AddDate(1, 0, 0), now.AddDate(-1, 0, 0)} {
		require.Equal(t, 9*time.Second, retryAfter(h, ours))
	}
	h.Del("Date")
	require.Equal(t, 9*time.Second, retryAfter(h, now))
}

// complaint: 45 earendil-works/pi#9595, holon-run/holon#2720 - a 429 for a quota that was used up was asked again and again
func TestComplaint45Pi9595AUsedUpQuotaIsNotTriedAgain(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":null}}`,
		`{"error":{"message":"You exceeded your current quota","type":"x","code":"billing_hard_limit_reached"}}`,
	} {
		refusal := scripted.Reply{Status: 429, Steps: []scripted.Step{scripted.Write(body)}}
		bubble(t, provider.Options{}, []scripted.Reply{refusal, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
			require.Equal(t, "the provider refused with status 429: You exceeded your current quota", message)
			require.Len(t, s.Requests(), 1)
		})
	}
	// A rate limit is another thing.
	refusal := scripted.Reply{Status: 429, Steps: []scripted.Step{scripted.Write(`{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}`)}}
	bubble(t, provider.Options{}, []scripted.Reply{refusal, well}, func(t *testing.T, c *Client, s *scripted.Server) {
		require.NoError(t, post(t.Context(), c, &sink{}))
	})
}
