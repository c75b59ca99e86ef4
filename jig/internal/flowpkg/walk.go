package flowpkg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// File is one file of a package.
type File struct {
	Path string
	Size int64
}

type found struct {
	File
	inode inode
	links uint64
}

// inode tells files apart.
type inode struct{ device, number uint64 }

// walk lists the files below root in the order of their paths' bytes, and
// refuses what no package may hold, and more files than most.
func walk(root *os.Root, most int) ([]found, error) {
	var files []found
	total := int64(0)
	seen := newCollisions()
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return refuse(p, "it cannot be read")
		}
		if p == "." {
			return nil
		}
		if reason := CheckPath(p); reason != "" {
			return refuse(printable(p), reason)
		}
		if other := seen.add(p); other != "" {
			return refuse(p, "its name differs from "+other+" only in case or form")
		}
		switch {
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return refuse(p, "a package holds no link")
		case !d.Type().IsRegular():
			return refuse(p, "a package holds plain files only")
		}
		info, err := root.Lstat(p)
		if err != nil || !info.Mode().IsRegular() {
			return refuse(p, "it changed while it was read")
		}
		f := found{File: File{p, info.Size()}}
		f.inode, f.links = identify(info)
		if total += f.Size; f.Size > MaxPackageBytes || total > MaxPackageBytes {
			return refuse(p, fmt.Sprintf("the package is larger than %d bytes", MaxPackageBytes))
		}
		if files = append(files, f); len(files) > most {
			return refuse("", fmt.Sprintf("the package has more than %d files", most))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b found) int { return strings.Compare(a.Path, b.Path) })
	return files, hardLinks(files)
}

// hardLinks allows aliases only where all of them are inside the tree.
func hardLinks(files []found) error {
	inside := map[inode]uint64{}
	for _, f := range files {
		inside[f.inode]++
	}
	for _, f := range files {
		if f.links != inside[f.inode] {
			return refuse(f.Path, "it has a hard link outside the package")
		}
	}
	return nil
}

// printable is p for a message: valid, without control characters, bounded.
func printable(p string) string {
	p = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(p, "?"))
	if len(p) > 200 {
		p = strings.ToValidUTF8(p[:200], "") + "…"
	}
	return p
}

// entry finds the one FLOW.<ext> at the root.
func entry(files []found) (string, error) {
	flow := ""
	for _, f := range files {
		if strings.Contains(f.Path, "/") {
			continue
		}
		base, ext, _ := strings.Cut(f.Path, ".")
		switch {
		case f.Path == "input.schema.json" || f.Path == "result.schema.json":
			return "", refuse(f.Path, "this name is reserved; schemas stand in FLOW.contract.json")
		case f.Path == metadataFile || f.Path == contractFile:
			continue
		case strings.EqualFold(f.Path, metadataFile) || strings.EqualFold(f.Path, contractFile):
			return "", refuse(f.Path, "FLOW is written in upper case and the rest in lower case")
		case !strings.EqualFold(base, "FLOW"):
			continue
		case base != "FLOW":
			return "", refuse(f.Path, "FLOW is written in upper case")
		case !extension(ext):
			return "", refuse(f.Path, "an extension is 1 to 16 lower-case letters and digits")
		case flow != "":
			return "", refuse(f.Path, "a package has one FLOW file, and "+flow+" is there")
		}
		flow = f.Path
	}
	if flow == "" {
		return "", refuse("", "a package needs a file FLOW.<ext> at its root")
	}
	return flow, nil
}

func extension(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 16
}

var errGrew = errors.New("it changed while it was read")
