package nativeinspect

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// image is what dyld would read of a Mach-O file.
type image struct {
	executable bool // else a dynamic library
	dylibs     []dylib
	rpaths     []string
}

// dylib is a library that an image names.
type dylib struct {
	name string
	weak bool // may be missing
}

// Bounds, types and commands of Mach-O (finite-acp 5g).
const (
	machMaxSlices   = 32
	machMaxAlign    = 15 // as a power of two
	machMaxCommands = 4_096
	machHeaderBytes = 32

	cpuX64, subtypeX64 = 0x01000007, 3
	subtypeLib64       = 0x80000000 // set on executables; says nothing about the processor

	machExecute, machDylib = 2, 6

	lcLoadDylib, lcLoadWeak, lcReexport, lcLazy, lcUpward = 0xc, 0x80000018, 0x8000001f, 0x20, 0x80000023
	lcLoadDylinker, lcRpath                               = 0xe, 0x8000001c
	lcVersionMin, lcBuildVersion                          = 0x24, 0x32

	platformMacOS = 1
	newestMacOS   = 14<<16 | 4<<8 | 1

	dyldPath = "/usr/lib/dyld"
)

// passive are the load commands that load no other file and change no search.
var passive = map[uint32]bool{
	0x2:        true, // LC_SYMTAB
	0xb:        true, // LC_DYSYMTAB
	0xd:        true, // LC_ID_DYLIB
	0x12:       true, // LC_SUB_FRAMEWORK
	0x13:       true, // LC_SUB_UMBRELLA
	0x14:       true, // LC_SUB_CLIENT
	0x15:       true, // LC_SUB_LIBRARY
	0x16:       true, // LC_TWOLEVEL_HINTS
	0x17:       true, // LC_PREBIND_CKSUM
	0x19:       true, // LC_SEGMENT_64
	0x1b:       true, // LC_UUID
	0x1d:       true, // LC_CODE_SIGNATURE
	0x1e:       true, // LC_SEGMENT_SPLIT_INFO
	0x22:       true, // LC_DYLD_INFO
	0x80000022: true, // LC_DYLD_INFO_ONLY
	0x26:       true, // LC_FUNCTION_STARTS
	0x80000028: true, // LC_MAIN
	0x29:       true, // LC_DATA_IN_CODE
	0x2a:       true, // LC_SOURCE_VERSION
	0x2b:       true, // LC_DYLIB_CODE_SIGN_DRS
	0x2e:       true, // LC_LINKER_OPTIMIZATION_HINT
	0x31:       true, // LC_NOTE
	0x80000033: true, // LC_DYLD_EXPORTS_TRIE
	0x80000034: true, // LC_DYLD_CHAINED_FIXUPS
	0x36:       true, // LC_ATOM_INFO
}

// readMachO reads the headers and load commands of a thin file, or of the one slice
// of a fat file that is for the platform.
func readMachO(r reader, platform Platform) (*image, error) {
	head, err := r.at(0, min(8, r.length()))
	if err != nil {
		return nil, err
	}
	if platform != DarwinX64 || len(head) < 8 {
		return nil, because(ReasonFormat)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xcf, 0xfa, 0xed, 0xfe}):
		return readThin(r, slice{0, uint64(r.length())})
	case bytes.HasPrefix(head, []byte{0xca, 0xfe, 0xba, 0xbe}):
		return readFat(r, binary.BigEndian.Uint32(head[4:]), 20)
	case bytes.HasPrefix(head, []byte{0xca, 0xfe, 0xba, 0xbf}):
		return readFat(r, binary.BigEndian.Uint32(head[4:]), 32)
	}
	return nil, because(ReasonFormat)
}

// slice is a part of a fat file.
type slice struct{ offset, bytes uint64 }

// readFat checks all slices and reads the one for x86-64.
func readFat(r reader, count uint32, entry int64) (*image, error) {
	if count == 0 || count > machMaxSlices {
		return nil, because(ReasonMalformed)
	}
	table, err := r.at(8, int64(count)*entry)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	slices := []slice{{0, 8 + uint64(count)*uint64(entry)}} // the table itself
	var mine *slice
	for ; len(table) > 0; table = table[entry:] {
		cpu, subtype := be.Uint32(table), be.Uint32(table[4:])
		s, align := slice{uint64(be.Uint32(table[8:])), uint64(be.Uint32(table[12:]))}, be.Uint32(table[16:])
		if entry == 32 {
			s, align = slice{be.Uint64(table[8:]), be.Uint64(table[16:])}, be.Uint32(table[24:])
		}
		if align > machMaxAlign || s.offset%(1<<align) != 0 || s.bytes == 0 ||
			s.offset > uint64(r.length()) || s.bytes > uint64(r.length())-s.offset {
			return nil, because(ReasonMalformed)
		}
		for _, other := range slices {
			if s.offset < other.offset+other.bytes && other.offset < s.offset+s.bytes {
				return nil, because(ReasonMalformed)
			}
		}
		slices = append(slices, s)
		if cpu == cpuX64 && subtype&^subtypeLib64 == subtypeX64 {
			if mine != nil {
				return nil, because(ReasonMalformed)
			}
			mine = &s
		}
	}
	if mine == nil {
		return nil, because(ReasonFormat)
	}
	return readThin(r, *mine)
}

// readThin reads one image.
func readThin(r reader, s slice) (*image, error) {
	if s.bytes < machHeaderBytes {
		return nil, because(ReasonFormat)
	}
	head, err := r.at(int64(s.offset), machHeaderBytes)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if le.Uint32(head) != 0xfeedfacf || le.Uint32(head[4:]) != cpuX64 || le.Uint32(head[8:])&^subtypeLib64 != subtypeX64 {
		return nil, because(ReasonFormat)
	}
	kind, count, size := le.Uint32(head[12:]), le.Uint32(head[16:]), uint64(le.Uint32(head[20:]))
	if kind != machExecute && kind != machDylib {
		return nil, because(ReasonFormat)
	}
	if count > machMaxCommands || size > maxReadBytes || size > s.bytes-machHeaderBytes {
		return nil, because(ReasonMalformed)
	}
	commands, err := r.at(int64(s.offset)+machHeaderBytes, int64(size))
	if err != nil {
		return nil, err
	}
	m := &image{executable: kind == machExecute}
	var dyld, versions int
	for ; count > 0; count-- {
		if len(commands) < 8 {
			return nil, because(ReasonMalformed)
		}
		n := uint64(le.Uint32(commands[4:]))
		if n < 8 || n%8 != 0 || n > uint64(len(commands)) {
			return nil, because(ReasonMalformed)
		}
		command := commands[:n]
		commands = commands[n:]
		if err := m.read(le.Uint32(command), command, &dyld, &versions); err != nil {
			return nil, err
		}
	}
	switch {
	case len(commands) > 0:
		return nil, because(ReasonMalformed)
	case m.executable && dyld != 1:
		return nil, because(ReasonUnsupported)
	case versions != 1:
		return nil, because(ReasonSystem)
	}
	return m, nil
}

// read takes one load command.
func (m *image) read(kind uint32, command []byte, dyld, versions *int) error {
	le := binary.LittleEndian
	switch kind {
	case lcLoadDylib, lcLoadWeak, lcReexport, lcLazy, lcUpward:
		name, err := commandText(command, 24)
		m.dylibs = append(m.dylibs, dylib{name, kind == lcLoadWeak})
		return err
	case lcRpath:
		path, err := commandText(command, 12)
		m.rpaths = append(m.rpaths, path)
		return err
	case lcLoadDylinker:
		path, err := commandText(command, 12)
		if err == nil && path != dyldPath {
			err = because(ReasonUnsupported)
		}
		*dyld++
		return err
	case lcVersionMin, lcBuildVersion:
		if len(command) < 16 {
			return because(ReasonMalformed)
		}
		oldest := le.Uint32(command[8:])
		if kind == lcBuildVersion {
			if oldest != platformMacOS {
				return because(ReasonSystem)
			}
			oldest = le.Uint32(command[12:])
		}
		if oldest > newestMacOS {
			return because(ReasonSystem)
		}
		*versions++
		return nil
	}
	if !passive[kind] {
		return because(ReasonUnsupported)
	}
	return nil
}

// commandText returns the text that a command holds behind its fixed part.
func commandText(command []byte, fixed uint32) (string, error) {
	if len(command) < int(fixed) {
		return "", because(ReasonMalformed)
	}
	offset := binary.LittleEndian.Uint32(command[8:])
	if offset < fixed || uint64(offset) >= uint64(len(command)) {
		return "", because(ReasonMalformed)
	}
	text, _, ended := bytes.Cut(command[offset:], []byte{0})
	if !ended || len(text) == 0 || len(text) > maxStringBytes || !utf8.Valid(text) {
		return "", because(ReasonMalformed)
	}
	return string(text), nil
}
