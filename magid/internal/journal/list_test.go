package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-118
func TestSessionsAreListedByCreationThenIDDescending(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, dir)
		create := func(n int) {
			rec := sessionRecord()
			rec.SessionID, rec.Title = id(n), nil
			s, err := store.Create(rec)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
		create(3)
		create(5) // at the same instant
		time.Sleep(time.Millisecond)
		create(1)
		time.Sleep(time.Millisecond)
		create(4)
		var got []wirev2.ID
		list, err := store.List()
		require.NoError(t, err)
		for _, sum := range list {
			got = append(got, sum.SessionID)
		}
		require.Equal(t, []wirev2.ID{id(4), id(1), id(5), id(3)}, got)
		require.True(t, list[0].CreatedAt.After(list[1].CreatedAt))
		require.True(t, list[2].CreatedAt.Equal(list[3].CreatedAt))
	})
}

// rule: W-114
func TestASummaryShowsWhatWasSentAndWhenItLastChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, dir)
		rec := sessionRecord()
		rec.Workspace, rec.Title = "/odd//path/./x/", nil
		s, err := store.Create(rec)
		require.NoError(t, err)
		created := time.Now()
		sum, err := store.Summary(sessionID)
		require.NoError(t, err)
		require.Equal(t, "/odd//path/./x/", sum.Workspace)
		require.Equal(t, "/odd//path/./x/", s.Workspace())
		require.Equal(t, sessionID, s.ID())
		require.Nil(t, sum.Title)
		require.True(t, sum.CreatedAt.Equal(created) && sum.UpdatedAt.Equal(created))
		time.Sleep(time.Second)
		u := user()
		u.Prompt = strings.Repeat("p", 24000) // longer than the first look at the end
		require.NoError(t, s.Append(u))
		for range 2 {
			sum, err = store.Summary(sessionID)
			require.NoError(t, err)
			require.True(t, sum.CreatedAt.Equal(created))
			require.True(t, sum.UpdatedAt.Equal(created.Add(time.Second)))
		}
		// A torn line is no change.
		time.Sleep(time.Second)
		f, err := os.OpenFile(journalFile(dir), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(strings.Repeat("x", 40000))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		sum, err = store.Summary(sessionID)
		require.NoError(t, err)
		require.True(t, sum.UpdatedAt.Equal(created.Add(time.Second)))
		require.NoError(t, s.Close())
	})
}

func TestListReadsNoWholeJournalAndNothingTwice(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	talk(t, s, 200)
	require.NoError(t, s.Close())
	// What lies in the middle is not looked at.
	b, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	copy(b[len(b)/2:], strings.Repeat("x", 100))
	require.NoError(t, os.WriteFile(journalFile(dir), b, 0o600))
	sum, err := store.Summary(sessionID)
	require.NoError(t, err)
	require.Nil(t, sum.Damage)
	// The same size and time: what is remembered is shown.
	info, err := os.Stat(journalFile(dir))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journalFile(dir), []byte(strings.Repeat("x", len(b))), 0o600))
	require.NoError(t, os.Chtimes(journalFile(dir), info.ModTime(), info.ModTime()))
	again, err := store.Summary(sessionID)
	require.NoError(t, err)
	require.Equal(t, sum, again)
	require.NoError(t, os.Chtimes(journalFile(dir), info.ModTime(), info.ModTime().Add(time.Second)))
	again, err = store.Summary(sessionID)
	require.NoError(t, err)
	require.Equal(t, int64(1), again.Damage.Line)
}

func TestALastLineThatCannotBeReadShowsTheTimeOfTheFile(t *testing.T) {
	dir, store := state(t)
	written(t, store)
	f, err := os.OpenFile(journalFile(dir), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("garbage\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	sum, err := store.Summary(sessionID)
	require.NoError(t, err)
	info, err := os.Stat(journalFile(dir))
	require.NoError(t, err)
	require.True(t, sum.UpdatedAt.Equal(info.ModTime().Truncate(time.Millisecond)))
}

func TestOtherThingsInTheSessionsFolderAreNoSessions(t *testing.T) {
	dir, store := state(t)
	written(t, store)
	for _, name := range []string{"notes", "X" + string(id(8))[1:], ".new-" + string(id(9))} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sessionsFolder, name), 0o700))
	}
	list, err := store.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
	// The next start sweeps the session that was never finished, and nothing else.
	openStore(t, dir)
	left, err := os.ReadDir(filepath.Join(dir, sessionsFolder))
	require.NoError(t, err)
	require.Len(t, left, 3)
}

func TestAStartLeavesASessionAloneThatAnotherDaemonIsMaking(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var during func(Step)
	store, err := OpenHooked(dir, func(step Step) error {
		if during != nil {
			during(step)
		}
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	starts := 0
	during = func(step Step) {
		second, err := Open(dir)
		require.NoError(t, err, step)
		require.NoError(t, second.Close())
		starts++
	}
	newSession(t, store)
	during = nil
	require.Equal(t, 7, starts)
	list, err := store.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestManySessionsCanBeMadeAtOnce(t *testing.T) {
	_, store := state(t)
	errs := make(chan error)
	for i := range 16 {
		go func() {
			rec := sessionRecord()
			rec.SessionID, rec.Title = id(100+i), new(fmt.Sprint(i))
			s, err := store.Create(rec)
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-errs)
	}
	list, err := store.List()
	require.NoError(t, err)
	require.Len(t, list, 16)
	n, err := store.Count()
	require.NoError(t, err)
	require.Equal(t, 16, n)
}

// rule: W-293
func TestOneSessionThatCannotBeReadHidesNoOther(t *testing.T) {
	elsewhere := t.TempDir()
	for name, put := range map[string]func(t *testing.T, folder string){
		"a file":                  func(t *testing.T, folder string) { require.NoError(t, os.WriteFile(folder, nil, 0o600)) },
		"a link that leads out":   func(t *testing.T, folder string) { require.NoError(t, os.Symlink(elsewhere, folder)) },
		"a link to nothing":       func(t *testing.T, folder string) { require.NoError(t, os.Symlink("nothing", folder)) },
		"a link to another":       func(t *testing.T, folder string) { require.NoError(t, os.Symlink(string(sessionID), folder)) },
		"a folder without a file": func(t *testing.T, folder string) { require.NoError(t, os.Mkdir(folder, 0o700)) },
		"a folder in its place": func(t *testing.T, folder string) {
			require.NoError(t, os.MkdirAll(filepath.Join(folder, journalName), 0o700))
		},
		"a closed folder": func(t *testing.T, folder string) { // open to root all the same, and then without a journal
			require.NoError(t, os.Mkdir(folder, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := state(t)
			require.NoError(t, newSession(t, store).Close())
			put(t, filepath.Join(dir, sessionsFolder, string(id(7))))
			list, err := store.List()
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.Equal(t, sessionID, list[0].SessionID)
			require.Nil(t, list[0].Damage)
			require.Equal(t, id(7), list[1].SessionID)
			require.NotNil(t, list[1].Damage)
			require.NotContains(t, list[1].Damage.Error(), dir)
			_, err = store.Open(id(7))
			require.Error(t, err)
		})
	}
}
