package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// compiledRecord names the compiled forms that are kept.
type compiledRecord struct {
	Place place             `json:"place,omitzero"` // of the .jig that keeps them; a copy of it has none, for who made it is unknown
	Jig   string            `json:"jig"`            // digest of the copy of jig that made them; no other reads them
	Of    map[string]string `json:"of"`             // digest of the form by that of the package; empty: it does not compile
}

// KnownCompiled are the compiled forms of captured packages that a review had
// made, so that a run need not make them.
type KnownCompiled struct{ record compiledRecord }

// KnownCompiled returns them; the zero value where there are none.
func (t *Tx) KnownCompiled() (known KnownCompiled, err error) {
	if err := t.get(metaBucket, compiledKey, &known.record); err != nil && !errors.Is(err, errNoRecord) {
		return known, err
	}
	if known.record.Place != t.d.place {
		return KnownCompiled{}, nil
	}
	return known, nil
}

// Has says whether there is one of the package for the copy of jig.
func (k KnownCompiled) Has(jig, pkg string) bool {
	return k.record.Jig == jig && k.record.Of[pkg] != ""
}

// Tried says whether the copy of jig has a form of the package, or has found that
// there is none to have.
func (k KnownCompiled) Tried(jig, pkg string) bool {
	_, there := k.record.Of[pkg]
	return k.record.Jig == jig && there
}

// Compiled returns the compiled form of a package for the copy of jig with that
// digest, or nil where there is none. One that was changed is [ErrInvalid].
func (d *Dir) Compiled(known KnownCompiled, jig, pkg string) ([]byte, error) {
	if !known.Has(jig, pkg) {
		return nil, nil
	}
	digest := known.record.Of[pkg]
	f, err := openFile(d.compiled(digest), os.O_RDONLY)
	if err != nil {
		return nil, failBecause(ErrInvalid, err, "a compiled package below .jig/compiled cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxCompiledBytes {
		return nil, failBecause(ErrInvalid, err, "a compiled package below .jig/compiled has been changed")
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, failBecause(ErrInvalid, err, "a compiled package below .jig/compiled cannot be read")
	}
	if sumOf(b) != digest {
		return nil, fail(ErrInvalid, "a compiled package below .jig/compiled has been changed")
	}
	return b, nil
}

// maxCompiledBytes bounds what is read of one.
const maxCompiledBytes = 16 << 20

// KeepCompiled keeps compiled forms by the digests of their packages, made by the
// copy of jig with that digest; nil for a package that has none. What another copy
// made is forgotten, and the forms of the broken packages. An error is one of
// keeping them: what is not kept is not known. It is called within a review.
func (d *Dir) KeepCompiled(jig string, broken []string, forms map[string][]byte) error {
	written, failed := map[string]string{}, error(nil)
	if err := os.Mkdir(d.file(compiledName), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		failed = failBecause(ErrUnsafe, err, "a folder below .jig cannot be made")
	}
	for pkg, b := range forms {
		if b == nil {
			written[pkg] = ""
		} else if err := d.writeCompiled(b); err != nil {
			failed = failBecause(ErrUnsafe, err, "a compiled package cannot be kept")
		} else {
			written[pkg] = sumOf(b)
		}
	}
	if err := syncFolder(d.file(compiledName)); err != nil && failed == nil {
		failed = failBecause(ErrUnsafe, err, "a compiled package cannot be kept")
	}
	return errors.Join(failed, d.Update(func(t *Tx) error {
		known, err := t.KnownCompiled()
		if err != nil {
			return err
		}
		next := compiledRecord{Place: t.d.place, Jig: jig, Of: map[string]string{}}
		if known.record.Jig == jig {
			maps.Copy(next.Of, known.record.Of)
		}
		for _, pkg := range broken {
			delete(next.Of, pkg)
		}
		maps.Copy(next.Of, written)
		return t.put(metaBucket, compiledKey, next)
	}))
}

func (d *Dir) writeCompiled(b []byte) error {
	if len(b) > maxCompiledBytes {
		return fmt.Errorf("it has more than %d bytes", maxCompiledBytes)
	}
	out, err := os.CreateTemp(d.file(compiledName), ".compiled-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = out.Write(b)
	if err == nil {
		err = out.Chmod(0o444)
	}
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	err = os.Rename(out.Name(), d.compiled(sumOf(b)))
	if err != nil && os.RemoveAll(d.compiled(sumOf(b))) == nil { // it is no file
		err = os.Rename(out.Name(), d.compiled(sumOf(b)))
	}
	return err
}

// sweepCompiled forgets the forms of packages that nobody keeps.
func (t *Tx) sweepCompiled(keep []string) error {
	known, err := t.KnownCompiled()
	if err != nil || known.record.Of == nil {
		return err
	}
	before := len(known.record.Of)
	var digests []string
	for pkg, digest := range known.record.Of {
		if slices.Contains(keep, pkg) {
			digests = append(digests, digest)
		} else {
			delete(known.record.Of, pkg)
		}
	}
	if len(known.record.Of) < before {
		if err := t.put(metaBucket, compiledKey, known.record); err != nil {
			return err
		}
	}
	return t.d.sweepFolder(compiledName, digests)
}

func (d *Dir) compiled(digest string) string {
	return d.file(compiledName, strings.TrimPrefix(digest, "sha256:"))
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
