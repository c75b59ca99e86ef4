package engine_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
)

// asMain makes the test binary what the jig binary is for one of its words.
const asMain = "JIG_TEST_MAIN"

// rule: J-046, J-049
func TestDeclareMain(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = []string{asMain + "=__declare", "GOCOVERDIR=" + t.TempDir()}
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	client := &declare.Client{In: in, Out: out, Source: func(string) ([]byte, error) {
		return []byte(`import { defineJig } from "@jigging/jig"; export default defineJig({ flows: ["./a"] });`), nil
	}}
	for range 2 {
		v, err := client.Evaluate("jig.ts")
		require.NoError(t, err)
		require.Equal(t, `{"flows":{"kind":"members","paths":["a"]}}`, string(v))
	}
	require.NoError(t, in.Close())
	require.NoError(t, c.Wait(), "its end is that of its input")
}

// rule: J-056
func TestMainsRefuse(t *testing.T) {
	_, err := os.Stat(engine.PackageDir)
	require.ErrorIs(t, err, os.ErrNotExist, "this test is for a machine that is no scope")
	for _, c := range []struct {
		word, args, stdin string
		status            int
		says              string
	}{
		{"__flow", "", "", 70, "ENGINE_FAILED"},
		{"__flow", "more", "", 70, "takes no argument"},
		{"__flow", "compiled", "", 70, "ENGINE_FAILED"},
		{"__compile", "", "", 1, "ENGINE_FAILED"},
		{"__compile", "more", "", 70, "takes no argument"},
		{"__declare", "more", "", 70, "takes no argument"},
		{"__declare", "", "nonsense\n", 70, "ENGINE_FAILED"},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{asMain + "=" + c.word, "JIG_TEST_ARGS=" + c.args, "GOCOVERDIR=" + t.TempDir()}
		cmd.Stdin = strings.NewReader(c.stdin)
		var stderr, stdout strings.Builder
		cmd.Stderr, cmd.Stdout = &stderr, &stdout
		require.Error(t, cmd.Run())
		require.Equal(t, c.status, cmd.ProcessState.ExitCode())
		require.Contains(t, stderr.String(), c.says)
		require.Empty(t, stdout.String())
	}
}
