package check

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// In the workspace this looks at every module; where tools is tested alone, at
// tools and the modules that it imports.
func TestImportsOfThisRepositoryFollowTheTable(t *testing.T) {
	const module = "../.." // the folder of tools
	args := []string{"-deps", "./..."}
	dir := module
	if root, err := workspace.Find(t.Context(), module); err == nil {
		work, err := workspace.Load(t.Context(), root)
		require.NoError(t, err)
		args, dir = work.Patterns(), root
	}
	packages, err := workspace.List(t.Context(), dir, nil, args...)
	require.NoError(t, err)
	problems, imports := Arrows(packages)
	require.NoError(t, problems.Err())
	require.Greater(t, imports, 50)
}

// The table must be free of circles, name nothing that nobody may import, and
// have no arrow to a module without a row.
func TestTheTableIsSound(t *testing.T) {
	var visit func(name string, way []string)
	visit = func(name string, way []string) {
		require.NotContains(t, way, name, "circle")
		for _, next := range table[name].modules {
			require.NotContains(t, []string{toolsModule, "magid", "jig"}, next)
			require.Contains(t, table, next)
			visit(next, append(way, name))
		}
	}
	for name := range table {
		visit(name, nil)
	}
}

func TestRefuse(t *testing.T) {
	const here = "github.com/magi-jig/magi-jig/"
	for _, c := range []struct {
		from, path string
		tests      bool
		want       string
	}{
		{from: "wirev2", path: "net"},
		{from: "wirev2", path: here + "wirev2/client"},
		{from: "wirev2", path: uuidModule},
		{from: "wirev2", path: jsonModule + "/jsontext"},
		{from: "wirev2", path: jsonModule + "-not", want: "does not give it"},
		{from: "wirev2", path: "github.com/stretchr/testify/require", want: "does not give it"},
		{from: "wirev2", path: "github.com/stretchr/testify/require", tests: true},
		{from: "acpprofile", path: here + "acpframing"},
		{from: "acpframing", path: here + "acpprofile", want: "no arrow from acpframing to acpprofile"},
		{from: "jig", path: here + "magid/scripted", tests: true, want: "no arrow from jig to magid"},
		{from: "magid", path: here + "wirev2x", want: "no arrow"},
		{from: "tools", path: here + "magid/scripted"},
		{from: "tools", path: "example.com/anything"},
		{from: "executorauth", path: "golang.org/x/sys/unix", want: "does not give it"},
	} {
		deps := table[c.from].deps
		if c.tests {
			deps = append(append([]string{}, deps...), testDeps...)
		}
		got := refuse(c.from, c.path, deps)
		if c.want == "" {
			require.Empty(t, got, "%s to %s", c.from, c.path)
		} else {
			require.True(t, strings.Contains(got, c.want), "%s to %s: %q", c.from, c.path, got)
		}
	}
}
