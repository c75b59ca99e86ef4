package review

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// TestMain is also the process that is killed: it applies the plan of a project
// and kills itself at one step.
func TestMain(m *testing.M) {
	dir, at := os.Getenv("REVIEW_TEST_PROJECT"), os.Getenv("REVIEW_TEST_STEP")
	if dir == "" {
		os.Exit(m.Run())
	}
	d, err := state.Open(dir)
	must(err)
	plan, err := (&place{dir: dir, d: d, bwrap: "/usr/bin/bwrap"}).tryPlan()
	must(err)
	step = func(name string) {
		if name == at {
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
	}
	_, err = plan.Apply(dir, d)
	must(err)
	fmt.Println("applied")
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// rule: J-096, J-097
func TestAPublicationKilledAtAnyStepLeavesTheOldOrTheNew(t *testing.T) {
	steps := []string{}
	step = func(name string) { steps = append(steps, name) }
	t.Cleanup(func() { step = func(string) {} })
	all := newPlace(t, hello)
	all.apply(all.plan())
	step = func(string) {}
	require.Equal(t, []string{"checked", "written", "synced", "renamed", "published", "admitted"}, steps)

	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			p := newPlace(t, hello)
			p.apply(p.plan())
			oldLock := p.lock()
			p.write(map[string]string{"flows/hello/FLOW.ts": "// changed\n"})
			newLock := string(p.plan().Candidate.Lock)

			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "REVIEW_TEST_PROJECT="+p.dir, "REVIEW_TEST_STEP="+at)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "%s", out)
			require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)

			a, err := p.admitted()
			require.NoError(t, err)
			c, err := ReadContent(a)
			require.NoError(t, err)
			switch at {
			case "checked", "written", "synced":
				require.Equal(t, oldLock, p.lock())
				require.Equal(t, int64(1), a.Number)
			case "renamed", "published":
				require.Equal(t, newLock, p.lock())
				require.Equal(t, int64(1), a.Number)
				require.True(t, LockDrifted(p.dir, c))
			case "admitted":
				require.Equal(t, newLock, p.lock())
				require.Equal(t, int64(2), a.Number)
				require.False(t, LockDrifted(p.dir, c))
			}
			// What is admitted can run.
			_, err = project.Build(c.Meaning, "flow:flows/hello", p.d.Packages())
			require.NoError(t, err)

			// Going back repairs the lock; going on finishes what was begun.
			if a.Number == 1 {
				p.write(hello)
				plan := p.plan()
				if p.lock() != oldLock {
					require.True(t, plan.Repair)
					require.Equal(t, int64(1), p.apply(plan))
				}
				require.Equal(t, oldLock, p.lock())
				p.write(map[string]string{"flows/hello/FLOW.ts": "// changed\n"})
				require.Equal(t, int64(2), p.apply(p.plan()))
			}
			require.Equal(t, newLock, p.lock())
			require.True(t, p.plan().Unchanged())
			require.NoError(t, p.d.Sweep(nil, func(*state.Tx) ([]string, error) { return nil, nil }))
			left, err := filepath.Glob(filepath.Join(p.dir, ".jig", ".tmp-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
