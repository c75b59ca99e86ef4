package sessionstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

func TestExpiry(t *testing.T) {
	// rule: P-153
	for _, c := range []struct {
		after time.Duration
		alive bool
	}{
		{24*time.Hour - time.Millisecond, true}, {24 * time.Hour, false}, {24*time.Hour + time.Millisecond, false},
		{-time.Millisecond, false}, {0, true},
	} {
		r := newRig(t)
		ref := r.mustSave(noon, "x", "")
		at := noon.Add(c.after)
		require.Equal(t, c.alive, r.count(at) == 1, c.after)
		_, err := r.claim(at, ref, scope, "root")
		require.Equal(t, c.alive, err == nil, c.after)
		if !c.alive {
			require.ErrorIs(t, err, sessionstore.ErrUnavailable)
		}
	}
}

func TestEveryAccessDeletesWhatIsNotAvailableAnyMore(t *testing.T) {
	// rule: P-154
	const unknown = "3b241101-e2bb-4255-8caf-4136c566a962"
	for name, access := range map[string]func(r *rig, tx *bbolt.Tx, at time.Time) error{
		"a save": func(r *rig, tx *bbolt.Tx, at time.Time) error {
			ref, err := r.Save(tx, at, r.prepare("y"), owner(""))
			if err == nil {
				_, err = r.Claim(tx, at, ref, scope, "root")
			}
			return err
		},
		"a refused claim": func(r *rig, tx *bbolt.Tx, at time.Time) error {
			_, err := r.Claim(tx, at, unknown, scope, "root")
			require.ErrorIs(r, err, sessionstore.ErrUnavailable)
			return nil
		},
		"a refused deletion": func(r *rig, tx *bbolt.Tx, at time.Time) error {
			require.ErrorIs(r, r.Delete(tx, at, unknown), sessionstore.ErrUnavailable)
			return nil
		},
		"the end of a root": func(r *rig, tx *bbolt.Tx, at time.Time) error { return r.Settle(tx, at, "another") },
	} {
		for after, left := range map[time.Duration]int{24*time.Hour - time.Millisecond: 1, 24 * time.Hour: 0, 24*time.Hour + time.Millisecond: 0, 0: 1, -time.Millisecond: 0} {
			r := newRig(t)
			r.mustSave(noon, "x", "")
			require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error { return access(r, tx, noon.Add(after)) }))
			rows, content, _ := r.entries()
			require.Equal(t, []int{left, left}, []int{rows, content}, "%s %v later", name, after)
		}
	}
	// A save that has no place is one as well.
	r := newRig(t, sessionstore.Limits{Snapshots: 2})
	r.mustSave(noon, "x", "")
	r.mustSave(noon.Add(time.Hour), "x", "")
	narrow, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }, Limits: sessionstore.Limits{Snapshots: 1}})
	require.NoError(t, err)
	p := r.prepare("y")
	require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error {
		_, err := narrow.Save(tx, noon.Add(24*time.Hour), p, owner(""))
		require.ErrorIs(t, err, sessionstore.ErrCapacity)
		return nil
	}))
	rows, content, _ := r.entries()
	require.Equal(t, []int{1, 1}, []int{rows, content})
}
