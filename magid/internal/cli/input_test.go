package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAPipeThatNobodyWritesToIsLeftWhenTheProgramIsToldToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	pipe := filepath.Join(t.TempDir(), "pipe") // a pipe without a writer cannot even be opened
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, err := readSource(ctx, pipe)
	require.ErrorContains(t, err, "told to end")
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // lets the reader go
	require.NoError(t, err)
	require.NoError(t, writer.Close())

	r, w := io.Pipe()
	a := &app{in: r}
	_, err = a.payload(ctx, []string{"-"})
	require.ErrorContains(t, err, "told to end")
	require.NoError(t, w.Close())
}
