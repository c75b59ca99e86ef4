package state

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// TestMain is also the other process: with STATE_TEST_ROLE set it does what that
// says and ends when its standard input does.
func TestMain(m *testing.M) {
	switch os.Getenv("STATE_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "flock":
		f, err := os.OpenFile(os.Getenv("STATE_TEST_FILE"), os.O_RDWR, 0)
		must(err)
		must(tryLock(f, true))
	case "run":
		d, err := Open(os.Getenv("STATE_TEST_PROJECT"))
		must(err)
		r, err := d.StartRun(time.Now(), time.Now().Add(time.Hour), nothing)
		must(err)
		fmt.Println(r.ID)
	case "scope":
		// A run whose scope outlives it: a child inherits the scope's lock.
		d, err := Open(os.Getenv("STATE_TEST_PROJECT"))
		must(err)
		r, err := d.StartRun(time.Now(), time.Now().Add(time.Hour), nothing)
		must(err)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "STATE_TEST_ROLE=child")
		child.Stdin, child.ExtraFiles = os.Stdin, []*os.File{r.ScopeLock()}
		must(child.Start())
		fmt.Println(r.ID)
		os.Exit(0)
	case "stuck":
		must(os.WriteFile("/proc/self/comm", []byte(os.Getenv("STATE_TEST_NAME")), 0))
	case "child":
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte()
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func nothing(*Tx) (RunRecord, error) { return RunRecord{Target: "flow:x"}, nil }

// other starts the other process and returns what it said first and how to let it
// end.
func other(t *testing.T, role string, env ...string) (said string, release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "STATE_TEST_ROLE="+role), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	release = sync.OnceFunc(func() {
		in.Close()
		cmd.Wait()
	})
	t.Cleanup(release)
	return strings.TrimSpace(said), release
}

func project(t *testing.T) (string, *Dir) {
	t.Helper()
	dir := t.TempDir()
	d, err := Create(dir)
	require.NoError(t, err)
	return dir, d
}

func admit(t *testing.T, d *Dir, base int64, content string) int64 {
	t.Helper()
	n := int64(0)
	require.NoError(t, d.Update(func(tx *Tx) (err error) {
		n, err = tx.Admit(base, jsontext.Value(content))
		return err
	}))
	return n
}

func admission(t *testing.T, d *Dir) Admission {
	t.Helper()
	var a Admission
	require.NoError(t, d.View(func(tx *Tx) (err error) {
		a, err = tx.Admission()
		return err
	}))
	return a
}

func start(t *testing.T, d *Dir) *Run {
	t.Helper()
	r, err := d.StartRun(time.Now(), time.Now().Add(time.Hour), nothing)
	require.NoError(t, err)
	t.Cleanup(r.release)
	return r
}

func runs(t *testing.T, d *Dir) []RunRecord {
	t.Helper()
	var all []RunRecord
	require.NoError(t, d.View(func(tx *Tx) (err error) {
		all, err = tx.Runs()
		return err
	}))
	return all
}

func lost(RunRecord) ([]byte, error) { return []byte(`{"status":"lost"}`), nil }
