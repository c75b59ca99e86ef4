package flowpkg

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrChanged is a captured package whose bytes are not what was captured.
var ErrChanged = errors.New("flowpkg: a captured package has changed")

// ErrStore is a store that cannot be written or examined. What the system says
// lies under it.
var ErrStore = errors.New("flowpkg: the folder of captured packages cannot be used")

func unusable(cause error) error { return fmt.Errorf("%w: %w", ErrStore, cause) }

// Store keeps captured packages below one folder, each under its digest. It is
// safe for concurrent use, also by several processes.
type Store struct{ dir string }

// OpenStore uses the existing folder dir.
func OpenStore(dir string) *Store { return &Store{dir} }

// Capture reads the package below dir into the store and returns it. A package
// that is there already is checked, not written again.
func (s *Store) Capture(dir string) (*Package, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, &Error{Reason: "the package folder cannot be opened", cause: err}
	}
	defer root.Close()
	files, err := walk(root, MaxFiles)
	if err != nil {
		return nil, err
	}
	if _, err := entry(files); err != nil {
		return nil, err
	}
	// Most packages are as they were at the last review. Their bytes are read, and
	// nothing is written.
	digest, err := digestOf(root, files)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.path(digest)); err == nil {
		return s.Get(digest)
	}
	if err := s.room(files); err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(s.dir, ".capture-")
	if err != nil {
		return nil, unusable(err)
	}
	defer os.RemoveAll(stage)
	// Nothing that was read before counts: the digest is that of the copy.
	if digest, err = copyAll(stage, root, files); err != nil {
		return nil, err
	}
	// What is inspected are the staged bytes, the same that will run.
	p, err := read(stage, digest)
	if err != nil {
		return nil, err
	}
	final := s.path(digest)
	if err := os.Chmod(stage, 0o755); err != nil {
		return nil, unusable(err)
	}
	if err := os.Rename(stage, final); err != nil {
		if _, there := os.Lstat(final); there != nil {
			return nil, unusable(err)
		}
		return s.Get(digest)
	}
	if err := syncDir(s.dir); err != nil {
		return nil, unusable(err)
	}
	p.Dir = final
	return p, nil
}

// Get returns a captured package after computing its digest anew. Any
// difference is [ErrChanged].
func (s *Store) Get(digest string) (*Package, error) {
	dir := s.path(digest)
	if dir == "" {
		return nil, fmt.Errorf("%w: the digest is malformed", ErrChanged)
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is missing", ErrChanged, digest)
	}
	defer root.Close()
	files, err := walk(root, MaxFiles)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrChanged, err)
	}
	found, err := digestOf(root, files)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrChanged, err)
	}
	if found != digest {
		return nil, fmt.Errorf("%w: the bytes of %s differ", ErrChanged, digest)
	}
	p, err := read(dir, digest)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrChanged, err)
	}
	return p, nil
}

// openFolder opens a folder, and does not wait for a pipe in its place.
func openFolder(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// path is where a package lies, or "" for what is no digest.
func (s *Store) path(digest string) string {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return ""
	}
	return filepath.Join(s.dir, hex)
}

// room refuses a package that would take the store above its bound.
func (s *Store) room(files []found) error {
	used := int64(0)
	for _, f := range files {
		used += f.Size
	}
	err := filepath.WalkDir(s.dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				used += info.Size()
			}
		}
		return nil
	})
	if err != nil {
		return unusable(err)
	}
	if used > MaxStoreBytes {
		return refuse("", fmt.Sprintf("the package store would be larger than %d bytes", MaxStoreBytes))
	}
	return nil
}

// digestOf is the digest of files as they are.
func digestOf(root *os.Root, files []found) (string, error) {
	d := newDigester(len(files))
	for _, f := range files {
		if err := stream(d, root, f, d); err != nil {
			return "", err
		}
	}
	return d.sum(), nil
}

// fewFiles are brought to the disk one by one. More are brought there together
// with all else that waits for it, which takes a while, but not a while each.
const fewFiles = 32

func copyAll(stage string, root *os.Root, files []found) (string, error) {
	d := newDigester(len(files))
	few := len(files) <= fewFiles || !syncsAll
	folders := []string{stage}
	made := map[string]bool{".": true}
	for _, f := range files {
		if dir := path.Dir(f.Path); !made[dir] {
			if err := os.MkdirAll(filepath.Join(stage, filepath.FromSlash(dir)), 0o755); err != nil {
				return "", unusable(err)
			}
			for ; !made[dir]; dir = path.Dir(dir) {
				made[dir] = true
				folders = append(folders, filepath.Join(stage, filepath.FromSlash(dir)))
			}
		}
		out, err := os.OpenFile(filepath.Join(stage, filepath.FromSlash(f.Path)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
		if err != nil {
			return "", unusable(err)
		}
		err = stream(d, root, f, io.MultiWriter(d, out))
		if err == nil {
			err = out.Chmod(0o444)
		}
		if err == nil && few {
			err = out.Sync()
		}
		if closed := out.Close(); err == nil && closed != nil {
			err = unusable(closed)
		}
		if err != nil {
			return "", err
		}
	}
	if !few {
		folders = nil
		if err := syncAll(stage); err != nil {
			return "", unusable(err)
		}
	}
	for _, dir := range folders {
		if err := syncDir(dir); err != nil {
			return "", unusable(err)
		}
	}
	return d.sum(), nil
}

// stream writes exactly the file that was found to w.
func stream(d *digester, root *os.Root, f found, w io.Writer) error {
	in, err := root.OpenFile(f.Path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return refuse(f.Path, "it cannot be read")
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return refuse(f.Path, errGrew.Error())
	}
	if same, _ := identify(info); same != f.inode {
		return refuse(f.Path, errGrew.Error())
	}
	d.file(f.Path, f.Size)
	n, err := io.Copy(w, io.LimitReader(in, f.Size+1))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &Error{Path: f.Path, Reason: "it could not be captured, because the disk is full", cause: err}
	}
	if err != nil {
		return &Error{Path: f.Path, Reason: "it could not be captured", cause: err}
	}
	after, err := in.Stat()
	if err != nil || n != f.Size || after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime()) {
		return refuse(f.Path, errGrew.Error())
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
