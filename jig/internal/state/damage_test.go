package state

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// Whatever byte of the file changes, the state reads as it was or is refused.
//
// rule: J-068
func TestAChangedByteNeverReadsAsAnotherState(t *testing.T) {
	dir, d := project(t)
	admit(t, d, 0, `{"meaning":"approved"}`)
	for range 3 {
		r := start(t, d)
		require.NoError(t, r.Finish(time.Now(), Terminal{Status: "succeeded", Record: []byte(`{"status":"succeeded"}`), Stderr: []byte("said")}, nil))
	}
	path := filepath.Join(dir, ".jig", databaseName)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	want := everything(d)
	require.NotContains(t, want, "error")

	step := 97
	if *long {
		step = 1
	}
	refused := 0
	for at := 0; at < len(whole); at += step {
		broken := append([]byte(nil), whole...)
		broken[at] ^= 0x41
		require.NoError(t, os.WriteFile(path, broken, 0o600))
		got := everything(d)
		if got != want {
			require.Equal(t, "error: invalid", got, "byte %d", at)
			refused++
		}
	}
	require.Positive(t, refused)
	for _, size := range []int{0, 1, 4096, 8192, len(whole) - 4096} {
		require.NoError(t, os.WriteFile(path, whole[:size], 0o600))
		got := everything(d)
		if got != want {
			require.Equal(t, "error: invalid", got, "cut to %d", size)
		}
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.Equal(t, want, everything(d))
}

// everything is all that the state says, or what kind of error it is. It looks
// through a transaction that could write, which reads most.
func everything(d *Dir) string {
	said := ""
	look := func(tx *Tx) error {
		a, err := tx.Admission()
		if err != nil {
			return err
		}
		said = fmt.Sprintf("%s %d %s", tx.Project(), a.Number, a.Content)
		all, err := tx.Runs()
		if err != nil {
			return err
		}
		for _, r := range all {
			end, err := tx.Terminal(r)
			if err != nil {
				return err
			}
			said += fmt.Sprintf(" %v %s %s", r, end.Record, end.Stderr)
		}
		return nil
	}
	for _, use := range []func(func(*Tx) error) error{d.View, func(fn func(*Tx) error) error {
		err := d.Update(func(tx *Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			return errRollBack
		})
		if err == errRollBack {
			return nil
		}
		return err
	}} {
		if err := use(look); err != nil {
			return "error: " + kind(err)
		}
	}
	return said
}
