package engine

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// maxFileBytes is the most that is read or written at once.
const maxFileBytes = 32 << 20

// mount is one folder that a Flow sees.
type mount struct {
	at       string // as the Flow names it
	root     *os.Root
	writable bool
}

// files are the folders of a Flow. Everything goes through an os.Root, so no link
// leads out of one.
type files struct {
	mounts []mount
	made   int // entries, at most, since they were counted
}

// place is a path inside of one.
type place struct {
	mount
	rel string
}

// errOutside is a path that is in none of the Flow's folders.
var errOutside = errors.New("outside")

func (f *files) place(name string) (place, error) {
	if !path.IsAbs(name) {
		name = PackageDir + "/" + name
	}
	name = path.Clean(name)
	for _, m := range f.mounts {
		if name == m.at {
			return place{m, "."}, nil
		}
		if rel, ok := strings.CutPrefix(name, m.at+"/"); ok {
			return place{m, rel}, nil
		}
	}
	return place{}, errOutside
}

// writable is a place that may be changed.
func (f *files) writable(name string) (place, error) {
	p, err := f.place(name)
	if err == nil && !p.mount.writable {
		err = syscall.EROFS
	}
	return p, err
}

func (f *files) close() {
	for _, m := range f.mounts {
		m.root.Close()
	}
}

// ask serves one operation: its value, or an array of code, text and system call.
func (f *files) ask(a args) any {
	op := a.text(0)
	serve, ok := fileOps[op]
	if !ok {
		return []any{"ENOSYS", "function not implemented", op}
	}
	v, err := serve(f, a[1:])
	if err != nil {
		code, text := errno(err)
		return []any{code, text, op}
	}
	return v
}

func errno(err error) (code, text string) {
	for _, e := range []struct {
		is         error
		code, text string
	}{
		{errOutside, "EACCES", "permission denied"},
		{syscall.EROFS, "EROFS", "read-only file system"},
		{syscall.ENOTEMPTY, "ENOTEMPTY", "directory not empty"},
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory"},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory"},
		{syscall.ENOSPC, "ENOSPC", "no space left on device"},
		{syscall.ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
		{syscall.EXDEV, "EXDEV", "cross-device link not permitted"},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered"},
		{syscall.EFBIG, "EFBIG", "file too large"},
		{syscall.EINVAL, "EINVAL", "invalid argument"},
		{fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{fs.ErrExist, "EEXIST", "file already exists"},
		{fs.ErrPermission, "EACCES", "permission denied"},
	} {
		if errors.Is(err, e.is) {
			return e.code, e.text
		}
	}
	return "EACCES", "permission denied" // such as a link that leads out of the folder
}

var fileOps = map[string]func(f *files, a args) (any, error){
	"read": func(f *files, a args) (any, error) {
		b, err := f.read(a.text(0))
		return base64.StdEncoding.EncodeToString(b), err
	},
	"text": func(f *files, a args) (any, error) {
		b, err := f.read(a.text(0))
		return string(b), err
	},
	"write":    (*files).write,
	"scandir":  (*files).scandir,
	"stat":     func(f *files, a args) (any, error) { return f.stat(a.text(0), (*os.Root).Stat) },
	"lstat":    func(f *files, a args) (any, error) { return f.stat(a.text(0), (*os.Root).Lstat) },
	"mkdir":    (*files).mkdir,
	"mkdtemp":  (*files).mkdtemp,
	"rm":       (*files).rm,
	"rmdir":    func(f *files, a args) (any, error) { return f.unlink(a.text(0), true) },
	"unlink":   func(f *files, a args) (any, error) { return f.unlink(a.text(0), false) },
	"rename":   (*files).rename,
	"copyfile": (*files).copy,
	"access":   (*files).access,
	"realpath": (*files).realpath,
	"truncate": (*files).truncate,
}

// open opens a regular file. It waits for nothing, whatever the name stands for.
func (f *files) open(name string) (*os.File, fs.FileInfo, error) {
	p, err := f.place(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := p.root.Stat(p.rel)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return nil, nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, nil, syscall.EINVAL
	}
	file, err := p.root.Open(p.rel)
	return file, info, err
}

func (f *files) read(name string) ([]byte, error) {
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = syscall.EFBIG
	}
	return b, err
}

func (f *files) write(a args) (any, error) {
	p, err := f.writable(a.text(0))
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(a.text(1))
	if err != nil {
		return nil, syscall.EINVAL
	}
	flags, ok := map[string]int{
		"w": os.O_TRUNC, "wx": os.O_EXCL, "xw": os.O_EXCL, "a": os.O_APPEND, "ax": os.O_APPEND | os.O_EXCL, "xa": os.O_APPEND | os.O_EXCL, "w+": os.O_TRUNC, "a+": os.O_APPEND,
	}[a.text(2)]
	if !ok {
		return nil, syscall.EINVAL
	}
	if info, err := p.root.Stat(p.rel); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return nil, syscall.EISDIR
		}
		return nil, syscall.EINVAL
	} else if err != nil {
		if err := f.room(1); err != nil {
			return nil, err
		}
	}
	file, err := p.root.OpenFile(p.rel, os.O_WRONLY|os.O_CREATE|flags, fs.FileMode(a.int(3))&0o777)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(b)
	return nil, errors.Join(err, file.Close())
}

type entry struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

func (f *files) scandir(a args) (any, error) {
	p, err := f.place(a.text(0))
	if err != nil {
		return nil, err
	}
	info, err := p.root.Stat(p.rel)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	dir, err := p.root.Open(p.rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(all))
	for _, e := range all {
		out = append(out, entry{strings.ToValidUTF8(e.Name(), "\ufffd"), kindOf(e.Type())})
	}
	slices.SortFunc(out, func(x, y entry) int { return strings.Compare(x.Name, y.Name) })
	b, err := json0.Marshal(out)
	if err != nil {
		return nil, syscall.EFBIG
	}
	return string(b), nil
}

func (f *files) stat(name string, how func(*os.Root, string) (fs.FileInfo, error)) (any, error) {
	p, err := f.place(name)
	if err != nil {
		return nil, err
	}
	info, err := how(p.root, p.rel)
	if err != nil {
		return nil, err
	}
	kind := kindOf(info.Mode())
	bits := map[string]uint32{"file": 0o100000, "dir": 0o040000, "link": 0o120000, "fifo": 0o010000, "socket": 0o140000, "device": 0o020000}[kind]
	return fmt.Sprintf(`{"kind":%q,"size":%d,"mode":%d,"mtimeMs":%d,"ino":0}`, kind, info.Size(), bits|uint32(info.Mode().Perm()), info.ModTime().UnixMilli()), nil
}

func (f *files) mkdir(a args) (any, error) {
	p, err := f.writable(a.text(0))
	if err != nil {
		return nil, err
	}
	if err := f.room(1 + strings.Count(p.rel, "/")); err != nil {
		return nil, err
	}
	if !a.bool(1) {
		return "", p.root.Mkdir(p.rel, 0o777)
	}
	first := ""
	for dir := p.rel; dir != "."; dir = path.Dir(dir) {
		if _, err := p.root.Stat(dir); err == nil {
			break
		}
		first = p.at + "/" + dir
	}
	if err := p.root.MkdirAll(p.rel, 0o777); err != nil {
		return nil, err
	}
	return first, nil
}

func (f *files) mkdtemp(a args) (any, error) {
	for range 100 {
		var random [6]byte
		rand.Read(random[:])
		name := a.text(0) + strings.NewReplacer("-", "a", "_", "b").Replace(base64.RawURLEncoding.EncodeToString(random[:])[:6])
		p, err := f.writable(name)
		if err != nil {
			return nil, err
		}
		if err = f.room(1); err != nil {
			return nil, err
		}
		if err = p.root.Mkdir(p.rel, 0o700); err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, fs.ErrExist
}

func (f *files) rm(a args) (any, error) {
	p, err := f.writable(a.text(0))
	if err != nil {
		return nil, err
	}
	recursive, force := a.bool(1), a.bool(2)
	info, err := p.root.Lstat(p.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist) && force:
		return nil, nil
	case err != nil:
		return nil, err
	case p.rel == ".":
		return nil, syscall.EINVAL // the folder itself is not the Flow's
	case info.IsDir() && !recursive:
		return nil, syscall.EISDIR
	}
	return nil, p.root.RemoveAll(p.rel)
}

func (f *files) unlink(name string, dir bool) (any, error) {
	p, err := f.writable(name)
	if err != nil {
		return nil, err
	}
	info, err := p.root.Lstat(p.rel)
	switch {
	case err != nil:
		return nil, err
	case dir && !info.IsDir():
		return nil, syscall.ENOTDIR
	case !dir && info.IsDir():
		return nil, syscall.EISDIR
	case p.rel == ".":
		return nil, syscall.EINVAL
	}
	return nil, p.root.Remove(p.rel)
}

func (f *files) rename(a args) (any, error) {
	from, err := f.writable(a.text(0))
	if err != nil {
		return nil, err
	}
	to, err := f.writable(a.text(1))
	if err != nil {
		return nil, err
	}
	if from.root != to.root {
		return nil, syscall.EXDEV
	}
	return nil, from.root.Rename(from.rel, to.rel)
}

func (f *files) copy(a args) (any, error) {
	from, info, err := f.open(a.text(0))
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := f.writable(a.text(1))
	if err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE
	there, err := to.root.Stat(to.rel)
	switch {
	case a.bool(2):
		flags |= os.O_EXCL
	case err == nil && os.SameFile(info, there):
		return nil, nil
	case err == nil && !there.Mode().IsRegular():
		return nil, syscall.EISDIR
	default:
		flags |= os.O_TRUNC
	}
	if err != nil {
		if err := f.room(1); err != nil {
			return nil, err
		}
	}
	file, err := to.root.OpenFile(to.rel, flags, 0o666)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(file, from)
	return nil, errors.Join(err, file.Close())
}

func (f *files) access(a args) (any, error) {
	const write = 2
	p, err := f.place(a.text(0))
	if err != nil {
		return nil, err
	}
	if _, err := p.root.Stat(p.rel); err != nil {
		return nil, err
	}
	if a.int(1)&write != 0 && !p.mount.writable {
		return nil, syscall.EROFS
	}
	return nil, nil
}

// realpath follows links as the folder allows it.
func (f *files) realpath(a args) (any, error) {
	p, err := f.place(a.text(0))
	if err != nil {
		return nil, err
	}
	rel := p.rel
	for range 40 {
		target, at := "", ""
		for i, dir := 0, ""; i < len(rel) && target == ""; {
			end := strings.IndexByte(rel[i:], '/')
			if end < 0 {
				end = len(rel) - i
			}
			dir = rel[:i+end]
			if t, err := p.root.Readlink(dir); err == nil {
				target, at = t, dir
			}
			i += end + 1
		}
		if target == "" {
			_, err := p.root.Stat(rel)
			if rel == "." {
				return p.at, err
			}
			return p.at + "/" + rel, err
		}
		if path.IsAbs(target) {
			return nil, errOutside
		}
		rel = path.Join(path.Dir(at), target, strings.TrimPrefix(rel, at))
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return nil, errOutside
		}
	}
	return nil, syscall.ELOOP
}

func (f *files) truncate(a args) (any, error) {
	p, err := f.writable(a.text(0))
	if err != nil {
		return nil, err
	}
	n := a.number(1)
	if n < 0 || n > maxFileBytes {
		return nil, syscall.EFBIG
	}
	file, err := p.root.OpenFile(p.rel, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(file.Truncate(int64(n)), file.Close())
}
