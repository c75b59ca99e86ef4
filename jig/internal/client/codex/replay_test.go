package codex

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// A conversation in testdata is text, one step a line; what stands after the word
// is JSON.
//
//	restore ID   the session is a restored one
//	login        what the client logs in with
//	flow         a frame of the Flow, which the host decides on
//	expects      the next line that the app-server must read
//	server       a line that the app-server writes
//	sees         the next frame that the Flow must see
//	kind WORD    the category the operator must hear of
//	fails REASON the host fails the resource
//	oracle       what the published adapter of Codex writes in the same conversation
//
// A line that begins with # is a comment. Everything passes the host's own machine.
//
// rule: N-005, N-006, N-007, N-008, N-009, N-010, N-011, N-012, N-013, N-021, N-043, N-044
// rule: J-179, J-181, J-186, J-211, J-212, J-214, J-239
// rule: F-084, F-085, F-096, F-099, F-105
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotContains(t, string(text), "\r")
			synctest.Test(t, func(t *testing.T) { replay(t, string(text)) })
		})
	}
}

// stage is one conversation under way.
type stage struct {
	*testing.T
	machine *acpprofile.Machine
	in      net.Conn      // to the adapter
	out     chan []byte   // from it
	server  net.Conn      // what the app-server writes
	stdin   *bufio.Reader // and reads
	seen    []string      // for the Flow, not looked at yet
	flows   []string      // all frames of the Flow
	all     []string      // all the Flow saw
	kinds   chan launch.Category
	secret  string
}

func config0(restored string) acpprofile.Config {
	return acpprofile.Config{
		Client: "codex", MaxTurns: 8, ModeID: "read-only", RestoreSessionID: restored,
		Configuration: []acpprofile.Setting{{ID: "model", Value: "some-model"}},
	}
}

func replay(t *testing.T, text string) {
	restored, credential := "", `{"type":"apiKey","apiKey":"sk-canary"}`
	var steps [][2]string
	var oracle []string
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "", "#":
		case "restore":
			restored = rest
		case "login":
			credential = rest
		case "oracle":
			oracle = append(oracle, rest)
		default:
			steps = append(steps, [2]string{word, rest})
		}
	}
	machine, err := acpprofile.New(config0(restored))
	require.NoError(t, err)
	inR, inW := net.Pipe()
	outR, outW := net.Pipe()
	stdinR, stdinW := net.Pipe()
	serverR, serverW := net.Pipe()
	exited := make(chan struct{})
	s := &stage{
		T: t, machine: machine, in: inW, out: make(chan []byte, 256), server: serverW, stdin: bufio.NewReader(stdinR),
		kinds: make(chan launch.Category, 64), secret: "sk-canary",
	}
	c := New().(*client)
	if credential != "none" {
		require.NoError(t, c.keep(jsontext.Value(credential)))
	}
	served := make(chan error, 1)
	go func() {
		err := adapter.Serve(c, adapter.Streams{In: inR, Out: outW, Stdin: stdinW, Stdout: serverR, Stderr: strings.NewReader(""), Exited: exited}, func(k launch.Category) { s.kinds <- k })
		outW.Close()
		served <- err
	}()
	go func() { // the host reads whatever it is doing
		defer close(s.out)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			s.out <- bytes.TrimSuffix(line, []byte("\n"))
		}
	}()
	for _, step := range steps {
		s.step(step[0], step[1])
	}
	require.Empty(t, s.seen, "the Flow saw more")
	require.NoError(t, inW.Close())
	_, err = s.stdin.ReadByte()
	require.ErrorIs(t, err, io.EOF, "the app-server was sent more")
	close(exited)
	serverW.Close()
	require.NoError(t, <-served)
	for line := range s.out {
		settled, err := machine.Settled()
		require.True(t, err != nil || !settled, "a settled conversation got %s", line)
	}
	if len(oracle) > 0 {
		require.Equal(t, seenFrom(t, config0(restored), s.flows, oracle), joined(s.all))
	}
}

func (s *stage) step(word, rest string) {
	s.Helper()
	switch word {
	case "flow":
		d, err := s.machine.Adapter([]byte(rest))
		require.NoError(s, err, rest)
		s.flows = append(s.flows, rest)
		for _, line := range d.ToNative {
			_, err := s.in.Write(append(line, '\n'))
			require.NoError(s, err)
		}
	case "expects":
		line, err := s.stdin.ReadBytes('\n')
		require.NoError(s, err)
		same(s.T, rest, string(line))
	case "server":
		_, err := s.server.Write([]byte(rest + "\n"))
		require.NoError(s, err)
	case "sees":
		for len(s.seen) == 0 {
			d, err := s.machine.Native(s.line())
			require.NoError(s, err)
			s.take(d)
		}
		same(s.T, rest, s.seen[0])
		s.seen = s.seen[1:]
	case "kind":
		require.Equal(s, launch.Category(rest), <-s.kinds)
	case "fails":
		for {
			d, err := s.machine.Native(s.line())
			if err != nil {
				f := new(acpprofile.Failure)
				require.ErrorAs(s, err, &f)
				require.Equal(s, rest, string(f.Reason))
				return
			}
			s.take(d)
		}
	default:
		require.FailNow(s, "unknown step", word)
	}
}

// line is the next line of the adapter. None may hold what a client says of itself.
func (s *stage) line() []byte {
	s.Helper()
	line, open := <-s.out
	require.True(s, open, "the adapter has ended")
	require.NotContains(s, string(line), "PRIVATE")
	require.NotContains(s, string(line), "canary")
	return line
}

// take keeps what the Flow sees; a permission's answer goes back at once.
func (s *stage) take(d acpprofile.Decision) {
	s.Helper()
	for _, line := range d.ToNative {
		_, err := s.in.Write(append(line, '\n'))
		require.NoError(s, err)
	}
	for _, frame := range d.ToAdapter {
		s.seen = append(s.seen, string(frame))
		s.all = append(s.all, string(frame))
	}
}

func same(t *testing.T, want, got string) {
	t.Helper()
	w, err := json0.Canonical([]byte(want))
	require.NoError(t, err, want)
	g, err := json0.Canonical([]byte(strings.TrimSuffix(got, "\n")))
	require.NoError(t, err, got)
	require.Equal(t, string(w), string(g))
}

// seenFrom is what the Flow sees of the published adapter's lines: frames and lines
// meet in the machine in the order of their ids.
func seenFrom(t *testing.T, c acpprofile.Config, flows, lines []string) []string {
	t.Helper()
	m, err := acpprofile.New(c)
	require.NoError(t, err)
	var seen []string
	for _, frame := range flows {
		_, err := m.Adapter([]byte(frame))
		require.NoError(t, err, frame)
		if !strings.Contains(frame, `"id"`) {
			continue
		}
		for answered := false; !answered && len(lines) > 0; lines = lines[1:] {
			d, err := m.Native([]byte(lines[0]))
			require.NoError(t, err, lines[0])
			for _, b := range d.ToAdapter {
				seen = append(seen, string(b))
			}
			answered = strings.Contains(lines[0], `"result"`) || strings.Contains(lines[0], `"error":{`) && !strings.Contains(lines[0], "session/update")
		}
	}
	require.Empty(t, lines)
	return joined(seen)
}

// joined puts pieces of one text together: how it was cut means nothing.
func joined(frames []string) (out []string) {
	const mark = `"content":{"text":"`
	for _, f := range frames {
		b, err := json0.Canonical([]byte(f))
		if err != nil {
			out = append(out, fmt.Sprint(err))
			continue
		}
		head, rest, ok := strings.Cut(string(b), mark)
		if last := len(out) - 1; ok && last >= 0 && strings.HasPrefix(out[last], head+mark) {
			text, tail, _ := strings.Cut(rest, `"`)
			before, _, _ := strings.Cut(strings.TrimPrefix(out[last], head+mark), `"`)
			out[last] = head + mark + before + text + `"` + tail
			continue
		}
		out = append(out, string(b))
	}
	return out
}
