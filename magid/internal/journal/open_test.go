package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// written makes a session, appends and closes it.
func written(t testing.TB, store *Store, batches ...[]wirev2.Record) {
	t.Helper()
	s := newSession(t, store)
	for _, recs := range batches {
		require.NoError(t, s.Append(recs...))
	}
	require.NoError(t, s.Close())
}

// rule: W-291
func TestATornLastLineIsCut(t *testing.T) {
	whole := func() [][]wirev2.Record { return [][]wirev2.Record{{user(), assistant("hi"), completed("hi")}} }
	dir, store := state(t)
	written(t, store, whole()...)
	good, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	next := `{"n":5,"at":"2026-01-02T03:04:05.678Z","type":"user","turn_id":"` + string(id(9)) + `","operation_id":"` + string(id(10)) +
		`","prompt":"x","application_manifest":null}`
	var tails []string
	for i := 1; i <= len(next); i++ {
		tails = append(tails, next[:i])
	}
	tails = append(tails, "\x00\x00\x00\x00", "garbage", strings.Repeat("x", MaxRecordBytes))
	for _, tail := range tails {
		require.NoError(t, os.WriteFile(journalFile(dir), append(bytes.Clone(good), tail...), 0o600))
		s := reopen(t, store, nil)
		require.Len(t, all(t, s), 4)
		left, err := os.ReadFile(journalFile(dir))
		require.NoError(t, err)
		require.Equal(t, string(good), string(left))
		u := user()
		u.TurnID = id(9)
		require.NoError(t, s.Append(u))
		require.NoError(t, s.Close())
	}
}

// rule: W-292
func TestOtherDamageNamesItsLine(t *testing.T) {
	dir, store := state(t)
	written(t, store, []wirev2.Record{
		user(), toolContract(), assistant("secret text", callA, callB), application(callA), builtin(callB), success(callA), success(callB),
		assistant("more"), completed("secret text\n\nmore"),
	})
	lines := fileLines(t, dir)
	replace := func(n int, old, new string) func() []string {
		return func() []string {
			out := append([]string{}, lines...)
			out[n-1] = strings.Replace(out[n-1], old, new, 1)
			if out[n-1] == lines[n-1] {
				panic("nothing replaced")
			}
			return out
		}
	}
	line := func(n int, text string) func() []string {
		return func() []string {
			out := append([]string{}, lines...)
			out[n-1] = text
			return out
		}
	}
	without := func(n int) func() []string {
		return func() []string { return append(append([]string{}, lines[:n-1]...), lines[n:]...) }
	}
	swapped := func(n int) func() []string {
		return func() []string {
			out := append([]string{}, lines...)
			renumber := func(s string, from, to string) string {
				return strings.Replace(s, `{"n":`+from+`,`, `{"n":`+to+`,`, 1)
			}
			out[n-1], out[n] = renumber(lines[n], "7", "6"), renumber(lines[n-1], "6", "7")
			return out
		}
	}
	for _, test := range []struct {
		name  string
		lines func() []string
		line  int64
		why   string
	}{
		{"gap", replace(4, `"n":4`, `"n":5`), 4, "n is 5 and should be 4"},
		{"repeat", replace(4, `"n":4`, `"n":3`), 4, "n is 3 and should be 4"},
		{"n of 0", replace(1, `"n":1`, `"n":0`), 1, "members"},
		{"n of text", replace(4, `"n":4`, `"n":"4"`), 4, "members"},
		{"missing line", without(3), 3, "n is 4 and should be 3"},
		{"missing first line", without(1), 1, "n is 2 and should be 1"},
		{"empty line", line(5, ""), 5, "an empty line"},
		{"no JSON", line(5, "garbage secret text"), 5, "no JSON object"},
		{"NUL bytes", line(5, "\x00\x00"), 5, "no JSON object"},
		{"array", line(5, `["secret text"]`), 5, "no JSON object"},
		{"cut in the middle", line(4, lines[3][:40]), 4, "no JSON object"},
		{"two values", line(4, lines[3]+"{}"), 4, "no JSON object"},
		{"invalid UTF-8", replace(4, "secret text", "\xff"), 4, "no JSON object"},
		{"lone surrogate", replace(4, "secret text", `\ud800`), 4, "no JSON object"},
		{"unknown type", replace(4, `"type":"assistant"`, `"type":"helper"`), 4, "unknown type"},
		{"no type", replace(4, `"type":"assistant",`, ``), 4, "unknown type"},
		{"missing member", replace(4, `"text":"secret text",`, ``), 4, "members"},
		{"unknown member", replace(4, `"text":`, `"secret text":1,"text":`), 4, "members"},
		{"duplicate member", replace(4, `"text":`, `"text":"","text":`), 4, "no JSON object"},
		{"case of a member", replace(4, `"text":`, `"Text":`), 4, "members"},
		{"null member", replace(4, `"text":"secret text"`, `"text":null`), 4, "members"},
		{"mistyped member", replace(4, `"text":"secret text"`, `"text":1`), 4, "members"},
		{"no manifest member", replace(2, `,"application_manifest":null`, ``), 2, "application_manifest is missing"},
		{"form of an id", replace(4, string(callA), strings.ToUpper("0000000a"+string(callA[8:]))), 4, "members"},
		{"form of at", replace(4, `Z","type"`, `+00:00","type"`), 4, "members"},
		{"comma in at", func() []string {
			out := append([]string{}, lines...)
			i := strings.Index(out[3], `Z"`)
			out[3] = out[3][:i-4] + "," + out[3][i-3:]
			return out
		}, 4, "at is not RFC 3339"},
		{"another session", replace(1, string(sessionID), string(id(99))), 1, "another session's"},
		{"result before call", swapped(6), 6, "before all calls"},
		{"result without call", replace(7, string(callA), string(id(99))), 7, "without its call"},
		{"terminal of another turn", replace(10, string(turnID), string(id(99))), 10, "not the active turn's"},
		{"value of a rule", replace(10, `"completed"`, `"done"`), 10, "status"},
		{"too long", line(5, strings.Repeat(" ", MaxRecordBytes+1)), 5, "longer than"},
		{"second session", line(2, strings.Replace(lines[0], `"n":1`, `"n":2`, 1)), 2, "a second session record"},
	} {
		t.Run(test.name, func(t *testing.T) {
			damaged := strings.Join(test.lines(), "\n") + "\n"
			require.NoError(t, os.WriteFile(journalFile(dir), []byte(damaged), 0o600))
			_, err := store.Open(sessionID)
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
			require.Equal(t, test.line, damage.Line, err)
			require.Equal(t, sessionID, damage.SessionID)
			require.ErrorContains(t, err, test.why)
			// The text becomes a session_locked message: one line, naming the journal line, without content or path.
			require.Contains(t, err.Error(), "journal line")
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), dir)
			left, err := os.ReadFile(journalFile(dir))
			require.NoError(t, err)
			require.Equal(t, damaged, string(left), "a damaged journal stays as it is")
			list, err := store.List()
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, test.line, list[0].Damage.Line)
			// Readers stop at the same line.
			n := int64(0)
			for _, err := range store.Entries(sessionID) {
				if n++; err != nil {
					require.ErrorAs(t, err, &damage)
					require.Equal(t, test.line, damage.Line)
				}
			}
			require.Equal(t, test.line, n)
			// The lease was given back: the journal can be repaired and opened.
			require.NoError(t, os.WriteFile(journalFile(dir), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
			reopen(t, store, nil)
			list, err = store.List()
			require.NoError(t, err)
			require.Nil(t, list[0].Damage)
		})
	}
}

// rule: W-292
func TestAJournalWithoutItsFirstRecordIsDamaged(t *testing.T) {
	for _, content := range []string{"", `{"n":1,"at":"2026-01-02T03:04:05.678Z","type":"session"`} {
		dir, store := state(t)
		written(t, store)
		require.NoError(t, os.WriteFile(journalFile(dir), []byte(content), 0o600))
		_, err := store.Open(sessionID)
		require.EqualError(t, err, "journal line 1: the session record is missing")
		left, err := os.ReadFile(journalFile(dir))
		require.NoError(t, err)
		require.Equal(t, content, string(left))
	}
}

// rule: W-292
func TestAJournalThatIsNoFileIsDamagedAndNeverBlocks(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"missing": func(string) error { return nil },
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":    func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link":    func(path string) error { return os.Symlink("/etc/passwd", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := state(t)
			written(t, store)
			require.NoError(t, os.Remove(journalFile(dir)))
			require.NoError(t, put(journalFile(dir)))
			_, err := store.Open(sessionID)
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
			require.Equal(t, int64(1), damage.Line)
			sum, err := store.Summary(sessionID)
			require.NoError(t, err)
			require.NotNil(t, sum.Damage)
		})
	}
}

// rule: W-293
func TestADamagedSessionDoesNotStopTheOthers(t *testing.T) {
	dir, store := state(t)
	written(t, store)
	require.NoError(t, os.WriteFile(journalFile(dir), []byte("x\n"), 0o600))
	other := sessionRecord()
	other.SessionID = id(50)
	s, err := store.Create(other)
	require.NoError(t, err)
	require.NoError(t, s.Append(user()))
	require.NoError(t, s.Close())
	store = openStore(t, dir)
	_, err = store.Open(sessionID)
	require.Error(t, err)
	s, err = store.Open(id(50))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	list, err := store.List()
	require.NoError(t, err)
	require.Len(t, list, 2)
}

func TestAnotherWayOfWritingTheSameRecordsIsNoDamage(t *testing.T) {
	dir, store := state(t)
	written(t, store, []wirev2.Record{user(), assistant("é\u2028"), completed("é\u2028")})
	before := fileLines(t, dir)
	var out []string
	for _, line := range before {
		// White space, and another order: the type goes to the end.
		kind := line[strings.Index(line, `"type":`):]
		kind = kind[:strings.Index(kind, ",")+1]
		line = strings.Replace(line, kind, "", 1)
		line = strings.TrimSuffix(line, "}") + "," + strings.TrimSuffix(kind, ",") + " } \r"
		out = append(out, strings.ReplaceAll(line, `":`, `" : `))
	}
	require.NoError(t, os.WriteFile(journalFile(dir), []byte(strings.Join(out, "\n")+"\n"), 0o600))
	s := reopen(t, store, nil)
	page, err := s.Read(View{})
	require.NoError(t, err)
	for i, raw := range page.Records {
		require.Equal(t, before[i], string(raw), "the history shows the daemon's own form")
	}
}

func TestOneSessionAtATimeHoldsTheLease(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	second := openStore(t, dir)
	for _, other := range []*Store{store, second} {
		_, err := other.Open(sessionID)
		require.ErrorIs(t, err, ErrLocked)
	}
	// Any program that asks the kernel sees the lease.
	f, err := os.Open(journalFile(dir))
	require.NoError(t, err)
	require.ErrorIs(t, unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, s.Append(user()), "a refused Open disturbs nothing")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB))
	_, err = second.Open(sessionID)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, f.Close())
	again := reopen(t, second, nil)
	require.ErrorIs(t, s.Append(completed("")), os.ErrClosed)
	require.NoError(t, again.Close())
}

func TestASessionThatIsNotThereIsUnknown(t *testing.T) {
	dir, store := state(t)
	for _, id := range []wirev2.ID{id(77), "", "..", "../../etc", wirev2.ID(strings.Repeat("x", 36))} {
		_, err := store.Open(id)
		require.ErrorIs(t, err, ErrUnknown, id)
		_, err = store.Summary(id)
		require.ErrorIs(t, err, ErrUnknown, id)
	}
	entries, err := os.ReadDir(filepath.Join(dir, sessionsFolder))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestASessionIsCreatedOnce(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user()))
	_, err := store.Create(sessionRecord())
	require.ErrorContains(t, err, "exists")
	require.Len(t, all(t, s), 2)
	bad := sessionRecord()
	bad.SessionID, bad.Workspace = id(51), "relative"
	_, err = store.Create(bad)
	require.ErrorIs(t, err, ErrRefused)
	_, err = store.Open(id(51))
	require.ErrorIs(t, err, ErrUnknown)
}

// rule: W-145
func TestClosedSessionFreesItsLeaseUnderARead(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	conn, err := s.file.SyscallConn()
	require.NoError(t, err)
	// What holds the descriptor here is what a read of a page holds it by.
	require.NoError(t, conn.Control(func(uintptr) {
		require.NoError(t, s.Close())
		again, err := store.Open(s.ID())
		require.NoError(t, err)
		require.NoError(t, again.Close())
	}))
}
