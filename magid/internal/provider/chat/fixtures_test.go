package chat

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// some gives the first of the variants, or all of them with -long.
func some[T any](variants ...T) []T {
	if *long {
		return variants
	}
	return variants[:1]
}

// wants is what each fixture must come to.
var wants = map[string]outcome{
	"text": {
		text:  "Hello, 北京 😀",
		reply: provider.Reply{Calls: []provider.Call{}, Usage: &provider.Usage{InputTokens: 19, OutputTokens: 10}},
	},
	"calls": {
		text: "Let me look.",
		reply: provider.Reply{
			Calls: []provider.Call{{ID: "call_a", Name: "read_file", Arguments: `{"path":"北京.md"}`}, {ID: "call_b", Name: "find_text", Arguments: `{"text":10}`}},
			Usage: &provider.Usage{InputTokens: 5, OutputTokens: 7},
		},
	},
	"interleaved": {reply: provider.Reply{
		Calls: []provider.Call{{ID: "call_a", Name: "read_file", Arguments: `{"a":1}`}, {ID: "call_b", Name: "read_file", Arguments: `{"b":2}`}},
	}},
	"index0": {reply: provider.Reply{
		Calls: []provider.Call{{ID: "call_x1", Name: "read_file", Arguments: `{"path":"a"}`}, {ID: "call_x2", Name: "read_file", Arguments: `{"path":"b"}`}},
	}},
	"noids": {reply: provider.Reply{
		Calls: []provider.Call{{Name: "read_file", Arguments: `{"path":"a"}`}, {Name: "list_files", Arguments: `{}`}},
	}},
	"comments": {
		text:  "Yes!",
		reply: provider.Reply{Calls: []provider.Call{}, Usage: &provider.Usage{InputTokens: 1, OutputTokens: 2}},
	},
	"function": {reply: provider.Reply{
		Calls: []provider.Call{{Name: "read_file", Arguments: `{"path":"a"}`}},
	}},
	"length": {
		text:  "I will",
		reply: provider.Reply{Usage: &provider.Usage{InputTokens: 3, OutputTokens: 4}},
		err:   provider.NewError(provider.CodeLimitExceeded, "the model stopped at its output limit", nil),
	},
}

// fixtures gives every recorded stream by name.
func fixtures(t testing.TB) map[string]scripted.Reply {
	t.Helper()
	files, err := filepath.Glob("testdata/fixtures/*.txt")
	require.NoError(t, err)
	all := map[string]scripted.Reply{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		script, err := scripted.Parse(text)
		require.NoError(t, err, file)
		require.Len(t, script.Replies, 1, file)
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = script.Replies[0]
	}
	require.Len(t, all, len(wants))
	return all
}

// each runs f for every fixture in a bubble of its own.
func each(t *testing.T, f func(t *testing.T, reply scripted.Reply, want outcome)) {
	t.Helper()
	for name, reply := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := wants[name]
			require.True(t, ok)
			synctest.Test(t, func(t *testing.T) { f(t, reply, want) })
		})
	}
}

// tried runs each of the replies, one after the other, against one client.
func tried(t *testing.T, replies []scripted.Reply, f func(n int, got outcome)) {
	t.Helper()
	s, err := scripted.New(scripted.Options{Limits: scripted.Limits{Requests: 3 * len(replies)}, Script: scripted.Script{Replies: replies}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c, err := New(provider.Options{BaseURL: s.URL(), Model: "m", Dial: s.Dial})
	require.NoError(t, err)
	for n := range replies {
		f(n, run(t.Context(), c, ask))
	}
}

// rule: M-100, M-101, M-103, M-109, W-300
func TestFixtures(t *testing.T) {
	each(t, func(t *testing.T, reply scripted.Reply, want outcome) {
		tried(t, []scripted.Reply{reply}, func(_ int, got outcome) { require.Equal(t, want, got) })
	})
}

// Every byte of a stream by itself, and the stream in two at every place: the
// outcome is the same.
//
// rule: M-111
func TestFixturesSplitAnywhere(t *testing.T) {
	each(t, func(t *testing.T, reply scripted.Reply, want outcome) {
		body := string(reply.Body(scripted.Chat))
		var all []scripted.Reply
		for _, framing := range []scripted.Framing{scripted.Chunked, scripted.UntilClose, scripted.Length} {
			whole := scripted.Reply{Framing: framing, Split: 1, Steps: []scripted.Step{scripted.Write(body)}}
			all = append(all, whole, scripted.Reply{Framing: scripted.Raw, Split: 1, Steps: []scripted.Step{scripted.Write(string(whole.Wire(scripted.Chat)))}})
		}
		for n := range body {
			if !*long && n%8 != 0 { // the splits above have every border too
				continue
			}
			all = append(all, scripted.Reply{Steps: []scripted.Step{scripted.Write(body[:n]), scripted.Write(body[n:])}})
		}
		tried(t, all, func(n int, got outcome) { require.Equal(t, want, got, "reply %d", n) })
	})
}

// rightPrefix checks what a stream that went wrong after some place may have come
// to: nothing but a prefix of the text, a closed code, and no call.
func rightPrefix(t *testing.T, want, got outcome, n int) {
	t.Helper()
	require.True(t, strings.HasPrefix(want.text, got.text), "at %d: %q", n, got.text)
	require.Empty(t, got.reply.Calls, "at %d: a call of a stream that failed", n)
	require.Contains(t, []provider.Code{provider.CodeFailed, provider.CodeUnavailable, provider.CodeLimitExceeded}, got.code(t), "at %d", n)
}

// complaint: 35 esengine/DeepSeek-Reasonix#3957 - an orderly end in the middle of the arguments was taken for success, and half a call was kept
// rule: M-096, M-104
func TestComplaint35DeepSeekReasonix3957CutAfterEveryByte(t *testing.T) {
	each(t, func(t *testing.T, reply scripted.Reply, want outcome) {
		body := string(reply.Body(scripted.Chat))
		reason := finished(body)
		for _, framing := range some(scripted.UntilClose, scripted.Chunked, scripted.Length) {
			whole := scripted.Reply{Framing: framing, Steps: []scripted.Step{scripted.Write(body)}}
			var cuts []scripted.Reply
			for n := range len(body) + 1 {
				cuts = append(cuts, whole.Cut(scripted.Chat, n, scripted.Close()))
			}
			if framing != scripted.UntilClose {
				cuts = cuts[1:] // nothing of the body came: that is tried again, see package attempt
			}
			offset := len(body) + 1 - len(cuts)
			complete := 0
			tried(t, cuts, func(i int, got outcome) {
				n := i + offset
				switch {
				case got.err == nil:
					// Usage may have been lost with the end; nothing else.
					complete++
					require.Equal(t, want.text, got.text)
					require.Equal(t, want.reply.Calls, got.reply.Calls)
					require.GreaterOrEqual(t, n, reason, "cut before the reason's event had ended")
				default:
					rightPrefix(t, want, got, n)
				}
			})
			if want.err == nil && framing == scripted.UntilClose {
				require.NotZero(t, complete, "an orderly end after the reason is an end")
			}
		}
	})
}

// finished gives the place where the event that holds the reason has ended.
func finished(body string) int {
	at := 0
	for _, reason := range []string{`"finish_reason":"stop"`, `"finish_reason":"tool_calls"`, `"finish_reason":"function_call"`, `"finish_reason":"length"`} {
		if i := strings.Index(body, reason); i >= 0 {
			at = i + strings.IndexByte(body[i:], '\n') + len("\n")
		}
	}
	return at
}

// complaint: 38 SamSaffron/term-llm#449 - an event that was damaged was skipped, and the call ran with {}
// rule: M-104
func TestComplaint38TermLLM449OneByteDamaged(t *testing.T) {
	each(t, func(t *testing.T, reply scripted.Reply, want outcome) {
		body := string(reply.Body(scripted.Chat))
		reason := finished(body)
		for _, damage := range some("\x00", "\xff") {
			var all []scripted.Reply
			for n := range len(body) {
				all = append(all, scripted.Reply{Steps: []scripted.Step{scripted.Write(body[:n] + damage + body[n+1:])}})
			}
			tried(t, all, func(n int, got outcome) {
				if got.err == nil {
					line := body[:n]
					line = line[strings.LastIndexByte(line, '\n')+1:]
					require.True(t, n >= reason || strings.HasPrefix(line, ":"), "damage at %d went unseen", n)
					require.Equal(t, want.text, got.text)
					require.Equal(t, want.reply.Calls, got.reply.Calls)
					return
				}
				rightPrefix(t, want, got, n)
			})
		}
	})
}
