package sandbox_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// alone is the host of a component that asks for nothing.
type alone struct{ run0.Handler }

func (alone) Stop()                                  {}
func (alone) Answered(*contract.Result) *fault.Error { return nil }

// rule: R-206
func TestAGrandchildThatKeepsStandardOutputOpen(t *testing.T) {
	for what, code := range map[string]fault.Code{"holds": "", "writes": fault.ProtocolError} {
		p, err := launcher(t).Start(context.Background(), spec("component", what))
		require.NoError(t, err)
		go io.Copy(io.Discard, p.Stderr)
		s, err := run0.New(run0.Options{
			In: p.Stdin, Out: p.Stdout, Handler: alone{},
			Run: run0.Run{Input: jsontext.Value(`{}`), Scratch: "/scratch", DeadlineUnixMS: time.Now().Add(time.Minute).UnixMilli()},
		})
		require.NoError(t, err)
		s.Start()
		<-p.Ended() // the end of the root ends the grandchild
		exit, err := p.Fence()
		require.NoError(t, err)
		require.Equal(t, sandbox.Exit{Code: 0}, exit)
		require.Zero(t, running(t, "stay-heir"))
		<-s.Drained()
		ending := s.End(run0.Exit{Code: exit.Code, Killed: exit.Killed, Confirmed: true, Cleanup: p.Close() == nil})
		if code == "" {
			require.Nil(t, ending.Err, what)
			require.Equal(t, "1", string(ending.Result.Output))
			continue
		}
		require.NotNil(t, ending.Err, what)
		require.Equal(t, code, ending.Err.Code)
		require.Contains(t, ending.Err.Message, "still here")
	}
}

// family starts a command with a grandchild that holds one of its streams open,
// ends the scope, and reads both streams to their end.
func family(t *testing.T, stream string) {
	t.Helper()
	for _, ends := range []string{"ends", "stays"} {
		p, err := launcher(t).Start(context.Background(), spec("family", stream, ends))
		require.NoError(t, err)
		line := make([]byte, 3)
		_, err = io.ReadFull(p.Stdout, line)
		require.NoError(t, err)
		require.Equal(t, "ok\n", string(line))
		if ends == "ends" {
			<-p.Ended() // the grandchild is not waited for
		}
		exit, err := p.Fence()
		require.NoError(t, err)
		require.Equal(t, ends == "stays", exit.Killed)
		require.Zero(t, running(t, "stay-family"))
		for _, r := range []io.Reader{p.Stdout, p.Stderr} {
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Empty(t, b)
		}
		require.NoError(t, p.Close())
	}
}

// complaint: B1.7 python/cpython#76116 - a grandchild kept the pipe, and a time limit ended only when it did
func TestComplaintB1_7Cpython76116AGrandchildIsNotWaitedFor(t *testing.T) { family(t, "stdout") }

// complaint: B1.8 sortie-ai/sortie#918 - standard error was read to its end before anybody waited for the program
func TestComplaintB1_8Sortie918StandardErrorIsNotWaitedFor(t *testing.T) { family(t, "stderr") }
