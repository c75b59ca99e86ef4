package state

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	coordinatorName = "coordinator.lock"
	scopeName       = "scope.lock"
	// What follows a run's id in the keys of its terminal record and of what was
	// kept of its standard error.
	recordSuffix = "/record"
	stderrSuffix = "/stderr"
)

// RunRecord is what the state knows of a run. Times are Unix milliseconds.
type RunRecord struct {
	ID         string `json:"id"`
	Target     string `json:"target"`
	Generation int64  `json:"generation"`
	Epoch      int64  `json:"epoch"`
	Started    int64  `json:"started"`
	Deadline   int64  `json:"deadline"`
	Ended      int64  `json:"ended,omitzero"`  // 0: it has no terminal
	Status     string `json:"status,omitzero"` // of the terminal
	Bytes      int64  `json:"bytes,omitzero"`  // of the terminal
	// Packages are the captured packages that the run uses.
	Packages []string `json:"packages"`
}

// Alive says that the run has no terminal. Whether somebody still runs it, its
// lock tells.
func (r RunRecord) Alive() bool { return r.Ended == 0 }

// Runs returns all runs, the oldest first.
func (t *Tx) Runs() ([]RunRecord, error) {
	var runs []RunRecord
	var keys []string
	err := t.b.Bucket([]byte(runsBucket)).ForEach(func(key, _ []byte) error {
		if !strings.Contains(string(key), "/") {
			keys = append(keys, string(key))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		var r RunRecord
		if err := t.get(runsBucket, key, &r); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b RunRecord) int {
		if a.Epoch != b.Epoch {
			return int(a.Epoch - b.Epoch)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return runs, nil
}

// history is what the runs' keys tell without reading what stands there: how many
// are alive, how many have ended, and the bytes of their terminals.
type history struct {
	alive, ended int
	bytes        int64
}

// history counts the runs, and finds out whether their records are what was
// written. A run has a terminal record exactly if it has ended.
func (t *Tx) history() (h history, err error) {
	err = t.b.Bucket([]byte(runsBucket)).ForEach(func(key, stored []byte) error {
		switch _, part, suffix := strings.Cut(string(key), "/"); {
		case !suffix:
			h.alive++
			_, err := intact(runsBucket, string(key), stored)
			return err
		case "/"+part == recordSuffix:
			h.alive--
			h.ended++
		}
		h.bytes += int64(len(stored)) - sumBytes
		return nil
	})
	return h, err
}

// Terminal is how a run ended.
type Terminal struct {
	Status string
	Record []byte // what was told of it
	Stderr []byte // what was kept of its standard error
}

// Run returns one run.
func (t *Tx) Run(id string) (r RunRecord, found bool, err error) {
	if strings.Contains(id, "/") || t.b.Bucket([]byte(runsBucket)).Get([]byte(id)) == nil {
		return r, false, nil
	}
	return r, true, t.get(runsBucket, id, &r)
}

// Terminal returns how r ended.
func (t *Tx) Terminal(r RunRecord) (end Terminal, err error) {
	end.Status = r.Status
	if end.Record, err = t.getRaw(runsBucket, r.ID+recordSuffix); err != nil {
		return end, err
	}
	end.Stderr, err = t.getRaw(runsBucket, r.ID+stderrSuffix)
	return end, err
}

// Run is a run that this process coordinates. It is safe for concurrent use.
type Run struct {
	ID string

	d           *Dir
	epoch       int64
	coordinator *os.File
	scope       *os.File

	mu       sync.Mutex
	released bool // guarded by mu
}

// StartRun records a new run and takes its locks. fill names what it runs, from
// what the same transaction says is admitted; an error of it is returned as it
// is, and nothing has been recorded.
func (d *Dir) StartRun(started, deadline time.Time, fill func(*Tx) (RunRecord, error)) (*Run, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	r := &Run{ID: id.String(), d: d}
	err = d.Update(func(t *Tx) error {
		if err := t.Own(); err != nil {
			return err
		}
		record, err := fill(t)
		if err != nil {
			return err
		}
		var epoch epochRecord
		if err := t.get(metaBucket, epochKey, &epoch); err != nil {
			return err
		}
		epoch.Epoch++
		record.ID, record.Epoch = r.ID, epoch.Epoch
		record.Started, record.Deadline = started.UnixMilli(), deadline.UnixMilli()
		if record.Packages == nil {
			record.Packages = []string{}
		}
		if err := t.put(metaBucket, epochKey, epoch); err != nil {
			return err
		}
		if err := t.put(runsBucket, r.ID, record); err != nil {
			return err
		}
		// The locks are held before the record can be seen, and whoever clears
		// the folder of a run without a record does so in a transaction too.
		r.epoch = epoch.Epoch
		return r.lock()
	})
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

func (r *Run) lock() (err error) {
	folder := r.d.file(runsName, r.ID)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return failBecause(ErrUnsafe, err, "the folder of the run cannot be made")
	}
	if r.coordinator, err = lockNew(r.d.file(runsName, r.ID, coordinatorName)); err == nil {
		r.scope, err = lockNew(r.d.file(runsName, r.ID, scopeName))
	}
	if err != nil {
		return failBecause(ErrUnsafe, err, "the locks of the run cannot be taken")
	}
	return nil
}

func lockNew(path string) (*os.File, error) {
	f, err := openFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, true); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ScopeLock is the open lock that every scope of the run inherits.
func (r *Run) ScopeLock() *os.File { return r.scope }

// Authorise returns [ErrAuthority] unless the run still is ours: recorded, ours
// by its epoch, without a terminal, before its deadline, its lock held.
func (r *Run) Authorise(t *Tx, now time.Time) error {
	record, err := r.own(t)
	if err != nil {
		return err
	}
	if now.UnixMilli() >= record.Deadline {
		return fail(ErrAuthority, "the run's deadline has passed")
	}
	return nil
}

func (r *Run) own(t *Tx) (RunRecord, error) {
	r.mu.Lock()
	released := r.released
	r.mu.Unlock()
	record, found, err := t.Run(r.ID)
	switch {
	case err != nil:
		return record, err
	case released || !found || !record.Alive() || record.Epoch != r.epoch || t.Own() != nil:
		return record, fail(ErrAuthority, "the run is not coordinated by this process any more")
	}
	return record, nil
}

// Finish records how the run ended, and in the same transaction does what with
// says, which may be nil. Then it lets go of the run's locks and folder. After an
// error the run still has no terminal.
func (r *Run) Finish(ended time.Time, end Terminal, with func(*Tx, RunRecord) error) error {
	err := r.d.Update(func(t *Tx) error {
		record, err := r.own(t)
		if err != nil {
			return err
		}
		return t.finish(record, ended, end, with)
	})
	r.release()
	return err
}

func (t *Tx) finish(record RunRecord, ended time.Time, end Terminal, with func(*Tx, RunRecord) error) error {
	if with != nil {
		if err := with(t, record); err != nil {
			return err
		}
	}
	record.Ended, record.Status, record.Bytes = max(ended.UnixMilli(), 1), end.Status, int64(len(end.Record)+len(end.Stderr))
	if err := t.putRaw(runsBucket, record.ID+recordSuffix, end.Record); err != nil {
		return err
	}
	if err := t.putRaw(runsBucket, record.ID+stderrSuffix, end.Stderr); err != nil {
		return err
	}
	if err := t.put(runsBucket, record.ID, record); err != nil {
		return err
	}
	_, err := t.prune(MaxRuns, MaxRunBytes)
	return err
}

// release gives the locks back and clears the folder.
func (r *Run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return
	}
	r.released = true
	// The folder goes before the lock: nobody then finds a free lock without a
	// record.
	os.RemoveAll(r.d.file(runsName, r.ID))
	for _, f := range []*os.File{r.coordinator, r.scope} {
		if f != nil {
			f.Close()
		}
	}
}

// PruneRuns forgets ended runs until at most keep of them are left, the oldest
// first, and returns how many it forgot.
func (d *Dir) PruneRuns(keep int) (forgotten int, err error) {
	err = d.Update(func(t *Tx) error {
		if err := t.Own(); err != nil {
			return err
		}
		forgotten, err = t.prune(keep, MaxRunBytes)
		return err
	})
	return forgotten, err
}

func (t *Tx) prune(keep int, keepBytes int64) (int, error) {
	// Most often there is nothing to forget, and then no record has to be read.
	if h, err := t.history(); err != nil || h.ended <= keep && h.bytes <= keepBytes {
		return 0, err
	}
	runs, err := t.Runs()
	if err != nil {
		return 0, err
	}
	forgotten, kept, size := 0, 0, int64(0)
	for _, r := range slices.Backward(runs) {
		if r.Alive() {
			continue
		}
		kept++
		size += r.Bytes
		if kept <= keep && (size <= keepBytes || kept == 1) {
			continue
		}
		forgotten++
		if err := errors.Join(t.delete(runsBucket, r.ID), t.delete(runsBucket, r.ID+recordSuffix), t.delete(runsBucket, r.ID+stderrSuffix)); err != nil {
			return 0, err
		}
	}
	return forgotten, nil
}
