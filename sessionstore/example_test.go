package sessionstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "sessions-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	store, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }})
	if err != nil {
		panic(err)
	}
	const session = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
	prepared, err := store.Prepare([]byte("the history\n"))
	if err != nil {
		panic(err)
	}
	now := time.Now()
	var reference string
	err = db.Update(func(tx *bbolt.Tx) (err error) {
		reference, err = store.Save(tx, now, prepared, sessionstore.Owner{
			Scope: "who may have it", NativeID: session, Path: "sessions/2026/11/30/rollout-2026-11-30T10-11-12-" + session + ".jsonl",
		})
		return err
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		var snapshot *sessionstore.Snapshot
		refused := false
		err := db.Update(func(tx *bbolt.Tx) (err error) {
			snapshot, err = store.Claim(tx, now, reference, "who may have it", "this run")
			if refused = errors.Is(err, sessionstore.ErrUnavailable); refused {
				return nil // committed all the same: what had expired is gone
			}
			return err
		})
		if err != nil {
			panic(err)
		}
		if !refused {
			fmt.Printf("%s", snapshot.Content)
		}
		fmt.Println(refused)
	}
	// Output:
	// the history
	// false
	// true
}
