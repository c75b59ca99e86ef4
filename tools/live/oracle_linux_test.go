package live

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/tools/internal/acphost"
)

// oracle is a conversation with the published adapter of Codex, which no host of
// this repository runs: it is what others made of the same protocols.
type oracle struct {
	*acphost.Host
	t    *testing.T
	cmd  *exec.Cmd
	away chan []string // the methods of what was kept from the machine
}

func startOracle(t *testing.T, m *model, turns int, restore string) *oracle {
	t.Helper()
	m.codexConfig(t)
	native, err := filepath.Glob(filepath.Join(agents, "codex/node_modules/@openai/codex-linux-x64/vendor/*/bin/codex"))
	require.NoError(t, err)
	require.Len(t, native, 1)
	o := &oracle{t: t, away: make(chan []string, 1)}
	o.cmd = exec.CommandContext(t.Context(), filepath.Join(agents, "codex-acp/node_modules/.bin/codex-acp"))
	// The adapter is a script for node, which has its own idea of whom to trust.
	o.cmd.Env = m.environment("CODEX_PATH="+native[0], "NO_BROWSER=1", "NODE_EXTRA_CA_CERTS="+m.authority)
	o.cmd.Dir = t.TempDir()
	stdin, err := o.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := o.cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := o.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, o.cmd.Start())
	filtered, in := io.Pipe()
	go o.filter(stdout, in)
	o.Host, err = acphost.New(acpprofile.Config{
		Client: "codex", MaxTurns: turns, ModeID: "read-only", RestoreSessionID: restore,
		Configuration: []acpprofile.Setting{{ID: "model", Value: "scripted"}},
	}, stdin, filtered, stderr)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = filtered.Close()
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait() // mostly the second time
		<-o.Done()
	})
	return o
}

// filter keeps extensions from the machine, for which they would be the end: this
// adapter announces what it is logged in with.
func (o *oracle) filter(from io.Reader, to *io.PipeWriter) {
	var away []string
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if method := gjson.GetBytes(line, "method").String(); strings.HasPrefix(method, "_") {
			away = append(away, method)
		} else if _, writeErr := to.Write(line); err == nil {
			err = writeErr
		}
		if err != nil {
			_ = to.CloseWithError(err)
			o.away <- away
			return
		}
	}
}

func (o *oracle) open(restore string) {
	o.t.Helper()
	on, err := o.Open(restore, []string{`"configId":"model","value":"scripted"`}, "read-only")
	require.NoError(o.t, err)
	require.True(o.t, on, "%s %s", o.Failed, o.Last())
}

// turn has one turn and gives its answer.
func (o *oracle) turn(prompt string) string {
	o.t.Helper()
	before := len(o.Text())
	on, err := o.Ask("session/prompt", o.Prompt(prompt))
	require.NoError(o.t, err)
	require.True(o.t, on, o.Failed)
	return o.Text()[before:]
}

func (o *oracle) reason() string { return gjson.Get(o.Last(), "result.stopReason").String() }

func (o *oracle) finish() {
	o.t.Helper()
	on, err := o.Ask("session/close", `{"sessionId":`+acphost.Quote(o.Session)+`}`)
	require.NoError(o.t, err)
	require.True(o.t, on, o.Failed)
	got, err := o.Finish(o.cmd.Wait)
	require.NoError(o.t, err)
	require.Equal(o.t, acphost.Fine, got)
	for _, method := range <-o.away {
		require.Equal(o.t, "_auth/status_update", method, "nothing else has to be kept away")
	}
}

// A good conversation of another adapter passes as it is: several turns, a cancel, a
// refused permission, and of its warnings nothing but the closed notice.
//
// rule: F-087, F-091, F-103
func TestAnotherAdapterHoldsAFiniteConversation(t *testing.T) {
	m := newModel(t)
	o := startOracle(t, m, 4, "")
	o.open("")
	require.Equal(t, "Hello from a script.", o.turn("HELLO"))
	require.Equal(t, "end_turn", o.reason())
	require.Positive(t, o.Notices(), "the model is none that Codex knows")

	require.NoError(t, o.Send("session/prompt", o.Prompt("SLOW")))
	before := len(o.Text())
	for len(o.Text()) == before && o.Failed == "" {
		o.One()
	}
	require.NoError(t, o.Cancel())
	o.Pump()
	require.Empty(t, o.Failed)
	require.Equal(t, "cancelled", o.reason())

	// It ends the turn when a permission is refused; jig's own adapter does not.
	o.turn("ESCALATE touch /etc/scripted")
	require.Equal(t, "cancelled", o.reason())
	require.Len(t, o.Answers, 1)
	require.Contains(t, string(o.Answers[0]), `"result":{"outcome":{"outcome":"cancelled"}}`)

	require.Equal(t, numbers(300), o.turn("LONG 300"))
	o.finish()
	for _, frame := range o.Shown {
		for _, private := range []string{"call_scripted", "Model metadata", "touch /etc", "jetbrains", "key-of-codex"} {
			require.NotContains(t, string(frame), private)
		}
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%07d ", i)
	}
	return b.String()
}

// A turn that failed at the model is told as a success with a diagnostic: the
// conversation fails, and the words of the model stay inside.
//
// rule: F-107
func TestAnotherAdaptersFailureIsSeen(t *testing.T) {
	m := newModel(t)
	o := startOracle(t, m, 2, "")
	o.open("")
	on, err := o.Ask("session/prompt", o.Prompt("FAIL400"))
	require.NoError(t, err)
	require.False(t, on)
	require.Equal(t, acphost.Native, o.Failed)
	for _, frame := range o.Shown {
		require.NotContains(t, string(frame), "refusal words")
	}
}

// A session goes on in another process, under its name and with nothing told of it.
//
// rule: F-084
func TestAnotherAdapterRestoresASession(t *testing.T) {
	m := newModel(t)
	first := startOracle(t, m, 1, "")
	first.open("")
	require.Equal(t, "one", first.turn("ECHO one"))
	first.finish()
	require.Equal(t, first.Session, first.Machine.Session())

	second := startOracle(t, m, 1, first.Session)
	second.open(first.Session)
	require.Equal(t, `{}`, gjson.GetBytes(second.Shown[1], "result").Raw)
	require.EqualValues(t, 2, gjson.GetBytes(second.Shown[1], "id").Int())
	require.Equal(t, "two", second.turn("ECHO two"))
	second.finish()
	require.NotContains(t, second.Text(), "one", "the history is not told again")
	last := m.Requests()[len(m.Requests())-1]
	require.Contains(t, string(last.Body), "ECHO one", "but the model has it")
}
