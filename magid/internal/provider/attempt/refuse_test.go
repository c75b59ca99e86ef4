package attempt

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

func refusal(status int, body string, header ...scripted.Field) scripted.Reply {
	return scripted.Reply{Status: status, Header: header, Steps: []scripted.Step{scripted.Write(body)}}
}

// rule: W-194, W-195
func TestARefusalIsNotTriedAgain(t *testing.T) {
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 413, 422, 428, 430, 451, 499} {
		r := scripted.ErrorReply(status, "no")
		bubble(t, provider.Options{}, []scripted.Reply{r, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			got := &sink{}
			message := fails(t, post(t.Context(), c, got), provider.CodeFailed)
			require.Regexp(t, `^the provider refused with status \d+: no$`, message)
			require.Len(t, s.Requests(), 1)
			require.Equal(t, status, got.refused)
			require.Equal(t, string(r.Body(scripted.Chat)), got.refusal)
		})
	}
}

func TestAStatusThatIsNoReply(t *testing.T) {
	for _, status := range []int{201, 202, 204, 206, 304} {
		bubble(t, provider.Options{}, []scripted.Reply{{Status: status, Framing: scripted.Length}, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			require.Contains(t, fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed), "where a reply has 200")
			require.Len(t, s.Requests(), 1)
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere, err := scripted.StartReplies(well)
	require.NoError(t, err)
	defer func() { require.NoError(t, elsewhere.Close()) }()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s, err := scripted.StartReplies(refusal(status, "", scripted.Field{Name: "Location", Value: elsewhere.URL() + "/chat/completions"}))
		require.NoError(t, err)
		message := fails(t, post(t.Context(), client(t, provider.Options{BaseURL: s.URL()}), &sink{}), provider.CodeFailed)
		require.Contains(t, message, "redirects are not followed")
		require.NotContains(t, message, elsewhere.URL())
		require.Len(t, s.Requests(), 1)
		require.NoError(t, s.Close())
	}
	require.Empty(t, elsewhere.Requests())
}

func TestAReplyThatIsNoStream(t *testing.T) {
	for kind, encoding := range map[string]string{"application/json": "", "application/json; charset=utf-8": "", "text/html": "", "text/event-stream": "gzip"} {
		r := refusal(200, `{"choices":[]}`, scripted.Field{Name: "Content-Type", Value: kind})
		if encoding != "" {
			r.Header = append(r.Header, scripted.Field{Name: "Content-Encoding", Value: encoding})
		}
		bubble(t, provider.Options{}, []scripted.Reply{r, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Len(t, s.Requests(), 1)
		})
	}
	for _, kind := range []string{"text/event-stream; charset=utf-8", "text/plain", "application/octet-stream", "nonsense/"} {
		r := well
		r.Header = []scripted.Field{{Name: "Content-Type", Value: kind}, {Name: "Content-Encoding", Value: "identity"}}
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, _ *scripted.Server) {
			require.NoError(t, post(t.Context(), c, &sink{}))
		})
	}
}

func TestABodyThatIsNoStream(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{refusal(200, `{"error":"no"}`+"\n", scripted.Field{Name: "Content-Type", Value: "text/plain"})}, func(t *testing.T, c *Client, _ *scripted.Server) {
		require.Equal(t, "the provider sent something that is no stream of events", fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed))
	})
}

// rule: M-095
func TestAnEventOverTheLimit(t *testing.T) {
	for n, code := range map[int]provider.Code{1<<20 - 1: "", 1 << 20: "", 1<<20 + 1: provider.CodeFailed} {
		r := scripted.Reply{Steps: []scripted.Step{scripted.Event(strings.Repeat("x", n)), scripted.Done()}}
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, _ *scripted.Server) {
			got := &sink{}
			err := post(t.Context(), c, got)
			if code == "" {
				require.NoError(t, err)
				require.Len(t, got.events[0], n)
				return
			}
			require.Equal(t, "the provider sent an event longer than 1048576 bytes", fails(t, err, code))
		})
	}
}

// rule: W-195
func TestWhatARefusalSays(t *testing.T) {
	tests := map[string]struct{ body, said string }{
		"OpenAI":                  {`{"error":{"message":"no such model","type":"invalid_request_error","code":"x"}}`, "no such model"},
		"Anthropic":               {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "Overloaded"},
		"Ollama":                  {`{"error":"model not found"}`, "model not found"},
		"Mistral":                 {`{"object":"error","message":"bad","type":"x"}`, "bad"},
		"FastAPI":                 {`{"detail":"Not Found"}`, "Not Found"},
		"FastAPI, in detail":      {`{"detail":[{"loc":["body"],"msg":"x"}]}`, ""},
		"text":                    {"upstream connect error\n", "upstream connect error"},
		"a page":                  {"<html><body>502</body></html>", ""},
		"a page after blanks":     {"\n\n <!DOCTYPE html>", ""},
		"nothing":                 {"", ""},
		"blanks":                  {" \n ", ""},
		"binary":                  {"\x1f\x8b\x00\x00", ""},
		"no error in it":          {`{"ok":false}`, ""},
		"error is null":           {`{"error":null,"message":"m"}`, "m"},
		"a message of lines":      {`{"error":{"message":"a\nb\r\n\tc\u2028d\u0000e\u001b[31mf"}}`, "a b c d e [31mf"},
		"bytes that are no UTF-8": {"{\"error\":{\"message\":\"a\xffb\"}}", "a\uFFFDb"},
		"a lone surrogate":        {`{"error":{"message":"a\ud800b"}}`, "a\uFFFDb"},
		"names twice":             {`{"error":{"message":"a","message":"b"}}`, "b"},
		"followed by more":        {`{"error":{"message":"a"}} trailing`, "a"},
		"cut":                     {`{"error":{"message":"a`, `{"error":{"message":"a`},
		"a list":                  {`[{"error":{"message":"a"}}]`, `[{"error":{"message":"a"}}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, provider.Options{}, []scripted.Reply{refusal(400, tt.body)}, func(t *testing.T, c *Client, _ *scripted.Server) {
				message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
				want := "the provider refused with status 400"
				if tt.said != "" {
					want += ": " + tt.said
				}
				require.Equal(t, want, message)
			})
		})
	}
	t.Run("compressed", func(t *testing.T) {
		r := refusal(400, `{"error":{"message":"a"}}`, scripted.Field{Name: "Content-Encoding", Value: "br"})
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, _ *scripted.Server) {
			require.Equal(t, "the provider refused with status 400", fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed))
		})
	})
}

// rule: W-195
func TestARefusalIsCutAt256Bytes(t *testing.T) {
	const prefix = "the provider refused with status 400: "
	for n, want := range map[int]int{255: 255, 256: 256, 257: 256, 60_000: 256} {
		bubble(t, provider.Options{}, []scripted.Reply{scripted.ErrorReply(400, strings.Repeat("x ", n)[:n-1]+"x")}, func(t *testing.T, c *Client, _ *scripted.Server) {
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Len(t, message, len(prefix)+want)
		})
	}
	// Not in the middle of a character.
	bubble(t, provider.Options{}, []scripted.Reply{scripted.ErrorReply(400, "x"+strings.Repeat("京 ", 100))}, func(t *testing.T, c *Client, _ *scripted.Server) {
		message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
		require.True(t, utf8.ValidString(message))
		require.NotContains(t, message, "\uFFFD")
		require.LessOrEqual(t, len(message), len(prefix)+256)
		require.Greater(t, len(message), len(prefix)+250)
	})
}

// rule: W-196
func TestKeysInARefusalAreReplaced(t *testing.T) {
	key, err := provider.NewSecret("canary.key.of.our.own")
	require.NoError(t, err)
	for _, status := range []int{401, 429, 500} {
		r := scripted.ErrorReply(status, "Incorrect API key provided: canary.key.of.our.own. And sk-other-Canary1 too")
		bubble(t, provider.Options{Key: key}, replies(3, r), func(t *testing.T, c *Client, _ *scripted.Server) {
			err := post(t.Context(), c, &sink{})
			require.ErrorContains(t, err, "Incorrect API key provided: [redacted]. And [redacted] too")
			require.NotContains(t, strings.ToLower(err.Error()), "canary")
		})
	}
	// A key that the cut would split is replaced all the same.
	for pad := 200; pad < 300; pad++ {
		r := scripted.ErrorReply(401, strings.Repeat("-", pad)+" canary.key.of.our.own")
		bubble(t, provider.Options{Key: key}, []scripted.Reply{r}, func(t *testing.T, c *Client, _ *scripted.Server) {
			require.NotContains(t, post(t.Context(), c, &sink{}).Error(), "can")
		})
	}
}

// complaint: 55 openai/codex#38846 - the reason of the refusal was thrown away and a generic error was retried
// rule: W-195
func TestComplaint55Codex38846TheReasonIsShown(t *testing.T) {
	for _, framing := range []scripted.Framing{scripted.Chunked, scripted.Length, scripted.UntilClose} {
		r := scripted.ErrorReply(413, "message too big: 1,234,567 bytes, the limit is 1,000,000")
		r.Framing = framing
		bubble(t, provider.Options{}, []scripted.Reply{r, well}, func(t *testing.T, c *Client, s *scripted.Server) {
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Equal(t, "the provider refused with status 413: message too big: 1,234,567 bytes, the limit is 1,000,000", message)
			require.Len(t, s.Requests(), 1)
		})
	}
	t.Run("the last of three", func(t *testing.T) {
		bubble(t, provider.Options{}, replies(3, scripted.ErrorReply(503, "the model is being loaded")), func(t *testing.T, c *Client, _ *scripted.Server) {
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
			require.Equal(t, "the provider refused with status 503: the model is being loaded", message)
		})
	})
	t.Run("a body that breaks off", func(t *testing.T) {
		r := refusal(413, "message too big, and more").Cut(scripted.Chat, len("message too big"), scripted.Close())
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, _ *scripted.Server) {
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Equal(t, "the provider refused with status 413: message too big", message)
		})
	})
}

// rule: M-118
func TestARefusalWithoutEnd(t *testing.T) {
	t.Run("slow", func(t *testing.T) {
		r := scripted.Reply{Status: 400, Steps: []scripted.Step{
			scripted.Write(`{"error":{"message":"no"}}`), scripted.Forever(scripted.Wait(100*time.Millisecond), scripted.Write(" ")),
		}}
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, s *scripted.Server) {
			began := time.Now()
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
			require.Equal(t, refusalTime, time.Since(began))
			require.Equal(t, "the provider refused with status 400: no", message)
			require.True(t, ends(t, s.Requests()[0]))
		})
	})
	t.Run("slow, three times", func(t *testing.T) {
		r := scripted.Reply{Status: 503, Steps: []scripted.Step{scripted.Write("busy"), scripted.Hold("")}}
		bubble(t, provider.Options{}, replies(3, r), func(t *testing.T, c *Client, s *scripted.Server) {
			began := time.Now()
			message := fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
			require.Equal(t, 3*refusalTime, time.Since(began))
			require.Equal(t, "the provider refused with status 503: busy", message)
		})
	})
	t.Run("fast", func(t *testing.T) {
		r := scripted.Reply{Status: 400, Steps: []scripted.Step{scripted.Forever(scripted.Write(strings.Repeat("no ", 1000)))}}
		bubble(t, provider.Options{}, []scripted.Reply{r}, func(t *testing.T, c *Client, s *scripted.Server) {
			got := &sink{}
			began := time.Now()
			fails(t, post(t.Context(), c, got), provider.CodeFailed)
			require.Zero(t, time.Since(began))
			require.Len(t, got.refusal, 64<<10)
			require.True(t, ends(t, s.Requests()[0]))
		})
	})
	for n, want := range map[int]int{64<<10 - 1: 64<<10 - 1, 64 << 10: 64 << 10, 64<<10 + 1: 64 << 10} {
		bubble(t, provider.Options{}, []scripted.Reply{refusal(400, strings.Repeat("x", n))}, func(t *testing.T, c *Client, _ *scripted.Server) {
			got := &sink{}
			fails(t, post(t.Context(), c, got), provider.CodeFailed)
			require.Len(t, got.refusal, want)
		})
	}
}
