package adapter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// words is a client whose protocol is one word and its arguments a line.
type words struct {
	h         Host
	resume    bool
	cancelled int
	stop      func()
}

func (w *words) Prepare(*launch.Frame) ([]string, error) { return nil, nil }
func (w *words) Offers() Offers                          { return Offers{Resume: w.resume} }
func (w *words) Start(h Host)                            { w.h = h }
func (w *words) Cancel()                                 { w.cancelled++; w.h.Send([]byte("cancel")) }

func (w *words) Request(r Request) {
	name := map[Kind]string{Initialize: "initialize", New: "new", Resume: "resume", Configure: "configure", Mode: "mode", Prompt: "prompt"}[r.Kind]
	w.h.Send([]byte(strings.TrimSpace(name + " " + r.SessionID + r.ConfigID + r.ModeID + r.Text)))
}

func (w *words) Line(line []byte) error {
	verb, rest, _ := strings.Cut(string(line), " ")
	switch verb {
	case "done":
		w.h.Done(Result{SessionID: rest})
	case "stop":
		w.h.Done(Result{StopReason: Stop(rest)})
	case "fail":
		w.h.Fail(Failure{Category: launch.Category(rest)})
	case "data":
		w.h.Fail(Failure{Data: rest})
	case "invalid":
		w.h.Fail(Failure{Invalid: true})
	case "text":
		id, text, _ := strings.Cut(rest, " ")
		w.h.Text(id, text)
	case "plan":
		w.h.Plan([]Entry{{rest, "high", "in_progress"}, {"then", "low", "pending"}})
	case "warn":
		w.h.Warn()
	case "permit":
		w.h.Permission(rest, func() { w.h.Send([]byte("no " + rest)) })
	case "broken":
		w.h.Broken(launch.Category(rest))
	case "wait":
		w.stop = w.h.After(10*time.Second, func() { w.h.Broken(launch.Auth) })
	case "enough":
		w.stop()
	case "send":
		w.h.Send([]byte(rest))
	case "ignored":
	default:
		return errors.New("not a word: " + verb)
	}
	return nil
}

// rig has a conversation between a test's host and a test's native program. It
// lives in a synctest bubble.
type rig struct {
	*testing.T
	client   *words
	host     net.Conn // the host's end of the adapter's input
	out      *bufio.Reader
	stdin    *bufio.Reader // what the program reads
	stdout   net.Conn      // what the program writes
	stderr   net.Conn
	exited   chan struct{}
	once     sync.Once // closes exited
	served   chan error
	reported chan launch.Category
	id       int
	all      int // lines of the adapter
}

func newRig(t *testing.T) *rig {
	host, in := net.Pipe()
	outR, outW := net.Pipe()
	stdinR, stdinW := net.Pipe()
	stdoutR, stdoutW := net.Pipe()
	stderrR, stderrW := net.Pipe()
	r := &rig{
		T: t, client: &words{resume: true}, host: host, out: bufio.NewReaderSize(outR, 1<<20), stdin: bufio.NewReader(stdinR), stdout: stdoutW, stderr: stderrW,
		exited: make(chan struct{}), served: make(chan error, 1), reported: make(chan launch.Category, 1024),
	}
	go func() {
		err := Serve(r.client, Streams{In: in, Out: outW, Stdin: stdinW, Stdout: stdoutR, Stderr: stderrR, Exited: r.exited}, func(c launch.Category) { r.reported <- c })
		outW.Close()
		r.served <- err
	}()
	t.Cleanup(func() {
		r.once.Do(func() { close(r.exited) })
		for _, c := range []io.Closer{host, in, outR, outW, stdinR, stdinW, stdoutR, stdoutW, stderrR, stderrW} {
			c.Close()
		}
	})
	return r
}

// write sends one line of the host.
func (r *rig) write(line string) {
	r.Helper()
	_, err := r.host.Write([]byte(line + "\n"))
	require.NoError(r, err)
}

func (r *rig) ask(method, params string) {
	r.Helper()
	r.id++
	r.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.id, method, params))
}

// hears is the next line of the program's input.
func (r *rig) hears(want string) {
	r.Helper()
	line, err := r.stdin.ReadString('\n')
	require.NoError(r, err)
	require.Equal(r, want, strings.TrimSuffix(line, "\n"))
}

// says writes lines of the program.
func (r *rig) says(lines ...string) {
	r.Helper()
	for _, l := range lines {
		_, err := r.stdout.Write([]byte(l + "\n"))
		require.NoError(r, err)
	}
}

func (r *rig) next() string {
	r.Helper()
	line, err := r.out.ReadString('\n')
	require.NoError(r, err)
	r.all++
	return strings.TrimSuffix(line, "\n")
}

func (r *rig) gets(want string) {
	r.Helper()
	require.Equal(r, want, r.next())
}

func (r *rig) result(body string) {
	r.Helper()
	r.gets(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, r.id, body))
}

func (r *rig) failure(body string) {
	r.Helper()
	r.gets(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":%s}`, r.id, body))
}

const (
	internal = `{"code":-32603,"message":"Internal error"}`
	typed    = `{"protocolVersion":1,"clientCapabilities":{"_meta":{"jetbrains":{"air":{"capabilities":["sessionFailure"],"version":1}}}}}`
	untyped  = `{"protocolVersion":1,"clientCapabilities":{}}`
	session  = `{"sessionId":"s"}`
)

func promptOf(text string) string {
	return `{"sessionId":"s","prompt":[{"type":"text","text":"` + text + `"}]}`
}

func updateOf(session, body string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{` + body + `}}}`
}

func textOf(id, text string) string {
	return updateOf("s", `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+text+`"},"messageId":"`+id+`"`)
}

// diagnostic is a typed diagnostic, with the number that its id ends with.
func diagnostic(session, severity string, n int) string {
	return updateOf(session, fmt.Sprintf(`"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"id":"jig:%s:%d","revision":1,"category":"unknown","severity":%q,"title":"","actions":[]}}}}`, severity, n, severity))
}

// opened has a session "s".
func (r *rig) opened() {
	r.Helper()
	r.ask("initialize", typed)
	r.hears("initialize")
	r.says("done")
	r.result(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"resume":{}}},"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionFailure"]}}}}`)
	r.ask("session/new", `{"cwd":"/work","mcpServers":[]}`)
	r.hears("new")
	r.says("done s")
	r.result(`{"sessionId":"s"}`)
}

// prompted has a prompt under way.
func (r *rig) prompted() {
	r.Helper()
	r.opened()
	r.ask("session/prompt", promptOf("hi"))
	r.hears("prompt hi")
}

// ends is the host's end, the program's end after it, and the adapter's own.
func (r *rig) ends() {
	r.Helper()
	require.NoError(r, r.host.Close())
	_, err := r.stdin.ReadByte()
	require.ErrorIs(r, err, io.EOF, "the program hears of the end")
	r.exits()
	_, err = r.out.ReadByte()
	require.ErrorIs(r, err, io.EOF)
	require.NoError(r, <-r.served)
}

// exits is the program's end.
func (r *rig) exits() {
	r.once.Do(func() { close(r.exited) })
	r.stdout.Close()
	r.stderr.Close()
}

// bubble runs test with a rig.
func bubble(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		test(r)
	})
}
