package nativeinspect

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// machine is a folder that stands for the operator's machine, with a project in it.
type machine struct {
	*testing.T
	root, project string
	env           map[string]string
	loader        string // an interpreter that needs nothing
}

func newMachine(t *testing.T) *machine {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := &machine{T: t, root: root, env: map[string]string{}}
	m.project = m.dir("home/project")
	m.loader = m.elf("loader/ld.so", elfFile{})
	return m
}

// at returns a path of the machine.
func (m *machine) at(path string) string { return filepath.Join(m.root, path) }

func (m *machine) dir(path string) string {
	require.NoError(m, os.MkdirAll(m.at(path), 0o755))
	return m.at(path)
}

func (m *machine) file(path, content string, mode os.FileMode) string {
	m.dir(filepath.Dir(path))
	require.NoError(m, os.WriteFile(m.at(path), []byte(content), 0o600))
	require.NoError(m, os.Chmod(m.at(path), mode)) // whatever the umask is
	return m.at(path)
}

func (m *machine) elf(path string, e elfFile) string { return m.file(path, string(e.bytes()), 0o755) }

func (m *machine) link(target, path string) string {
	m.dir(filepath.Dir(path))
	require.NoError(m, os.Symlink(target, m.at(path)))
	return m.at(path)
}

func (m *machine) fifo(path string) string {
	m.dir(filepath.Dir(path))
	require.NoError(m, unix.Mkfifo(m.at(path), 0o644))
	return m.at(path)
}

// path sets PATH to entries, those without a leading slash taken below the root.
func (m *machine) path(entries ...string) {
	m.env["PATH"] = strings.Join(entries, ":")
}

func (m *machine) options(c Client) Options {
	return Options{
		Client: c, Project: m.project, Platform: LinuxX64,
		Lookup: func(name string) (string, bool) { v, ok := m.env[name]; return v, ok },
	}
}

func (m *machine) inspect(c Client) (*Installation, error) {
	return Inspect(m.Context(), m.options(c))
}

func (m *machine) found(c Client) *Installation {
	m.Helper()
	i, err := m.inspect(c)
	require.NoError(m, err)
	return i
}

// refused requires a refusal of a stage and a reason, with a text that holds no
// path of the machine.
func (m *machine) refused(err error, stage Stage, reason Reason) *Refusal {
	m.Helper()
	var r *Refusal
	require.ErrorAs(m, err, &r)
	require.Equal(m, stage, r.Stage, r.Reason)
	require.Equal(m, reason, r.Reason)
	require.NotContains(m, r.Error(), m.root)
	require.NotContains(m, r.Correction(), m.root)
	require.NotEmpty(m, r.Correction())
	return r
}

func (m *machine) refuses(c Client, stage Stage, reason Reason) *Refusal {
	m.Helper()
	i, err := m.inspect(c)
	require.Nil(m, i)
	return m.refused(err, stage, reason)
}

// paths returns the destinations of the bound files below the root, without it.
func (m *machine) paths(files []File) []string {
	var paths []string
	for _, f := range files {
		paths = append(paths, strings.TrimPrefix(f.Path, m.root+"/"))
	}
	return paths
}

// elfFile describes an ELF file for x86-64. The zero value is a static-pie program.
type elfFile struct {
	interpreter    string
	needed         []string
	rpath, runpath *string
	dynamic        []uint64 // further pairs of tag and value
	text           string   // behind everything else
	change         func([]byte, elfPlaces) []byte
}

// elfPlaces says where the parts of an elfFile are.
type elfPlaces struct {
	load, interp, dyn     int // program headers
	interpText            int
	strings, stringsBytes int
	dynamic, dynamicBytes int
}

const elfBase = 0x400000

func (e elfFile) bytes() []byte {
	le := binary.LittleEndian
	var p elfPlaces
	headers := 2
	if e.interpreter != "" {
		headers = 3
	}
	p.load, p.dyn = 64, 64+56
	p.interp = 64 + 2*56
	body := make([]byte, 64+headers*56)
	p.interpText = len(body)
	if e.interpreter != "" {
		body = append(body, e.interpreter+"\x00"...)
	}
	p.strings = len(body)
	table := []byte{0}
	name := func(s string) uint64 {
		at := len(table)
		table = append(table, s+"\x00"...)
		return uint64(at)
	}
	var dynamic []uint64
	for _, n := range e.needed {
		dynamic = append(dynamic, dtNeeded, name(n))
	}
	if e.rpath != nil {
		dynamic = append(dynamic, dtRpath, name(*e.rpath))
	}
	if e.runpath != nil {
		dynamic = append(dynamic, dtRunpath, name(*e.runpath))
	}
	dynamic = append(dynamic, dtStrtab, uint64(elfBase+p.strings), dtStrsz, uint64(len(table)))
	dynamic = append(append(dynamic, e.dynamic...), dtNull, 0)
	p.stringsBytes = len(table)
	body = append(body, table...)
	for len(body)%16 != 0 {
		body = append(body, 0)
	}
	p.dynamic, p.dynamicBytes = len(body), 8*len(dynamic)
	for _, v := range dynamic {
		body = le.AppendUint64(body, v)
	}
	body = append(body, e.text...)

	copy(body, "\x7fELF\x02\x01\x01")
	le.PutUint16(body[16:], 3)
	le.PutUint16(body[18:], 62)
	le.PutUint32(body[20:], 1)
	le.PutUint64(body[32:], 64)
	le.PutUint16(body[52:], 64)
	le.PutUint16(body[54:], 56)
	le.PutUint16(body[56:], uint16(headers))
	header := func(at int, kind uint32, offset, n int) {
		le.PutUint32(body[at:], kind)
		le.PutUint64(body[at+8:], uint64(offset))
		le.PutUint64(body[at+16:], uint64(elfBase+offset))
		le.PutUint64(body[at+32:], uint64(n))
		le.PutUint64(body[at+40:], uint64(n))
	}
	header(p.load, ptLoad, 0, len(body))
	header(p.dyn, ptDynamic, p.dynamic, p.dynamicBytes)
	if e.interpreter != "" {
		header(p.interp, ptInterp, p.interpText, len(e.interpreter)+1)
	}
	if e.change != nil {
		body = e.change(body, p)
	}
	return body
}

// library returns a library that needs others.
func library(runpath string, needed ...string) elfFile {
	e := elfFile{needed: needed}
	if runpath != "" {
		e.runpath = &runpath
	}
	return e
}

// program returns an executable for the machine's loader.
func (m *machine) program(runpath string, needed ...string) elfFile {
	e := library(runpath, needed...)
	e.interpreter = m.loader
	return e
}

// memory is a reader of bytes.
type memory []byte

func (m memory) length() int64 { return int64(len(m)) }

func (m memory) at(offset, n int64) ([]byte, error) {
	if n < 0 || n > maxReadBytes || offset < 0 || offset > int64(len(m)) || n > int64(len(m))-offset {
		return nil, because(ReasonMalformed)
	}
	return m[offset : offset+n], nil
}
