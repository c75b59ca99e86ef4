package rehearsal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/magi-jig/magi-jig/tools"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Drift compares what tidy made of each module's copy with the repository's
// go.mod and go.sum, siblings apart, and returns one line for each difference.
// With write it also puts the repository right.
func (r *Rehearsal) Drift(write bool) ([]string, error) {
	var lines []string
	for _, m := range r.Order {
		found, err := r.drift(m, write)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		lines = append(lines, found...)
	}
	return lines, nil
}

// maxShown is how many differences of one file are told.
const maxShown = 8

func (r *Rehearsal) drift(m workspace.Module, write bool) ([]string, error) {
	var lines []string
	for _, file := range []string{"go.mod", "go.sum"} {
		have, err := readOptional(filepath.Join(m.Dir, file))
		if err != nil {
			return nil, err
		}
		tidied, err := readOptional(r.path("copy", m.Name, file))
		if err != nil {
			return nil, err
		}
		without, facts := withoutSiblings, requirements
		if file == "go.sum" {
			without, facts = sumWithoutSiblings, sums
		}
		// Siblings that the repository requires already (after a release) stay
		// as they are: they are compared with nothing.
		want, err := without(tidied)
		if err != nil {
			return nil, err
		}
		a, err := facts(have)
		if err != nil {
			return nil, err
		}
		b, err := facts(want)
		if err != nil {
			return nil, err
		}
		changes := difference(a, b)
		if len(changes) > 0 && write {
			if err := os.WriteFile(filepath.Join(m.Dir, file), want, 0o644); err != nil {
				return nil, err
			}
			continue
		}
		for i, change := range changes {
			if i == maxShown {
				lines = append(lines, fmt.Sprintf("%s/%s: and %d lines more", m.Name, file, len(changes)-i))
				break
			}
			lines = append(lines, m.Name+"/"+file+": "+change)
		}
	}
	return lines, nil
}

func readOptional(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

func isSibling(path string) bool { return strings.HasPrefix(path, tools.ModulePrefix+"/") }

// withoutSiblings returns a go.mod file without the requirements of siblings.
func withoutSiblings(data []byte) ([]byte, error) {
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	for _, req := range slices.Clone(file.Require) {
		if isSibling(req.Mod.Path) {
			if err := file.DropRequire(req.Mod.Path); err != nil {
				return nil, err
			}
		}
	}
	file.Cleanup()
	return file.Format()
}

// requirements returns what a go.mod file says, siblings apart, in lines whose
// order means nothing.
func requirements(data []byte) ([]string, error) {
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	var lines []string
	if file.Go != nil {
		lines = append(lines, "go "+file.Go.Version)
	}
	if file.Toolchain != nil {
		lines = append(lines, "toolchain "+file.Toolchain.Name)
	}
	for _, tool := range file.Tool {
		lines = append(lines, "tool "+tool.Path)
	}
	for _, req := range file.Require {
		if isSibling(req.Mod.Path) {
			continue
		}
		line := "require " + req.Mod.Path + " " + req.Mod.Version
		if req.Indirect {
			line += " // indirect"
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func sumWithoutSiblings(data []byte) ([]byte, error) {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !isSibling(line) {
			b.WriteString(line)
		}
	}
	return []byte(b.String()), nil
}

func sums(data []byte) ([]string, error) {
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !isSibling(line) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// difference says what have lacks of want and what it has too much.
func difference(have, want []string) []string {
	var lines []string
	for _, line := range want {
		if !slices.Contains(have, line) {
			lines = append(lines, "lacks "+line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			lines = append(lines, "should not hold "+line)
		}
	}
	slices.Sort(lines)
	return lines
}
