package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// signalled is a command that does not end by itself.
type signalled struct {
	*app
	ch        chan os.Signal
	done      chan struct{}
	out       *bytes.Buffer
	cancelled bool
	exits     chan int
}

func newSignalled(stdout io.Writer) *signalled {
	s := &signalled{ch: make(chan os.Signal, 4), done: make(chan struct{}), out: &bytes.Buffer{}, exits: make(chan int, 4)}
	if stdout == nil {
		stdout = s.out
	}
	s.app = &app{env: project.NewEnvironment(nil), out: &output{w: stdout}, stderr: io.Discard, json: true, force: make(chan struct{})}
	s.app.exit = func(code int) { s.exits <- code }
	go s.heed(s.ch, s.done, func() { s.cancelled = true })
	return s
}

func (s *signalled) signal() {
	s.ch <- syscall.SIGINT
	synctest.Wait()
}

func (s *signalled) forced() bool {
	select {
	case <-s.force:
		return true
	default:
		return false
	}
}

// rule: J-024
func TestASecondSignalEndsACommandWithoutARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignalled(nil)
		s.signal()
		require.True(t, s.cancelled)
		require.False(t, s.forced())
		time.Sleep(time.Hour)
		require.Empty(t, s.exits, "one signal only asks")
		s.signal()
		require.True(t, s.forced())
		time.Sleep(patience - 1)
		synctest.Wait()
		require.Empty(t, s.exits, "it may end by itself")
		time.Sleep(1)
		synctest.Wait()
		require.Equal(t, 2, <-s.exits)
		require.Equal(t, 1, strings.Count(s.out.String(), "\n"))
		require.Contains(t, s.out.String(), `"code":"JIG_COMMAND_INTERRUPTED"`)
	})
}

func TestAThirdSignalEndsACommandWithoutARunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignalled(nil)
		s.refusing(func(err error) ending { return s.reviewRefused(refusalOf(err)) })
		began := time.Now()
		s.signal()
		s.signal()
		s.signal()
		require.Equal(t, 2, <-s.exits)
		require.Zero(t, time.Since(began))
		require.Contains(t, s.out.String(), `"format":"jig-plan/1"`, "it reads as every other refusal of the command")
		require.Contains(t, s.out.String(), `"code":"JIG_COMMAND_INTERRUPTED"`)
	})
}

// rule: J-024
func TestNoSignalLosesARunThatCanStillBeRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignalled(nil)
		s.begun.Store(true)
		for range 4 {
			s.signal()
		}
		require.True(t, s.forced())
		time.Sleep(runPatience - 1)
		synctest.Wait()
		require.Empty(t, s.exits)
		time.Sleep(1)
		synctest.Wait()
		require.Equal(t, 2, <-s.exits)
		require.Contains(t, s.out.String(), "its end could not be recorded")
	})
}

func TestARunThatBeginsBesideTheSecondSignalIsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignalled(nil)
		s.signal()
		s.signal()
		time.Sleep(patience - 1)
		s.begun.Store(true)
		time.Sleep(time.Second)
		require.Empty(t, s.exits)
		close(s.done)
	})
}

// blocked is a reader that does not read.
type blocked struct{ release chan struct{} }

func (b blocked) Write([]byte) (int, error) { <-b.release; return 0, io.ErrClosedPipe }

func TestWhoDoesNotReadKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := blocked{make(chan struct{})}
		s := newSignalled(w)
		s.begun.Store(true) // and it has been recorded: its line is on its way
		go s.end(ending{record: record{"status": "failed"}})
		s.signal()
		s.signal()
		time.Sleep(patience + lastLine)
		synctest.Wait()
		require.Equal(t, 2, <-s.exits)
		close(w.release)
	})
}
