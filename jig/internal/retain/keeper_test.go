//go:build unix

package retain

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/sessionstore"
)

const scope = "sha256:scope"

// place is a project's state.
type place struct {
	*testing.T
	dir string
	d   *state.Dir
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	d, err := state.Create(dir)
	require.NoError(t, err)
	return &place{t, dir, d}
}

func begin(d *state.Dir, life time.Duration) (*state.Run, error) {
	now := time.Now()
	return d.StartRun(now, now.Add(life), func(*state.Tx) (state.RunRecord, error) { return state.RunRecord{Target: "flow:x"}, nil })
}

// run is a run with its keeper.
type run struct {
	*Keeper
	p *place
	r *state.Run
}

func (p *place) run() *run {
	p.Helper()
	r, err := begin(p.d, 100*time.Hour)
	require.NoError(p, err)
	return &run{New(p.d, r), p, r}
}

func (r *run) finish() error {
	return r.r.Finish(time.Now(), state.Terminal{Status: "succeeded", Record: []byte("{}")}, Settle)
}

func collected(text string) *acp.Collected {
	return &acp.Collected{NativeID: session, Path: at, Content: []byte(text)}
}

func (r *run) save(tied bool) string {
	r.p.Helper()
	reference, reason, err := r.Save(r.p.Context(), scope, collected(written(good())), tied)
	require.NoError(r.p, err)
	require.Empty(r.p, reason)
	require.True(r.p, sessionstore.ValidReference(reference))
	return reference
}

func (r *run) claim(reference string) error {
	_, err := r.Claim(r.p.Context(), scope, reference)
	return err
}

func (p *place) list() []sessionstore.Info {
	p.Helper()
	var all []sessionstore.Info
	require.NoError(p, p.d.View(func(t *state.Tx) (err error) { all, err = List(t, time.Now()); return err }))
	return all
}

// claims counts the claims that are accounted for.
func (p *place) claims() int { return p.entries("session-claims") }

// rows counts the snapshots that are stored, available or not.
func (p *place) rows() int { return p.entries("session-rows") }

func (p *place) entries(bucket string) (n int) {
	p.Helper()
	require.NoError(p, p.d.View(func(t *state.Tx) error {
		if b := t.Bolt().Bucket([]byte(state.SessionsBucket)).Bucket([]byte(bucket)); b != nil {
			n = b.Stats().KeyN
		}
		return nil
	}))
	return n
}

// spoil changes the stored bytes of every entry of a bucket.
func (p *place) spoil(bucket string) {
	p.Helper()
	require.NoError(p, p.d.Update(func(t *state.Tx) error {
		b := t.Bolt().Bucket([]byte(state.SessionsBucket)).Bucket([]byte(bucket))
		changed := map[string][]byte{}
		if err := b.ForEach(func(k, v []byte) error {
			v = append([]byte(nil), v...)
			v[len(v)/2] ^= 1
			changed[string(k)] = v
			return nil
		}); err != nil {
			return err
		}
		for k, v := range changed {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestASessionCrossesRunsOnce(t *testing.T) {
	// rule: F-134, F-135, F-138, F-140, F-146, F-013
	p := newPlace(t)
	first := p.run()
	reference := first.save(false)
	require.NoError(t, first.finish())
	require.Len(t, p.list(), 1, "it outlives its run")

	second := p.run()
	got, err := second.Claim(t.Context(), scope, reference)
	require.NoError(t, err)
	require.Equal(t, &acp.Snapshot{NativeID: session, Path: at, Content: []byte(written(good()))}, got)
	require.Empty(t, p.list(), "its payload is gone")
	require.Equal(t, 1, p.claims())
	require.ErrorIs(t, second.claim(reference), acp.ErrNoSession)
	require.NoError(t, second.finish())
	require.Zero(t, p.claims(), "and then its tombstone")
	require.ErrorIs(t, p.run().claim(reference), acp.ErrNoSession)
}

func TestEveryReferenceThatCannotBeHadIsRefusedAlike(t *testing.T) {
	// rule: F-133, F-140, P-156
	p := newPlace(t)
	r := p.run()
	reference := r.save(false)
	_, foreign := r.Claim(t.Context(), "sha256:other", reference)
	unknown := r.claim("00000000-0000-4000-8000-000000000000")
	nonsense := r.claim("nonsense")
	require.NoError(t, r.claim(reference), "a wrong recipient has not used it up")
	used := r.claim(reference)
	for _, err := range []error{foreign, unknown, nonsense, used} {
		require.Equal(t, acp.ErrNoSession, err)
	}
}

func TestARunScopedSessionStaysInItsRun(t *testing.T) {
	// rule: F-135, F-144, F-145, F-014
	p := newPlace(t)
	mine, other := p.run(), p.run()
	tied, kept := mine.save(true), mine.save(false)
	require.ErrorIs(t, other.claim(tied), acp.ErrNoSession)
	for range 3 {
		got, err := mine.Claim(t.Context(), scope, tied)
		require.NoError(t, err)
		require.True(t, got.Tied, "its successor has to be told")
		tied = mine.save(got.Tied)
	}
	theirs := other.save(true)
	require.NoError(t, mine.finish())
	left := p.list()
	require.Len(t, left, 2)
	require.ElementsMatch(t, []string{kept, theirs}, []string{left[0].Reference, left[1].Reference})
	require.ErrorIs(t, p.run().claim(tied), acp.ErrNoSession)
	require.NoError(t, other.claim(theirs))
	require.NoError(t, other.finish())
	require.Zero(t, p.claims())
}

func TestAFailingDeletionPreventsTheTerminal(t *testing.T) {
	// rule: F-145, F-149
	p := newPlace(t)
	r := p.run()
	r.save(true)
	p.spoil("session-rows")
	err := r.finish()
	require.ErrorIs(t, err, sessionstore.ErrCorrupt)
	require.ErrorIs(t, err, state.ErrInvalid)
	require.NoError(t, p.d.View(func(tx *state.Tx) error {
		record, found, err := tx.Run(r.r.ID)
		require.True(t, found)
		require.True(t, record.Alive(), "no terminal was written")
		return err
	}))
}

func TestWhoIsNotInChargeFails(t *testing.T) {
	// rule: F-149, J-122
	p := newPlace(t)
	r := p.run()
	reference := r.save(false)
	refused := func(r *run) {
		t.Helper()
		err := r.claim(reference)
		require.ErrorIs(t, err, state.ErrAuthority)
		require.NotErrorIs(t, err, acp.ErrNoSession)
		_, reason, err := r.Save(t.Context(), scope, collected(written(good())), false)
		require.ErrorIs(t, err, state.ErrAuthority)
		require.Empty(t, reason, "that is no receipt")
		require.Len(t, p.list(), 1, "and nothing has changed")
	}
	require.NoError(t, r.finish())
	refused(r)
	late, err := begin(p.d, 0)
	require.NoError(t, err)
	refused(&run{New(p.d, late), p, late})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := p.run()
	_, err = fresh.Claim(ctx, scope, reference)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = fresh.Save(ctx, scope, collected(written(good())), false)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, fresh.claim(reference))
}

func TestCorruptStateIsAFailure(t *testing.T) {
	// rule: F-149, P-157
	for _, bucket := range []string{"session-rows", "session-content"} {
		p := newPlace(t)
		r := p.run()
		reference := r.save(false)
		p.spoil(bucket)
		err := r.claim(reference)
		require.ErrorIs(t, err, sessionstore.ErrCorrupt, bucket)
		require.NotErrorIs(t, err, acp.ErrNoSession)
		// Taking everything away looks at nothing, and is the way out.
		require.NoError(t, p.d.Update(func(tx *state.Tx) error {
			_, err := DeleteAll(tx, time.Now())
			return err
		}))
		require.NoError(t, r.finish(), bucket)
	}
}

func TestWhatWasClaimedIsCheckedAgain(t *testing.T) {
	// rule: P-159, F-138
	p := newPlace(t)
	r := p.run()
	// Another jig, with other rules, has saved it.
	reference, _, err := r.Save(t.Context(), scope, collected(swap(written(good()), "0.154.0", "0.153.0")), false)
	require.NoError(t, err)
	require.ErrorIs(t, r.claim(reference), acp.ErrNoSession)
	require.Empty(t, p.list(), "it is used up")
	require.Equal(t, 1, p.claims())
}

func TestCapacity(t *testing.T) {
	// rule: F-142, F-148, F-151, P-158
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		r := p.run()
		var references []string
		for range 16 {
			references = append(references, r.save(false))
		}
		full := func() (string, string) {
			reference, reason, err := r.Save(t.Context(), scope, collected(written(good())), false)
			require.NoError(t, err)
			return reference, reason
		}
		reference, reason := full()
		require.Empty(t, reference, "none is invented")
		require.Equal(t, acp.ReasonCapacity, reason)
		require.Len(t, p.list(), 16)
		require.NoError(t, r.claim(references[0]))
		r.save(false) // a successor has room
		_, reason = full()
		require.Equal(t, acp.ReasonCapacity, reason)
		time.Sleep(24*time.Hour - time.Millisecond)
		require.Len(t, p.list(), 16)
		time.Sleep(time.Millisecond)
		require.ErrorIs(t, r.claim(references[1]), acp.ErrNoSession, "it has expired")
		require.Empty(t, p.list())
		require.Equal(t, 1, p.claims(), "what was claimed is still accounted for")
		r.save(false)
		require.NoError(t, r.finish())
		require.Zero(t, p.claims())
	})
}

func TestEveryAccessDeletesWhatHasExpired(t *testing.T) {
	// rule: P-154
	const unknown = "00000000-0000-4000-8000-000000000000"
	for name, access := range map[string]func(r *run){
		"a refused claim":      func(r *run) { require.ErrorIs(r.p, r.claim(unknown), acp.ErrNoSession) },
		"a claim of nonsense":  func(r *run) { require.ErrorIs(r.p, r.claim("nonsense"), acp.ErrNoSession) },
		"a claim that is late": nil, // see below
		"a save":               func(r *run) { require.NoError(r.p, r.claim(r.save(false))) },
		"the end of a run":     func(r *run) { require.NoError(r.p, r.finish()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlace(t)
			r := p.run()
			reference := r.save(false)
			if access == nil {
				access = func(r *run) { require.ErrorIs(r.p, r.claim(reference), acp.ErrNoSession) }
			}
			time.Sleep(24 * time.Hour)
			require.Equal(t, 1, p.rows(), "time alone deletes nothing")
			access(r)
			require.Zero(t, p.rows(), name)
			require.Zero(t, p.entries("session-content"), name)
		})
	}
}

func TestOneOfManyClaimsWins(t *testing.T) {
	// rule: F-137
	p := newPlace(t)
	reference := p.run().save(false)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		r := p.run()
		all.Go(func() { errs[i] = r.claim(reference) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, acp.ErrNoSession)
	}
	require.Equal(t, 1, won)
}

func TestCollectGivesReceipts(t *testing.T) {
	// rule: F-151, F-150, P-147, P-148
	p := newPlace(t)
	r := p.run()
	tr := plant(t)
	for _, c := range []struct {
		write  string
		reason string
	}{{"", acp.ReasonMissing}, {written(good()), ""}, {written(good())[1:], acp.ReasonUnsupported}} {
		if c.write != "" {
			tr.write(at, c.write)
		}
		got, reason, err := r.Collect(t.Context(), tr.open(), session, nil)
		require.NoError(t, err)
		require.Equal(t, c.reason, reason)
		require.Equal(t, c.reason == "", got != nil)
	}
	got, reason, err := r.Collect(t.Context(), nil, session, nil)
	require.Error(t, err)
	require.Nil(t, got)
	require.Empty(t, reason)
}

func TestACopiedProjectHasNoSessions(t *testing.T) {
	// rule: F-133
	p := newPlace(t)
	reference := p.run().save(false)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(p.dir)))
	require.NoError(t, os.Chmod(dir+"/.jig", 0o700))
	d, err := state.Open(dir)
	require.NoError(t, err)
	require.NoError(t, d.Update(func(tx *state.Tx) error { return tx.Adopt() }))
	copied := &place{t, dir, d}
	require.Empty(t, copied.list())
	require.ErrorIs(t, copied.run().claim(reference), acp.ErrNoSession)
	require.Len(t, p.list(), 1)
}

func TestDeleting(t *testing.T) {
	// rule: J-010
	p := newPlace(t)
	r := p.run()
	a, tied := r.save(false), r.save(true)
	del := func(reference string) error {
		return p.d.Update(func(tx *state.Tx) error { return Delete(tx, time.Now(), reference) })
	}
	require.ErrorIs(t, del("nonsense"), ErrUnknown)
	require.NoError(t, del(a))
	require.ErrorIs(t, del(a), ErrUnknown)
	require.ErrorIs(t, r.claim(a), acp.ErrNoSession)
	r.save(false)
	n := 0
	require.NoError(t, p.d.Update(func(tx *state.Tx) (err error) { n, err = DeleteAll(tx, time.Now()); return err }))
	require.Equal(t, 2, n)
	require.ErrorIs(t, r.claim(tied), acp.ErrNoSession)
	require.NoError(t, r.finish())
}

func TestNoErrorHoldsContent(t *testing.T) {
	p := newPlace(t)
	r := p.run()
	reference := r.save(false)
	p.spoil("session-content")
	err := r.claim(reference)
	require.Error(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", err), "say hello")
	_, _, err = r.Save(t.Context(), scope, &acp.Collected{NativeID: session, Path: at, Content: []byte(strings.Repeat("x", MaxBytes+1))}, false)
	require.Error(t, err)
	require.Less(t, len(err.Error()), 200)
}
