package nativeinspect

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: P-101, P-104
func TestELFNamesWhatTheLoaderReads(t *testing.T) {
	o, err := readELF(memory(elfFile{interpreter: "/lib/ld.so", needed: []string{"liba.so", "libb.so"}, rpath: new("/r"), runpath: new("$ORIGIN")}.bytes()))
	require.NoError(t, err)
	require.Equal(t, &object{interpreter: "/lib/ld.so", needed: []string{"liba.so", "libb.so"}, runpath: "$ORIGIN", hasRunpath: true}, o)

	o, err = readELF(memory(elfFile{}.bytes())) // static-pie
	require.NoError(t, err)
	require.Equal(t, &object{}, o)

	for _, kind := range []uint16{2, 3} {
		_, err = readELF(memory(patched(elfFile{}, func(b []byte, _ elfPlaces) { binary.LittleEndian.PutUint16(b[16:], kind) })))
		require.NoError(t, err)
	}
}

func patched(e elfFile, change func(b []byte, p elfPlaces)) []byte {
	e.change = func(b []byte, p elfPlaces) []byte { change(b, p); return b }
	return e.bytes()
}

// Each mutation breaks one bound of a file that is otherwise good.
//
// rule: P-101, P-102, P-103, P-104
func TestELFRefusesMutations(t *testing.T) {
	le := binary.LittleEndian
	base := elfFile{interpreter: "/lib/ld.so", needed: []string{"liba.so"}, runpath: new("/opt/lib")}
	for name, c := range map[string]struct {
		reason Reason
		change func(b []byte, p elfPlaces)
	}{
		"magic":                     {ReasonFormat, func(b []byte, p elfPlaces) { b[1] = 'e' }},
		"32 bit":                    {ReasonFormat, func(b []byte, p elfPlaces) { b[4] = 1 }},
		"big endian":                {ReasonFormat, func(b []byte, p elfPlaces) { b[5] = 2 }},
		"ident version":             {ReasonFormat, func(b []byte, p elfPlaces) { b[6] = 2 }},
		"type REL":                  {ReasonFormat, func(b []byte, p elfPlaces) { le.PutUint16(b[16:], 1) }},
		"type CORE":                 {ReasonFormat, func(b []byte, p elfPlaces) { le.PutUint16(b[16:], 4) }},
		"arm64":                     {ReasonFormat, func(b []byte, p elfPlaces) { le.PutUint16(b[18:], 183) }},
		"version":                   {ReasonFormat, func(b []byte, p elfPlaces) { le.PutUint32(b[20:], 2) }},
		"header size 55":            {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint16(b[54:], 55) }},
		"no headers":                {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint16(b[56:], 0) }},
		"129 headers":               {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint16(b[56:], 129) }},
		"65535 headers":             {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint16(b[56:], 65535) }},
		"table in the header":       {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[32:], 8) }},
		"table at the end":          {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[32:], uint64(len(b))) }},
		"table far away":            {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[32:], 1<<63) }},
		"table at the maximum":      {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[32:], 1<<64-1) }},
		"load past the end":         {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.load+32:], uint64(len(b)+1)) }},
		"load wraps":                {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.load+16:], 1<<64-16) }},
		"more in file than memory":  {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.load+40:], 1) }},
		"interpreter unterminated":  {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.interp+32:], uint64(len(base.interpreter))) }},
		"interpreter with NUL":      {ReasonMalformed, func(b []byte, p elfPlaces) { b[p.interpText+3] = 0 }},
		"interpreter not UTF-8":     {ReasonMalformed, func(b []byte, p elfPlaces) { b[p.interpText+3] = 0xff }},
		"interpreter empty":         {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.interp+32:], 1); b[p.interpText] = 0 }},
		"interpreter far away":      {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.interp+8:], 1<<62) }},
		"interpreter huge":          {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.interp+32:], 1<<40) }},
		"two interpreters":          {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint32(b[p.dyn:], ptInterp) }},
		"two dynamic sections":      {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint32(b[p.interp:], ptDynamic) }},
		"overlapping loads":         {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint32(b[p.interp:], ptLoad) }},
		"dynamic of 24 bytes":       {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dyn+32:], 24) }},
		"dynamic empty":             {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dyn+32:], 0) }},
		"dynamic unterminated":      {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dyn+32:], uint64(p.dynamicBytes-16)) }},
		"dynamic outside the loads": {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dyn+16:], elfBase-64) }},
		"dynamic elsewhere in the file": {ReasonMalformed, func(b []byte, p elfPlaces) {
			le.PutUint64(b[p.dyn+8:], uint64(p.dynamic-16))
		}},
		"name outside the table":   {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+8:], uint64(p.stringsBytes)) }},
		"name far away":            {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+8:], 1<<63) }},
		"empty name":               {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+8:], 0) }},
		"name not UTF-8":           {ReasonMalformed, func(b []byte, p elfPlaces) { b[p.strings+2] = 0xff }},
		"unterminated strings":     {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+56:], uint64(p.stringsBytes-1)) }},
		"strings outside the load": {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+40:], elfBase-1) }},
		"strings cross the end":    {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+56:], uint64(len(b))) }},
		"strings of all memory":    {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+56:], 1<<64-1) }},
		"no strings":               {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+32:], 0x6ffffef0) }},
		"no size of strings":       {ReasonMalformed, func(b []byte, p elfPlaces) { le.PutUint64(b[p.dynamic+48:], 0x6ffffef0) }},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readELF(memory(patched(base, c.change)))
			require.Equal(t, c.reason, reasonOf(err))
		})
	}
	good := base.bytes()
	_, err := readELF(memory(good))
	require.NoError(t, err)
	for n := range good { // a file cut anywhere is refused
		_, err := readELF(memory(good[:n]))
		require.Error(t, err, n)
	}
}

// rule: P-103
func TestELFRefusesRepeatedAndUnsupportedTags(t *testing.T) {
	for _, tag := range []uint64{dtStrtab, dtStrsz, dtRpath, dtRunpath} {
		e := elfFile{needed: []string{"liba.so"}, rpath: new("/a"), runpath: new("/b"), dynamic: []uint64{tag, 1}}
		_, err := readELF(memory(e.bytes()))
		require.Equal(t, ReasonMalformed, reasonOf(err), tag)
	}
	for _, pair := range [][]uint64{{dtAudit, 1}, {dtDepaudit, 1}, {dtAuxiliary, 1}, {dtFilt, 1}, {dtFlags1, df1Nodeflib}} {
		_, err := readELF(memory(elfFile{dynamic: pair}.bytes()))
		require.Equal(t, ReasonUnsupported, reasonOf(err), pair)
	}
	_, err := readELF(memory(elfFile{dynamic: []uint64{dtFlags1, 1, 7, 0, 7, 0}}.bytes()))
	require.NoError(t, err)
}

// rule: P-101, P-103, P-104
func TestELFBounds(t *testing.T) {
	// 128 program headers; the added ones are of a type that does not matter.
	many := func(n int) []byte {
		b := elfFile{}.bytes()
		le := binary.LittleEndian
		table := make([]byte, n*56)
		copy(table, b[64:64+2*56])
		for i := 2; i < n; i++ {
			le.PutUint32(table[i*56:], 0x6474e551)
		}
		le.PutUint64(b[32:], uint64(len(b)))
		le.PutUint16(b[56:], uint16(n))
		return append(b, table...)
	}
	dynamic := func(entries int) []byte { // with the string table's two and the last
		return elfFile{}.withTags(entries)
	}
	name := func(n int) []byte { return elfFile{needed: []string{strings.Repeat("n", n)}}.bytes() }
	loader := func(n int) []byte { return elfFile{interpreter: "/" + strings.Repeat("n", n-1)}.bytes() }
	for _, c := range []struct {
		file func(int) []byte
		n    int
	}{{many, elfMaxPrograms}, {dynamic, elfMaxDynamic / 16}, {name, maxStringBytes}, {loader, maxStringBytes}} {
		for _, n := range []int{c.n - 1, c.n} {
			_, err := readELF(memory(c.file(n)))
			require.NoError(t, err, n)
		}
		_, err := readELF(memory(c.file(c.n + 1)))
		require.Equal(t, ReasonMalformed, reasonOf(err), c.n+1)
	}
	// A long search path that starts in the window of another string.
	o, err := readELF(memory(elfFile{needed: []string{"a.so"}, runpath: new("/" + strings.Repeat("r", maxStringBytes-1))}.bytes()))
	require.NoError(t, err)
	require.Len(t, o.runpath, maxStringBytes)
}

// withTags returns the file with a dynamic section of so many entries.
func (e elfFile) withTags(entries int) []byte {
	for range entries - 3 {
		e.dynamic = append(e.dynamic, 0x6ffffef0, 0)
	}
	return e.bytes()
}

func FuzzReadELF(f *testing.F) {
	f.Add(elfFile{}.bytes())
	f.Add(elfFile{interpreter: "/lib/ld.so", needed: []string{"liba.so", "libb.so"}, runpath: new("$ORIGIN/../lib")}.bytes())
	f.Add(elfFile{needed: []string{"liba.so"}, rpath: new("/a:/b"), dynamic: []uint64{dtFlags1, 1}}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := readELF(memory(data))
		if err != nil {
			reason := reasonOf(err)
			require.Contains(t, []Reason{ReasonFormat, ReasonMalformed, ReasonUnsupported}, reason)
			return
		}
		for _, name := range append(o.needed, o.interpreter, o.rpath, o.runpath) {
			require.LessOrEqual(t, len(name), maxStringBytes)
			require.NotContains(t, name, "\x00")
		}
		require.NotContains(t, o.needed, "")
	})
}
