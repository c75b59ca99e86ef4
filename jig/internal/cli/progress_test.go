package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
)

// screen is what a terminal shows of what was written to it.
type screen struct {
	t     *testing.T
	width int
	lines []string
	row   int
	ahead bool // the cursor is at the end of its line, else at the beginning
}

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, "")
		}
		switch {
		case strings.HasPrefix(text, "\r"):
			s.ahead, text = false, text[1:]
		case strings.HasPrefix(text, "\n"):
			s.row, s.ahead, text = s.row+1, false, text[1:]
		case strings.HasPrefix(text, "\x1b[K"):
			require.False(s.t, s.ahead)
			s.lines[s.row], text = "", text[3:]
		case strings.HasPrefix(text, "\x1b[A"):
			require.False(s.t, s.ahead)
			s.row, text = s.row-1, text[3:]
		default:
			n := strings.IndexAny(text, "\r\n\x1b")
			if n < 0 {
				n = len(text)
			}
			require.NotZero(s.t, n, "%q", text)
			if !s.ahead {
				require.Empty(s.t, s.lines[s.row], "written over: %q", text)
			}
			s.lines[s.row], s.ahead, text = s.lines[s.row]+text[:n], true, text[n:]
			require.LessOrEqual(s.t, utf8.RuneCountInString(s.lines[s.row]), s.width, "%q", s.lines[s.row])
		}
	}
	return len(b), nil
}

// shows are the lines down to where the cursor is.
func (s *screen) shows() []string {
	lines := s.lines
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// onScreen is the show of a run whose standard output and error are a terminal.
func onScreen(t *testing.T, width int) (*show, *screen) {
	t.Helper()
	x := &screen{t: t, width: width}
	a := &app{stderr: x, out: &output{w: x, seen: true}, started: time.Now(), errStyle: style{width: width}}
	s := &show{a: a, p: &prepared{}, streams: map[string]*engine.Stderr{}, lines: map[string]*lineWriter{}, talks: map[string]*talk{}}
	s.progress = &progress{
		a: a, target: "binding:agent", deadline: time.Now().Add(30 * time.Second), live: true,
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	return s, x
}

const who = "binding:agent > native"

// rule: J-017
func TestTheTextOfAnAssistantIsShownAsItComes(t *testing.T) {
	s, x := onScreen(t, 100)
	s.native(acp.Event{Label: who, Phase: "prompting", Turn: 1, Of: 2})
	require.Equal(t, []string{"binding:agent prompting, turn 1 of 2, 0s elapsed, 30s left"}, x.shows())
	var text strings.Builder
	text.WriteString(who + " | ")
	for range 3 {
		s.native(acp.Event{Label: who, Text: "word "})
		text.WriteString("word ")
		require.Len(t, x.shows(), 2)
		require.Equal(t, text.String(), x.shows()[0])
		require.Contains(t, x.shows()[1], "turn 1 of 2")
	}
	s.native(acp.Event{Label: who, Text: "\u202elast\nnext"})
	require.Equal(t, []string{text.String() + `\u{202e}last`, who + " | next"}, x.shows()[:2])
	s.progress.above("flow | between")
	require.Equal(t, []string{text.String() + `\u{202e}last`, "flow | between", who + " | next"}, x.shows()[:3])
	require.Len(t, x.shows(), 4)
	s.native(acp.Event{Label: who, Text: " one"})
	s.native(acp.Event{Label: who, End: true})
	require.Equal(t, []string{text.String() + `\u{202e}last`, "flow | between", who + " | next one"}, x.shows()[:3])
	s.progress.clear()
	require.Len(t, x.shows(), 3, "nothing of the progress is left")
}

func TestSpeakersAtTheSameTimeLoseNothing(t *testing.T) {
	s, x := onScreen(t, 100)
	s.native(acp.Event{Label: "a", Text: "first "})
	s.native(acp.Event{Label: "b", Text: "second "})
	require.Equal(t, "b | second ", x.shows()[0])
	s.native(acp.Event{Label: "a", Text: "goes on\n"})
	require.Equal(t, []string{"a | first goes on", "b | second "}, x.shows()[:2])
	close(s.progress.stopped)
	s.end()
	s.progress.clear()
	require.Equal(t, []string{"a | first goes on", "b | second "}, x.shows(), "also of one that was cut off")
}

// rule: J-017
func TestAnItemStandsOnALineOfItsOwn(t *testing.T) {
	s, x := onScreen(t, 100)
	s.progress.doing("", 0, 0)
	s.native(acp.Event{Label: who, Text: "word "})
	s.item("events", channel.Item{Sequence: 1, Value: []byte(`"word "`)}, nil)
	s.item("events", channel.Item{Sequence: 1, End: true}, nil)
	require.Equal(t, []string{
		`{"channel":"events","sequence":1,"type":"data","value":"word "}`, `{"channel":"events","sequence":1,"type":"end"}`,
		who + " | word ", "binding:agent running, 0s elapsed, 30s left",
	}, x.shows())
}

// rule: J-017
func TestANarrowTerminalShowsTurnAndTime(t *testing.T) {
	for _, tc := range []struct {
		width, turn int
		want        string
	}{
		{100, 1, "binding:agent prompting, turn 1 of 2, 4s elapsed, 27s left"},
		{59, 1, "binding:agent prompting, turn 1 of 2, 4s elapsed, 27s left"},
		{58, 1, "prompting, turn 1 of 2, 4s elapsed, 27s left"},
		{45, 1, "prompting, turn 1 of 2, 4s elapsed, 27s left"},
		{44, 1, "prompting, turn 1/2, 4s, 27s left"},
		{24, 1, "turn 1/2, 4s, 27s left"},
		{23, 1, "turn 1/2, 4s, 27s left"},
		{22, 1, "turn 1/2, 27s left"},
		{24, 0, "prompting, 4s, 27s left"},
		{10, 1, "27s left"},
	} {
		require.Equal(t, tc.want, progressLine(tc.width, "binding:agent", "prompting", tc.turn, 2, 4*time.Second, 27*time.Second), "%+v", tc)
	}
	s, x := onScreen(t, 24)
	s.native(acp.Event{Label: who, Phase: "prompting", Turn: 1, Of: 2})
	s.stderr("flow:flows/hello", []byte("a line of the console that is long\n"))
	for range 12 {
		s.native(acp.Event{Label: who, Text: "日本語 "})
		require.LessOrEqual(t, cells(x.shows()[len(x.shows())-2]), 24)
	}
	s.native(acp.Event{Label: who, End: true})
	s.progress.clear()
	require.Equal(t, []string{
		"flow:flows/hello | a", "  line of the console", "  that is long",
	}, x.shows()[:3])
	require.Greater(t, len(x.shows()), 4)
}
