package review

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// ErrStale is a plan that no longer follows what is admitted.
var ErrStale = state.ErrStale

// step is told the steps of a publication; tests end the process at one.
var step = func(string) {}

// Apply admits what p shows and publishes jig.lock, and returns the number of the
// generation that is admitted then. After an error the earlier generation still
// is.
func (p *Plan) Apply(dir string, d *state.Dir) (int64, error) {
	if err := p.recheck(d); err != nil {
		return 0, err
	}
	step("checked")
	if err := p.publishLock(dir, d); err != nil {
		return 0, err
	}
	if p.Repair {
		return p.Base, p.Refresh(d)
	}
	content, err := p.content()
	if err != nil {
		return 0, err
	}
	number := int64(0)
	err = d.Update(func(t *state.Tx) error {
		if err := t.Adopt(); err != nil {
			return err
		}
		var err error
		number, err = t.Admit(p.Base, content)
		return err
	})
	step("admitted")
	return number, err
}

// recheck looks at the captured packages and the base generation before anything
// that others can see is changed.
func (p *Plan) recheck(d *state.Dir) error {
	for _, path := range slices.Sorted(maps.Keys(p.Candidate.Meaning.Packages)) {
		if _, err := d.Packages().Get(p.Candidate.Meaning.Packages[path]); err != nil {
			return err
		}
	}
	return d.View(func(t *state.Tx) error {
		a, err := t.Admission()
		if err != nil {
			return err
		}
		base, err := ReadContent(a)
		if err != nil {
			return err
		}
		if a.Number != p.Base || base != nil && base.Plan != p.BasePlan {
			return ErrStale
		}
		return nil
	})
}

func (p *Plan) content() ([]byte, error) {
	plan := p.Digest
	if p.same {
		plan = p.BasePlan
	}
	return json0.Marshal(Content{Meaning: p.Candidate.Meaning, Sources: p.Candidate.Sources, Lock: digestBytes(p.Candidate.Lock), Plan: plan})
}

// Refresh remembers from which sources an unchanged project comes now, so that a
// run does not call a new comment a difference. It is no new generation.
func (p *Plan) Refresh(d *state.Dir) error {
	content, err := p.content()
	if err != nil {
		return err
	}
	return d.Update(func(t *state.Tx) error { return t.Refresh(p.Base, content) })
}

// publishLock makes jig.lock durable under its name.
func (p *Plan) publishLock(dir string, d *state.Dir) (err error) {
	f, err := d.Temporary("lock")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = &LockError{cause: err}
		}
	}()
	if _, err := f.Write(p.Candidate.Lock); err != nil {
		return err
	}
	step("written")
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	step("synced")
	if err := os.Rename(f.Name(), filepath.Join(dir, project.LockName)); err != nil {
		return err
	}
	step("renamed")
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return err
	}
	step("published")
	return nil
}

// LockError is a jig.lock that could not be written.
type LockError struct{ cause error }

func (e *LockError) Error() string {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(e.cause, &path):
		return "jig.lock cannot be written: " + path.Err.Error()
	case errors.As(e.cause, &link):
		return "jig.lock cannot be written: " + link.Err.Error()
	}
	return "jig.lock cannot be written"
}

// Unwrap returns why.
func (e *LockError) Unwrap() error { return e.cause }
