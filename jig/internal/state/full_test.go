package state

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// complaint: B7.64 can1357/oh-my-pi#8596 - on a full disk a record was torn, and saving went on failing in silence
func TestComplaintB7_64OhMyPi8596AFullDiskIsAFailureAndTearsNothing(t *testing.T) {
	if dir := os.Getenv("STATE_TEST_FULL"); dir != "" {
		fillDisk(t, dir)
		return
	}
	onSmallDisk(t, "STATE_TEST_FULL")
}

// onSmallDisk runs the test again in a mount namespace of its own, with a disk of
// 2 MiB at the folder that the variable names.
func onSmallDisk(t *testing.T, variable string) {
	t.Helper()
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", `mount -t tmpfs -o size=2m,mode=0700 full "$2"; exec "$0" -test.run "$1"`,
		os.Args[0], "^"+t.Name()+"$", t.TempDir())
	cmd.Env = append(os.Environ(), variable+"="+cmd.Args[len(cmd.Args)-1])
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS")
}

func fillDisk(t *testing.T, dir string) {
	d, err := Create(dir)
	require.NoError(t, err)
	admit(t, d, 0, `{"a":1}`)
	r := start(t, d)
	large := make([]byte, 2100<<10)
	rand.Read(large)
	err = r.Finish(time.Now(), Terminal{Status: "succeeded", Record: large}, nil)
	require.ErrorIs(t, err, ErrUnsafe, "a result that was not kept is not kept in silence")
	require.EqualError(t, err, "the state file cannot be written")
	require.Contains(t, Correction(err), "make room on the disk")
	require.Equal(t, int64(1), admission(t, d).Number)
	all := runs(t, d)
	require.Len(t, all, 1)
	require.True(t, all[0].Alive())

	// Until the last byte: what is there stays, what does not fit is refused.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "filler"), nil, 0o600))
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_WRONLY, 0)
	require.NoError(t, err)
	for {
		if _, err := f.Write(large[:4096]); err != nil {
			break
		}
	}
	require.NoError(t, f.Close())
	for base := int64(1); base < 200; base++ {
		err = d.Update(func(tx *Tx) error {
			_, err := tx.Admit(base, []byte(`{"a":"`+string(longer(base))+`"}`))
			return err
		})
		now := admission(t, d).Number
		if err != nil {
			require.Equal(t, base, now)
			break
		}
		require.Equal(t, base+1, now)
	}
	require.Error(t, err)

	require.NoError(t, os.Remove(filepath.Join(dir, "filler")))
	found, err := d.Recover(t.Context(), lost, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, StatusLost, runs(t, d)[0].Status)
}

// longer is text that is longer each time, so that the file has to grow.
func longer(n int64) []byte {
	b := make([]byte, n*4000)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// A disk that became read-only is no damage.
func TestAReadOnlyDiskIsNotADamagedState(t *testing.T) {
	if dir := os.Getenv("STATE_TEST_READONLY"); dir != "" {
		d, err := Create(dir)
		require.NoError(t, err)
		require.NoError(t, exec.Command("mount", "-o", "remount,ro", dir).Run())
		err = d.Update(func(*Tx) error { return nil })
		require.ErrorIs(t, err, ErrUnsafe)
		require.Contains(t, Correction(err), "read-only")
		require.NoError(t, d.View(func(*Tx) error { return nil }))
		return
	}
	onSmallDisk(t, "STATE_TEST_READONLY")
}
