package sessionstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

const (
	native = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
	path   = "sessions/2026/11/30/rollout-2026-11-30T10-11-12-" + native + ".jsonl"
	scope  = "sha256:scope"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// rig is a store over a database of its own.
type rig struct {
	testing.TB
	*sessionstore.Store
	db        *bbolt.DB
	authority error
}

func newRig(t testing.TB, limits ...sessionstore.Limits) *rig {
	t.Helper()
	r := &rig{TB: t}
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "state.db"), 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	r.db = db
	o := sessionstore.Options{Authority: func(*bbolt.Tx) error { return r.authority }}
	if len(limits) > 0 {
		o.Limits = limits[0]
	}
	r.Store, err = sessionstore.New(o)
	require.NoError(t, err)
	return r
}

func owner(root string) sessionstore.Owner {
	return sessionstore.Owner{Scope: scope, Root: root, NativeID: native, Path: path}
}

func (r *rig) prepare(content string) *sessionstore.Prepared {
	r.Helper()
	p, err := r.Prepare([]byte(content))
	require.NoError(r, err)
	return p
}

func (r *rig) save(now time.Time, content, root string) (ref string, err error) {
	r.Helper()
	p := r.prepare(content)
	err = r.db.Update(func(tx *bbolt.Tx) error { ref, err = r.Save(tx, now, p, owner(root)); return err })
	return ref, err
}

func (r *rig) mustSave(now time.Time, content, root string) string {
	r.Helper()
	ref, err := r.save(now, content, root)
	require.NoError(r, err)
	return ref
}

func (r *rig) claim(now time.Time, ref, scope, root string) (s *sessionstore.Snapshot, err error) {
	err = r.db.Update(func(tx *bbolt.Tx) error { s, err = r.Claim(tx, now, ref, scope, root); return err })
	return s, err
}

func (r *rig) settle(now time.Time, root string) error {
	return r.db.Update(func(tx *bbolt.Tx) error { return r.Settle(tx, now, root) })
}

func (r *rig) count(now time.Time) int {
	r.Helper()
	var all []sessionstore.Info
	require.NoError(r, r.db.View(func(tx *bbolt.Tx) (err error) { all, err = r.List(tx, now); return err }))
	return len(all)
}

// entries counts what lies in each bucket.
func (r *rig) entries() (rows, content, claims int) {
	r.Helper()
	require.NoError(r, r.db.View(func(tx *bbolt.Tx) error {
		for name, n := range map[string]*int{"session-rows": &rows, "session-content": &content, "session-claims": &claims} {
			if b := tx.Bucket([]byte(name)); b != nil {
				*n = b.Stats().KeyN
			}
		}
		return nil
	}))
	return rows, content, claims
}

func TestClaimReturnsWhatWasSavedAndTakesItAway(t *testing.T) {
	// rule: P-153, F-146
	r := newRig(t)
	content := strings.Repeat("line\n", 200_000)
	ref := r.mustSave(noon, content, "")
	require.True(t, sessionstore.ValidReference(ref))
	s, err := r.claim(noon, ref, scope, "root")
	require.NoError(t, err)
	require.Equal(t, &sessionstore.Snapshot{NativeID: native, Path: path, Content: []byte(content)}, s)
	rows, kept, claims := r.entries()
	require.Equal(t, []int{0, 0, 1}, []int{rows, kept, claims}, "the payload is gone, the claim is accountable")
	_, err = r.claim(noon, ref, scope, "root")
	require.ErrorIs(t, err, sessionstore.ErrUnavailable)
	require.NoError(t, r.settle(noon, "root"))
	_, _, claims = r.entries()
	require.Zero(t, claims)
}

func TestSizesOfContent(t *testing.T) {
	// rule: F-142
	r := newRig(t)
	for _, n := range []int{1, 1 << 18, sessionstore.DefaultContentBytes} {
		ref := r.mustSave(noon, strings.Repeat("x", n), "")
		s, err := r.claim(noon, ref, scope, "root")
		require.NoError(t, err)
		require.Len(t, s.Content, n)
	}
	for _, n := range []int{0, sessionstore.DefaultContentBytes + 1} {
		_, err := r.Prepare(make([]byte, n))
		require.Error(t, err)
	}
}

func TestCapacity(t *testing.T) {
	// rule: F-142, F-148, P-158
	r := newRig(t)
	var refs []string
	for range 16 {
		refs = append(refs, r.mustSave(noon, "x", ""))
	}
	ref, err := r.save(noon, "x", "")
	require.ErrorIs(t, err, sessionstore.ErrCapacity)
	require.Empty(t, ref)
	// A restore frees a place for its successor.
	_, err = r.claim(noon, refs[0], scope, "root")
	require.NoError(t, err)
	r.mustSave(noon, "x", "")
	_, err = r.save(noon, "x", "")
	require.ErrorIs(t, err, sessionstore.ErrCapacity)
	// So does time.
	r.mustSave(noon.Add(24*time.Hour), "x", "")
}

func TestClaimsInFlightTakeNoPlace(t *testing.T) {
	// rule: J-225, F-147
	r := newRig(t)
	for range 3 {
		for range 16 {
			ref := r.mustSave(noon, "x", "")
			_, err := r.claim(noon, ref, scope, "root")
			require.NoError(t, err)
		}
	}
	_, _, claims := r.entries()
	require.Equal(t, 48, claims)
	// They outlive the snapshot's own time, until their root ends.
	r.mustSave(noon.Add(48*time.Hour), "x", "")
	_, _, claims = r.entries()
	require.Equal(t, 48, claims)
	require.NoError(t, r.settle(noon.Add(48*time.Hour), "other"))
	_, _, claims = r.entries()
	require.Equal(t, 48, claims)
	require.NoError(t, r.settle(noon.Add(48*time.Hour), "root"))
	rows, _, claims := r.entries()
	require.Equal(t, []int{1, 0}, []int{rows, claims})
}

func TestRefusalsAreAlikeAndLeaveTheRow(t *testing.T) {
	// rule: P-156, F-140, F-144, F-135
	r := newRig(t)
	ref, tied := r.mustSave(noon, "x", ""), r.mustSave(noon, "y", "root-a")
	for name, try := range map[string]func() error{
		"foreign scope": func() error { _, err := r.claim(noon, ref, "sha256:other", "root"); return err },
		"foreign root":  func() error { _, err := r.claim(noon, tied, scope, "root-b"); return err },
		"unknown": func() error {
			_, err := r.claim(noon, "3b241101-e2bb-4255-8caf-4136c566a962", scope, "root")
			return err
		},
		"malformed":  func() error { _, err := r.claim(noon, "x", scope, "root"); return err },
		"upper case": func() error { _, err := r.claim(noon, strings.ToUpper(ref), scope, "root"); return err },
		"empty":      func() error { _, err := r.claim(noon, "", scope, "root"); return err },
		"expired":    func() error { _, err := r.claim(noon.Add(24*time.Hour), ref, scope, "root"); return err },
		"deleted before": func() error {
			return r.db.Update(func(tx *bbolt.Tx) error { return r.Delete(tx, noon, "3b241101-e2bb-4255-8caf-4136c566a962") })
		},
	} {
		require.Equal(t, sessionstore.ErrUnavailable, try(), name)
		require.Equal(t, 2, r.count(noon), name)
	}
	_, err := r.claim(noon, ref, scope, "anybody")
	require.NoError(t, err, "a plain snapshot goes to any root")
	s, err := r.claim(noon, tied, scope, "root-a")
	require.NoError(t, err)
	require.True(t, s.Tied)
}

func TestSettlementDeletesWhatIsTied(t *testing.T) {
	// rule: F-145
	r := newRig(t)
	r.mustSave(noon, "a", "root")
	r.mustSave(noon, "b", "root")
	other := r.mustSave(noon, "c", "other")
	plain := r.mustSave(noon, "d", "")
	// The deletion belongs to the caller's transaction.
	err := r.db.Update(func(tx *bbolt.Tx) error {
		require.NoError(t, r.Settle(tx, noon, "root"))
		return errors.New("the terminal could not be written")
	})
	require.Error(t, err)
	require.Equal(t, 4, r.count(noon))
	require.NoError(t, r.settle(noon, "root"))
	require.Equal(t, 2, r.count(noon))
	for ref, root := range map[string]string{other: "other", plain: "x"} {
		_, err := r.claim(noon, ref, scope, root)
		require.NoError(t, err)
	}
	require.NoError(t, r.settle(noon, ""))
}

func TestTwoClaimsHaveOneWinner(t *testing.T) {
	// rule: F-137
	r := newRig(t)
	for range 50 {
		ref := r.mustSave(noon, "x", "")
		var work sync.WaitGroup
		results := make([]error, 4)
		for i := range results {
			work.Go(func() { _, results[i] = r.claim(noon, ref, scope, fmt.Sprint(i)) })
		}
		work.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else {
				require.Equal(t, sessionstore.ErrUnavailable, err)
			}
		}
		require.Equal(t, 1, won)
	}
}

func TestLostAuthorityIsAFailure(t *testing.T) {
	// rule: F-149
	r := newRig(t)
	ref := r.mustSave(noon, "x", "")
	r.authority = errors.New("another coordinator")
	p := r.prepare("y")
	for name, try := range map[string]func(*bbolt.Tx) error{
		"save":   func(tx *bbolt.Tx) error { _, err := r.Save(tx, noon, p, owner("")); return err },
		"claim":  func(tx *bbolt.Tx) error { _, err := r.Claim(tx, noon, ref, scope, "root"); return err },
		"settle": func(tx *bbolt.Tx) error { return r.Settle(tx, noon, "root") },
		"delete": func(tx *bbolt.Tx) error { return r.Delete(tx, noon, ref) },
		"all":    func(tx *bbolt.Tx) error { _, err := r.DeleteAll(tx); return err },
	} {
		err := r.db.Update(try)
		require.ErrorIs(t, err, sessionstore.ErrAuthority, name)
		require.ErrorIs(t, err, r.authority, name)
		require.NotErrorIs(t, err, sessionstore.ErrUnavailable, name)
	}
	r.authority = nil
	require.Equal(t, 1, r.count(noon))
}

// spoil changes what is stored, through the bucket's back door.
func (r *rig) spoil(bucket, key string, change func([]byte) []byte) {
	r.Helper()
	require.NoError(r, r.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if v := change(bytes.Clone(b.Get([]byte(key)))); v != nil {
			return b.Put([]byte(key), v)
		}
		return b.Delete([]byte(key))
	}))
}

func TestCorruptionIsAFailureAndNeverUnavailable(t *testing.T) {
	// rule: F-149, J-219, P-155, P-157
	for name, c := range map[string]struct {
		bucket string
		change func([]byte) []byte
	}{
		"flipped byte": {"session-content", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		"cut":          {"session-content", func(b []byte) []byte { return b[:len(b)-1] }},
		"longer":       {"session-content", func(b []byte) []byte { return append(b, b...) }},
		"no content":   {"session-content", func([]byte) []byte { return nil }},
		"short row":    {"session-rows", func(b []byte) []byte { return b[:8] }},
		"longer row":   {"session-rows", func(b []byte) []byte { return append(b, 0) }},
	} {
		r := newRig(t)
		ref := r.mustSave(noon, strings.Repeat("content ", 100), "")
		r.spoil(c.bucket, ref, c.change)
		_, err := r.claim(noon, ref, scope, "root")
		require.ErrorIs(t, err, sessionstore.ErrCorrupt, name)
		require.NotErrorIs(t, err, sessionstore.ErrUnavailable, name)
	}
	// Every byte of a row and of a claim counts.
	r := newRig(t)
	ref := r.mustSave(noon, "x", "tied")
	size := 0
	r.spoil("session-rows", ref, func(b []byte) []byte { size = len(b); return b })
	for i := range size {
		flip := func(b []byte) []byte { b[i] ^= 1; return b }
		r.spoil("session-rows", ref, flip)
		_, err := r.claim(noon, ref, scope, "tied")
		require.ErrorIs(t, err, sessionstore.ErrCorrupt, i)
		require.ErrorIs(t, r.settle(noon, "tied"), sessionstore.ErrCorrupt, i)
		r.spoil("session-rows", ref, flip)
	}
	_, err := r.claim(noon, ref, scope, "tied")
	require.NoError(t, err)
	r.spoil("session-claims", ref, func(b []byte) []byte { b[2] ^= 1; return b })
	require.ErrorIs(t, r.settle(noon, "tied"), sessionstore.ErrCorrupt)
	// No text.
	r = newRig(t)
	ref = r.mustSave(noon, "\xff", "")
	_, err = r.claim(noon, ref, scope, "root")
	require.ErrorIs(t, err, sessionstore.ErrCorrupt)
	// More rows than there may be.
	r = newRig(t)
	for range 16 {
		r.mustSave(noon, "x", "")
	}
	narrow, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }, Limits: sessionstore.Limits{Snapshots: 15}})
	require.NoError(t, err)
	p := r.prepare("y")
	require.ErrorIs(t, r.db.Update(func(tx *bbolt.Tx) error { _, err := narrow.Save(tx, noon, p, owner("")); return err }), sessionstore.ErrCorrupt)
}

func TestListShowsNoContent(t *testing.T) {
	r := newRig(t)
	require.Zero(t, r.count(noon))
	first := r.mustSave(noon, "a", "")
	second := r.mustSave(noon.Add(time.Minute), "bb", "root")
	require.NoError(t, r.db.View(func(tx *bbolt.Tx) error {
		all, err := r.List(tx, noon.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, []sessionstore.Info{
			{Reference: first, Bytes: 1, Created: noon, Expires: noon.Add(24 * time.Hour)},
			{Reference: second, Bytes: 2, Created: noon.Add(time.Minute), Expires: noon.Add(24*time.Hour + time.Minute), Tied: true},
		}, all)
		return nil
	}))
	require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error { return r.Delete(tx, noon.Add(time.Hour), first) }))
	require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error {
		n, err := r.DeleteAll(tx)
		require.Equal(t, 1, n)
		return err
	}))
	rows, content, _ := r.entries()
	require.Zero(t, rows+content)
}

func TestPaths(t *testing.T) {
	// rule: P-133
	require.True(t, sessionstore.ValidPath(path, native))
	for _, bad := range []string{
		"", "/" + path, "sessions/2026/11/30/rollout-2026-11-30T10-11-12-" + strings.ToUpper(native) + ".jsonl",
		strings.Replace(path, "rollout-2026-11-30T10-11-12", "rollout-2026-11-30T10:11:12", 1), strings.Replace(path, "/30/", "/3/", 1),
		strings.Replace(path, "sessions/", "Sessions/", 1), path + "x", strings.Replace(path, ".jsonl", ".json", 1), strings.Replace(path, native, "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeef", 1),
		"sessions/../../11/30/rollout-2026-11-30T10-11-12-" + native + ".jsonl",
	} {
		require.False(t, sessionstore.ValidPath(bad, native), bad)
	}
	require.False(t, sessionstore.ValidPath(path, strings.ToUpper(native)))
	r := newRig(t)
	p := r.prepare("x")
	for _, o := range []sessionstore.Owner{{}, {Scope: scope, NativeID: native, Path: "x"}, {NativeID: native, Path: path}} {
		require.Error(t, r.db.Update(func(tx *bbolt.Tx) error { _, err := r.Save(tx, noon, p, o); return err }))
	}
}

func TestLimits(t *testing.T) {
	_, err := sessionstore.New(sessionstore.Options{})
	require.Error(t, err)
	for _, l := range []sessionstore.Limits{{Snapshots: -1}, {ContentBytes: -1}, {Retention: -1}, {Retention: time.Microsecond}} {
		_, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }, Limits: l})
		require.Error(t, err)
	}
}

// TestRandomHistory plays saves, claims, settlements and time against a small
// model. One seed reproduces a failure.
func TestRandomHistory(t *testing.T) {
	type kept struct {
		root    string
		created time.Time
		content string
	}
	seeds := uint64(4)
	if *long {
		seeds = 200
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		r := newRig(t)
		model := map[string]kept{}
		used := map[string]bool{}
		now := noon
		for range 300 {
			now = now.Add(time.Duration(random.IntN(3)) * time.Hour)
			for ref, k := range model {
				if !now.Before(k.created.Add(24 * time.Hour)) {
					delete(model, ref)
				}
			}
			root := []string{"", "a", "b"}[random.IntN(3)]
			switch random.IntN(4) {
			case 0, 1:
				content := fmt.Sprint("content ", random.Uint64())
				ref, err := r.save(now, content, root)
				if len(model) == 16 {
					require.ErrorIs(t, err, sessionstore.ErrCapacity, seed)
					continue
				}
				require.NoError(t, err, seed)
				require.False(t, used[ref], "a reference came twice")
				used[ref] = true
				model[ref] = kept{root, now, content}
			case 2:
				for ref := range used {
					k, alive := model[ref]
					claimer := []string{"a", "b"}[random.IntN(2)]
					s, err := r.claim(now, ref, scope, claimer)
					if alive && (k.root == "" || k.root == claimer) {
						require.NoError(t, err, seed)
						require.Equal(t, k.content, string(s.Content))
						delete(model, ref)
					} else {
						require.ErrorIs(t, err, sessionstore.ErrUnavailable, seed)
					}
					break
				}
			case 3:
				if root == "" || random.IntN(4) > 0 {
					continue
				}
				require.NoError(t, r.settle(now, root))
				for ref, k := range model {
					if k.root == root {
						delete(model, ref)
					}
				}
			}
			require.Equal(t, len(model), r.count(now), seed)
		}
	}
}
