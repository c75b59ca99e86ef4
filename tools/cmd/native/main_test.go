package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistakesOnTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-loud"}, 2, "-loud"},
		{[]string{"codex"}, 2, `"codex" is no flag`},
		{[]string{"-h"}, 0, "-demo"},
	} {
		var said bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, &said))
		require.Contains(t, said.String(), c.want)
	}
}

func TestItNeedsTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "")
	var said bytes.Buffer
	require.Equal(t, 1, run(t.Context(), nil, &said))
	require.Contains(t, said.String(), "run this inside the repository")
}
