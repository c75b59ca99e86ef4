package journal

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// byteStep is how far apart the bytes lie at which a test of every byte cuts.
func byteStep() int {
	if *long {
		return 1
	}
	return 19
}

const (
	envChild = "JOURNAL_TEST_CHILD" // the state folder
	envStep  = "JOURNAL_TEST_STEP"  // the step before which the child dies
)

// TestMain lets the test binary be the daemon that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(envChild); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// victim works as a daemon does and says after each acknowledged step how many records are durable. It kills itself
// before the step it was told.
func victim(dir string) error {
	last, err := strconv.Atoi(os.Getenv(envStep))
	if err != nil {
		return err
	}
	steps := 0
	store, err := OpenHooked(dir, func(step Step) error {
		if steps++; steps != last {
			return nil
		}
		fmt.Println("died before:", step)
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
	if err != nil {
		return err
	}
	s, err := store.Create(sessionRecord())
	if err != nil {
		return err
	}
	fmt.Println("durable 1")
	n := 1
	for _, recs := range [][]wirev2.Record{
		{manifestUser()},
		{toolContract(), assistant("a", callA, callB), application(callA), application(callB)},
	} {
		if err := s.Append(recs...); err != nil {
			return err
		}
		n += len(recs)
		fmt.Println("durable", n)
	}
	if err := s.MarkWaiting(callB); err != nil {
		return err
	}
	fmt.Println("marked")
	if err := s.Append(success(callA)); err != nil {
		return err
	}
	fmt.Println("durable", n+1)
	if err := s.MarkDispatching(callB); err != nil {
		return err
	}
	fmt.Println("dispatched")
	if err := s.Append(success(callB)); err != nil {
		return err
	}
	fmt.Println("durable", n+2)
	if err := s.Append(assistant("b"), completed("a\n\nb")); err != nil {
		return err
	}
	fmt.Println("durable", n+4)
	return s.Close()
}

// rule: W-277, W-290, W-294, W-295, W-296, W-297
func TestKilledAtEachDurableStepNothingAcknowledgedIsLost(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for step := 1; ; step++ {
		dir := filepath.Join(t.TempDir(), "state")
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envChild+"="+dir, envStep+"="+strconv.Itoa(step))
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil {
			require.ErrorAs(t, err, &exit)
			require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), string(exit.Stderr))
		}
		durable, marked, dispatched := 0, false, false
		lines := bufio.NewScanner(strings.NewReader(string(out)))
		for lines.Scan() {
			_, _ = fmt.Sscanf(lines.Text(), "durable %d", &durable)
			marked = marked || lines.Text() == "marked"
			dispatched = dispatched || lines.Text() == "dispatched"
		}
		survives(t, dir, string(out), durable, marked, dispatched)
		if err == nil {
			require.Greater(t, step, 15)
			return
		}
	}
}

// survives looks at the state of a killed daemon as the next one does.
func survives(t *testing.T, dir, out string, durable int, marked, dispatched bool) {
	t.Helper()
	store := openStore(t, dir)
	left, err := os.ReadDir(filepath.Join(dir, sessionsFolder))
	require.NoError(t, err)
	for _, e := range left {
		require.True(t, wirev2.ID(e.Name()).Valid(), "unfinished sessions are swept: %s", e.Name())
	}
	s, err := store.Open(sessionID)
	if durable == 0 && errors.Is(err, ErrUnknown) {
		return
	}
	require.NoError(t, err, out)
	defer func() { require.NoError(t, s.Close()) }()
	recs := all(t, s)
	require.GreaterOrEqual(t, len(recs), durable, out)
	for i, rec := range recs {
		require.Equal(t, int64(i+1), rec.Head().N)
	}
	if len(recs) == 1 {
		return
	}
	end := recs[len(recs)-1].(*wirev2.TerminalRecord)
	_, recovered := s.Recovered()
	if durable == 10 {
		require.False(t, recovered)
		require.Equal(t, wirev2.TerminalCompleted, end.Status)
		return
	}
	require.Equal(t, recovered, end.Status == wirev2.TerminalFailed)
	for turn, err := range s.Backward() {
		require.NoError(t, err)
		for _, reply := range turn.Replies {
			for _, c := range reply.Calls {
				require.NotNil(t, c.Result)
				if !c.Result.Synthetic {
					continue
				}
				require.Equal(t, wirev2.ToolCancelled, *c.Result.Code)
				// What was dispatched is never called not_dispatched, and what is known to wait is.
				switch {
				case c.Call.CallID == callB && dispatched:
					require.Equal(t, wirev2.EffectsUncertain, c.Result.ExternalEffects, out)
				case c.Call.CallID == callB && marked && !strings.Contains(out, "died before: "+string(StepSyncFolder)):
					require.Equal(t, wirev2.EffectsNotDispatched, c.Result.ExternalEffects, out)
				}
			}
		}
	}
	require.NoError(t, s.Append(user()))
}
