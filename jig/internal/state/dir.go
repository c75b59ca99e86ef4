package state

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// Folder is the name of the state's folder in a project.
const Folder = ".jig"

const (
	databaseName = "state.db"
	packagesName = "packages"
	compiledName = "compiled"
	binName      = "bin"
	runsName     = "runs"
	reviewName   = "review.lock"
)

// Dir is the state of one project. It is safe for concurrent use.
type Dir struct {
	path  string // of .jig, absolute
	place place

	mu sync.Mutex // one transaction of this process at a time
}

// Open uses the state of the project below the folder project. Where there is
// none it returns [ErrNone].
func Open(project string) (*Dir, error) {
	d, err := look(project)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(d.file(databaseName)); errors.Is(err, fs.ErrNotExist) {
		return nil, fail(ErrNone, "nothing has been reviewed here yet")
	}
	return d, nil
}

// Create uses the state of the project below the folder project and makes what
// of it is missing.
func Create(project string) (*Dir, error) {
	path := filepath.Join(project, Folder)
	if err := checkFileSystem(project); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failBecause(ErrUnsafe, err, "the folder .jig cannot be made")
	}
	d, err := look(project)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{packagesName, binName, runsName} { // that of compiled forms comes with the first
		if err := os.Mkdir(d.file(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, failBecause(ErrUnsafe, err, "a folder below .jig cannot be made")
		}
	}
	if _, err := os.Lstat(d.file(databaseName)); errors.Is(err, fs.ErrNotExist) {
		if err := d.initialise(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// look checks that .jig is a folder of ours that nobody else can look into, and
// that its folders are some.
func look(project string) (*Dir, error) {
	path := filepath.Join(project, Folder)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(ErrNone, "nothing has been reviewed here yet")
	case err != nil:
		return nil, failBecause(ErrUnsafe, err, "the folder .jig cannot be read")
	case !info.IsDir():
		what := cmp.Or(instead(path), "a plain file")
		return nil, fixed(fail(ErrUnsafe, ".jig is %s, and not a folder", what), "move it away: jig review makes the folder")
	case info.Mode().Perm()&0o077 != 0:
		return nil, fixed(fail(ErrUnsafe, ".jig is open to others"), "run: chmod 700 .jig")
	}
	at, owner := placeOf(info)
	if owner != os.Geteuid() {
		return nil, fixed(fail(ErrUnsafe, ".jig belongs to another user"), "run jig as its owner, or move .jig away and review again")
	}
	if err := checkFileSystem(path); err != nil {
		return nil, err
	}
	d := &Dir{path: path, place: at}
	for _, name := range []string{packagesName, compiledName, binName, runsName} {
		if err := d.lookInside(name); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// lookInside refuses what stands in the place of a folder below .jig: a link would
// have jig sweep away what lies elsewhere, and a pipe would be waited for.
func (d *Dir) lookInside(name string) error {
	info, err := os.Lstat(d.file(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failBecause(ErrUnsafe, err, "a folder below .jig cannot be examined")
	case !info.IsDir():
		return fixed(fail(ErrUnsafe, "%s/%s is %s, and not a folder", Folder, name, cmp.Or(instead(d.file(name)), "a plain file")), "move it away: jig review makes the folder")
	}
	return nil
}

func (d *Dir) file(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Packages is the store of captured packages.
func (d *Dir) Packages() *flowpkg.Store { return flowpkg.OpenStore(d.file(packagesName)) }

// Temporary makes a file below .jig that somebody is about to rename. What a dead
// process left there is swept away with the packages nobody needs.
func (d *Dir) Temporary(what string) (*os.File, error) {
	f, err := os.CreateTemp(d.path, temporaryPrefix+what+"-")
	if err != nil {
		return nil, failBecause(ErrUnsafe, err, "no file can be made below .jig")
	}
	return f, nil
}

const temporaryPrefix = ".tmp-"

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
