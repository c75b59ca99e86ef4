package flows_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/flows"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// The Agent Flow runs here as it runs for a project: captured, on the embedded
// engine, under the real tree of invocations and its channels. Only two parts are
// the tests': its process is a goroutine, and the resource plays a script.

type launcher struct {
	t    *testing.T
	live sync.WaitGroup
}

func (l *launcher) StartFlow(_ context.Context, p *flowpkg.Package) (tree.Process, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	f := &process{in: inW, out: outR, err: errR, inR: inR, ended: make(chan struct{})}
	scratch := l.t.TempDir()
	l.live.Go(func() {
		f.exit.Code = engine.Flow{Package: p.Dir, Scratch: scratch, In: inR, Out: outW, Err: errW}.Run()
		outW.Close()
		errW.Close()
		inR.Close()
		close(f.ended)
	})
	return f, nil
}

type process struct {
	in       *io.PipeWriter
	out, err *io.PipeReader
	inR      *io.PipeReader
	ended    chan struct{}
	exit     tree.Exit
}

func (p *process) Input() io.WriteCloser  { return p.in }
func (p *process) Output() io.Reader      { return p.out }
func (p *process) Errors() io.Reader      { return p.err }
func (p *process) Ended() <-chan struct{} { return p.ended }
func (p *process) Close() error           { return nil }

// Kill takes the input away, which ends the engine.
func (p *process) Kill() { p.in.Close(); p.inR.Close() }

func (p *process) Fence() (tree.Exit, error) {
	p.Kill()
	<-p.ended
	return p.exit, nil
}

// world is a store of packages and the host of one run.
type world struct {
	*testing.T
	store *flowpkg.Store
	agent *tree.Target
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: flowpkg.OpenStore(t.TempDir())}
	w.agent = &tree.Target{
		Name: "flow:flows/agent", Package: w.capture(flows.Agent()), Request: "sha256:agent",
		Slots: map[string]tree.Slot{"native": {Grant: &tree.Grant{Kind: "acp", Policy: jsontext.Value(`{"client":"codex","kind":"acp"}`), Provider: "sha256:provider"}}},
	}
	return w
}

// capture makes a package of files.
func (w *world) capture(files map[string][]byte) *flowpkg.Package {
	w.Helper()
	dir := w.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(w, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(w, os.WriteFile(at, content, 0o644))
	}
	p, err := w.store.Capture(dir)
	require.NoError(w, err)
	return p
}

// bubble runs f in time that nobody has to wait for. What transforms the Flow keeps
// a timer of its own for a moment.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(time.Second)
	})
}

// told is what became of a run.
type told struct {
	t      *testing.T
	result string // outcome and canonical output; empty: none
	err    *fault.Error
	stderr string
	items  []channel.Item // on the channel events
	broke  *fault.Error   // how that channel failed
}

// ask runs the Agent with a script for the resource.
func (w *world) ask(input string, script func(*play), change ...func(*tree.Options)) *told {
	w.Helper()
	return w.run(w.Context(), w.agent, input, script, change...)
}

// run runs a target.
func (w *world) run(ctx context.Context, t *tree.Target, input string, script func(*play), change ...func(*tree.Options)) *told {
	w.Helper()
	got := &told{t: w.T}
	var stderr strings.Builder
	l := &launcher{t: w.T}
	o := tree.Options{
		Target: t, Input: jsontext.Value(input), Deadline: time.Now().Add(time.Hour), Launcher: l,
		Resources: map[string]tree.Resource{"acp": &native{t: w.T, script: script}},
		Stderr:    func(_ string, b []byte) { stderr.Write(b) },
		Item: func(_ string, i channel.Item, err *fault.Error) {
			if err != nil {
				got.broke = err
			} else if !i.End {
				got.items = append(got.items, i)
			}
		},
	}
	for _, f := range change {
		f(&o)
	}
	r := tree.Run(ctx, o)
	l.live.Wait()
	if r.Result != nil {
		output, err := json0.Canonical(r.Result.Output)
		require.NoError(w, err)
		got.result = r.Result.Outcome + " " + string(output)
	}
	got.err = r.Err
	var text strings.Builder
	split := &engine.Stderr{Text: &text, Each: func(d engine.Diagnostic) { fmt.Fprintf(&text, "diagnostic %s\n", d.Message) }}
	_, err := split.Write([]byte(stderr.String()))
	require.NoError(w, err)
	require.NoError(w, split.Close())
	got.stderr = text.String()
	return got
}

// is says that the run succeeded with this outcome and output.
func (g *told) is(outcome, output string) *told {
	g.t.Helper()
	require.Nil(g.t, g.err, "%v\n%s", g.err, g.stderr)
	require.Equal(g.t, outcome+" "+output, g.result)
	return g
}

// fails says that it failed so.
func (g *told) fails(code fault.Code, text string) *told {
	g.t.Helper()
	require.NotNil(g.t, g.err, g.result)
	require.Equal(g.t, code, g.err.Code, "%s\n%s", g.err.Message, g.stderr)
	require.Contains(g.t, g.err.Message, text)
	return g
}

// watched has the host read the channel events.
func watched(o *tree.Options) { o.Receive = []string{"events"} }

// shown is what came on the channel events.
func (g *told) shown() []string {
	all := []string{}
	for _, i := range g.items {
		all = append(all, string(i.Value))
	}
	return all
}

// caller is a Flow that calls the Agent and does what its input says.
const callerFlow = `import { handle, type JsonValue } from "@jigging/flow"

await handle(async (run) => {
  const plan: any = run.input
  const channels: any = {}
  const made: any = {}
  for (const name of plan.channels) {
    made[name] = await run.channel({ contract: { slot: "agent", channel: name } })
    channels[name] = name === "commands" ? made[name].receive : made[name].send
  }
  const failed = (error: any) => ({ error: error.code ?? String(error), message: error.message, details: error.details ?? null })
  const call = run.call({ operationId: "agent", slot: "agent", input: plan.input, channels }).catch(failed)
  const log: JsonValue[] = []
  const read = async (name: string) => {
    try {
      const item = await made[name].receive.next()
      return item.done ? "end" : item.value
    } catch (error) {
      return failed(error)
    }
  }
  const drains: { [name: string]: Promise<void> } = {}
  const drain = async (name: string) => {
    for (;;) {
      const last: any = await read(name)
      log.push(last)
      if (last === "end" || last.error) return
    }
  }
  for (const step of plan.steps) {
    if (step.send) await made.commands.send.send(step.send).catch((error: any) => log.push(failed(error)))
    if (step.end) await made.commands.send.close().catch((error: any) => log.push(failed(error)))
    if (step.read) log.push(await read(step.read))
    if (step.say) console.log(step.say)
    if (step.drain) drains[step.drain] = drain(step.drain)
    if (step.release) await (drains[step.release] = made[step.release].receive.close())
    if (step.sleep) {
      await new Promise((resolve) => {
        setTimeout(resolve, step.sleep)
        run.signal.addEventListener("abort", resolve)
      })
      run.signal.throwIfAborted()
    }
  }
  const result = await call
  for (const name of ["events", "replies"]) if (made[name]) await (drains[name] ?? drain(name))
  return { outcome: "done", output: { log, result } as any }
})
`

// caller is that Flow with the Agent in its slot.
func (w *world) caller() *tree.Target {
	w.Helper()
	files := map[string][]byte{
		"FLOW.ts":        []byte(callerFlow),
		"FLOW.meta.json": []byte(`{"name":"caller","uses":{"agent":{"contract":"./agent/FLOW.contract.json"}}}`),
	}
	for name, content := range flows.Agent() {
		if strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, "meta.json") && !strings.Contains(name, "finite-acp") {
			files["agent/"+name] = content
		}
	}
	return &tree.Target{Name: "flow:flows/caller", Package: w.capture(maps.Clone(files)), Slots: map[string]tree.Slot{"agent": {Target: w.agent}}, Request: "sha256:caller"}
}
