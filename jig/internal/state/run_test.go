package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errRollBack = errors.New("roll back")

func kind(err error) string {
	for name, e := range map[string]error{"none": ErrNone, "busy": ErrBusy, "invalid": ErrInvalid, "unsafe": ErrUnsafe, "moved": ErrMoved} {
		if errors.Is(err, e) {
			return name
		}
	}
	return err.Error()
}

func TestARunIsRecordedFromItsStartToItsEnd(t *testing.T) {
	dir, d := project(t)
	r := start(t, d)
	all := runs(t, d)
	require.Len(t, all, 1)
	require.True(t, all[0].Alive())
	require.True(t, d.Coordinated(r.ID))
	require.FileExists(t, filepath.Join(dir, ".jig", runsName, r.ID, coordinatorName))
	require.NoError(t, r.Finish(time.Now(), Terminal{Status: "failed", Record: []byte(`{"status":"failed"}`), Stderr: []byte("oh")}, nil))
	require.NoError(t, d.View(func(tx *Tx) error {
		record, found, err := tx.Run(r.ID)
		require.NoError(t, err)
		require.True(t, found)
		require.False(t, record.Alive())
		require.Equal(t, "failed", record.Status)
		end, err := tx.Terminal(record)
		require.NoError(t, err)
		require.Equal(t, Terminal{Status: "failed", Record: []byte(`{"status":"failed"}`), Stderr: []byte("oh")}, end)
		_, found, err = tx.Run(r.ID + recordSuffix)
		require.NoError(t, err)
		require.False(t, found)
		return nil
	}))
	require.NoDirExists(t, filepath.Join(dir, ".jig", runsName, r.ID))
	err := r.Finish(time.Now(), Terminal{Status: "succeeded"}, nil)
	require.ErrorIs(t, err, ErrAuthority, "a run ends once")
}

func TestARefusedStartLeavesNothing(t *testing.T) {
	dir, d := project(t)
	refused := errors.New("not this one")
	_, err := d.StartRun(time.Now(), time.Now(), func(*Tx) (RunRecord, error) { return RunRecord{}, refused })
	require.ErrorIs(t, err, refused)
	require.Empty(t, runs(t, d))
	entries, err := os.ReadDir(filepath.Join(dir, ".jig", runsName))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestAFailureInTheLastTransactionLeavesTheRunWithoutATerminal(t *testing.T) {
	_, d := project(t)
	r := start(t, d)
	broken := errors.New("a snapshot could not be deleted")
	err := r.Finish(time.Now(), Terminal{Status: "succeeded"}, func(*Tx, RunRecord) error { return broken })
	require.ErrorIs(t, err, broken)
	require.True(t, runs(t, d)[0].Alive())
}

func TestAuthorityNeedsEpochRecordDeadlineAndLock(t *testing.T) {
	_, d := project(t)
	now := time.Now()
	r, err := d.StartRun(now, now.Add(time.Second), nothing)
	require.NoError(t, err)
	authorise := func(at time.Time) error {
		return d.View(func(tx *Tx) error { return r.Authorise(tx, at) })
	}
	require.NoError(t, authorise(now))
	require.NoError(t, authorise(now.Add(999*time.Millisecond)))
	require.ErrorIs(t, authorise(now.Add(time.Second+time.Millisecond)), ErrAuthority)

	stranger := &Run{ID: r.ID, d: d, epoch: r.epoch + 1}
	require.ErrorIs(t, d.View(func(tx *Tx) error { return stranger.Authorise(tx, now) }), ErrAuthority)
	r.release()
	require.ErrorIs(t, authorise(now), ErrAuthority)
}

// rule: J-116
func TestTwoRunsOfOneProjectAreAliveAtOnce(t *testing.T) {
	dir, d := project(t)
	first := start(t, d)
	id, release := other(t, "run", "STATE_TEST_PROJECT="+dir)
	require.True(t, d.Coordinated(first.ID))
	require.True(t, d.Coordinated(id))
	found, err := d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, first.Finish(time.Now(), Terminal{Status: "succeeded"}, nil))
	release()
}

// rule: J-119
func TestADeadRunIsRecordedAsLost(t *testing.T) {
	dir, d := project(t)
	id, release := other(t, "run", "STATE_TEST_PROJECT="+dir)
	release()
	require.False(t, d.Coordinated(id))
	settled := ""
	found, err := d.Recover(t.Context(), lost, func(_ *Tx, r RunRecord) error {
		settled = r.ID
		return nil
	})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, id, settled)
	all := runs(t, d)
	require.Equal(t, StatusLost, all[0].Status)
	require.NoDirExists(t, filepath.Join(dir, ".jig", runsName, id))
	found, err = d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Empty(t, found, "a run is lost once")
}

// rule: J-118, J-120
func TestADeadRunWithALivingScopeIsWaitedFor(t *testing.T) {
	dir, d := project(t)
	id, release := other(t, "scope", "STATE_TEST_PROJECT="+dir)
	scopeTimeout = 300 * time.Millisecond
	t.Cleanup(func() { scopeTimeout = ScopeTimeout })
	require.Eventually(t, func() bool { return !d.Coordinated(id) }, 30*time.Second, time.Millisecond)
	_, err := d.Recover(t.Context(), lost, nil)
	require.ErrorIs(t, err, ErrInvalid)
	require.Regexp(t, `still alive \(process [0-9]+\); end it`, err.Error(), "who has to be ended")
	require.True(t, runs(t, d)[0].Alive())

	scopeTimeout = ScopeTimeout
	go release()
	found, err := d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestWaitingForAScopeEndsWithTheContext(t *testing.T) {
	dir, d := project(t)
	id, _ := other(t, "scope", "STATE_TEST_PROJECT="+dir)
	require.Eventually(t, func() bool { return !d.Coordinated(id) }, 30*time.Second, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Recover(ctx, lost, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// rule: J-117
func TestNoChildHoldsTheCoordinatorLock(t *testing.T) {
	_, d := project(t)
	r := start(t, d)
	cmd := exec.Command("ls", "-l", "/proc/self/fd")
	cmd.ExtraFiles = []*os.File{r.ScopeLock()}
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), coordinatorName)
	require.Contains(t, string(out), scopeName, "the test would see it")
}

func TestFoldersWithoutARunAreCleared(t *testing.T) {
	dir, d := project(t)
	litter := filepath.Join(dir, ".jig", runsName, "00000000-0000-7000-8000-000000000000")
	require.NoError(t, os.MkdirAll(litter, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(litter, coordinatorName), nil, 0o600))
	alive := start(t, d)
	_, err := d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.NoDirExists(t, litter)
	require.DirExists(t, filepath.Join(dir, ".jig", runsName, alive.ID))
}

func TestOldRunsAreForgottenAtTheLimit(t *testing.T) {
	_, d := project(t)
	alive := start(t, d)
	var ids []string
	finish := func() {
		r := start(t, d)
		ids = append(ids, r.ID)
		require.NoError(t, r.Finish(time.Now(), Terminal{Status: "succeeded", Record: []byte("{}")}, nil))
	}
	for range 4 {
		finish()
	}
	count := func(keep int, bytes int64) int {
		n := 0
		require.ErrorIs(t, d.Update(func(tx *Tx) (err error) {
			if n, err = tx.prune(keep, bytes); err != nil {
				return err
			}
			return errRollBack
		}), errRollBack)
		return n
	}
	require.Equal(t, 1, count(3, MaxRunBytes))
	require.Equal(t, 0, count(4, MaxRunBytes))
	require.Equal(t, 0, count(5, MaxRunBytes))
	require.Equal(t, 0, count(4, 8))
	require.Equal(t, 1, count(4, 7))
	require.Equal(t, 3, count(4, 1), "the last one stays, however large")
	forgotten, err := d.PruneRuns(2)
	require.NoError(t, err)
	require.Equal(t, 2, forgotten)
	var left []string
	for _, r := range runs(t, d) {
		left = append(left, r.ID)
	}
	require.Equal(t, append([]string{alive.ID}, ids[2:]...), left)
}

// rule: J-114
func TestALargeHalfEmptyDatabaseIsCompacted(t *testing.T) {
	dir, d := project(t)
	admit(t, d, 0, `{"a":1}`)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, ".jig", databaseName))
		require.NoError(t, err)
		return info.Size()
	}
	fill := func(keys int) {
		require.NoError(t, d.Update(func(tx *Tx) error {
			for i := range keys {
				err := tx.Bolt().Bucket([]byte(SessionsBucket)).Put(fmt.Append(nil, i), []byte(strings.Repeat("x", 8<<20)))
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	empty := func(from, to int) {
		require.NoError(t, d.Update(func(tx *Tx) error {
			for i := from; i < to; i++ {
				if err := tx.Bolt().Bucket([]byte(SessionsBucket)).Delete(fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	fill(9)
	full := size()
	require.Greater(t, full, int64(CompactBytes))
	empty(0, 3)
	require.NoError(t, d.Update(func(*Tx) error { return nil }))
	require.GreaterOrEqual(t, size(), full, "less than half is free")
	empty(3, 8)
	require.NoError(t, d.Update(func(*Tx) error { return nil }))
	require.Less(t, size(), full/2)
	require.Equal(t, int64(1), admission(t, d).Number)
	entries, err := filepath.Glob(filepath.Join(dir, ".jig", temporaryPrefix+"*"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

// Who waits for the lock of a database that is compacted meanwhile must not write
// to the file that has gone.
func TestAReplacedDatabaseIsOpenedAgain(t *testing.T) {
	dir, d := project(t)
	path := filepath.Join(dir, ".jig", databaseName)
	_, release := other(t, "flock", "STATE_TEST_FILE="+path)
	done := make(chan error, 1)
	go func() {
		done <- d.Update(func(tx *Tx) error {
			_, err := tx.Admit(0, []byte(`{"a":1}`))
			return err
		})
	}()
	copied, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", copied, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	release()
	require.NoError(t, <-done)
	require.Equal(t, int64(1), admission(t, d).Number)
}
