package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hierarchy is a folder that looks like a cgroup v2 mount in which this process
// runs in /user/own, and the file that says so.
func hierarchy(t *testing.T, controllers string) (mount, self string) {
	t.Helper()
	mount = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(mount, "user", "own"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(mount, "user", "cgroup.subtree_control"), []byte(controllers), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(mount, "user", "cgroup.procs"), nil, 0o644))
	self = filepath.Join(mount, "self")
	require.NoError(t, os.WriteFile(self, []byte("0::/user/own\n"), 0o644))
	return mount, self
}

// read is a control file of a group. The kernel makes them; here the write did,
// with no right to read.
func read(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.Chmod(path, 0o600))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// rule: J-138
func TestADelegatedGroupBoundsAFlow(t *testing.T) {
	root := findCgroup(hierarchy(t, "cpu memory pids\n"))
	require.NotNil(t, root)
	group, err := root.make(FlowSpec("/jig", "", "x").Limits)
	require.NoError(t, err)
	require.Equal(t, "user", filepath.Base(filepath.Dir(group.path)), "beside jig's own group: processes live in leaves")
	require.Equal(t, "268435456", read(t, filepath.Join(group.path, "memory.max")))
	require.Equal(t, "64", read(t, filepath.Join(group.path, "pids.max")))
	require.Equal(t, "0", read(t, filepath.Join(group.path, "memory.swap.max")))
	require.Equal(t, "1", read(t, filepath.Join(group.path, "memory.oom.group")), "all of a scope ends, or nothing of it")
	other, err := root.make(FlowSpec("/jig", "", "x").Limits)
	require.NoError(t, err)
	require.NotEqual(t, group.path, other.path)

	require.False(t, group.killedForMemory())
	for events, killed := range map[string]bool{"low 0\noom 3\noom_kill 0\n": false, "oom 1\noom_kill 1\n": true} {
		require.NoError(t, os.WriteFile(filepath.Join(group.path, "memory.events"), []byte(events), 0o600))
		require.Equal(t, killed, group.killedForMemory())
	}
	for _, g := range []*cgroup{group, other} {
		files, err := filepath.Glob(g.path + "/*")
		require.NoError(t, err)
		for _, f := range files { // in the kernel's folder they go with it
			require.NoError(t, os.Remove(f))
		}
		g.remove()
		require.NoDirExists(t, g.path)
	}
}

// rule: J-139
func TestADelegatedGroupBoundsANativeScope(t *testing.T) {
	root := findCgroup(hierarchy(t, "memory pids\n"))
	require.NotNil(t, root)
	group, err := root.make(NativeSpec(Native{}).Limits)
	require.NoError(t, err)
	require.Equal(t, "1879048192", read(t, filepath.Join(group.path, "memory.max")))
	require.Equal(t, "512", read(t, filepath.Join(group.path, "pids.max")))
	group.dir.Close()
}

func TestAGroupThatWasNotHandedDownIsLeftAlone(t *testing.T) {
	for name, spoil := range map[string]func(mount, self string){
		"no memory controller": func(mount, _ string) { overwrite(t, mount+"/user/cgroup.subtree_control", "cpu pids\n") },
		"no pids controller":   func(mount, _ string) { overwrite(t, mount+"/user/cgroup.subtree_control", "cpu memory\n") },
		"no controllers":       func(mount, _ string) { require.NoError(t, os.Remove(mount+"/user/cgroup.subtree_control")) },
		"nothing to move into": func(mount, _ string) { require.NoError(t, os.Remove(mount+"/user/cgroup.procs")) },
		"version 1":            func(_, self string) { overwrite(t, self, "4:memory:/user/own\n1:name=systemd:/user/own\n") },
		"no cgroups":           func(_, self string) { require.NoError(t, os.Remove(self)) },
	} {
		mount, self := hierarchy(t, "memory pids\n")
		require.NotNil(t, findCgroup(mount, self), name)
		spoil(mount, self)
		require.Nil(t, findCgroup(mount, self), name)
	}
	var none *cgroup
	require.False(t, none.killedForMemory())
	none.remove()
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	require.True(t, strings.HasSuffix(text, "\n"))
}
