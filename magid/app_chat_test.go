package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// noteContract is the contract of the tools of these tests: a text in, a number of lines out.
const noteContract = `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string","maxLength":200}},"required":["text"]},` +
	`"output_schema":{"type":"object","additionalProperties":false,"properties":{"lines":{"type":"integer","minimum":1,"maximum":1000}},"required":["lines"]},"timeout_ms":60000}`

// noteCall is the model calling that tool.
func noteCall(id, text string) scripted.Reply {
	return scripted.CallReply(scripted.Call{ID: id, Name: "add_note", Arguments: fmt.Sprintf(`{"text":%q}`, text)})
}

// keepNotes is a command that runs the tool: each run adds a line, whatever becomes of its answer.
const keepNotes = `read -r a; echo "$a" >> notes.txt; echo "{\"lines\":$(wc -l < notes.txt)}"`

func (p *place) write(name, content string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.workspace, name), []byte(content), 0o600))
}

func (p *place) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.workspace, name))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(p.t, err)
	return string(content)
}

// terminal is a program that runs at a terminal of its own.
type terminal struct {
	*running
	keys *os.File
}

// atTerminal runs a command of magid at a terminal.
func (p *place) atTerminal(args ...string) *terminal {
	p.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = master.Close() })
	slave, err := openSlave(master)
	require.NoError(p.t, err)
	defer slave.Close()
	cmd := exec.Command(magid, args...)
	cmd.Env, cmd.Dir = append(cmd.Env, p.env...), p.workspace
	cmd.Env = append(cmd.Env, "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(p.t, cmd.Start())
	r := &running{Cmd: cmd, t: p.t, log: &buffer{}, done: make(chan struct{})}
	var copied sync.WaitGroup
	copied.Go(func() { _, _ = io.Copy(r.log, master) })
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	p.t.Cleanup(func() {
		r.signal(unix.SIGKILL)
		<-r.done
		_ = master.Close()
		copied.Wait()
	})
	return &terminal{r, master}
}

func (t *terminal) types(text string) {
	t.t.Helper()
	_, err := t.keys.WriteString(text)
	require.NoError(t.t, err)
}

// rule: M-010
func TestChatAtATerminalAsksBeforeItRunsACall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("add_note.json", noteContract)
	model := p.model(
		noteCall("c1", "unwanted"), scripted.TextReply("Then not."),
		noteCall("c2", "wanted"), noteCall("c3", "wanted too"), scripted.TextReply("Both are noted."),
		noteCall("c4", "no more questions"), scripted.TextReply("Noted as well."),
		noteCall("c5", "interrupted"), scripted.TextReply("never said"),
	)
	p.serve()
	chat := p.atTerminal("chat", "--tool", "add_note.json", "--exec", keepNotes)
	chat.logged("›")
	chat.types("first\n")
	chat.logged(`· add_note {"text":"unwanted"}`)
	chat.logged("run it?")
	require.Empty(t, p.read("notes.txt"), "nothing runs before the answer")
	chat.types("n\n")
	chat.logged("Then not.")
	require.Contains(t, string(model.Requests()[1].Body), "permission_denied")
	require.Empty(t, p.read("notes.txt"))

	chat.types("second\n")
	chat.logged(`· add_note {"text":"wanted"}`)
	chat.types("what?\n") // is no answer
	until(t, "the question is asked again", func() bool { return strings.Count(chat.log.String(), "run it?") == 3 })
	require.Empty(t, p.read("notes.txt"))
	chat.types("y\n")
	chat.logged(`· add_note {"text":"wanted too"}`)
	require.Equal(t, "{\"text\":\"wanted\"}\n", p.read("notes.txt"))
	chat.types("a\n")
	chat.logged("Both are noted.")
	chat.types("third\n")
	chat.logged("Noted as well.")
	require.Equal(t, 3, strings.Count(p.read("notes.txt"), "\n"))
	require.Equal(t, 4, strings.Count(chat.log.String(), "run it?"), "all means all")
	chat.types("\x04")
	require.Zero(t, chat.ends())

	// An interrupt is a no, and stops the turn.
	again := p.atTerminal("chat", "--tool", "add_note.json", "--exec", keepNotes)
	again.logged("›")
	again.types("fourth\n")
	again.logged("run it?")
	again.types("\x03")
	again.logged("stopped")
	again.types("\x04")
	require.Zero(t, again.ends())
	require.Equal(t, 3, strings.Count(p.read("notes.txt"), "\n"))
}

// cutter stands between a client and a daemon, and cuts what goes through it when it is told to.
type cutter struct {
	path     string
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

// cutter makes one and points the place's commands at it.
func (p *place) cutter() *cutter {
	p.t.Helper()
	c := &cutter{path: filepath.Join(p.dir, "cut.sock")}
	var err error
	c.listener, err = net.Listen("unix", c.path)
	require.NoError(p.t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			near, err := c.listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", p.socket)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			served.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			served.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		}
	})
	p.t.Cleanup(func() {
		_ = c.listener.Close()
		c.cut()
		served.Wait()
	})
	return c
}

// cut ends every connection without a word.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// complaint: 3 frontman-ai/frontman#643 - a lost connection made up errors for running calls, and the reconnect ran them again
// rule: M-010, A-163
func TestComplaint3Frontman643ChatHandsInTheOriginalResultAfterALostConnection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("add_note.json", noteContract)
	model := p.model(noteCall("c1", "three geese"), scripted.TextReply("Noted."))
	p.serve()
	cut := p.cutter()
	// The command has its effect and then waits, so that the connection can be lost before it answers.
	command := keepNotes + `; touch worked; while test ! -e go; do sleep 0.01; done`
	chat := exec.Command(magid, "chat", "--tool", "add_note.json", "--exec", command, "--yes")
	chat.Dir, chat.Env = p.workspace, append([]string{}, p.env...)
	stdin, err := chat.StdinPipe()
	require.NoError(t, err)
	r := p.process(chat, "MAGI_SOCKET="+cut.path)
	_, err = io.WriteString(stdin, "Note the geese.\n")
	require.NoError(t, err)
	until(t, "the command has run", func() bool { return p.read("worked") == "" && exists(p, "worked") })
	cut.cut()
	r.logged("connection lost, coming back")
	p.write("go", "")
	r.logged("Noted.")
	require.NoError(t, stdin.Close())
	require.Zero(t, r.ends())
	require.Equal(t, "{\"text\":\"three geese\"}\n", p.read("notes.txt"), "it ran once")
	require.Len(t, model.Requests(), 2)
	require.Contains(t, string(model.Requests()[1].Body), `{\"lines\":1}`)
}

func exists(p *place, name string) bool {
	_, err := os.Stat(filepath.Join(p.workspace, name))
	return err == nil
}

// rule: M-010
func TestChatEndsACommandThatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("add_note.json", strings.Replace(noteContract, "60000", "1000", 1))
	p.model(noteCall("c1", "slow"))
	p.serve()
	// The command starts another and prints its number: both are to go.
	r := p.runWith("Note.\n", "chat", "--tool", "add_note.json", "--exec", `sleep 600 & echo $! > pid; wait`, "--yes")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "turn failed: tool_failed")
	var pid int
	_, err := fmt.Sscan(p.read("pid"), &pid)
	require.NoError(t, err)
	until(t, "what the command started has ended", func() bool { return !alive(pid) })
}

// rule: M-010, W-298
func TestChatLendsAnewToADaemonThatWasStartedAnew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("add_note.json", noteContract)
	model := p.model(noteCall("c1", "lost"), noteCall("c2", "kept"), scripted.TextReply("It is noted."))
	first := p.serve()
	command := `read -r a; echo $$ > pid; case $a in *lost*) sleep 600;; esac; echo "$a" >> notes.txt; echo '{"lines":1}'`
	chat := p.atTerminal("chat", "--tool", "add_note.json", "--exec", command, "--yes")
	chat.logged("›")
	chat.types("one\n")
	var pid int
	until(t, "the command runs", func() bool {
		_, err := fmt.Sscan(p.read("pid"), &pid)
		return err == nil
	})
	first.kill()
	chat.logged("connection lost, coming back")
	p.serve()
	chat.logged("turn failed: internal")
	until(t, "the command has ended: nobody waits for it", func() bool { return !alive(pid) })
	chat.types("two\n")
	chat.logged("It is noted.")
	require.Equal(t, "{\"text\":\"kept\"}\n", p.read("notes.txt"))
	require.Contains(t, string(model.Requests()[1].Body), "cancelled: ", "the model is told of the call that was lost")
	chat.types("\x04")
	require.Zero(t, chat.ends())
}

// rule: M-010
func TestChatDoesNotSpeakForAnotherApplication(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("style.md", "Be brief.")
	p.model()
	p.serve()
	l := p.lending()
	id := string(l.s.ID())
	require.NoError(t, l.s.Release(t.Context(), ""))
	r := p.runWith("hello\n", "chat", "--session", id, "--skill", "style.md")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "resources of another application (add_note)")
	r = p.runWith("hello\n", "chat", "--session", id)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "unsupported_capability")
	listed, err := p.claimed(l.c, l.s.ID()).ListResources(t.Context())
	require.NoError(t, err)
	require.Len(t, listed.Entries, 1, "what is not ours stays")
}
