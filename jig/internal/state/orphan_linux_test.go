package state

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stuck starts what a killed bubblewrap leaves behind: the first process of a pid
// namespace that has a lock and waits for ever. It is called name.
func stuck(t *testing.T, name string, lock *os.File, namespace bool) (ended <-chan struct{}) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STATE_TEST_ROLE=stuck", "STATE_TEST_NAME="+name)
	cmd.ExtraFiles = []*os.File{lock}
	if namespace {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		}
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(said))
	done := make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		in.Close()
		<-done
	})
	return done
}

// Bubblewrap that is killed while it makes a scope leaves the scope's first
// process behind, which no signal ends but SIGKILL.
//
// rule: J-128
func TestWhatAKilledBubblewrapLeftIsEnded(t *testing.T) {
	_, d := project(t)
	r, err := d.StartRun(time.Now(), time.Now().Add(time.Hour), nothing)
	require.NoError(t, err)
	left := stuck(t, "bwrap", r.ScopeLock(), true)
	require.NoError(t, r.coordinator.Close()) // its jig is dead
	require.NoError(t, r.scope.Close())
	recovered, err := d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Len(t, recovered, 1)
	<-left

	held, err := d.Review()
	require.NoError(t, err)
	left = stuck(t, "bwrap", held.Lock(), true)
	held.End()
	held, err = d.Review()
	require.NoError(t, err)
	<-left
	held.End()
}

// Whoever still has its bubblewrap, or is no scope's first process, has nothing to
// do with it.
func TestNobodyElseIsEnded(t *testing.T) {
	own, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/proc/self/comm", []byte("bwrap"), 0))
	defer os.WriteFile("/proc/self/comm", own, 0)
	_, d := project(t)
	held, err := d.Review()
	require.NoError(t, err)
	alive := []<-chan struct{}{
		stuck(t, "bwrap", held.Lock(), true), // its maker lives, and is called so too
		stuck(t, "bwrap", held.Lock(), false),
	}
	db, err := os.Open(d.file(databaseName))
	require.NoError(t, err)
	defer db.Close()
	other := stuck(t, "bwrap", db, true)
	alive = append(alive, stuck(t, "jig", held.Lock(), true)) // the first of a container, perhaps
	orphan := stuck(t, "bwrap-0.11", held.Lock(), true)
	again, err := d.Review()
	require.NoError(t, err)
	<-orphan
	for _, ended := range append(alive, other) {
		select {
		case <-ended:
			require.FailNow(t, "the wrong process was ended")
		default:
		}
	}
	again.End()
	held.End()
}
