package adapter

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// rule: J-164, J-220
func TestFolderOfSessionsGoesToTheHost(t *testing.T) {
	home := t.TempDir()
	frame := &launch.Frame{Client: "codex", Native: "/n", Env: map[string]string{"CODEX_HOME": home}, Retain: true}
	evidence, child, err := launch.New()
	require.NoError(t, err)
	defer evidence.Close()
	fd, err := unix.FcntlInt(child.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	require.NoError(t, err)
	require.NoError(t, child.Close())
	reporter, err := launch.NewReporter(fd)
	require.NoError(t, err)
	defer reporter.Close()

	require.ErrorIs(t, handOver(frame, reporter), os.ErrNotExist)
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(home, "sessions")))
	require.Error(t, handOver(frame, reporter), "a link is no folder")
	require.NoError(t, os.Remove(filepath.Join(home, "sessions")))
	require.NoError(t, os.Mkdir(filepath.Join(home, "sessions"), 0o700))
	require.NoError(t, handOver(frame, reporter))
	require.NoError(t, os.WriteFile(filepath.Join(home, "sessions", "later"), nil, 0o600))
	require.NoError(t, reporter.Started(1))
	<-evidence.Started()
	folder := evidence.Sessions()
	require.NotNil(t, folder)
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	require.NoError(t, err)
	require.Equal(t, []string{"later"}, names)
}
