package capture

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// attacker exchanges two names as fast as it can until the test ends.
func attacker(t *testing.T, one, other string) *atomic.Int64 {
	var swaps atomic.Int64
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			if unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) == nil {
				swaps.Add(1)
			}
			runtime.Gosched()
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		<-done
	})
	return &swaps
}

// An attacker swaps a folder, or the file itself, for a link that leads out of
// the workspace, through 100,000 captures (-long). The file outside has the
// same name and size, so nothing but the way there tells them apart.
//
// rule: A-044
func TestNoByteFromOutsideUnderAnAttackerWhoSwapsLinks(t *testing.T) {
	const inside, outside = "inside--", "outside!"
	captures := 2000
	if *long {
		captures = 100_000
	}
	for _, c := range []struct {
		name, victim string
		bait         func(t *testing.T, root, out string)
	}{
		{"folder", "a", func(t *testing.T, root, out string) {
			require.NoError(t, os.Symlink(filepath.Join(out, "a"), filepath.Join(root, "bait")))
		}},
		{"inner folder", "a/b", func(t *testing.T, root, out string) {
			require.NoError(t, os.Symlink(filepath.Join(out, "a/b"), filepath.Join(root, "bait")))
		}},
		{"file", "a/b/f", func(t *testing.T, root, out string) {
			require.NoError(t, os.Symlink(filepath.Join(out, "a/b/f"), filepath.Join(root, "bait")))
		}},
		{"file against a hard link", "a/b/f", func(t *testing.T, root, out string) {
			require.NoError(t, os.Link(filepath.Join(out, "a/b/f"), filepath.Join(root, "bait")))
		}},
		{"file against a FIFO", "a/b/f", func(t *testing.T, root, _ string) {
			require.NoError(t, unix.Mkfifo(filepath.Join(root, "bait"), 0o600))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				base := t.TempDir()
				root, out := filepath.Join(base, "w"), filepath.Join(base, "o")
				for dir, text := range map[string]string{root: inside, out: outside} {
					require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
					require.NoError(t, os.WriteFile(filepath.Join(dir, "a/b/f"), []byte(text), 0o600))
				}
				c.bait(t, root, out)
				swaps := attacker(t, filepath.Join(root, c.victim), filepath.Join(root, "bait"))
				request := Request{Workspace: root, Path: "a/b/f", MaxBytes: 100, Excluded: []string{filepath.Join(base, "none")}}
				var taken, refused int
				for i := 0; i < captures || taken == 0 || refused == 0; i++ {
					got, err := read(request, w, nil)
					if err == nil {
						require.Equal(t, inside, string(got))
						taken++
						continue
					}
					var refusal *Error
					require.ErrorAs(t, err, &refusal)
					require.Contains(t, []Rule{RuleLink, RuleChanged, RuleRegular, RuleHardLink, RuleMissing}, refusal.Rule)
					refused++
				}
				t.Logf("%d captured, %d refused, %d swaps", taken, refused, swaps.Load())
				require.Positive(t, swaps.Load())
			})
		})
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func TestReadLeavesNoDescriptorOpen(t *testing.T) {
	root := folder(t, map[string]string{"a/b/f": "x", "state/x": "x", "big": "0123456789"})
	require.NoError(t, os.Symlink("a", filepath.Join(root, "link")))
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "a/fifo"), 0o600))
	eachWay(t, func(t *testing.T, w way) {
		before := descriptors(t)
		for _, path := range []string{"a/b/f", "a/b/none", "a/none/f", "link/b/f", "a/fifo", "a/b/f/g", "state/x", "big", "a"} {
			for _, at := range []stage{"", stageSeen, stageOpened, stageRead, stageSame} {
				for _, workspace := range []string{root, filepath.Join(root, "state"), filepath.Join(root, "none")} {
					_, _ = read(Request{
						Workspace: workspace, Path: path, MaxBytes: 5, Excluded: []string{filepath.Join(root, "state")},
					}, w, func(s stage) {
						if s == at {
							_ = os.Chmod(filepath.Join(root, "a/b/f"), 0o600)
							_ = os.Truncate(filepath.Join(root, "a/b/f"), 0)
							_ = os.WriteFile(filepath.Join(root, "a/b/f"), []byte("y"), 0o600)
						}
					})
				}
			}
		}
		require.Equal(t, before, descriptors(t))
	})
}
