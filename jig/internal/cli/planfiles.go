package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/review"
)

// plannedFiles is how many files of a package a plan names where nobody asked for
// details.
const plannedFiles = 10

type fileContent struct {
	size   int64
	digest [sha256.Size]byte
}

// packageFiles says of each package that a plan changes which of its files differ.
// It is for a person alone: the digests of a plan cover every byte of them.
func packageFiles(store *flowpkg.Store, changes []review.Change) map[string][]string {
	all := map[string][]string{}
	for _, c := range changes {
		if c.Kind != review.KindPackage {
			continue
		}
		was, err := capturedFiles(store, c.Before)
		if err != nil {
			all[c.Subject] = []string{"the files of the earlier package are not here any more, so they cannot be compared"}
			continue
		}
		is, err := capturedFiles(store, c.After)
		if err != nil {
			continue // the approval refuses it
		}
		all[c.Subject] = fileLines(was, is)
	}
	return all
}

func fileLines(was, is map[string]fileContent) []string {
	names := maps.Clone(was)
	if names == nil {
		names = map[string]fileContent{}
	}
	maps.Copy(names, is)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, before := was[name]
		b, after := is[name]
		shown := escape(name)
		switch {
		case !before:
			lines = append(lines, fmt.Sprintf("+ %s, %d bytes", shown, b.size))
		case !after:
			lines = append(lines, fmt.Sprintf("- %s, %d bytes", shown, a.size))
		case a != b && a.size == b.size:
			lines = append(lines, fmt.Sprintf("~ %s, still %d bytes", shown, b.size))
		case a != b:
			lines = append(lines, fmt.Sprintf("~ %s, %d bytes, were %d", shown, b.size, a.size))
		}
	}
	return lines
}

// capturedFiles are the files of a package by name: none where a change has no
// package on that side.
func capturedFiles(store *flowpkg.Store, digest jsontext.Value) (map[string]fileContent, error) {
	if digest == nil {
		return nil, nil
	}
	var name string
	if err := json0.Decode(digest, &name); err != nil {
		return nil, err
	}
	p, err := store.Get(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string]fileContent{}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		c := fileContent{}
		if c.size, err = io.Copy(h, f); err == nil {
			h.Sum(c.digest[:0])
			files[name] = c
		}
		return err
	})
	return files, err
}

// shownFiles are the files of a change in a plan. In short only those of a package
// that there was before and is now, and not too many.
func (r *reviewed) shownFiles(c review.Change) []string {
	if c.Kind != review.KindPackage {
		return nil
	}
	lines := r.files[c.Subject]
	switch {
	case r.o.details:
		return lines
	case c.Op != review.OpChange:
		return nil
	case len(lines) > plannedFiles:
		return append(slices.Clone(lines[:plannedFiles]), fmt.Sprintf("and %d more, with --details", len(lines)-plannedFiles))
	}
	return lines
}
