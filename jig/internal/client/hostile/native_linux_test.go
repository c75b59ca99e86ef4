package hostile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// native is the native program: a client's protocol, and one behaviour.
func native(args []string) {
	client, behaviour := args[0], args[1:]
	n := peer{client: client, out: bufio.NewWriter(os.Stdout), in: bufio.NewReaderSize(os.Stdin, 1<<20)}
	argument := ""
	if len(behaviour) > 1 {
		argument = behaviour[1]
	}
	size, _ := strconv.Atoi(argument)
	switch behaviour[0] {
	case "stderr":
		os.Stderr.Write(bytes.Repeat([]byte("e"), size))
		n.serve()
	case "stdout": // whole lines that mean nothing, size bytes in all
		n.fill(size)
		n.serve()
	case "line": // one line of size bytes, without its end
		n.say(`{"type":"x","method":"x/y","params":{"pad":"` + strings.Repeat("x", size-len(`{"type":"x","method":"x/y","params":{"pad":""}}`)) + `"}}`)
		n.serve()
	case "write": // an argument as it is
		text, _ := strconv.Unquote(argument)
		io.WriteString(os.Stdout, text)
		n.serve()
	case "die": // when a prompt comes
		n.prompted = func(string) { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		n.serve()
	case "exit":
		n.prompted = func(string) { os.Exit(size) }
		n.serve()
	case "exit-at-once":
		os.Exit(size)
	case "ignore-eof":
		n.serve()
		wait()
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
		n.serve()
		wait()
	case "late": // ends by itself, but not at once
		n.serve()
		time.Sleep(time.Duration(size) * time.Millisecond)
		os.Exit(0)
	case "after": // an exit code after the end of the input
		n.serve()
		os.Exit(size)
	case "grandchild": // which keeps all streams and outlives the program
		cmd := exec.Command("/proc/self/exe", nativeCommand, client, "deaf")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if cmd.Start() != nil || os.WriteFile(argument, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600) != nil {
			os.Exit(99)
		}
		n.serve()
	case "orphans": // which end when nobody waits for them any more
		script := "for i in $(seq " + argument + "); do (:) & done"
		if exec.Command("/bin/sh", "-c", "PATH=/usr/bin:/bin; "+script).Run() != nil {
			os.Exit(99)
		}
		n.serve()
	case "deaf": // does not read at all
		wait()
	case "spell": // the answer byte by byte
		n.prompted = func(string) { n.text(argument, 1) }
		n.serve()
	case "snoop":
		n.prompted = func(string) { n.text(snoop(), 4096) }
		n.serve()
	case "keyrings":
		n.prompted = func(string) { n.text(keyrings(), 4096) }
		n.serve()
	case "deltas":
		n.prompted = func(string) {
			for i := range size {
				n.delta(fmt.Sprintf("%d ", i))
			}
		}
		n.serve()
	case "good":
		n.serve()
	default:
		os.Exit(98)
	}
	os.Exit(0)
}

func wait() {
	for {
		time.Sleep(time.Hour)
	}
}

// peer speaks a client's protocol as far as a conversation needs it.
type peer struct {
	client   string
	in       *bufio.Reader
	out      *bufio.Writer
	prompted func(text string) // makes the answer; nil: "Hello"
	thread   bool
}

func (n *peer) say(line string) {
	n.out.WriteString(line)
	n.out.WriteByte('\n')
	n.out.Flush()
}

// fill writes lines that mean nothing, size bytes in all.
func (n *peer) fill(size int) {
	line := `{"type":"x","method":"x/y","params":{"pad":"` + strings.Repeat("x", 8000) + `"}}` + "\n"
	for ; size >= 2*len(line); size -= len(line) {
		n.out.WriteString(line)
	}
	head := `{"type":"x","method":"x/y","params":{"pad":"`
	n.out.WriteString(head + strings.Repeat("x", size-len(head)-len("\"}}\n")) + "\"}}\n")
	n.out.Flush()
}

// serve answers until the end of the input.
func (n *peer) serve() {
	for {
		line, err := n.in.ReadBytes('\n')
		if err != nil {
			return
		}
		v := gjson.ParseBytes(line)
		switch n.client {
		case "codex":
			n.codex(v)
		case "claude":
			n.claude(v)
		case "pi":
			n.pi(v)
		}
	}
}

// answer is the answer to a prompt.
func (n *peer) answer(text string) {
	if n.prompted == nil {
		n.text("Hello", 100)
		return
	}
	n.prompted(text)
}

func (n *peer) text(text string, step int) {
	runes := []rune(text)
	for len(runes) > 0 {
		k := min(step, len(runes))
		n.delta(string(runes[:k]))
		runes = runes[k:]
	}
}

func (n *peer) delta(text string) {
	q := strconv.Quote(text)
	switch n.client {
	case "codex":
		n.say(`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":` + q + `}}`)
	case "claude":
		n.say(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":` + q + `}},"parent_tool_use_id":null}`)
	case "pi":
		n.say(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":` + q + `}}`)
	}
}

func (n *peer) codex(v gjson.Result) {
	result := "{}"
	switch v.Get("method").Str {
	case "initialized":
		return
	case "thread/start":
		result = `{"thread":{"id":"t","cwd":"/work"},"sandbox":{"type":"workspaceWrite","networkAccess":false}}`
	case "turn/start":
		n.say(`{"id":` + v.Get("id").Raw + `,"result":{"turn":{"id":"u","status":"inProgress"}}}`)
		n.answer(v.Get("params.input.0.text").Str)
		n.say(`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}`)
		return
	}
	n.say(`{"id":` + v.Get("id").Raw + `,"result":` + result + `}`)
}

func (n *peer) claude(v gjson.Result) {
	if v.Get("type").Str == "user" {
		n.say(`{"type":"system","subtype":"init","model":"m-1"}`)
		n.answer(v.Get("message.content.0.text").Str)
		n.say(`{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"Hello","usage":{"output_tokens":1}}`)
		return
	}
	n.say(`{"type":"control_response","response":{"subtype":"success","request_id":` + v.Get("request_id").Raw + `,"response":{"mode":"default"}}}`)
}

func (n *peer) pi(v gjson.Result) {
	id := v.Get("id").Raw
	if v.Get("type").Str != "prompt" {
		n.say(`{"id":` + id + `,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"m-1","provider":"openai"}}}`)
		return
	}
	n.say(`{"id":` + id + `,"type":"response","command":"prompt","success":true}`)
	n.answer(v.Get("message").Str)
	n.say(`{"type":"turn_end","message":{"role":"assistant","stopReason":"stop","usage":{"output":1}}}`)
	n.say(`{"type":"agent_settled"}`)
}

// snoop reads whatever a tool of the client could: of the program itself, of its
// parent, and of every other process. It tells where it found what.
func snoop() string {
	var found []string
	look := func(name string) {
		f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			if strings.HasPrefix(name, "/proc/"+strconv.Itoa(os.Getppid())+"/") {
				found = append(found, "refused "+filepath.Base(name))
			}
			return
		}
		defer f.Close()
		content, _ := io.ReadAll(io.LimitReader(f, 1<<20))
		if bytes.Contains(content, []byte(secret)) {
			found = append(found, "secret in "+name)
		}
	}
	parent := "/proc/" + strconv.Itoa(os.Getppid())
	for _, name := range []string{"environ", "cmdline", "mem", "maps"} {
		look("/proc/self/" + name)
		look(parent + "/" + name)
	}
	if _, err := os.ReadDir(parent + "/fd"); err != nil {
		found = append(found, "refused fd")
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, "socket:") {
			found = append(found, "a socket")
		}
	}
	filepath.WalkDir(os.Getenv("HOME"), func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			look(name)
		}
		return nil
	})
	return strings.Join(found, "\n")
}
