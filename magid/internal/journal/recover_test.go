package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// crash leaves a session as a daemon that died does: the handles go, nothing is closed in order.
func crash(t testing.TB, s *Session) {
	t.Helper()
	require.NoError(t, s.file.Close())
	require.NoError(t, s.folder.Close())
	s.closed = true
}

// reopened opens the session after a crash and returns it with what its recovery appended.
func reopened(t testing.TB, dir string, before int) (*Session, []wirev2.Record) {
	t.Helper()
	s := reopen(t, openStore(t, dir), nil)
	recs := all(t, s)
	require.GreaterOrEqual(t, len(recs), before)
	return s, recs[before:]
}

// rule: W-294, W-295, W-297
func TestATurnThatWasActiveIsClosedOnTheNextOpening(t *testing.T) {
	for _, test := range []struct {
		name  string
		recs  []wirev2.Record
		calls []wirev2.ID // that were open
		text  string
	}{
		{"prompt only", []wirev2.Record{user()}, nil, ""},
		{"text", []wirev2.Record{user(), assistant("said")}, nil, "said"},
		{"calls", []wirev2.Record{user(), assistant("said", callA, callB), builtin(callA), builtin(callB)}, []wirev2.ID{callA, callB}, "said"},
		{"one settled", []wirev2.Record{user(), assistant("", callA, callB), builtin(callA), builtin(callB), success(callA)}, []wirev2.ID{callB}, ""},
		{"all settled", []wirev2.Record{user(), assistant("a", callA), builtin(callA), success(callA)}, nil, "a"},
		{"second reply", []wirev2.Record{user(), assistant("a", callA), builtin(callA), success(callA), assistant("b", callB), builtin(callB)}, []wirev2.ID{callB}, "a\n\nb"},
		{"a contract", []wirev2.Record{user(), toolContract()}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, store := state(t)
			s := newSession(t, store)
			require.NoError(t, s.Append(test.recs...))
			crash(t, s)
			s, added := reopened(t, dir, 1+len(test.recs))
			turn, ok := s.Recovered()
			require.True(t, ok)
			require.Equal(t, turnID, turn)
			require.Len(t, added, len(test.calls)+1)
			for i, call := range test.calls {
				r := added[i].(*wirev2.ToolResultRecord)
				require.Equal(t, call, r.CallID, "in the order of the calls")
				require.Equal(t, wirev2.ToolCancelled, *r.Code)
				require.Equal(t, wirev2.OutcomeError, r.Status)
				require.True(t, r.Synthetic)
			}
			end := added[len(added)-1].(*wirev2.TerminalRecord)
			require.Equal(t, wirev2.TerminalFailed, end.Status)
			require.Equal(t, wirev2.TurnInternal, end.Error.Code)
			require.Equal(t, test.text, end.Text)
			require.Equal(t, operation, end.OperationID)
			require.Nil(t, end.Usage)
			// Once only, and the session takes the next turn.
			n := len(all(t, s))
			s = reopen(t, s.store, s)
			_, ok = s.Recovered()
			require.False(t, ok)
			require.Len(t, all(t, s), n)
			require.NoError(t, s.Append(user()))
		})
	}
}

// rule: W-296
func TestRecoverySaysWhatMayHaveBeenDispatched(t *testing.T) {
	two := func(first, second wirev2.Record) []wirev2.Record {
		return []wirev2.Record{user(), toolContract(), assistant("", callA, callB), first, second}
	}
	const no, maybe = wirev2.EffectsNotDispatched, wirev2.EffectsUncertain
	for _, test := range []struct {
		name    string
		recs    []wirev2.Record
		waiting []wirev2.ID
		want    []wirev2.Effects
	}{
		{"an application's call", two(application(callA), application(callB)), nil, []wirev2.Effects{maybe, maybe}},
		{"a built-in call", two(builtin(callA), application(callB)), nil, []wirev2.Effects{no, maybe}},
		{"invalid arguments", two(application(callA), invalidCall(callB)), nil, []wirev2.Effects{maybe, no}},
		{"a reply cut short", two(application(callA), application(callB))[:4], nil, []wirev2.Effects{no}},
		{"a call that waits", two(application(callA), application(callB)), []wirev2.ID{callB}, []wirev2.Effects{maybe, no}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, store := state(t)
			s := newSession(t, store)
			require.NoError(t, s.Append(test.recs...))
			for _, call := range test.waiting {
				require.NoError(t, s.MarkWaiting(call))
			}
			crash(t, s)
			_, added := reopened(t, dir, 1+len(test.recs))
			var got []wirev2.Effects
			for _, rec := range added[:len(added)-1] {
				got = append(got, rec.(*wirev2.ToolResultRecord).ExternalEffects)
			}
			require.Equal(t, test.want, got)
		})
	}
}

// rule: W-296
func TestAMarkIsGoneBeforeItsCallIsDispatched(t *testing.T) {
	var steps []Step
	dir := filepath.Join(t.TempDir(), "state")
	store, err := OpenHooked(dir, func(step Step) error { steps = append(steps, step); return nil })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), toolContract(), assistant("", callA), application(callA)))
	steps = nil
	require.NoError(t, s.MarkDispatching(callA))
	require.Empty(t, steps, "a call that does not wait pays nothing")
	require.NoError(t, s.MarkWaiting(callA))
	require.Equal(t, []Step{StepMark, StepSyncFolder}, steps)
	require.NoError(t, s.MarkWaiting(callA))
	require.Len(t, steps, 2)
	steps = nil
	require.NoError(t, s.MarkDispatching(callA))
	require.Equal(t, []Step{StepUnmark, StepSyncFolder}, steps)
	require.Error(t, s.MarkWaiting("../../x"))
	crash(t, s)
	_, added := reopened(t, dir, 5)
	require.Equal(t, wirev2.EffectsUncertain, added[0].(*wirev2.ToolResultRecord).ExternalEffects)
}

func TestMarksOfSettledCallsAreSweptAndMeanNothing(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), toolContract(), assistant("", callA, callB), application(callA), application(callB)))
	require.NoError(t, s.MarkWaiting(callA))
	require.NoError(t, s.Append(synthetic(callA)))
	require.NoError(t, s.MarkWaiting(callB))
	crash(t, s)
	s, added := reopened(t, dir, 7)
	require.Len(t, added, 2)
	require.NoError(t, s.Close())
	left, err := os.ReadDir(filepath.Dir(journalFile(dir)))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, journalName, left[0].Name())
}

func TestARecoveryThatFailsIsDoneByTheNextOpening(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), assistant("", callA), builtin(callA)))
	crash(t, s)
	var fail Step
	broken, err := OpenHooked(dir, func(step Step) error {
		if step == fail {
			return os.ErrPermission
		}
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, broken.Close()) })
	for _, fail = range []Step{StepWrite, StepSync} {
		_, err = broken.Open(sessionID)
		require.ErrorIs(t, err, os.ErrPermission)
	}
	_, added := reopened(t, dir, 4)
	require.Equal(t, []wirev2.RecordType{wirev2.RecordToolResult, wirev2.RecordTerminal}, types(added))
}

// complaint: 11 microsoft/agent-framework#3938 - work that a checkpoint had recorded ran again after the restart
func TestComplaint11AgentFramework3938ACallOpenAtTheCrashStaysUncertain(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), toolContract(), assistant("", callA), application(callA)))
	crash(t, s)
	// Every later opening, however many, finds the one result and adds no second, and no call is left that anything
	// could dispatch.
	for range 3 {
		s, added := reopened(t, dir, 5)
		require.Equal(t, []wirev2.RecordType{wirev2.RecordToolResult, wirev2.RecordTerminal}, types(added))
		require.Equal(t, wirev2.EffectsUncertain, added[0].(*wirev2.ToolResultRecord).ExternalEffects)
		require.ErrorIs(t, s.Append(application(callA)), ErrRefused)
		require.ErrorIs(t, s.Append(success(callA)), ErrRefused)
		for turn, err := range s.Backward() {
			require.NoError(t, err)
			require.NotNil(t, turn.Replies[0].Calls[0].Result)
		}
		require.NoError(t, s.Close())
	}
}

// complaint: 42 anomalyco/opencode#21326 - an interrupted call stayed without its result and spoiled every later request
func TestComplaint42Opencode21326EveryCallIsPairedAfterACrashAtAnyByte(t *testing.T) {
	dir, store := state(t)
	written(t, store, []wirev2.Record{
		user(), toolContract(), assistant("a", callA, callB), application(callA), builtin(callB), success(callB), success(callA),
		assistant("b"), completed("a\n\nb"),
	})
	whole, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	first := len(fileLines(t, dir)[0]) + 1
	for size := first; size <= len(whole); size++ {
		atLine := bytes.IndexByte(whole[size-1:min(size+2, len(whole))], '\n') >= 0
		if !atLine && size%byteStep() != 0 {
			continue
		}
		require.NoError(t, os.WriteFile(journalFile(dir), whole[:size], 0o600))
		s, err := store.Open(sessionID)
		require.NoError(t, err, "cut after byte %d", size)
		for turn, err := range s.Backward() {
			require.NoError(t, err)
			require.NotNil(t, turn.Terminal)
			for _, reply := range turn.Replies {
				for _, c := range reply.Calls {
					require.NotNil(t, c.Result, "cut after byte %d", size)
				}
			}
		}
		require.NoError(t, s.Append(user(), completed("")), "cut after byte %d", size)
		require.NoError(t, s.Close())
	}
}
