package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/sessionstore"
)

// keep puts two sessions into the state as a run retains them: one that outlives
// it, and one that does not.
func (p *place) keep(run string) (kept, tied string) {
	p.t.Helper()
	now := time.Now()
	return p.retain(now, ""), p.retain(now, run)
}

// retain puts a session into the state as a run would have at some time.
func (p *place) retain(at time.Time, root string) (reference string) {
	p.t.Helper()
	d, err := state.Open(p.dir)
	require.NoError(p.t, err)
	const id = "01a22a81-ff3c-7a80-a03d-0823c99143cd"
	s, err := sessionstore.New(sessionstore.Options{Authority: state.Guard(func() error { return nil }), Parent: state.SessionsBucket})
	require.NoError(p.t, err)
	prepared, err := s.Prepare([]byte("CANARY\n"))
	require.NoError(p.t, err)
	require.NoError(p.t, d.Update(func(t *state.Tx) (err error) {
		reference, err = s.Save(t.Bolt(), at, prepared, sessionstore.Owner{
			Scope: "sha256:scope", Root: root, NativeID: id, Path: "sessions/2026/11/30/rollout-2026-11-30T03-31-32-" + id + ".jsonl",
		})
		return err
	}))
	return reference
}

// stored are the references of the sessions in the state, available or not.
func stored(t *testing.T, d *state.Dir) (references []string) {
	t.Helper()
	require.NoError(t, d.View(func(t *state.Tx) error {
		rows := t.Bolt().Bucket([]byte(state.SessionsBucket)).Bucket([]byte("session-rows"))
		return rows.ForEach(func(k, _ []byte) error { references = append(references, string(k)); return nil })
	}))
	return references
}

type session struct {
	Reference string `json:"reference"`
	Lifetime  string `json:"lifetime"`
	Created   string `json:"created"`
	Expires   string `json:"expires"`
	AgeMS     int64  `json:"ageMs"`
	Bytes     int    `json:"bytes"`
}

func sessions(t *testing.T, raw jsontext.Value) (all []session) {
	t.Helper()
	require.NoError(t, json0.Decode(raw, &all))
	return all
}

func TestSessions(t *testing.T) {
	// rule: J-010
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	p.jig("sessions", "--json").is(0, "sessions", "[]")
	p.jig("status", "--json").is(0, "sessions", `{"count":0,"runScoped":0}`)
	kept, tied := p.keep("a run")
	require.ElementsMatch(t, []string{kept, tied, ":4"}, strings.Fields(p.jig("__complete", "sessions", "delete", "").stdout))
	p.jig("status", "--json").is(0, "sessions", `{"count":2,"runScoped":1}`)
	o := p.jig("sessions", "--json")
	o.is(0, "status", `"succeeded"`)
	lifetimes := map[string]string{}
	for _, s := range sessions(t, o.record()["sessions"]) {
		lifetimes[s.Reference] = s.Lifetime
		require.Equal(t, 7, s.Bytes)
		created, err := time.Parse(time.RFC3339, s.Created)
		require.NoError(t, err)
		expires, err := time.Parse(time.RFC3339, s.Expires)
		require.NoError(t, err)
		require.Equal(t, 24*time.Hour, expires.Sub(created))
		require.GreaterOrEqual(t, s.AgeMS, int64(0))
	}
	require.Equal(t, map[string]string{kept: "project", tied: "run"}, lifetimes)
	for _, args := range [][]string{{"sessions"}, {"sessions", "--json"}, {"status"}, {"status", "--json"}, {"sessions", "delete", tied}} {
		o := p.jig(args...)
		require.Zero(t, o.exit, "%s", o)
		for _, hidden := range []string{"CANARY", "01a22a81", "rollout", "sha256:scope"} {
			require.NotContains(t, o.stdout+o.stderr, hidden)
		}
	}
	p.jig("sessions", "delete", tied, "--json").is(1, "code", `"SESSION_NOT_FOUND"`)
	p.jig("sessions", "delete", "--all", "--json").is(0, "deleted", "1")
	p.jig("sessions", "--json").is(0, "sessions", "[]")
}

func TestDeletingWhatIsNotThereDeletesWhatHasExpired(t *testing.T) {
	// rule: P-154
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	old := p.retain(time.Now().Add(-25*time.Hour), "")
	d, err := state.Open(p.dir)
	require.NoError(t, err)
	p.jig("sessions", "--json").is(0, "sessions", "[]")
	require.Equal(t, []string{old}, stored(t, d), "a list only looks")
	p.jig("sessions", "delete", "00000000-0000-4000-8000-000000000000", "--json").is(1, "code", `"SESSION_NOT_FOUND"`)
	require.Empty(t, stored(t, d))
}

func TestARunTakesItsSessionsWithIt(t *testing.T) {
	// rule: J-121, F-145
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"]})
	left := func(o outcome) (references []string) {
		for _, s := range sessions(t, o.record()["sessions"]) {
			references = append(references, s.Reference)
		}
		return references
	}
	r, folder := waiting(t, p)
	kept, tied := p.keep(filepath.Base(folder))
	require.ElementsMatch(t, []string{kept, tied}, left(p.jig("sessions", "--json").is(0)))
	require.NoError(t, r.cmd.Process.Kill())
	r.wait()
	o := p.jig("sessions", "--json").is(0)
	require.Contains(t, o.stderr, "was lost")
	require.Equal(t, []string{kept}, left(o))

	r, folder = waiting(t, p)
	p.keep(filepath.Base(folder))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait().is(2, "code", `"CANCELLED"`)
	require.Len(t, left(p.jig("sessions", "--json").is(0)), 2, "its own went with its end")
}

// Standard output takes nothing, so a run that printed its last line first would
// never come to its end.
func TestTheLastLineComesAfterTheEndIsOnDisk(t *testing.T) {
	// rule: J-123
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"]})
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	full := fill(t, write)
	cmd := p.command("run", "flow:flows/wait", "--timeout", "1h")
	cmd.Stdout = write
	r := p.start(cmd)
	require.NoError(t, write.Close())
	r.says("| waiting")
	folders, err := filepath.Glob(filepath.Join(p.dir, ".jig", "runs", "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	id := filepath.Base(folders[0])
	kept, _ := p.keep(id)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))

	require.True(t, eventuallyGone(folders[0]), "the run did not end before its last line was read")
	d, err := state.Open(p.dir)
	require.NoError(t, err)
	require.NoError(t, d.View(func(tx *state.Tx) error {
		record, found, err := tx.Run(id)
		require.True(t, found)
		require.False(t, record.Alive(), "the terminal is not on disk")
		return err
	}))
	require.Equal(t, []string{kept}, stored(t, d), "a session of the run is left")
	b, err := io.ReadAll(read)
	require.NoError(t, err)
	line, found := strings.CutSuffix(string(b[full:]), "\n")
	require.True(t, found)
	require.Equal(t, `"CANCELLED"`, string(record(t, line)["code"]))
	require.Equal(t, 2, r.wait().exit)
}

// fill fills a pipe and returns how many bytes it took.
func fill(t *testing.T, pipe *os.File) (n int) {
	t.Helper()
	fd := int(pipe.Fd())
	require.NoError(t, syscall.SetNonblock(fd, true))
	for _, size := range []int{4096, 1} {
		for {
			w, err := syscall.Write(fd, make([]byte, size))
			if errors.Is(err, syscall.EAGAIN) {
				break
			}
			require.NoError(t, err)
			n += w
		}
	}
	require.NoError(t, syscall.SetNonblock(fd, false))
	return n
}

// eventuallyGone waits until a file is not there any more.
func eventuallyGone(path string) bool {
	for range 3000 {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
