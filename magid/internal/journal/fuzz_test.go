package journal

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// goodLines is a journal with every type of record.
func goodLines(t testing.TB) []string {
	dir, store := state(t)
	callC := id(8)
	written(t, store, []wirev2.Record{
		manifestUser(), toolContract(), assistant("a\u2028é", callA, callB, callC), application(callA), builtin(callB), invalidCall(callC),
		success(callB), success(callA), synthetic(callC), assistant("b"), completed("a\u2028é\n\nb"),
	})
	return fileLines(t, dir)
}

// FuzzLine: what one line's reader takes is strict JSON, and means the same when it is written again.
func FuzzLine(f *testing.F) {
	for _, line := range goodLines(f) {
		f.Add([]byte(line))
		f.Add([]byte(strings.ReplaceAll(line, ":", " :\t")))
		f.Add([]byte(line[:len(line)/2]))
		f.Add([]byte(strings.Replace(line, `"n":`, `"n":1,"n":`, 1)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, err := decode(line)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.True(t, stdjson.Valid(line))
		require.GreaterOrEqual(t, rec.Head().N, int64(1))
		again, err := wirev2.EncodeRecord(rec)
		require.NoError(t, err)
		second, err := decode(again)
		require.NoError(t, err)
		third, err := wirev2.EncodeRecord(second)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
	})
}

// FuzzJournal: a journal of any bytes either opens, with every whole line kept, and works on, or is damage and stays as
// it is.
func FuzzJournal(f *testing.F) {
	lines := goodLines(f)
	whole := strings.Join(lines, "\n") + "\n"
	f.Add([]byte(whole))
	for i := range lines {
		f.Add([]byte(strings.Join(lines[:i], "\n")))
		f.Add([]byte(strings.Join(lines[:i+1], "\n") + "\n" + lines[i]))
		f.Add([]byte(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "\n") + "\n"))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := filepath.Join(t.TempDir(), "state")
		store, err := OpenHooked(dir, func(step Step) error {
			if step == StepSync || step == StepSyncSessions {
				return errUnsynced
			}
			return nil
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		folder := filepath.Join(dir, sessionsFolder, string(sessionID))
		require.NoError(t, os.Mkdir(folder, 0o700))
		require.NoError(t, os.WriteFile(journalFile(dir), content, 0o600))
		s, err := store.Open(sessionID)
		left, readErr := os.ReadFile(journalFile(dir))
		require.NoError(t, readErr)
		if err != nil {
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
			require.LessOrEqual(t, damage.Line, int64(bytes.Count(content, []byte{'\n'})+1))
			require.Equal(t, content, left)
			return
		}
		kept := content[:bytes.LastIndexByte(content, '\n')+1]
		require.True(t, bytes.HasPrefix(left, kept))
		_, recovered := s.Recovered()
		require.Equal(t, !recovered, len(left) == len(kept))
		require.Len(t, all(t, s), bytes.Count(left, []byte{'\n'}))
		for turn, err := range s.Backward() {
			require.NoError(t, err)
			require.NotNil(t, turn.Terminal)
		}
		require.NoError(t, s.Append(user(), completed("")))
		s = reopen(t, store, s)
		_, recovered = s.Recovered()
		require.False(t, recovered)
	})
}

// FuzzScan: reading any bytes as a journal ends, takes whole lines only and names the line that it does not take.
func FuzzScan(f *testing.F) {
	lines := goodLines(f)
	f.Add([]byte(strings.Join(lines, "\n") + "\n"))
	for i := range lines {
		f.Add([]byte(strings.Join(lines[:i+1], "\n") + "\n" + lines[i][:i*7]))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		scan := scanner{id: sessionID, lines: readLines(bytes.NewReader(content), 0, int64(len(content)))}
		for n := int64(1); ; n++ {
			rec, offset, err := scan.next()
			if errors.Is(err, io.EOF) {
				require.Equal(t, int64(bytes.LastIndexByte(content, '\n')+1), scan.lines.next)
				return
			}
			if err != nil {
				var damage *DamageError
				require.ErrorAs(t, err, &damage)
				require.Equal(t, n, damage.Line)
				return
			}
			require.Equal(t, n, rec.Head().N)
			require.Equal(t, int(n-1), bytes.Count(content[:offset], []byte{'\n'}))
		}
	})
}
