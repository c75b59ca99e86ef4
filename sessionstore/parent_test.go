package sessionstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

func TestAStoreInsideABucketOfTheCallers(t *testing.T) {
	// rule: J-115
	r := newRig(t)
	outside := r.Store
	var err error
	r.Store, err = sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }, Parent: "mine"})
	require.NoError(t, err)
	_, err = r.save(noon, "x", "")
	require.ErrorIs(t, err, sessionstore.ErrCorrupt, "the bucket is the caller's to make")
	require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("mine")); return err }))
	ref := r.mustSave(noon, "x", "")
	require.Equal(t, 1, r.count(noon))
	rows, content, claims := r.entries()
	require.Equal(t, []int{0, 0, 0}, []int{rows, content, claims}, "nothing lies beside it")

	inside := r.Store
	r.Store = outside
	require.Zero(t, r.count(noon))
	_, err = r.claim(noon, ref, scope, "root")
	require.ErrorIs(t, err, sessionstore.ErrUnavailable)
	r.Store = inside
	_, err = r.claim(noon, ref, scope, "root")
	require.NoError(t, err)

	r.mustSave(noon, "y", "")
	require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket([]byte("mine")); err != nil {
			return err
		}
		_, err := tx.CreateBucket([]byte("mine"))
		return err
	}))
	require.Zero(t, r.count(noon), "everything went with the bucket")
}
