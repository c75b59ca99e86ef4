package state

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// Reviewing is held while a review captures packages and until it is over: what
// it captured belongs to no admitted generation yet and must not be swept away.
type Reviewing struct{ f *os.File }

// Review begins a review. Several may be under way at once.
func (d *Dir) Review() (*Reviewing, error) {
	f, err := openFile(d.file(reviewName), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, failBecause(ErrUnsafe, err, "the lock of reviews cannot be opened")
	}
	if errors.Is(tryLock(f, true), errLocked) {
		endOrphans(f.Name()) // of a review that was killed
	}
	if err := tryLock(f, false); err != nil {
		f.Close()
		return nil, failBecause(ErrBusy, err, "another jig is clearing up; try again")
	}
	return &Reviewing{f}, nil
}

// Lock is for the scopes of the review, which keep it until they are dead.
func (r *Reviewing) Lock() *os.File { return r.f }

// End ends the review.
func (r *Reviewing) End() { r.f.Close() }

// Sweep removes captured packages and copies of jig that neither keep nor a
// living run names. It does nothing while a review is under way. r is the
// caller's own review, if it is in one.
func (d *Dir) Sweep(r *Reviewing, keep func(*Tx) (packages []string, err error)) error {
	f := (*os.File)(nil)
	if r != nil {
		f = r.f
	} else {
		own, err := openFile(d.file(reviewName), os.O_CREATE|os.O_RDWR)
		if err != nil {
			return failBecause(ErrUnsafe, err, "the lock of reviews cannot be opened")
		}
		defer own.Close()
		f = own
	}
	if err := tryLock(f, true); errors.Is(err, errLocked) {
		return nil
	} else if err != nil {
		return failBecause(ErrUnsafe, err, "the lock of reviews cannot be taken")
	}
	return d.Update(func(t *Tx) error {
		keeping, err := keep(t)
		if err != nil {
			return err
		}
		runs, err := t.Runs()
		if err != nil {
			return err
		}
		alive := false
		for _, run := range runs {
			if run.Alive() {
				alive = true
				keeping = append(keeping, run.Packages...)
			}
		}
		d.sweepTemporary()
		if err := d.sweepFolder(packagesName, keeping); err != nil {
			return err
		}
		if err := t.sweepCompiled(keeping); err != nil || alive {
			return err // a living run may execute any copy
		}
		var known binaryRecord
		if err := t.get(metaBucket, binaryKey, &known); err != nil && !errors.Is(err, errNoRecord) {
			return err
		}
		return d.sweepFolder(binName, []string{known.Digest})
	})
}

// sweepTemporary removes what a process left that died while it wrote. Nobody
// writes now: this is a transaction, and no review is under way.
func (d *Dir) sweepTemporary() {
	entries, _ := os.ReadDir(d.path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporaryPrefix) {
			os.Remove(d.file(e.Name()))
		}
	}
}

func (d *Dir) sweepFolder(name string, keep []string) error {
	entries, err := os.ReadDir(d.file(name))
	if err != nil {
		return failBecause(ErrInvalid, err, "a folder below .jig cannot be read")
	}
	for _, e := range entries {
		if slices.ContainsFunc(keep, func(digest string) bool { return strings.TrimPrefix(digest, "sha256:") == e.Name() }) {
			continue
		}
		os.RemoveAll(d.file(name, e.Name()))
	}
	return nil
}
