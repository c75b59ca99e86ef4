package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Lost says how the record of a dead run reads.
type Lost func(RunRecord) (terminal []byte, err error)

// StatusLost is the status of a run whose coordinator died.
const StatusLost = "lost"

// Unsettled says whether there is anything for [Dir.Recover] to look at: a run
// without a terminal, or the folder of one.
func (t *Tx) Unsettled() (bool, error) {
	if t.moved {
		return false, nil // a copy's runs are those of the original
	}
	h, err := t.history()
	return h.alive > 0 || t.d.litter(), err
}

// Recover finds the runs that nobody coordinates any more, waits until their
// scopes are gone, and records that they were lost. with is called in the
// transaction that does so; it may be nil. It returns the runs it recorded.
func (d *Dir) Recover(ctx context.Context, lost Lost, with func(*Tx, RunRecord) error) ([]RunRecord, error) {
	var alive []RunRecord
	var copied bool
	err := d.View(func(t *Tx) error {
		copied = t.Own() != nil
		runs, err := t.Runs()
		for _, r := range runs {
			if r.Alive() {
				alive = append(alive, r)
			}
		}
		return err
	})
	if err != nil || copied {
		return nil, err // a copy's runs are those of the original
	}
	var recovered []RunRecord
	for _, r := range alive {
		done, err := d.recoverRun(ctx, r, lost, with)
		if err != nil {
			return recovered, err
		}
		if done {
			recovered = append(recovered, r)
		}
	}
	if d.litter() {
		return recovered, d.clear()
	}
	return recovered, nil
}

func (d *Dir) recoverRun(ctx context.Context, r RunRecord, lost Lost, with func(*Tx, RunRecord) error) (bool, error) {
	coordinator, free, err := d.take(r.ID, coordinatorName)
	if err != nil || !free {
		return false, err
	}
	defer coordinator.Close()
	scope, err := d.waitScope(ctx, r.ID)
	if err != nil {
		return false, err
	}
	defer scope.Close()
	terminal, err := lost(r)
	if err != nil {
		return false, err
	}
	done := false
	err = d.Update(func(t *Tx) error {
		now, found, err := t.Run(r.ID)
		if err != nil || !found || !now.Alive() || now.Epoch != r.Epoch {
			return err // it ended between our look and our lock
		}
		done = true
		return t.finish(now, time.Now(), Terminal{Status: StatusLost, Record: terminal}, with)
	})
	if err == nil {
		os.RemoveAll(d.file(runsName, r.ID))
	}
	return done && err == nil, err
}

// take opens a lock of a run and takes it if it is free. Where the file is gone
// there is nobody who could hold it.
func (d *Dir) take(id, name string) (f *os.File, free bool, err error) {
	f, err = openFile(d.file(runsName, id, name), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, failBecause(ErrInvalid, err, "the lock of a run cannot be opened")
	}
	switch err := tryLock(f, true); {
	case errors.Is(err, errLocked):
		f.Close()
		return nil, false, nil
	case err != nil:
		f.Close()
		return nil, false, failBecause(ErrInvalid, err, "the lock of a run cannot be taken")
	}
	return f, true, nil
}

// waitScope waits until no scope of a dead run is alive.
func (d *Dir) waitScope(ctx context.Context, id string) (*os.File, error) {
	timeout := time.NewTimer(scopeTimeout)
	defer timeout.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	lock := d.file(runsName, id, scopeName)
	for {
		f, free, err := d.take(id, scopeName)
		if err != nil || free {
			return f, err
		}
		endOrphans(lock)
		select {
		case <-again.C:
		case <-timeout.C:
			return nil, fail(ErrInvalid, "run %s was lost and something of it is still alive%s; end it (kill -9), then try again", id, named(holders(lock)))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// named is what a person ends.
func named(pids []int) string {
	if len(pids) == 0 {
		return ""
	}
	text := make([]string, len(pids))
	for i, pid := range pids {
		text[i] = strconv.Itoa(pid)
	}
	return " (process " + strings.Join(text, ", ") + ")"
}

// scopeTimeout is shortened by tests.
var scopeTimeout = ScopeTimeout

// litter says whether there may be folders of runs that have no use any more.
func (d *Dir) litter() bool {
	entries, err := os.ReadDir(d.file(runsName))
	return err == nil && len(entries) > 0
}

// clear removes the folders of runs that have ended or were never recorded. It
// does so in a transaction, because runs begin in one.
func (d *Dir) clear() error {
	return d.Update(func(t *Tx) error {
		entries, err := os.ReadDir(d.file(runsName))
		if err != nil {
			return failBecause(ErrInvalid, err, "the folder of the runs cannot be read")
		}
		for _, e := range entries {
			r, found, err := t.Run(e.Name())
			if err != nil {
				return err
			}
			if found && r.Alive() {
				continue
			}
			f, free, err := d.take(e.Name(), coordinatorName)
			if err != nil || !free {
				continue
			}
			os.RemoveAll(d.file(runsName, e.Name()))
			if f != nil {
				f.Close()
			}
		}
		return nil
	})
}

// Coordinated says whether somebody coordinates the run now. It never waits.
func (d *Dir) Coordinated(id string) bool {
	f, free, err := d.take(id, coordinatorName)
	if f != nil {
		f.Close()
	}
	return err == nil && !free
}
