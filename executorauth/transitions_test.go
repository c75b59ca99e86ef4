package executorauth_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// scene is one executor in one state, with everything a test may do to it.
// Connection A is the one it was created on; B, C and D are other connections,
// and D holds an executor of its own.
type scene struct {
	a          *executorauth.Authority
	now        time.Duration
	id         executorauth.ID
	generation int64
	proof      executorauth.Secret
	candidate  executorauth.Secret // none: an expired one, so never right
	pin        executorauth.Pin
}

type sceneState struct {
	name  string
	build func(t *testing.T, s *scene)
}

// sceneStates are all reachable states of one executor.
var sceneStates = func() []sceneState {
	list := []sceneState{
		{"gone", func(t *testing.T, s *scene) {
			s.create(t)
			_, err := s.a.Release("A", s.id, 1, s.now)
			require.NoError(t, err)
		}},
		{"provisional", func(t *testing.T, s *scene) { s.create(t) }},
		{"provisional detached", func(t *testing.T, s *scene) { s.create(t); s.a.Disconnect("A", s.now) }},
	}
	for _, rotate := range []bool{false, true} {
		for _, detach := range []bool{false, true} {
			for _, pin := range []bool{false, true} {
				list = append(list, sceneState{sceneName(rotate, detach, pin), func(t *testing.T, s *scene) {
					s.create(t)
					_, err := s.a.Confirm("A", s.id, s.proof, s.now)
					require.NoError(t, err)
					if rotate {
						r, err := s.a.Rotate("A", s.id, 1, s.now)
						require.NoError(t, err)
						s.candidate = r.Secret
					}
					if pin {
						s.pin, err = s.a.Pin("A", s.id, 1, s.now)
						require.NoError(t, err)
					}
					if detach {
						s.a.Disconnect("A", s.now)
					}
				}})
			}
		}
	}
	return list
}()

func sceneName(rotating, detached, pinned bool) string {
	name := "confirmed"
	if rotating {
		name = "rotating"
	}
	if detached {
		name += " detached"
	}
	if pinned {
		name += " pinned"
	}
	return name
}

func newScene(t *testing.T, state sceneState) *scene {
	s := &scene{a: newAuthority(t), now: time.Second, candidate: secret(t, "expired")}
	c, err := s.a.Create("D", 0)
	require.NoError(t, err)
	_, err = s.a.Confirm("D", c.ID, c.Secret, 0)
	require.NoError(t, err)
	state.build(t, s)
	return s
}

func (s *scene) create(t *testing.T) {
	c, err := s.a.Create("A", s.now)
	require.NoError(t, err)
	s.id, s.generation, s.proof = c.ID, c.Generation, c.Secret
}

// stands names the state the executor is in.
func (s *scene) stands() string {
	st, ok := s.a.Lookup(s.id, s.now)
	switch {
	case !ok:
		return "gone"
	case st.State == executorauth.Provisional && st.Conn == "":
		return "provisional detached"
	case st.State == executorauth.Provisional:
		return "provisional"
	}
	return sceneName(st.State == executorauth.Rotating, st.Conn == "", st.Pins > 0)
}

// code is the error's name on the wire.
func code(err error) string {
	for _, c := range []struct {
		err  error
		code string
	}{
		{executorauth.ErrRejected, "executor_rejected"},
		{executorauth.ErrStale, "stale_connection"},
		{executorauth.ErrConflict, "conflict"},
		{executorauth.ErrLimit, "limit_exceeded"},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "?"
}

type sceneEvent struct {
	name string
	do   func(s *scene) (note string, err error)
}

func resume(conn executorauth.ConnID, with func(*scene) executorauth.Secret) func(*scene) (string, error) {
	return func(s *scene) (string, error) {
		r, err := s.a.Resume(conn, s.id, with(s), s.now)
		if err != nil {
			return "", err
		}
		var note strings.Builder
		note.WriteString(fmt.Sprintf("generation %d", r.Generation))
		for _, n := range []struct {
			when bool
			text string
		}{
			{r.Fenced != "", "fences " + string(r.Fenced)}, {r.Confirmed, "confirms"},
			{r.Promoted, "promotes"}, {r.Cancelled, "cancels the candidate"},
		} {
			if n.when {
				note.WriteString(", " + n.text)
			}
		}
		return note.String(), nil
	}
}

var (
	withProof     = func(s *scene) executorauth.Secret { return s.proof }
	withCandidate = func(s *scene) executorauth.Secret { return s.candidate }
	withGuess     = func(*scene) executorauth.Secret { p, _ := executorauth.ParseSecret("guess"); return p }
)

func confirm(conn executorauth.ConnID, with func(*scene) executorauth.Secret) func(*scene) (string, error) {
	return func(s *scene) (string, error) {
		_, err := s.a.Confirm(conn, s.id, with(s), s.now)
		return "", err
	}
}

func rotateConfirm(conn executorauth.ConnID, generation int64, with func(*scene) executorauth.Secret) func(*scene) (string, error) {
	return func(s *scene) (string, error) {
		_, err := s.a.RotateConfirm(conn, s.id, generation, with(s), s.now)
		return "", err
	}
}

func rotate(conn executorauth.ConnID, generation int64) func(*scene) (string, error) {
	return func(s *scene) (string, error) {
		_, err := s.a.Rotate(conn, s.id, generation, s.now)
		return "", err
	}
}

func release(conn executorauth.ConnID, generation int64) func(*scene) (string, error) {
	return func(s *scene) (string, error) {
		_, err := s.a.Release(conn, s.id, generation, s.now)
		return "", err
	}
}

func yes(ok bool, then, otherwise string) string {
	if ok {
		return then
	}
	return otherwise
}

var sceneEvents = []sceneEvent{
	{"create on A", func(s *scene) (string, error) {
		_, err := s.a.Create("A", s.now)
		return "another executor", err
	}},
	{"confirm on A", confirm("A", withProof)},
	{"confirm on A, candidate", confirm("A", withCandidate)},
	{"confirm on A, wrong secret", confirm("A", withGuess)},
	{"confirm on B", confirm("B", withProof)},
	{"confirm on B, wrong secret", confirm("B", withGuess)},
	{"resume on A", resume("A", withProof)},
	{"resume on B", resume("B", withProof)},
	{"resume on B, candidate", resume("B", withCandidate)},
	{"resume on B, wrong secret", resume("B", withGuess)},
	{"resume on D", resume("D", withProof)},
	{"rotate on A", rotate("A", 1)},
	{"rotate on A, generation 2", rotate("A", 2)},
	{"rotate on B", rotate("B", 1)},
	{"rotate_confirm on A", rotateConfirm("A", 1, withCandidate)},
	{"rotate_confirm on A, old secret", rotateConfirm("A", 1, withProof)},
	{"rotate_confirm on A, wrong secret", rotateConfirm("A", 1, withGuess)},
	{"rotate_confirm on A, generation 2", rotateConfirm("A", 2, withCandidate)},
	{"rotate_confirm on B", rotateConfirm("B", 1, withCandidate)},
	{"rotate_confirm on B, wrong secret", rotateConfirm("B", 1, withGuess)},
	{"release on A", release("A", 1)},
	{"release on A, generation 2", release("A", 2)},
	{"release on B", release("B", 1)},
	{"a turn is accepted on A", func(s *scene) (string, error) {
		_, err := s.a.Pin("A", s.id, 1, s.now)
		return "", err
	}},
	{"its turn ends", func(s *scene) (string, error) {
		return yes(s.a.Unpin(s.pin, s.now), "", "no pin"), nil
	}},
	{"a result comes on A", func(s *scene) (string, error) {
		return yes(s.a.Attached("A", s.id, 1, s.now), "may speak", "stale_connection"), nil
	}},
	{"a call has to go out", func(s *scene) (string, error) {
		conn, generation, ok := s.a.Route(s.id, s.now)
		return yes(ok, fmt.Sprintf("to %s, generation %d", conn, generation), "waits"), nil
	}},
	{"A disconnects", func(s *scene) (string, error) {
		_, held := s.a.Disconnect("A", s.now)
		return yes(held, "", "nothing held"), nil
	}},
	{"its next deadline", func(s *scene) (string, error) {
		next, waiting := s.a.NextDeadline()
		if !waiting {
			return "none", nil
		}
		var note strings.Builder
		note.WriteString(fmt.Sprint("after ", next-s.now))
		s.now = next
		for _, e := range s.a.Expire(next) {
			note.WriteString(", " + string(e.What))
		}
		return note.String(), nil
	}},
}

// The table is for readers and for reviewers of a change: what it says must be
// what the specifications say. The tests beside it say why.
func TestTransitionTable(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "# state\tevent\tanswer\tstate after it")
	for _, state := range sceneStates {
		fmt.Fprintln(w)
		for _, event := range sceneEvents {
			s := newScene(t, state)
			require.Equal(t, state.name, s.stands(), "the scene is built right")
			before := s.a.Counts(s.now)
			beforeStatus, _ := s.a.Lookup(s.id, s.now)

			note, err := event.do(s)
			answer := "ok"
			switch {
			case err != nil:
				answer = code(err)
				require.NotEqual(t, "?", answer, err)
				after, _ := s.a.Lookup(s.id, s.now)
				require.Equal(t, beforeStatus, after, "a refusal changes nothing")
				require.Equal(t, before, s.a.Counts(s.now), "a refusal changes nothing")
			case note != "":
				answer = note
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state.name, event.name, answer, s.stands())
		}
	}
	require.NoError(t, w.Flush())
	golden(t, "testdata/transitions.txt", table.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run the test with -update and review what changed")
}
