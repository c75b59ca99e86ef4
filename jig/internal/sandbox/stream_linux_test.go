package sandbox

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAStreamGivesWhatIsThereAndThenEnds has somebody outside of the scope hold
// the other end of its pipe.
func TestAStreamGivesWhatIsThereAndThenEnds(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	const text = "what was written last"
	_, err = io.WriteString(w, strings.Repeat(text, 1000))
	require.NoError(t, err)
	s := &Stream{r}
	require.NoError(t, s.SetReadDeadline(time.Unix(1, 0)))
	n, err := s.Read(nil)
	require.Zero(t, n)
	require.NoError(t, err)
	b, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(s, int64(len(text)))))
	require.NoError(t, err)
	require.Equal(t, text, string(b))
	b, err = io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(text, 999), string(b))
	_, err = s.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
	_, err = s.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed)
}
