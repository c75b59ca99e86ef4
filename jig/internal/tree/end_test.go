package tree_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// scripted is a process whose output is given: a pipe of a system, which keeps
// what was written after its writer is dead, and loses it when it is closed.
type scripted struct {
	out, err *kept
	ends     time.Duration // after its start; negative: only when it is killed
	exit     tree.Exit

	ended chan struct{}
	once  sync.Once
}

func (s *scripted) StartFlow(context.Context, *flowpkg.Package) (tree.Process, error) {
	s.ended = make(chan struct{})
	if exit := s.exit; s.ends >= 0 {
		time.AfterFunc(s.ends, func() { s.end(exit) })
	}
	return s, nil
}

func (s *scripted) end(x tree.Exit) {
	s.once.Do(func() {
		s.exit = x
		s.out.finish()
		s.err.finish()
		close(s.ended)
	})
}

func (s *scripted) Input() io.WriteCloser  { return nowhere{} }
func (s *scripted) Output() io.Reader      { return s.out }
func (s *scripted) Errors() io.Reader      { return s.err }
func (s *scripted) Kill()                  { s.end(tree.Exit{Code: -1, Killed: true}) }
func (s *scripted) Ended() <-chan struct{} { return s.ended }
func (s *scripted) Fence() (tree.Exit, error) {
	s.Kill()
	<-s.ended
	return s.exit, nil
}

func (s *scripted) Close() error {
	s.out.close()
	s.err.close()
	return nil
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

// kept is the reading end of a pipe with everything in it already. Each read
// takes a while, as on a busy machine.
type kept struct {
	each   time.Duration
	early  bool // it ends with its content, not with its process
	writer chan struct{}

	mu     sync.Mutex
	b      bytes.Buffer // guarded by mu
	closed bool         // guarded by mu
}

func pipe(text string, each time.Duration) *kept {
	k := &kept{each: each, writer: make(chan struct{})}
	k.b.WriteString(text)
	return k
}

func (k *kept) Read(b []byte) (int, error) {
	time.Sleep(k.each)
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	n, _ := k.b.Read(b[:min(len(b), 16)])
	k.mu.Unlock()
	if n == 0 && !k.early {
		<-k.writer
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (k *kept) finish() { close(k.writer) }

func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

const answer = `{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":"` + "all of it" + `"}}` + "\n"

func TestWhatAProcessWroteLastIsReadAfterItsDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		target := w.flow("quick", echo, nil, nil)
		s := &scripted{out: pipe(answer, 300*time.Millisecond), err: pipe(strings.Repeat("word ", 20), 500*time.Millisecond), ends: time.Millisecond}
		r := w.run(target, func(o *tree.Options) { o.Launcher = s })
		w.succeeds(r, `"all of it"`)
		require.Equal(t, strings.Repeat("word ", 20), string(r.Stderr))
	})
}

// rule: R-029
func TestAnEarlyEndIsWhatItsStatusSays(t *testing.T) {
	const grace = time.Second
	for name, c := range map[string]struct {
		out   string
		ends  time.Duration // after the output
		exit  tree.Exit
		code  fault.Code
		after time.Duration
	}{
		"a status at once":         {"", 0, tree.Exit{Code: 3}, fault.ExecutionFailed, 0},
		"a status a little later":  {"", grace - time.Millisecond, tree.Exit{Code: 3}, fault.ExecutionFailed, grace - time.Millisecond},
		"no status":                {"", 0, tree.Exit{}, fault.ChannelLost, 0},
		"no status a little later": {"", grace - time.Millisecond, tree.Exit{}, fault.ChannelLost, grace - time.Millisecond},
		"no end":                   {"", -1, tree.Exit{}, fault.ChannelLost, grace},
		"a bound":                  {"", 0, tree.Exit{Code: -1, Killed: true, Limit: "memory"}, fault.ResourceExhausted, 0},
		"a bound within a frame":   {`{"jsonrpc"`, 0, tree.Exit{Code: -1, Killed: true, Limit: "memory"}, fault.ResourceExhausted, 0},
		"half a frame, a status":   {`{"jsonrpc"`, 0, tree.Exit{Code: 3}, fault.ProtocolError, 0},
		"half a frame, no end":     {`{"jsonrpc"`, -1, tree.Exit{}, fault.ProtocolError, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				target := w.flow("early", echo, nil, nil)
				s := &scripted{out: pipe(c.out, 0), err: pipe("", 0), ends: c.ends, exit: c.exit}
				s.out.early = true
				began := time.Now()
				w.fails(w.run(target, func(o *tree.Options) { o.Launcher = s }), c.code)
				require.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

// TestASecondCauseGivesNoMoreTime has the deadline pass while a run is being
// cancelled, and after its process fell silent.
func TestASecondCauseGivesNoMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		target := w.flow("stubborn", stuck, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		w.fails(w.runCtx(ctx, target, func(o *tree.Options) { o.Deadline = began.Add(1500 * time.Millisecond) }), fault.Cancelled)
		require.Equal(t, 2*time.Second, time.Since(began))

		s := &scripted{out: pipe("", 0), err: pipe("", 0), ends: -1}
		s.out.early = true
		began = time.Now()
		w.fails(w.run(target, func(o *tree.Options) { o.Launcher, o.Deadline = s, began.Add(500*time.Millisecond) }), fault.ChannelLost)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// TestAProcessThatAnsweredAndStays is killed when it is told to end and does not.
func TestAProcessThatAnsweredAndStays(t *testing.T) {
	// rule: R-030
	for _, deadline := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			target := w.flow("staying", func(c *peer) int { c.done(`1`); return stuck(c) }, nil, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			began := time.Now()
			if !deadline {
				time.AfterFunc(time.Second, cancel)
			}
			err := w.fails(w.runCtx(ctx, target, func(o *tree.Options) { o.Deadline = began.Add(5 * time.Second) }), fault.ExecutionFailed)
			require.Contains(t, err.Message, "after its answer")
			want := map[bool]time.Duration{false: 2 * time.Second, true: 6 * time.Second}[deadline]
			require.Equal(t, want, time.Since(began))
		})
	}
}
