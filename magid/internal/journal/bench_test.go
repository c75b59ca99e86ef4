package journal

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// target: <= 1.2x BenchmarkAppend_LimitWriteSync
func BenchmarkAppend(b *testing.B) {
	_, store := state(b)
	s := newSession(b, store)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.Append(user(), completed("")))
	}
}

func BenchmarkAppend_LimitWriteSync(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(b, err)
	line := bytes.Repeat([]byte("x"), 500)
	b.ReportAllocs()
	for b.Loop() {
		_, err := f.Write(line)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
	}
	require.NoError(b, f.Close())
}

// longJournal is a journal of 6,001 records.
func longJournal(b *testing.B) (string, *Store) {
	dir, store := state(b)
	s := newSession(b, store)
	var batch []wirev2.Record
	for i := range 2000 {
		u, a, end := user(), assistant("an answer of some length that a model might have given"), completed("")
		u.TurnID, a.TurnID, end.TurnID = id(1000+i), id(1000+i), id(1000+i)
		batch = append(batch, u, a, end)
	}
	require.NoError(b, s.Append(batch...))
	require.NoError(b, s.Close())
	return dir, store
}

// target: <= 8x BenchmarkOpen_LimitValid
func BenchmarkOpen(b *testing.B) {
	dir, store := longJournal(b)
	info, err := os.Stat(journalFile(dir))
	require.NoError(b, err)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		s, err := store.Open(sessionID)
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}

// The limit: reading the file and finding each line to be strict JSON.
func BenchmarkOpen_LimitValid(b *testing.B) {
	dir, _ := longJournal(b)
	info, err := os.Stat(journalFile(dir))
	require.NoError(b, err)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		content, err := os.ReadFile(journalFile(dir))
		require.NoError(b, err)
		for line := range bytes.Lines(content) {
			require.True(b, jsontext.Value(line).IsValid())
		}
	}
}

// target: <= 15x BenchmarkRead_LimitPread
func BenchmarkRead(b *testing.B) {
	_, store := longJournal(b)
	s, err := store.Open(sessionID)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		page, err := s.Read(View{After: 3000})
		require.NoError(b, err)
		require.NotEmpty(b, page.Records)
	}
	require.NoError(b, s.Close())
}

// The limit: reading as many bytes and finding them to be strict JSON.
func BenchmarkRead_LimitPread(b *testing.B) {
	dir, store := longJournal(b)
	s, err := store.Open(sessionID)
	require.NoError(b, err)
	page, err := s.Read(View{After: 3000})
	require.NoError(b, err)
	size := 0
	for _, raw := range page.Records {
		size += len(raw) + 1
	}
	from := s.every[3000/stride]
	require.NoError(b, s.Close())
	f, err := os.Open(journalFile(dir))
	require.NoError(b, err)
	buf := make([]byte, size)
	b.ReportAllocs()
	for b.Loop() {
		_, err := io.ReadFull(io.NewSectionReader(f, from, int64(size)), buf)
		require.NoError(b, err)
		for line := range bytes.Lines(buf) {
			_ = jsontext.Value(line).IsValid()
		}
	}
	require.NoError(b, f.Close())
}
