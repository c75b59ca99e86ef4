package author

import (
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// ProjectPath reads a path below the project: one leading "./" is dropped, the
// rest follows the rules of package paths. `.jig` is the host's own.
func ProjectPath(p, pointer string) (string, error) {
	p = strings.TrimPrefix(p, "./")
	if reason := flowpkg.CheckPath(p); reason != "" {
		return "", refuse(pointer, "no project path: "+reason)
	}
	for segment := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(segment, ".jig") {
			return "", refuse(pointer, "no project path: .jig belongs to the host")
		}
	}
	return p, nil
}

// fold maps paths that some file system takes for one to the same text.
func fold(p string) string { return norm.NFC.String(cases.Fold().String(norm.NFD.String(p))) }

// list sorts paths by bytes and refuses doubles, collisions and paths inside one
// another.
func list(paths []string, pointer string) ([]string, error) {
	slices.Sort(paths)
	seen := make(map[string]string, len(paths))
	for _, p := range paths {
		key := fold(p)
		switch other, double := seen[key]; {
		case double && other == p:
			return nil, refuse(pointer, p+" is named twice")
		case double:
			return nil, refuse(pointer, other+" and "+p+" are the same name on some file systems")
		}
		seen[key] = p
	}
	for _, p := range paths {
		for up := path.Dir(fold(p)); up != "."; up = path.Dir(up) {
			if outer, inside := seen[up]; inside {
				return nil, refuse(pointer, p+" lies inside "+outer+", which is named as well")
			}
		}
	}
	return paths, nil
}

// localFile reads the LocalName of a file such as bindings/<name>.ts.
func localFile(p, extension string) (name string, ok bool) {
	name, ok = strings.CutSuffix(path.Base(p), extension)
	return name, ok && contract.LocalName(name)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func contains(list []string, s string) bool { return slices.Contains(list, s) }
