package retain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/sessionstore"
)

// Keeper keeps the sessions of one run. It is safe for concurrent use.
type Keeper struct {
	d   *state.Dir
	run *state.Run
}

var _ acp.SessionKeeper = (*Keeper)(nil)

// New returns the keeper of run, which is a run of d that this process
// coordinates.
func New(d *state.Dir, run *state.Run) *Keeper { return &Keeper{d, run} }

// within calls f in a transaction under the run's authority at this moment.
func (k *Keeper) within(ctx context.Context, f func(t *state.Tx, s *sessionstore.Store, now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return k.d.Update(func(t *state.Tx) error {
		now := time.Now()
		s, err := store(func() error { return k.run.Authorise(t, now) })
		if err != nil {
			return err
		}
		return f(t, s, now)
	})
}

// store is the project's store of sessions under an authority.
func store(authority func() error) (*sessionstore.Store, error) {
	return sessionstore.New(sessionstore.Options{Authority: state.Guard(authority), Parent: state.SessionsBucket})
}

// Claim implements [acp.SessionKeeper]. When it returns, the claim is on disk.
func (k *Keeper) Claim(ctx context.Context, scope, reference string) (*acp.Snapshot, error) {
	var c *sessionstore.Snapshot
	err := k.within(ctx, func(t *state.Tx, s *sessionstore.Store, now time.Time) (err error) {
		c, err = s.Claim(t.Bolt(), now, reference, scope, k.run.ID)
		if errors.Is(err, sessionstore.ErrUnavailable) {
			return nil // what had expired is gone all the same
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the session could not be claimed: %w", err)
	}
	if c == nil || Check(c.Path, c.Content, c.NativeID) != nil {
		return nil, acp.ErrNoSession
	}
	return &acp.Snapshot{NativeID: c.NativeID, Path: c.Path, Content: c.Content, Tied: c.Tied}, nil
}

// Collect implements [acp.SessionKeeper].
func (k *Keeper) Collect(ctx context.Context, sessions *os.File, nativeID string, secrets []string) (*acp.Collected, string, error) {
	r, err := Collect(ctx, sessions, nativeID, secrets)
	switch {
	case errors.Is(err, ErrMissing):
		return nil, acp.ReasonMissing, nil
	case errors.Is(err, ErrUnsupported):
		return nil, acp.ReasonUnsupported, nil
	case err != nil:
		return nil, "", fmt.Errorf("the session could not be collected: %w", err)
	}
	return &acp.Collected{NativeID: nativeID, Path: r.Path, Content: r.Content}, "", nil
}

// Save implements [acp.SessionKeeper].
func (k *Keeper) Save(ctx context.Context, scope string, c *acp.Collected, tied bool) (reference, reason string, err error) {
	owner := sessionstore.Owner{Scope: scope, NativeID: c.NativeID, Path: c.Path}
	if tied {
		owner.Root = k.run.ID
	}
	packer, err := store(func() error { return nil })
	if err != nil {
		return "", "", err
	}
	prepared, err := packer.Prepare(c.Content)
	if err != nil {
		return "", "", fmt.Errorf("the session could not be saved: %w", err)
	}
	err = k.within(ctx, func(t *state.Tx, s *sessionstore.Store, now time.Time) (err error) {
		reference, err = s.Save(t.Bolt(), now, prepared, owner)
		if errors.Is(err, sessionstore.ErrCapacity) {
			reason = acp.ReasonCapacity
			return nil // what had expired is gone all the same
		}
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("the session could not be saved: %w", err)
	}
	return reference, reason, nil
}

// stored puts what is wrong with the store under what is wrong with the state.
func stored(err error) error {
	if errors.Is(err, sessionstore.ErrCorrupt) {
		return fmt.Errorf("%w: %w", state.ErrInvalid, err)
	}
	return err
}

// Settle ends what a run holds of the sessions: its claims, and the snapshots that
// are tied to it. What has expired goes with them. It belongs into the transaction that records the run's end,
// whoever records it; where it fails the run has no end.
func Settle(t *state.Tx, r state.RunRecord) error {
	s, err := store(func() error { return nil }) // who records the end has been asked
	if err != nil {
		return err
	}
	return stored(s.Settle(t.Bolt(), time.Now(), r.ID))
}

// List returns the sessions that are available at now, the oldest first.
func List(t *state.Tx, now time.Time) ([]sessionstore.Info, error) {
	s, err := store(t.Own)
	if err != nil {
		return nil, err
	}
	found, err := s.List(t.Bolt(), now)
	return found, stored(err)
}

// ErrUnknown: there is no such session to delete. What has expired was deleted, so
// the transaction is to be committed.
var ErrUnknown = errors.New("there is no such session")

// Delete deletes a session that is available.
func Delete(t *state.Tx, now time.Time, reference string) error {
	s, err := store(t.Own)
	if err != nil {
		return err
	}
	if err = s.Delete(t.Bolt(), now, reference); errors.Is(err, sessionstore.ErrUnavailable) {
		return ErrUnknown
	}
	return stored(err)
}

// DeleteAll deletes every session and returns how many of them were available.
// Where they cannot be read any more, it returns how many there were.
func DeleteAll(t *state.Tx, now time.Time) (int, error) {
	s, err := store(t.Own)
	if err != nil {
		return 0, err
	}
	available, unread := s.List(t.Bolt(), now)
	n, err := s.DeleteAll(t.Bolt())
	if unread == nil {
		n = len(available)
	}
	return n, stored(err)
}
