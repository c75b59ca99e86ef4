package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
)

// rule: J-108
func TestFoldersAndCopiesHaveTheirModes(t *testing.T) {
	dir, d := project(t)
	info, err := os.Stat(filepath.Join(dir, ".jig"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())

	flow := filepath.Join(dir, "flows", "x")
	require.NoError(t, os.MkdirAll(flow, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(flow, "FLOW.ts"), []byte("x\n"), 0o644))
	p, err := d.Packages().Capture(flow)
	require.NoError(t, err)
	info, err = os.Stat(filepath.Join(p.Dir, "FLOW.ts"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o444), info.Mode().Perm())

	self := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(self, []byte("a program"), 0o755))
	path, digest, err := copyOf(t, d, self)
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(digest, "sha256:"), filepath.Base(path))
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o555), info.Mode().Perm())
}

func TestOpenSaysThatThereIsNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrNone)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".jig"), 0o700))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrNone)
}

func TestAFolderThatIsNotOursAloneIsRefused(t *testing.T) {
	dir := t.TempDir()
	jig := filepath.Join(dir, ".jig")
	require.NoError(t, os.Mkdir(jig, 0o750))
	_, err := Create(dir)
	require.ErrorIs(t, err, ErrUnsafe)
	require.NoError(t, os.Remove(jig))

	require.NoError(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700))
	require.NoError(t, os.Symlink("elsewhere", jig))
	_, err = Create(dir)
	require.ErrorIs(t, err, ErrUnsafe)
	require.NoError(t, os.Remove(jig))

	require.NoError(t, os.WriteFile(jig, nil, 0o600))
	_, err = Create(dir)
	require.ErrorIs(t, err, ErrUnsafe)
}

func TestAnAdmissionFollowsTheOneItWasMadeFor(t *testing.T) {
	_, d := project(t)
	require.Equal(t, Admission{}, admission(t, d))
	require.Equal(t, int64(1), admit(t, d, 0, `{"a":1}`))
	require.Equal(t, int64(2), admit(t, d, 1, `{"a":2}`))
	err := d.Update(func(tx *Tx) error {
		_, err := tx.Admit(1, []byte(`{"a":3}`))
		return err
	})
	require.ErrorIs(t, err, ErrStale)
	a := admission(t, d)
	require.Equal(t, int64(2), a.Number)
	require.JSONEq(t, `{"a":2}`, string(a.Content))
}

// rule: J-109
func TestAnotherFormatIsRefusedAndNotTouched(t *testing.T) {
	dir, d := project(t)
	admit(t, d, 0, `{"a":1}`)
	path := filepath.Join(dir, ".jig", databaseName)
	db, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(b *bolt.Tx) error {
		tx := &Tx{d: d, b: b}
		if err := tx.put(metaBucket, formatKey, formatRecord{Format: "jig-state/2"}); err != nil {
			return err
		}
		return tx.seal()
	}))
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	err = d.Update(func(*Tx) error { return nil })
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "another version of jig")
	require.ErrorContains(t, err, "jig-state/2")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// complaint: B7.63 numtide/treefmt#408 - a second process waited for ever on the first one's database
// rule: J-111
func TestComplaintB7_63Treefmt408ABusyStateIsSaidInTwoSeconds(t *testing.T) {
	dir, d := project(t)
	_, release := other(t, "flock", "STATE_TEST_FILE="+filepath.Join(dir, ".jig", databaseName))
	for _, use := range []func(func(*Tx) error) error{d.View, d.Update} {
		began := time.Now()
		err := use(func(*Tx) error { return nil })
		require.ErrorIs(t, err, ErrBusy)
		took := time.Since(began)
		require.Greater(t, took, BusyTimeout-200*time.Millisecond, "it gave up early")
		require.Less(t, took, 2*BusyTimeout)
	}
	release()
	require.NoError(t, d.View(func(*Tx) error { return nil }))
}

// rule: J-112, J-124
func TestALivingRunHoldsNoDatabase(t *testing.T) {
	dir, d := project(t)
	id, _ := other(t, "run", "STATE_TEST_PROJECT="+dir)
	began := time.Now()
	all := runs(t, d)
	require.Len(t, all, 1)
	require.Equal(t, id, all[0].ID)
	require.True(t, d.Coordinated(id))
	admit(t, d, 0, `{"a":1}`)
	require.Less(t, time.Since(began), BusyTimeout)
}

// rule: J-103, J-104
func TestACopiedStateIsAnotherProject(t *testing.T) {
	dir, d := project(t)
	admit(t, d, 0, `{"a":1}`)
	running := start(t, d)
	ended := start(t, d)
	require.NoError(t, ended.Finish(time.Now(), Terminal{Status: "succeeded", Record: []byte("{}")}, nil))
	require.NoError(t, d.Update(func(tx *Tx) error {
		return tx.Bolt().Bucket([]byte(SessionsBucket)).Put([]byte("reference"), []byte("session"))
	}))
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": []byte("form of p"), "sha256:q": []byte("form of q")}))
	self := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(self, []byte("a program"), 0o755))
	_, _, err := copyOf(t, d, self)
	require.NoError(t, err)
	identity := identityOf(t, d)
	require.Equal(t, identity, identityOf(t, d), "an identity is for good")

	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	require.NoError(t, os.Chmod(filepath.Join(copied, ".jig"), 0o700))
	c, err := Open(copied)
	require.NoError(t, err)
	require.Equal(t, Admission{}, admission(t, c), "nothing is approved in a copy")
	_, err = c.StartRun(time.Now(), time.Now().Add(time.Hour), nothing)
	require.ErrorIs(t, err, ErrMoved)
	_, err = c.PruneRuns(0)
	require.ErrorIs(t, err, ErrMoved)
	found, err := c.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Empty(t, found, "the copy's runs are not for it to judge")

	// A project may bring a .jig: what that says of code nobody here has seen.
	require.NoError(t, c.View(func(tx *Tx) error {
		binary, err := tx.KnownBinary()
		require.Equal(t, KnownBinary{}, binary)
		return err
	}))
	require.Equal(t, KnownCompiled{}, knownCompiled(t, c))
	require.NoError(t, c.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": []byte("form of p")}))

	require.NoError(t, c.Update(func(tx *Tx) error { return tx.Adopt() }))
	require.True(t, knownCompiled(t, c).Has("sha256:jig", "sha256:p"), "what its own review made")
	require.False(t, knownCompiled(t, c).Has("sha256:jig", "sha256:q"))
	require.NotEqual(t, identity, identityOf(t, c))
	left := runs(t, c)
	require.Len(t, left, 1, "a run that was alive elsewhere never was one here")
	require.Equal(t, ended.ID, left[0].ID)
	require.NoError(t, c.View(func(tx *Tx) error {
		require.Nil(t, tx.Bolt().Bucket([]byte(SessionsBucket)).Get([]byte("reference")))
		return nil
	}))
	require.Equal(t, int64(1), admit(t, c, 0, `{"b":1}`))

	require.Equal(t, identity, identityOf(t, d), "the original is as it was")
	require.Equal(t, int64(1), admission(t, d).Number)
	require.NoError(t, running.Finish(time.Now(), Terminal{Status: "succeeded", Record: []byte("{}")}, nil))
}

func identityOf(t *testing.T, d *Dir) string {
	t.Helper()
	identity := ""
	require.NoError(t, d.View(func(tx *Tx) error {
		identity = tx.Project()
		return nil
	}))
	return identity
}

func TestTwoCreatorsMakeOneState(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			d, err := Create(dir)
			if err == nil {
				err = d.View(func(*Tx) error { return nil })
			}
			done <- err
		}()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".jig"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.ElementsMatch(t, []string{binName, databaseName, packagesName, runsName}, names)
}
