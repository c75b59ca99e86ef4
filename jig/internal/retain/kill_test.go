//go:build unix

package retain

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/sessionstore"
)

// TestMain is also the jig that is killed: with RETAIN_TEST_STEP set it goes as far
// as that says and kills itself there.
func TestMain(m *testing.M) {
	if step := os.Getenv("RETAIN_TEST_STEP"); step != "" {
		until(step, os.Getenv("RETAIN_TEST_PROJECT"), os.Getenv("RETAIN_TEST_REFERENCE"))
		os.Exit(3)
	}
	if dir := os.Getenv("RETAIN_TEST_RIVAL"); dir != "" {
		rivalry(dir)
		return
	}
	os.Exit(m.Run())
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// until does what the coordinator of a run does with sessions, up to a step.
func until(step, dir, reference string) {
	d, err := state.Open(dir)
	must(err)
	if step == "recovering" {
		_, err := d.Recover(context.Background(), lost, func(t *state.Tx, r state.RunRecord) error {
			must(Settle(t, r))
			die()
			return nil
		})
		must(err)
		return
	}
	r, err := begin(d, time.Hour)
	must(err)
	fmt.Println(r.ID)
	k := New(d, r)
	ctx := context.Background()
	if step == "claiming" {
		must(k.within(ctx, func(t *state.Tx, s *sessionstore.Store, now time.Time) error {
			_, err := s.Claim(t.Bolt(), now, reference, scope, r.ID)
			must(err)
			die()
			return nil
		}))
	}
	_, err = k.Claim(ctx, scope, reference)
	must(err)
	if step == "claimed" {
		die()
	}
	if step == "saving" {
		must(k.within(ctx, func(t *state.Tx, s *sessionstore.Store, now time.Time) error {
			prepared, err := s.Prepare([]byte(written(good())))
			must(err)
			_, err = s.Save(t.Bolt(), now, prepared, sessionstore.Owner{Scope: scope, NativeID: session, Path: at})
			must(err)
			die()
			return nil
		}))
	}
	_, _, err = k.Save(ctx, scope, collected(written(good())), false)
	must(err)
	_, _, err = k.Save(ctx, scope, collected(written(good())), true)
	must(err)
	if step == "saved" {
		die()
	}
	must(r.Finish(time.Now(), state.Terminal{Status: "succeeded", Record: []byte("{}")}, func(t *state.Tx, r state.RunRecord) error {
		must(Settle(t, r))
		if step == "settling" {
			die()
		}
		return nil
	}))
	die()
}

func lost(state.RunRecord) ([]byte, error) { return []byte(`{"status":"lost"}`), nil }

// killed runs that jig and returns the id of its run.
func (p *place) killed(step, reference string) string {
	p.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RETAIN_TEST_STEP="+step, "RETAIN_TEST_PROJECT="+p.dir, "RETAIN_TEST_REFERENCE="+reference)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(p, err)
	require.NoError(p, cmd.Start())
	id, _ := bufio.NewReader(out).ReadString('\n')
	err = cmd.Wait()
	require.Error(p, err)
	require.True(p, cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(), "%s: %v", step, err)
	return strings.TrimSpace(id)
}

func (p *place) status(id string) (status string) {
	p.Helper()
	require.NoError(p, p.d.View(func(t *state.Tx) error {
		r, found, err := t.Run(id)
		require.True(p, found)
		status = r.Status
		return err
	}))
	return status
}

func TestAKillAtEveryStep(t *testing.T) {
	// rule: F-137, F-138, F-145, J-121, P-152
	for _, c := range []struct {
		step             string
		reference        bool // the claimed one can be had after all
		before, after    int  // snapshots of the dead run: as it left them, and recovered
		claims           int
		status, recorded string
	}{
		{step: "claiming", reference: true, recorded: "lost"},
		{step: "claimed", claims: 1, recorded: "lost"},
		{step: "saving", claims: 1, recorded: "lost"},
		{step: "saved", claims: 1, before: 2, after: 1, recorded: "lost"},
		{step: "settling", claims: 1, before: 2, after: 1, recorded: "lost"},
		{step: "settled", before: 1, after: 1, status: "succeeded", recorded: "succeeded"},
	} {
		t.Run(c.step, func(t *testing.T) {
			p := newPlace(t)
			living := p.run()
			reference, theirs := living.save(false), living.save(true)
			others := 1
			if c.reference {
				others = 2
			}
			id := p.killed(c.step, reference)
			require.Equal(t, c.status, p.status(id), "as it left it")
			require.Len(t, p.list(), others+c.before)
			require.Equal(t, c.claims, p.claims())
			if c.status == "" { // a recovery that is killed changes nothing
				p.killed("recovering", "")
				require.Equal(t, c.status, p.status(id))
				require.Len(t, p.list(), others+c.before)
				require.Equal(t, c.claims, p.claims())
			}

			found, err := p.d.Recover(t.Context(), lost, Settle)
			require.NoError(t, err)
			require.Equal(t, c.recorded, p.status(id))
			require.Len(t, found, map[string]int{"lost": 1, "succeeded": 0}[c.recorded])
			require.Len(t, p.list(), others+c.after, "only what outlives its run is left of it")
			require.Zero(t, p.claims())
			_, err = living.Claim(t.Context(), scope, reference)
			require.Equal(t, c.reference, err == nil, "%v", err)
			require.NoError(t, living.claim(theirs), "another run's are its own")
		})
	}
}
