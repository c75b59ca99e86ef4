package journal

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

var errDisk = errors.New("the disk fails")

// faulty is a store whose next steps of a kind fail.
func faulty(t testing.TB) (dir string, store *Store, fail map[Step]error) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	fail = map[Step]error{}
	store, err := OpenHooked(dir, func(step Step) error { return fail[step] })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return dir, store, fail
}

// rule: W-277, W-290
func TestAFailedAppendPoisonsTheSessionUntilItIsReopened(t *testing.T) {
	for _, fault := range []map[Step]error{
		{StepWrite: errDisk},
		{StepWrite: ShortWrite(0)},
		{StepWrite: ShortWrite(1)},
		{StepWrite: ShortWrite(100000)},
		{StepSync: errDisk},
		{StepWrite: ShortWrite(10), StepTruncate: errDisk},
		{StepSync: errDisk, StepTruncate: errDisk},
	} {
		dir, store, fail := faulty(t)
		s := newSession(t, store)
		require.NoError(t, s.Append(user()))
		acknowledged, err := os.ReadFile(journalFile(dir))
		require.NoError(t, err)
		maps.Copy(fail, fault)
		err = s.Append(assistant("lost"))
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrRefused)
		require.Len(t, all(t, s), 2, "no reader sees what was not acknowledged")
		clear(fail)
		require.ErrorIs(t, s.Append(assistant("more")), ErrPoisoned)
		now, err := os.ReadFile(journalFile(dir))
		require.NoError(t, err)
		if fault[StepTruncate] == nil {
			require.Equal(t, string(acknowledged), string(now), "what can be taken back is")
		}
		require.Equal(t, string(acknowledged), string(now[:len(acknowledged)]))
		s = reopen(t, store, s)
		recs := all(t, s)
		want := []wirev2.RecordType{wirev2.RecordSession, wirev2.RecordUser, wirev2.RecordTerminal}
		if fault[StepSync] != nil && fault[StepTruncate] != nil {
			// The whole record reached the disk and was not acknowledged: it counts, as after a lost acknowledgment.
			want = []wirev2.RecordType{wirev2.RecordSession, wirev2.RecordUser, wirev2.RecordAssistant, wirev2.RecordTerminal}
		}
		require.Equal(t, want, types(recs))
		require.NoError(t, s.Append(user()))
	}
}

func TestAShortWriteAtAnyByteGluesNothing(t *testing.T) {
	dir, store, fail := faulty(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user()))
	require.NoError(t, s.Close())
	base, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	batch := func() []wirev2.Record { return []wirev2.Record{assistant("a", callA), builtin(callA), success(callA)} }
	size := 0
	for _, rec := range batch() {
		*rec.Head() = wirev2.RecordHead{N: 4, At: "2026-01-02T03:04:05.678Z", Type: rec.RecordType()}
		line, err := wirev2.EncodeRecord(rec)
		require.NoError(t, err)
		size += len(line) + 1
	}
	for n := 0; n <= size; n += byteStep() {
		require.NoError(t, os.WriteFile(journalFile(dir), base, 0o600))
		s = reopen(t, store, nil) // appends the terminal of the turn
		require.NoError(t, s.Append(user()))
		have := len(all(t, s))
		fail[StepWrite], fail[StepTruncate] = ShortWrite(n), errDisk
		require.ErrorIs(t, s.Append(batch()...), ShortWrite(n))
		clear(fail)
		s = reopen(t, store, s)
		recs := all(t, s)
		require.Greater(t, len(recs), have)
		require.Equal(t, wirev2.RecordTerminal, recs[len(recs)-1].RecordType())
		require.NoError(t, s.Append(user(), completed("")))
		require.NoError(t, s.Close())
	}
}

func TestAJournalThatAnotherProgramWroteToIsNotWrittenOn(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	f, err := os.OpenFile(journalFile(dir), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("half a line")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorContains(t, s.Append(user()), "another program")
	require.ErrorIs(t, s.Append(user()), ErrPoisoned)
	s = reopen(t, store, s)
	require.Len(t, all(t, s), 1)
}

func TestACreateThatFailsLeavesNoSession(t *testing.T) {
	for _, step := range []Step{StepMakeFolder, StepMakeJournal, StepWrite, StepSync, StepSyncFolder, StepRename, StepSyncSessions} {
		t.Run(string(step), func(t *testing.T) {
			dir, store, fail := faulty(t)
			fail[step] = errDisk
			_, err := store.Create(sessionRecord())
			require.ErrorIs(t, err, errDisk)
			left, err := os.ReadDir(filepath.Join(dir, sessionsFolder))
			require.NoError(t, err)
			require.Empty(t, left)
			clear(fail)
			newSession(t, store)
		})
	}
}

func TestAMarkThatFailsIsSafe(t *testing.T) {
	dir, store, fail := faulty(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), toolContract(), assistant("", callA), application(callA)))
	fail[StepMark] = errDisk
	require.ErrorIs(t, s.MarkWaiting(callA), errDisk)
	clear(fail)
	require.NoError(t, s.MarkDispatching(callA))
	require.NoError(t, s.MarkWaiting(callA))
	for _, step := range []Step{StepUnmark, StepSyncFolder} {
		fail[step] = errDisk
		require.ErrorIs(t, s.MarkDispatching(callA), errDisk, "the call must not be dispatched")
		clear(fail)
	}
	require.NoError(t, s.MarkDispatching(callA))
	crash(t, s)
	_, added := reopened(t, dir, 5)
	require.Equal(t, wirev2.EffectsUncertain, added[0].(*wirev2.ToolResultRecord).ExternalEffects)
}
