package project

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// Drift lists what of a project's source is not what was reviewed any more:
// declarations and packages, by path. It only looks: what runs are captured
// bytes, whatever it finds.
func Drift(dir string, sources, packages map[string]string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var differ []string
	for _, p := range slices.Sorted(maps.Keys(sources)) {
		if digest, err := digestFile(root, p); err != nil || digest != sources[p] {
			differ = append(differ, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		if digest, err := digestPackage(root, p); err != nil || digest != packages[p] {
			differ = append(differ, p)
		}
	}
	return differ
}

var errUnlike = errors.New("no plain file or folder")

func digestFile(root *os.Root, p string) (string, error) {
	f, err := root.OpenFile(p, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errUnlike
	}
	b, err := io.ReadAll(io.LimitReader(f, declare.MaxSourceBytes+1))
	if err != nil {
		return "", err
	}
	return digestBytes(b), nil
}

// digestPackage computes the Package/0 digest of a folder (run-0 5.1) without
// keeping anything.
func digestPackage(root *os.Root, dir string) (string, error) {
	var files []string
	sizes := map[string]int64{}
	total := int64(0)
	err := fs.WalkDir(root.FS(), dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return errUnlike
		}
		if total += info.Size(); total > flowpkg.MaxPackageBytes || len(files) >= flowpkg.MaxFiles {
			return errUnlike
		}
		files = append(files, p[len(dir)+1:])
		sizes[p[len(dir)+1:]] = info.Size()
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	h := sha256.New()
	h.Write([]byte("FLOW-Package/0\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(files))))
	for _, p := range files {
		head := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(p)))
		head = append(head, p...)
		h.Write(binary.BigEndian.AppendUint64(head, uint64(sizes[p])))
		f, err := root.OpenFile(path.Join(dir, p), os.O_RDONLY|openFlags, 0)
		if err != nil {
			return "", err
		}
		n, err := io.Copy(h, io.LimitReader(f, sizes[p]+1))
		f.Close()
		if err != nil || n != sizes[p] {
			return "", errUnlike
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
