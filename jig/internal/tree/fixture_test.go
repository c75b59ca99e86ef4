package tree_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// component is a Flow as a function: it speaks raw frames and returns its exit
// status.
type component func(c *peer) int

// peer is a component's view of its session.
type peer struct {
	t    *testing.T
	in   *bufio.Reader
	out  io.Writer
	err  io.Writer
	run  jsontext.Value  // params of flow/run
	dead <-chan struct{} // closed when the host kills it
	next int
}

type frame struct {
	ID     string         `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  struct {
		Data struct {
			Code string `json:"code"`
		} `json:"data"`
	} `json:"error"`
}

// recv is the next frame of the host; io.EOF ends.
func (c *peer) recv() (frame, error) {
	var f frame
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(line, &f)
}

func (c *peer) write(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// ask sends a request and returns its id.
func (c *peer) ask(method, params string) string {
	c.next++
	id := fmt.Sprintf("component:%d", c.next)
	c.write(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
	return id
}

// answer waits for the answer to id: the result, or a code.
func (c *peer) answer(id string) string {
	for {
		f, err := c.recv()
		if err != nil {
			return "lost"
		}
		if f.ID == id {
			if f.Error.Data.Code != "" {
				return f.Error.Data.Code
			}
			return string(f.Result)
		}
	}
}

func (c *peer) do(method, params string) string { return c.answer(c.ask(method, params)) }

func (c *peer) call(operation, slot, input, rest string) string {
	return c.do("flow/call", fmt.Sprintf(`{"operationId":%q,"slot":%q,"input":%s%s}`, operation, slot, input, rest))
}

// done answers the root.
func (c *peer) done(output string) int {
	c.write(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":%s}}`, output)
	return 0
}

func (c *peer) fail(code string) int {
	c.write(`{"jsonrpc":"2.0","id":"host:1","error":{"code":-32000,"message":"failed","data":{"code":%q}}}`, code)
	return 0
}

func rawField(raw []byte, name string) string {
	var m map[string]jsontext.Value
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return string(m[name])
}

func field(raw []byte, path ...string) string {
	v := jsontext.Value(raw)
	for _, name := range path {
		var m map[string]jsontext.Value
		if json.Unmarshal(v, &m) != nil {
			return ""
		}
		v = m[name]
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// launcher starts components by the digest of their package.
type launcher struct {
	t          *testing.T
	mu         sync.Mutex
	components map[string]component
	live       int
	most       int
	started    []string
	dead       []string
	failStart  error
	before     func(context.Context) error // asked before a start; optional
	unproved   map[string]bool
	untidy     map[string]bool
	immortal   map[string]bool // no kill ends it, and its fence proves nothing
}

func (l *launcher) StartFlow(ctx context.Context, p *flowpkg.Package) (tree.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before != nil {
		if err := l.before(ctx); err != nil {
			return nil, err
		}
	}
	if l.failStart != nil {
		return nil, l.failStart
	}
	l.live++
	l.most = max(l.most, l.live)
	name := p.Metadata.Name
	l.started = append(l.started, name)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	f := &process{launcher: l, name: name, in: inW, out: outR, err: errR, ended: make(chan struct{}), kill: make(chan struct{})}
	go func() {
		code := make(chan int, 1)
		go func() {
			c := &peer{t: l.t, in: bufio.NewReader(inR), out: outW, err: errW, dead: f.kill}
			first, err := c.recv()
			if err != nil {
				code <- 1
				return
			}
			c.run = first.Params
			code <- l.components[p.Digest](c)
		}()
		select {
		case f.exit.Code = <-code:
		case <-f.kill:
			f.exit = tree.Exit{Code: -1, Killed: true}
		}
		outW.Close()
		errW.Close()
		inR.CloseWithError(io.ErrClosedPipe)
		l.mu.Lock()
		l.live--
		l.dead = append(l.dead, name)
		l.mu.Unlock()
		close(f.ended)
	}()
	return f, nil
}

type process struct {
	launcher *launcher
	name     string
	in       *io.PipeWriter
	out, err *io.PipeReader
	once     sync.Once
	kill     chan struct{}
	ended    chan struct{}
	exit     tree.Exit
}

func (p *process) Input() io.WriteCloser  { return p.in }
func (p *process) Output() io.Reader      { return p.out }
func (p *process) Errors() io.Reader      { return p.err }
func (p *process) Ended() <-chan struct{} { return p.ended }
func (p *process) Kill() {
	if !p.launcher.immortal[p.name] {
		p.end()
	}
}
func (p *process) end() { p.once.Do(func() { close(p.kill) }) }
func (p *process) Fence() (tree.Exit, error) {
	p.end()
	<-p.ended
	if p.launcher.unproved[p.name] || p.launcher.immortal[p.name] {
		return tree.Exit{Code: -1}, errors.New("no proof")
	}
	return p.exit, nil
}
func (p *process) Close() error {
	if p.launcher.untidy[p.name] {
		return errors.New("left behind")
	}
	return nil
}

// world builds targets out of components.
type world struct {
	*testing.T
	store *flowpkg.Store
	l     *launcher
}

func newWorld(t *testing.T) *world {
	return &world{t, flowpkg.OpenStore(t.TempDir()), &launcher{t: t, components: map[string]component{}, unproved: map[string]bool{}, untidy: map[string]bool{}, immortal: map[string]bool{}}}
}

// flow is a target whose package has the given files beside FLOW.ts.
func (w *world) flow(name string, c component, files map[string]string, slots map[string]tree.Slot) *tree.Target {
	w.Helper()
	dir := w.TempDir()
	all := map[string]string{"FLOW.ts": "// " + name}
	var meta strings.Builder
	meta.WriteString(`{"name":"` + name + `","uses":{`)
	first := true
	for slot := range slots {
		if !first {
			meta.WriteString(",")
		}
		first = false
		meta.WriteString(fmt.Sprintf("%q:{}", slot))
	}
	all["FLOW.meta.json"] = meta.String() + "}}"
	maps.Copy(all, files)
	for f, content := range all {
		require.NoError(w, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
		require.NoError(w, os.WriteFile(filepath.Join(dir, f), []byte(content), 0o644))
	}
	p, err := w.store.Capture(dir)
	require.NoError(w, err)
	w.l.components[p.Digest] = c
	return &tree.Target{Name: "flow:" + name, Package: p, Slots: slots, Request: "request of " + name}
}

func (w *world) run(t *tree.Target, change ...func(*tree.Options)) tree.Result {
	return w.runCtx(context.Background(), t, change...)
}

func (w *world) runCtx(ctx context.Context, t *tree.Target, change ...func(*tree.Options)) tree.Result {
	o := tree.Options{Target: t, Input: jsontext.Value(`{}`), Deadline: time.Now().Add(30 * time.Second), Launcher: w.l}
	for _, f := range change {
		f(&o)
	}
	r := tree.Run(ctx, o)
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	require.Zero(w, w.l.live, "nothing is left running")
	return r
}

func (w *world) succeeds(r tree.Result, output string) {
	w.Helper()
	require.Nil(w, r.Err, "%v", r.Err)
	require.Equal(w, contract.Done, r.Result.Outcome)
	require.JSONEq(w, output, string(r.Result.Output))
}

func (w *world) fails(r tree.Result, code fault.Code) *fault.Error {
	w.Helper()
	require.NotNil(w, r.Err, "%+v", r.Result)
	require.Equal(w, code, r.Err.Code, r.Err.Message)
	return r.Err
}

const invocationHead = `{"$schema":"` + contract.InvocationSchema + `"`
