package nativeinspect

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// reader gives bounded access to the bytes of a file.
type reader interface {
	length() int64
	at(offset, n int64) ([]byte, error)
}

// object is what the loader would read of an ELF file.
type object struct {
	interpreter string // empty: none
	needed      []string
	rpath       string
	runpath     string
	hasRunpath  bool // DT_RUNPATH is there, even if empty
}

// Sizes, types and tags of ELF.
const (
	elfHeaderBytes  = 64
	elfProgramBytes = 56
	elfMaxPrograms  = 128
	elfMaxDynamic   = 64 << 10
	elfHeadBytes    = 4 << 10 // read at once: the header and almost always the program headers
	elfStringWindow = 1 << 10

	ptLoad, ptDynamic, ptInterp = 1, 2, 3

	dtNull, dtNeeded, dtStrtab, dtStrsz, dtRpath, dtRunpath = 0, 1, 5, 10, 15, 29

	dtFlags1                                 = 0x6ffffffb
	dtDepaudit, dtAudit, dtAuxiliary, dtFilt = 0x6ffffefb, 0x6ffffefc, 0x7ffffffd, 0x7fffffff
	df1Nodeflib                              = 0x800
)

var elfMagic = []byte("\x7fELF")

// segment is a program header that matters.
type segment struct {
	offset, address, fileBytes, memoryBytes uint64
}

// readELF reads the header, the program headers and the dynamic section.
func readELF(r reader) (*object, error) {
	head, err := r.at(0, min(elfHeadBytes, r.length()))
	if err != nil {
		return nil, err
	}
	if len(head) < elfHeaderBytes || !bytes.HasPrefix(head, elfMagic) {
		return nil, because(ReasonFormat)
	}
	le := binary.LittleEndian
	kind := le.Uint16(head[16:])
	if head[4] != 2 || head[5] != 1 || head[6] != 1 || le.Uint16(head[18:]) != 62 ||
		kind != 2 && kind != 3 || le.Uint32(head[20:]) != 1 {
		return nil, because(ReasonFormat)
	}
	count := int64(le.Uint16(head[56:]))
	if le.Uint16(head[54:]) != elfProgramBytes || count == 0 || count > elfMaxPrograms {
		return nil, because(ReasonMalformed)
	}
	table, err := programs(r, head, le.Uint64(head[32:]), count*elfProgramBytes)
	if err != nil {
		return nil, err
	}
	var loads []segment
	var interp, dynamic *segment
	for ; len(table) > 0; table = table[elfProgramBytes:] {
		s := segment{le.Uint64(table[8:]), le.Uint64(table[16:]), le.Uint64(table[32:]), le.Uint64(table[40:])}
		switch le.Uint32(table) {
		case ptLoad:
			loads = append(loads, s)
		case ptInterp:
			if interp != nil {
				return nil, because(ReasonMalformed)
			}
			interp = &s
		case ptDynamic:
			if dynamic != nil {
				return nil, because(ReasonMalformed)
			}
			dynamic = &s
		}
	}
	if err := checkLoads(loads, r.length()); err != nil {
		return nil, err
	}
	o := &object{}
	if interp != nil {
		if o.interpreter, err = interpreter(r, head, interp); err != nil {
			return nil, err
		}
	}
	if dynamic != nil {
		err = o.readDynamic(r, dynamic, loads)
	}
	return o, err
}

// programs returns the program headers, of the head where that holds them.
func programs(r reader, head []byte, offset uint64, n int64) ([]byte, error) {
	if offset < elfHeaderBytes || offset > uint64(r.length()) {
		return nil, because(ReasonMalformed)
	}
	return within(r, head, int64(offset), n)
}

// within returns n bytes at an offset, without reading again what head holds.
func within(r reader, head []byte, offset, n int64) ([]byte, error) {
	if offset <= int64(len(head)) && n <= int64(len(head))-offset {
		return head[offset : offset+n], nil
	}
	return r.at(offset, n)
}

// checkLoads refuses segments outside the file, and such as overlap in memory: what
// the loader sees there would depend on their order.
func checkLoads(loads []segment, length int64) error {
	for i, s := range loads {
		if s.fileBytes > s.memoryBytes || s.address+s.memoryBytes < s.address ||
			s.offset > uint64(length) || s.fileBytes > uint64(length)-s.offset {
			return because(ReasonMalformed)
		}
		for _, other := range loads[:i] {
			if s.address < other.address+other.memoryBytes && other.address < s.address+s.memoryBytes {
				return because(ReasonMalformed)
			}
		}
	}
	return nil
}

func interpreter(r reader, head []byte, s *segment) (string, error) {
	if s.fileBytes < 2 || s.fileBytes > maxStringBytes+1 || s.offset > uint64(r.length()) {
		return "", because(ReasonMalformed)
	}
	data, err := within(r, head, int64(s.offset), int64(s.fileBytes))
	if err != nil {
		return "", err
	}
	text, ok := bytes.CutSuffix(data, []byte{0})
	if !ok || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return "", because(ReasonMalformed)
	}
	return string(text), nil
}

// readDynamic reads the names that the dynamic section refers to.
func (o *object) readDynamic(r reader, s *segment, loads []segment) error {
	if s.fileBytes == 0 || s.fileBytes > elfMaxDynamic || s.fileBytes%16 != 0 || !mapped(s, loads) {
		return because(ReasonMalformed)
	}
	data, err := r.at(int64(s.offset), int64(s.fileBytes))
	if err != nil {
		return err
	}
	var table, size, rpath, runpath *uint64
	var needed []uint64
	ended := false
	for ; len(data) > 0 && !ended; data = data[16:] {
		tag, value := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		var once **uint64
		switch tag {
		case dtNull:
			ended = true
		case dtNeeded:
			needed = append(needed, value)
		case dtStrtab:
			once = &table
		case dtStrsz:
			once = &size
		case dtRpath:
			once = &rpath
		case dtRunpath:
			once = &runpath
		case dtAudit, dtDepaudit, dtAuxiliary, dtFilt:
			return because(ReasonUnsupported)
		case dtFlags1:
			if value&df1Nodeflib != 0 {
				return because(ReasonUnsupported)
			}
		}
		if once != nil {
			if *once != nil {
				return because(ReasonMalformed)
			}
			*once = &value
		}
	}
	if !ended {
		return because(ReasonMalformed)
	}
	if len(needed) == 0 && rpath == nil && runpath == nil {
		return nil
	}
	if table == nil || size == nil {
		return because(ReasonMalformed)
	}
	names, err := stringTable(r, *table, *size, loads)
	if err != nil {
		return err
	}
	for _, at := range needed {
		name, err := names.get(at)
		if err != nil {
			return err
		}
		if name == "" {
			return because(ReasonMalformed)
		}
		o.needed = append(o.needed, name)
	}
	if runpath != nil {
		o.hasRunpath = true
		o.runpath, err = names.get(*runpath)
	} else if rpath != nil {
		o.rpath, err = names.get(*rpath)
	}
	return err
}

// mapped reports whether a segment lies in the file where the load segments put it
// in memory, which is where the loader reads it.
func mapped(s *segment, loads []segment) bool {
	for _, l := range loads {
		if s.address >= l.address && s.address-l.address <= l.fileBytes && s.fileBytes <= l.fileBytes-(s.address-l.address) {
			return s.offset == l.offset+(s.address-l.address)
		}
	}
	return false
}

// names is a string table, of which only what is asked for is read.
type names struct {
	r             reader
	offset, bytes int64
	from          int64 // of window, in the table
	window        []byte
}

// stringTable finds the table that lies wholly in one load segment's bytes of the
// file.
func stringTable(r reader, address, size uint64, loads []segment) (*names, error) {
	for _, l := range loads {
		if address >= l.address && address-l.address <= l.fileBytes && size <= l.fileBytes-(address-l.address) {
			return &names{r: r, offset: int64(l.offset + (address - l.address)), bytes: int64(size)}, nil
		}
	}
	return nil, because(ReasonMalformed)
}

// get returns the string at a position of the table.
func (t *names) get(position uint64) (string, error) {
	if position >= uint64(t.bytes) {
		return "", because(ReasonMalformed)
	}
	at := int64(position)
	for _, size := range []int64{0, elfStringWindow, maxStringBytes + 1} {
		if size > 0 {
			var err error
			if t.window, err = t.r.at(t.offset+at, min(size, t.bytes-at)); err != nil {
				return "", err
			}
			t.from = at
		}
		if at < t.from || at >= t.from+int64(len(t.window)) {
			continue
		}
		rest := t.window[at-t.from:]
		end := bytes.IndexByte(rest, 0)
		if end >= 0 && utf8.Valid(rest[:end]) {
			return string(rest[:end]), nil
		}
		if end >= 0 {
			break
		}
	}
	return "", because(ReasonMalformed)
}

// script reports whether a file's first bytes are those of a script.
func script(head []byte) bool { return strings.HasPrefix(string(head[:min(2, len(head))]), "#!") }
