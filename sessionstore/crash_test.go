package sessionstore_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// TestPowerCutLeavesEitherState rebuilds the database file as a power cut could
// leave it. bbolt writes the pages of a transaction to places nothing refers to,
// syncs, and then writes one meta page: so any part of the former without the
// latter has to show the old state, and any part of the latter the old or the
// new one.
func TestPowerCutLeavesEitherState(t *testing.T) {
	// rule: F-137
	small, large := strings.Repeat("old ", 5000), noise(300_000) // several chunks of two frames
	claim := func(r *rig, ref string) error { _, err := r.claim(noon, ref, scope, "root"); return err }
	save := func(content string) func(*rig, string) error {
		return func(r *rig, _ string) error { _, err := r.save(noon, content, ""); return err }
	}
	for name, c := range map[string]struct {
		old    string
		change func(r *rig, ref string) error
	}{
		"save":        {small, save(strings.Repeat("new ", 5000))},
		"save large":  {small, save(large)},
		"claim":       {small, claim},
		"claim large": {large, claim},
		"settle":      {small, func(r *rig, _ string) error { return r.settle(noon, "tied") }},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "state.db")
			r := &rig{TB: t}
			var err error
			r.db, err = bbolt.Open(file, 0o600, nil)
			require.NoError(t, err)
			r.Store, err = sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }})
			require.NoError(t, err)
			ref := r.mustSave(noon, c.old, "")
			r.mustSave(noon, "tied", "tied")
			before, err := os.ReadFile(file)
			require.NoError(t, err)
			old := state(t, file, before)
			require.NoError(t, c.change(r, ref))
			pageSize := r.db.Info().PageSize
			require.NoError(t, r.db.Close())
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			fresh := state(t, file, after)
			require.NotEqual(t, old, fresh)

			meta := 2 * pageSize
			cut := func(data, first int) []byte {
				b := bytes.Clone(after)
				copy(b[:meta], before[:meta])
				rest := b[meta+data:] // as it was; zero where the file has grown
				clear(rest[copy(rest, before[min(meta+data, len(before)):]):])
				copy(b[:first], after[:first])
				return b
			}
			step, header := max(1, (len(after)-meta)/97), 61
			switch {
			case *long && len(after) < 256<<10:
				step, header = 1, 1
			case *long: // a large one has too many bytes to cut at each
				step = 509
			}
			for n := 0; n < len(after)-meta; n += step {
				require.True(t, old == state(t, file, cut(n, 0)), "%d bytes of data", n)
			}
			news := 0
			for n := 0; n <= meta; n += header {
				got := state(t, file, cut(len(after)-meta, n))
				if got != old {
					require.True(t, fresh == got, "%d bytes of the meta pages", n)
					news++
				}
			}
			require.NotZero(t, news)
		})
	}
}

// state opens the bytes as a database and says in words what the store holds.
func state(t *testing.T, file string, content []byte) string {
	t.Helper()
	copied := filepath.Join(filepath.Dir(file), "copy.db")
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	db, err := bbolt.Open(copied, 0o600, &bbolt.Options{ReadOnly: true})
	require.NoError(t, err)
	defer db.Close()
	var words strings.Builder
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		for _, name := range []string{"session-rows", "session-content", "session-claims"} {
			if b := tx.Bucket([]byte(name)); b != nil {
				words.WriteString(name)
				err := b.ForEach(func(k, v []byte) error {
					words.WriteString(" " + string(k) + "=")
					words.Write(v)
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	}))
	return words.String()
}
