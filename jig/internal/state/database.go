package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// View reads the state in one transaction.
func (d *Dir) View(fn func(*Tx) error) error { return d.transact(true, fn) }

// Update changes the state in one transaction, which is durable when Update
// returns nil.
func (d *Dir) Update(fn func(*Tx) error) error { return d.transact(false, fn) }

func (d *Dir) transact(readOnly bool, fn func(*Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	db, err := d.open(readOnly)
	if err != nil {
		return err
	}
	grown := false
	err = guard(func() error {
		run := db.Update
		if readOnly {
			run = db.View
		}
		return run(func(b *bolt.Tx) error {
			t, err := d.begin(b)
			if err != nil {
				return err
			}
			if err := fn(t); err != nil || readOnly {
				return err
			}
			grown = b.Size() > CompactBytes
			return t.seal()
		})
	})
	if err == nil && grown {
		err = guard(func() error { return d.compact(db) })
	}
	if closed := db.Close(); err == nil && closed != nil {
		err = failBecause(ErrInvalid, closed, "the state could not be closed")
	}
	return storage(err)
}

// storage puts an error of the database under a sentence of ours.
func storage(err error) error {
	var own *failure
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, bolt.ErrTimeout):
		return failBecause(ErrBusy, err, "another jig holds the project's state; try again")
	case unwritable(err):
		return failBecause(ErrUnsafe, err, "the state file cannot be written")
	}
	return err
}

// unwritable says whether the disk or somebody's rights are in the way, and nothing
// is wrong with the state.
func unwritable(err error) bool {
	for _, is := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, fs.ErrPermission} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// guard turns what the database does over a broken file into an error.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = failBecause(ErrInvalid, fmt.Errorf("%v", r), "the state file is damaged")
		}
	}()
	return fn()
}

// open opens the database file under its lock and looks at it before the database
// does. The file may have been replaced by a compacted one while the lock was
// waited for; then it is opened again.
func (d *Dir) open(readOnly bool) (*bolt.DB, error) {
	deadline := time.Now().Add(BusyTimeout)
	options := &bolt.Options{
		ReadOnly: readOnly, Timeout: BusyTimeout,
		OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) {
			return d.openLocked(name, flag&^os.O_CREATE, !readOnly, deadline)
		},
	}
	var db *bolt.DB
	err := guard(func() (err error) {
		db, err = bolt.Open(d.file(databaseName), 0o600, options)
		return err
	})
	var own *failure
	switch {
	case err == nil || errors.As(err, &own):
		return db, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(ErrNone, "nothing has been reviewed here yet")
	}
	if what := instead(d.file(databaseName)); what != "" {
		return nil, failBecause(ErrInvalid, err, notTheFile(what))
	}
	if unwritable(err) {
		return nil, failBecause(ErrUnsafe, err, "the state file cannot be opened")
	}
	return nil, failBecause(ErrInvalid, err, "the state file cannot be used")
}

// openLocked opens the file and takes its lock, which the database then takes
// once more and finds that it has it.
func (d *Dir) openLocked(name string, flag int, exclusive bool, deadline time.Time) (*os.File, error) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		f, err := openFile(name, flag)
		if err != nil {
			return nil, err
		}
		err = tryLock(f, exclusive)
		same := false
		if err == nil {
			same, err = d.current(f)
		}
		if err == nil && same {
			if err = verify(f); err == nil {
				return f, nil
			}
		}
		f.Close()
		switch {
		case err != nil && !errors.Is(err, errLocked):
			return nil, err
		case time.Now().After(deadline):
			return nil, fail(ErrBusy, "another jig holds the project's state; try again")
		}
		<-again.C
	}
}

// current says whether f still is what the database's name stands for.
func (d *Dir) current(f *os.File) (bool, error) {
	ours, err := f.Stat()
	if err != nil {
		return false, failBecause(ErrInvalid, err, "the state file cannot be examined")
	}
	named, err := os.Lstat(d.file(databaseName))
	if err != nil {
		return false, failBecause(ErrInvalid, err, "the state file is gone")
	}
	if what := instead(d.file(databaseName)); what != "" {
		return false, fail(ErrInvalid, "%s", notTheFile(what))
	}
	return os.SameFile(ours, named), nil
}

// notTheFile names what stands where the database should.
func notTheFile(what string) string {
	return Folder + "/" + databaseName + " is " + what + ", and not the file that jig keeps its state in"
}

var native = binary.NativeEndian

// initialise makes the database whole beside its name and then gives it the
// name, so that nobody ever sees half of it.
func (d *Dir) initialise() error {
	f, err := d.Temporary("state")
	if err != nil {
		return err
	}
	temporary := f.Name()
	defer os.Remove(temporary)
	f.Close()
	db, err := bolt.Open(temporary, 0o600, &bolt.Options{Timeout: BusyTimeout})
	if err != nil {
		return failBecause(ErrInvalid, err, "the state file cannot be made")
	}
	err = db.Update(func(b *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := b.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		t := &Tx{d: d, b: b}
		if err := t.put(metaBucket, formatKey, formatRecord{Format: format}); err != nil {
			return err
		}
		if err := t.put(metaBucket, projectKey, projectRecord{ID: uuid.New(), Place: d.place}); err != nil {
			return err
		}
		if err := t.put(metaBucket, epochKey, epochRecord{}); err != nil {
			return err
		}
		if err := t.put(admissionBucket, headKey, Admission{}); err != nil {
			return err
		}
		return t.seal()
	})
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failBecause(ErrInvalid, err, "the state file cannot be made")
	}
	// A link, not a rename: who comes second must not replace the first's.
	if err := os.Link(temporary, d.file(databaseName)); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Lstat(d.file(databaseName)); there != nil {
			return failBecause(ErrUnsafe, err, "the state file cannot be made")
		}
	}
	return syncFolder(d.path)
}

// compact writes the database anew without its free pages, if half of it is
// free. It holds the lock of the old file; who waits for that finds out by
// [Dir.current].
func (d *Dir) compact(db *bolt.DB) error {
	free := int64(db.Stats().FreePageN+db.Stats().PendingPageN) * int64(db.Info().PageSize)
	info, err := os.Lstat(d.file(databaseName))
	if err != nil || info.Size() <= CompactBytes || free < info.Size()/2 {
		return nil
	}
	f, err := d.Temporary("compact")
	if err != nil {
		return nil // a full disk is no reason to fail what has been committed
	}
	temporary := f.Name()
	defer os.Remove(temporary)
	f.Close()
	into, err := bolt.Open(temporary, 0o600, &bolt.Options{Timeout: BusyTimeout})
	if err != nil {
		return nil
	}
	err = bolt.Compact(into, db, 1<<20)
	if closed := into.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil
	}
	if err := os.Rename(temporary, d.file(databaseName)); err != nil {
		return nil
	}
	return syncFolder(d.path)
}
