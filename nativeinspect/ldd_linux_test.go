package nativeinspect

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampled is how many programs of /usr/bin are compared by default.
const sampled = 24

// The loader itself says what it would load, and has to say the same. By default a
// sample of /usr/bin is compared, with -long all of it.
//
// rule: F-179, P-105, P-111, P-113
func TestClosureAgreesWithTheLoader(t *testing.T) {
	m := newMachine(t)
	entries, err := os.ReadDir("/usr/bin")
	require.NoError(t, err)
	var programs []string
	for _, e := range entries {
		real, err := filepath.EvalSymlinks(filepath.Join("/usr/bin", e.Name()))
		if err == nil && dynamic(t, real) && !slices.Contains(programs, real) {
			programs = append(programs, real)
		}
	}
	require.NotEmpty(t, programs)
	step := 1
	if !*long {
		step = max(1, len(programs)/sampled)
	}
	compared := 0
	for at := 0; at < len(programs); at += step {
		path := programs[at]
		st, err := os.Stat(path)
		require.NoError(t, err)
		m.env["CLAUDE_PATH"] = path
		i, err := m.inspect(Claude)
		if st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			m.refused(err, StageInstallation, ReasonSetID)
			continue
		}
		want, complete := ldd(t, path)
		if !complete {
			m.refused(err, StageInstallation, ReasonMissing)
			continue
		}
		require.NoError(t, err, path)
		var got []string
		for _, f := range i.Files {
			got = append(got, f.Source)
		}
		slices.Sort(got)
		require.Equal(t, want, slices.Compact(got), path)
		compared++
	}
	require.Positive(t, compared)
	t.Logf("%d of %d dynamic programs compared", compared, len(programs))
}

// dynamic reports whether a file is an ELF program with an interpreter for this
// machine, as file types go; it is not what is tested.
func dynamic(t *testing.T, path string) bool {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return false
	}
	require.NoError(t, err)
	defer f.Close()
	head := make([]byte, 8<<10)
	n, _ := f.Read(head)
	return n > 20 && bytes.HasPrefix(head, elfMagic) && head[4] == 2 && head[18] == 62 &&
		bytes.Contains(head[:n], []byte("/ld-linux-x86-64.so.2\x00"))
}

// ldd returns the files, without links, that the loader would load, and whether it
// found all of them.
func ldd(t *testing.T, path string) (files []string, complete bool) {
	cmd := exec.Command("ldd", path)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	out, err := cmd.Output()
	require.NoError(t, err, path)
	complete = true
	for line := range strings.Lines(string(out)) {
		name, rest, arrow := strings.Cut(strings.TrimSpace(line), " => ")
		if !arrow {
			rest = name
		}
		file, _, _ := strings.Cut(rest, " (")
		switch {
		case file == "not found":
			complete = false
		case strings.HasPrefix(file, "/"):
			real, err := filepath.EvalSymlinks(file)
			require.NoError(t, err)
			files = append(files, real)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), complete
}
