package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// files reads the declarations of a project, each once. It is for one goroutine.
type files struct {
	root  *os.Root
	bytes map[string][]byte
	names map[string]map[string]fs.DirEntry // by folder
	total int
}

func openFiles(dir string) (*files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &files{root: root, bytes: map[string][]byte{}, names: map[string]map[string]fs.DirEntry{}}, nil
}

func (f *files) close() { f.root.Close() }

// unreadable is a file of the project that must not be read.
type unreadable struct{ reason string }

func (r *unreadable) Error() string { return r.reason }

// list returns the entries of a folder by their exact names. A folder that is not
// there has none.
func (f *files) list(dir string) (map[string]fs.DirEntry, error) {
	if known, ok := f.names[dir]; ok {
		return known, nil
	}
	if err := f.folder(dir); err != nil {
		return nil, err
	}
	h, err := f.root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, &unreadable{"it cannot be read"}
	}
	defer h.Close()
	entries, err := h.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &unreadable{"it cannot be read"}
	}
	if len(entries) > maxEntries {
		return nil, &unreadable{fmt.Sprintf("it has more than %d entries", maxEntries)}
	}
	names := make(map[string]fs.DirEntry, len(entries))
	for _, e := range entries {
		names[e.Name()] = e
	}
	f.names[dir] = names
	return names, nil
}

const maxEntries = 65_536

// folder checks that dir is a real folder below real folders of exactly these
// names.
func (f *files) folder(dir string) error {
	if dir == "." {
		return nil
	}
	e, err := f.entry(dir)
	switch {
	case err != nil:
		return err
	case e.Type()&fs.ModeSymlink != 0:
		return &unreadable{"links are not followed"}
	case !e.IsDir():
		return &unreadable{"it is not a folder"}
	}
	return nil
}

// entry finds p by its exact name. Where it is not there the error is
// [fs.ErrNotExist].
func (f *files) entry(p string) (fs.DirEntry, error) {
	names, err := f.list(path.Dir(p))
	if err != nil {
		return nil, err
	}
	e, ok := names[path.Base(p)]
	if ok {
		return e, nil
	}
	for name := range maps.Keys(names) {
		if strings.EqualFold(name, path.Base(p)) {
			return nil, fmt.Errorf("%w: its name is %s, and case matters", fs.ErrNotExist, name)
		}
	}
	return nil, fs.ErrNotExist
}

// read captures a plain file of at most limit bytes, with alone one that has no
// other name. Asked again it returns the same bytes, whatever the file holds by
// then.
func (f *files) read(p string, limit int, alone bool) ([]byte, error) {
	if b, ok := f.bytes[p]; ok {
		return b, nil
	}
	if reason := flowpkg.CheckPath(p); reason != "" {
		return nil, &unreadable{reason}
	}
	if strings.EqualFold(strings.SplitN(p, "/", 2)[0], ".jig") {
		return nil, &unreadable{".jig belongs to the host"}
	}
	e, err := f.entry(p)
	switch {
	case err != nil:
		return nil, err
	case e.Type()&fs.ModeSymlink != 0:
		return nil, &unreadable{"links are not followed"}
	case !e.Type().IsRegular():
		return nil, &unreadable{"it is not a plain file"}
	}
	h, err := f.root.OpenFile(p, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, &unreadable{"it cannot be read"}
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, &unreadable{"it is not a plain file"}
	}
	if alone && links(info) != 1 {
		return nil, &unreadable{"it has another hard link"}
	}
	b, err := io.ReadAll(io.LimitReader(h, int64(limit)+1))
	if err != nil {
		return nil, &unreadable{"it cannot be read"}
	}
	if len(b) > limit {
		return nil, &unreadable{fmt.Sprintf("it is larger than %d bytes", limit)}
	}
	if f.total += len(b); len(f.bytes) >= declare.MaxSources+MaxGrantFiles || f.total > declare.MaxSourcesBytes+MaxGrantsBytes {
		return nil, &unreadable{"the declarations are too many or too large together"}
	}
	f.bytes[p] = b
	return b, nil
}

// digests are those of everything read.
func (f *files) digests() map[string]string {
	all := make(map[string]string, len(f.bytes))
	for p, b := range f.bytes {
		all[p] = digestBytes(b)
	}
	return all
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
