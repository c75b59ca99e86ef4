package acp_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// adapterProgram is testdata/adapter, which every scope of these tests runs.
var adapterProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-test-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "adapter")
	build := exec.Command("go", "build", "-o", path, "./testdata/adapter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, nil
})

// built is its folder, once there is one.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// real is a rig whose scopes are real ones, with an adapter that does how.
func real(t *testing.T, how string) (*rig, *acp.Scopes) {
	program, err := adapterProgram()
	require.NoError(t, err)
	bwrap, err := exec.LookPath("bwrap")
	require.NoError(t, err, "bubblewrap is needed; make test installs it")
	l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: bwrap, UID: 65534, GID: 65534})
	require.NoError(t, err)
	s := &acp.Scopes{Launcher: l}
	r := newRig(t)
	r.starter, r.deadline = s, 2*time.Minute
	r.plan.Native, r.plan.Argv = "/agent/jig", []string{how}
	r.plan.Binds = []sandbox.Bind{{Source: program, Dest: sandbox.AdapterPath}}
	r.plan.Tmpfs = []sandbox.Tmpfs{{Dest: "/codex", Bytes: sandbox.NativeHomeBytes}, {Dest: "/codex/sessions", Bytes: sandbox.SessionsBytes}}
	return r, s
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// reader is a keeper that reads what a client left.
type reader struct {
	keeper
	history string
}

func (k *reader) Collect(_ context.Context, sessions *os.File, id string, _ []string) (*acp.Collected, string, error) {
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(sessions.Fd())))
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	f, err := root.Open("history")
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	k.history = string(b)
	return &acp.Collected{NativeID: id, Path: "history", Content: b}, "", err
}

func (k *reader) Save(context.Context, string, *acp.Collected, bool) (string, string, error) {
	return given, "", nil
}

// rule: P-216, J-162, J-163, J-164, J-166, J-167, J-220, F-113, F-129, P-076
func TestScopesOfBubblewrap(t *testing.T) {
	before := 0
	for i, c := range []struct {
		how, want, note string
		failed          fault.Code
		after           func(r *rig)
	}{
		{how: "ends", want: exited},
		{how: "ends", want: exited},
		{how: "fails", want: exited, note: "refused the credential"},
		{how: "stays", want: `"stopReason":"closed","exitCode":null,"signal":"SIGTERM"`},
		{how: "vanishes", failed: fault.Uncertain},
		{how: "hangs", failed: fault.Cancelled, after: func(r *rig) { r.cancel() }},
	} {
		r, s := real(t, c.how)
		k := &reader{}
		if c.how == "ends" {
			r.grant, r.input, r.sessions = keeps, retain, k
			c.want += `,"session":{"status":"retained","reference":"` + given + `"}`
		}
		r.start()
		require.Equal(t, ready, r.next())
		r.send(request(1, "initialize", initialize))
		if c.how != "vanishes" {
			r.next()
			r.ask(2, "session/new", newSession, `"result":`+session)
			r.send(request(3, "session/prompt", prompt("hello")))
		}
		switch {
		case c.after != nil:
			c.after(r)
			r.fails(c.failed)
		case c.failed != "":
			require.Equal(t, fault.Disconnected, r.lost())
			r.fails(c.failed)
		default:
			r.settled(3)
			r.close()
			r.succeeds(c.want)
		}
		require.False(t, s.Unclean(), c.how)
		require.Contains(t, r.notes(), c.note)
		if c.how == "ends" {
			require.Equal(t, "what was said\n", k.history, "read after the fence")
		}
		switch {
		case i == 0:
			before = descriptors(t) // what the first one opened for good is open now
		default:
			require.Equal(t, before, descriptors(t), "%s leaves descriptors", c.how)
		}
	}
}

func TestAScopeThatCannotBeHadIsUncertainAndClean(t *testing.T) {
	// rule: P-075
	r, s := real(t, "ends")
	r.plan.Binds = []sandbox.Bind{{Source: "/nowhere", Dest: sandbox.AdapterPath}}
	r.start()
	f := r.fails(fault.Uncertain)
	require.NotContains(t, f.Message, "/nowhere")
	require.False(t, s.Unclean())
	require.Empty(t, r.left)
}
