package state

import bolt "go.etcd.io/bbolt"

// Guard makes of check what the store of sessions asks inside a transaction, so
// that whoever uses that store needs no database of its own.
func Guard(check func() error) func(*bolt.Tx) error {
	return func(*bolt.Tx) error { return check() }
}
