package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/review"
)

// Who approves code sees which file of a package is another one now.
func TestAPlanNamesTheFilesThatDiffer(t *testing.T) {
	store := flowpkg.OpenStore(t.TempDir())
	captured := func(files map[string]string) jsontext.Value {
		dir := t.TempDir()
		for name, content := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
		p, err := store.Capture(dir)
		require.NoError(t, err)
		return jsontext.Value(`"` + p.Digest + `"`)
	}
	was := captured(map[string]string{"FLOW.ts": "one", "a/gone.txt": "12", "same.txt": "x", "turned.txt": "ab"})
	is := captured(map[string]string{"FLOW.ts": "three", "new\u202e.txt": "", "same.txt": "x", "turned.txt": "ba"})
	change := review.Change{Kind: review.KindPackage, Op: review.OpChange, Subject: "flows/a", Before: was, After: is}
	lines := packageFiles(store, []review.Change{change, {Kind: review.KindSlot, Op: review.OpAdd, Subject: "flows/b"}})
	want := []string{"~ FLOW.ts, 5 bytes, were 3", "- a/gone.txt, 2 bytes", `+ new\u{202e}.txt, 0 bytes`, "~ turned.txt, still 2 bytes"}
	require.Equal(t, map[string][]string{"flows/a": want}, lines)

	change.Before = nil
	require.Len(t, packageFiles(store, []review.Change{change})["flows/a"], 4, "a new package has new files")
	change.Before = jsontext.Value(fmt.Sprintf(`"sha256:%064d"`, 0))
	require.Contains(t, packageFiles(store, []review.Change{change})["flows/a"][0], "not here any more")
}

// A plan that nobody wants in detail stays short, and says what it leaves out.
func TestAPlanNamesTenFilesOfAPackageAndTheRestInDetail(t *testing.T) {
	change := review.Change{Kind: review.KindPackage, Op: review.OpChange, Subject: "flows/a"}
	for n := plannedFiles - 1; n <= plannedFiles+1; n++ {
		r := reviewed{files: map[string][]string{"flows/a": make([]string, n)}}
		shown := r.shownFiles(change)
		if n <= plannedFiles {
			require.Len(t, shown, n)
		} else {
			require.Len(t, shown, plannedFiles+1)
			require.Equal(t, "and 1 more, with --details", shown[plannedFiles])
		}
		added := change
		added.Op = review.OpAdd
		require.Empty(t, r.shownFiles(added), "everything of a new package is new")
		r.o.details = true
		require.Len(t, r.shownFiles(change), n)
		require.Len(t, r.shownFiles(added), n)
	}
}
