//go:build unix

package retain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tree is a folder of sessions that is written for a test.
type tree struct {
	*testing.T
	dir string
}

func plant(t *testing.T) *tree { return &tree{t, t.TempDir()} }

// below is a path below the folder, from one that begins with sessions.
func (r *tree) below(path string) string {
	return filepath.Join(r.dir, strings.TrimPrefix(path, "sessions"))
}

func (r *tree) folder(path string) {
	r.Helper()
	require.NoError(r, os.MkdirAll(r.below(path), 0o700))
}

func (r *tree) write(path, content string) {
	r.Helper()
	r.folder(filepath.Dir(path))
	require.NoError(r, os.WriteFile(r.below(path), []byte(content), 0o600))
}

func (r *tree) open() *os.File {
	r.Helper()
	f, err := os.Open(r.dir)
	require.NoError(r, err)
	r.Cleanup(func() { f.Close() })
	return f
}

func (r *tree) collect(secrets ...string) (*Rollout, error) {
	r.Helper()
	return Collect(r.Context(), r.open(), session, secrets)
}

func TestTheOneRolloutIsCollected(t *testing.T) {
	// rule: F-128, P-146
	r := plant(t)
	whole := written(good())
	r.write(at, whole)
	f := r.open()
	for range 2 { // the place in the descriptor does not matter
		got, err := Collect(t.Context(), f, session, []string{"not-there"})
		require.NoError(t, err)
		require.Equal(t, &Rollout{Path: at, Content: []byte(whole)}, got)
		_, err = f.Readdirnames(-1)
		require.NoError(t, err)
	}
}

func TestNoHistoryIsMissing(t *testing.T) {
	// rule: P-148, F-151
	r := plant(t)
	_, err := r.collect()
	require.ErrorIs(t, err, ErrMissing)
	r.folder("sessions/2026/11/30")
	_, err = r.collect()
	require.ErrorIs(t, err, ErrMissing)
}

func TestAnythingElseIsUnsupported(t *testing.T) {
	// rule: P-146, P-147, P-148, P-135, F-127
	whole := written(good())
	day := filepath.Dir(at)
	link := func(old, new string) func(*tree) {
		return func(r *tree) {
			r.folder(filepath.Dir(new))
			require.NoError(r, os.Symlink(old, r.below(new)))
		}
	}
	for name, c := range map[string]struct {
		add func(r *tree)
		why string
	}{
		"auth.json":               {func(r *tree) { r.write("sessions/auth.json", "{}") }, "an entry"},
		"a file of a year":        {func(r *tree) { r.write("sessions/2026/x", "") }, "an entry"},
		"a file of a month":       {func(r *tree) { r.write("sessions/2026/11/x", "") }, "an entry"},
		"a second rollout":        {func(r *tree) { r.write(swap(at, "T03", "T04"), whole) }, "more than one file"},
		"a rollout of another":    {func(r *tree) { r.write(swap(at, session, turn), whole) }, "more than one file"},
		"any file beside it":      {func(r *tree) { r.write(day+"/x", "") }, "more than one file"},
		"a folder below the day":  {func(r *tree) { r.folder(day + "/x") }, "an entry"},
		"a folder with a word":    {func(r *tree) { r.folder("sessions/archived") }, "an entry"},
		"a month of three digits": {func(r *tree) { r.folder("sessions/2026/111") }, "an entry"},
		"a folder beside it":      {func(r *tree) { r.folder("sessions/2026/12") }, "beside the path"},
		"a year beside it":        {func(r *tree) { r.folder("sessions/2025") }, "beside the path"},
		"a link to a folder":      {link("2026", "sessions/2027"), "an entry"},
		"a link to a file":        {link(filepath.Base(at), day+"/link"), "an entry"},
		"a broken link":           {link("nowhere", "sessions/2026/12"), "an entry"},
		"a pipe": {func(r *tree) {
			require.NoError(r, unix.Mkfifo(r.below(day+"/pipe"), 0o600))
		}, "an entry"},
		"a second name": {func(r *tree) {
			require.NoError(r, os.Link(r.below(at), filepath.Join(r.TempDir(), "x")))
		}, "another name"},
		"a credential":  {func(r *tree) { r.write(at, swap(whole, "say hello", "say sk-1")) }, "a credential"},
		"half of it":    {func(r *tree) { r.write(at, whole[:len(whole)/2]) }, "no end"},
		"nothing in it": {func(r *tree) { r.write(at, "") }, "1 to 8,388,608 bytes"},
	} {
		r := plant(t)
		r.write(at, whole)
		c.add(r)
		_, err := r.collect("sk-1")
		require.ErrorIs(t, err, ErrUnsupported, name)
		require.ErrorContains(t, err, c.why, name)
	}
	r := plant(t)
	r.write(swap(at, session, turn), whole)
	_, err := r.collect()
	require.ErrorContains(t, err, "not that of the session", "a rollout of another session alone")
	r = plant(t)
	outside := plant(t)
	outside.write(at, whole)
	require.NoError(t, os.Symlink(outside.below("sessions/2026"), r.below("sessions/2026")))
	_, err = r.collect()
	require.ErrorIs(t, err, ErrUnsupported, "a link in place of the year")
	r = plant(t)
	r.folder(day)
	require.NoError(t, os.Symlink(outside.below(at), r.below(at)))
	_, err = r.collect()
	require.ErrorIs(t, err, ErrUnsupported, "a link in place of the file")
}

func TestTheBoundsOfWhatIsCollected(t *testing.T) {
	// rule: P-146, P-148
	for entries, why := range map[int]string{15: "beside the path", 16: "beside the path", 17: "more than 16 entries", 40: "more than 16 entries"} {
		r := plant(t)
		r.write(at, written(good())) // four entries
		for i := range entries - 4 {
			r.folder("sessions/" + string(rune('1'+i/9)) + "00" + string(rune('1'+i%9)))
		}
		_, err := r.collect()
		require.ErrorContains(t, err, why, entries)
	}
	r := plant(t)
	f := func(n int64) error {
		r.write(at, "x")
		require.NoError(t, os.Truncate(r.below(at), n))
		_, err := r.collect()
		return err
	}
	require.ErrorContains(t, f(MaxBytes), "no end")
	require.ErrorContains(t, f(MaxBytes+1), "1 to 8,388,608 bytes")
	require.ErrorContains(t, f(1<<40), "1 to 8,388,608 bytes", "nothing of that size is read")
}

func TestWhatCannotBeReadIsAFailure(t *testing.T) {
	// rule: P-150, F-150
	fails := func(err error) {
		t.Helper()
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrUnsupported)
		require.NotErrorIs(t, err, ErrMissing)
	}
	_, err := Collect(t.Context(), nil, session, nil)
	fails(err)
	r := plant(t)
	r.write(at, written(good()))
	_, err = Collect(t.Context(), r.open(), "", nil)
	fails(err)
	closed := r.open()
	closed.Close()
	_, err = Collect(t.Context(), closed, session, nil)
	fails(err)
	file, err := os.Open(r.below(at))
	require.NoError(t, err)
	defer file.Close()
	_, err = Collect(t.Context(), file, session, nil)
	fails(err)
	gone := plant(t)
	f := gone.open()
	require.NoError(t, os.Remove(gone.dir))
	_, err = Collect(t.Context(), f, session, nil)
	fails(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Collect(ctx, r.open(), session, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoDescriptorIsLeftOpen(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/dev/fd")
		require.NoError(t, err)
		return len(names)
	}
	r := plant(t)
	r.write(at, written(good()))
	f := r.open()
	before := count()
	for _, add := range []func(){
		func() {}, func() { r.write(swap(at, "T03", "T04"), "x") }, func() { r.folder(filepath.Dir(at) + "/x") }, func() { r.folder("sessions/2025") },
	} {
		add()
		Collect(t.Context(), f, session, nil)
		require.Equal(t, before, count())
	}
}
