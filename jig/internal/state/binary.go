package state

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// binaryRecord remembers a copy that was checked, so that it is not read whole
// for every run.
type binaryRecord struct {
	Source fingerprint `json:"source"`
	Copy   fingerprint `json:"copy"`
	Digest string      `json:"digest"`
}

// fingerprint is what changes when a file's bytes do. Nanoseconds are text: they
// do not fit a JSON number.
type fingerprint struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"`
	Size   int64  `json:"size"`
	Mtime  int64  `json:"mtime,string"`
	Ctime  int64  `json:"ctime,string"`
}

// unreadable is what to do about a program that cannot be read.
const unreadable = "let the user who runs jig read the program's file; jig reaches it through /proc, which has to be mounted"

// Binary returns the path of a copy of the program at self below .jig, and the
// copy's digest. A known copy that nobody has touched is not read again. Scopes run
// the copy: it is not where an upgrade or the program's own user would write. A
// program that could not run there is [ErrProgram].
func (d *Dir) Binary(self string, known KnownBinary) (path, digest string, err error) {
	f, err := os.Open(self)
	if err != nil {
		return "", "", fixed(failBecause(ErrUnsafe, err, "jig cannot read its own program"), unreadable)
	}
	defer f.Close()
	source, err := fingerprintOf(f)
	if err != nil {
		return "", "", fixed(failBecause(ErrUnsafe, err, "jig cannot read its own program"), unreadable)
	}
	if known.record.Source == source {
		path = d.binary(known.record.Digest)
		if now, err := fingerprintAt(path); err == nil && now == known.record.Copy {
			return path, known.record.Digest, nil
		}
	}
	if err := checkProgram(f); err != nil {
		return "", "", err
	}
	if path, digest, err = d.copyBinary(f); err != nil {
		return "", "", err
	}
	next := binaryRecord{Source: source, Digest: digest}
	if next.Copy, err = fingerprintAt(path); err != nil {
		return "", "", failBecause(ErrInvalid, err, "the copy of jig cannot be examined")
	}
	return path, digest, d.Update(func(t *Tx) error { return t.put(metaBucket, binaryKey, next) })
}

// CheckProgram says whether the program at path could run in a scope; if not, its
// error is an [ErrProgram].
func CheckProgram(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fixed(failBecause(ErrUnsafe, err, "jig cannot read its own program"), unreadable)
	}
	defer f.Close()
	return checkProgram(f)
}

// checkProgram refuses a program that asks for an interpreter: a scope holds the copy
// and no library, and what the system says of a start there names neither. What is no
// ELF file is not judged.
func checkProgram(f io.ReaderAt) error {
	program, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return fail(ErrProgram, "this jig is linked dynamically, and a sandbox holds none of the libraries that it needs")
		}
	}
	return nil
}

// KnownBinary is the copy of jig that was made or checked last.
type KnownBinary struct{ record binaryRecord }

// KnownBinary returns it; the zero value where there is none.
func (t *Tx) KnownBinary() (known KnownBinary, err error) {
	if err := t.get(metaBucket, binaryKey, &known.record); err != nil && !errors.Is(err, errNoRecord) {
		return known, err
	}
	if t.moved {
		return KnownBinary{}, nil // who made that one is unknown
	}
	return known, nil
}

func (d *Dir) binary(digest string) string {
	return d.file(binName, strings.TrimPrefix(digest, "sha256:"))
}

// copyBinary makes the copy, or checks the one that is there.
func (d *Dir) copyBinary(source *os.File) (path, digest string, err error) {
	out, err := os.CreateTemp(d.file(binName), ".copy-")
	if err != nil {
		return "", "", failBecause(ErrUnsafe, err, "jig cannot copy its own program")
	}
	defer os.Remove(out.Name())
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, h), source)
	if err == nil {
		err = out.Chmod(0o555)
	}
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", "", failBecause(ErrUnsafe, err, "jig cannot copy its own program")
	}
	digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	path = d.binary(digest)
	switch err := os.Link(out.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return path, digest, d.checkBinary(path, digest, size)
	case err != nil:
		return "", "", failBecause(ErrUnsafe, err, "jig cannot copy its own program")
	}
	return path, digest, syncFolder(d.file(binName))
}

func (d *Dir) checkBinary(path, digest string, size int64) error {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return failBecause(ErrInvalid, err, "the copy of jig cannot be read")
	}
	defer f.Close()
	h := sha256.New()
	// No more is read than the copy has, whatever lies there.
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return failBecause(ErrInvalid, err, "the copy of jig cannot be read")
	}
	info, err := f.Stat()
	if err != nil || "sha256:"+hex.EncodeToString(h.Sum(nil)) != digest || info.Mode().Perm() != 0o555 {
		return fail(ErrInvalid, "the copy of jig below .jig/bin has been changed")
	}
	return nil
}

func fingerprintAt(path string) (fingerprint, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return fingerprint{}, err
	}
	defer f.Close()
	return fingerprintOf(f)
}
