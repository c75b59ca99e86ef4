package nativeinspect

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machFile describes a Mach-O file for x86-64.
type machFile struct {
	kind     uint32 // 0: an executable
	commands [][]byte
	bare     bool // without dylinker and version
	change   func([]byte)
}

func command(kind uint32, fields ...uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(8+4*len(fields)))
	for _, f := range fields {
		b = binary.LittleEndian.AppendUint32(b, f)
	}
	return b
}

// textCommand makes a command with a text behind its fixed part.
func textCommand(kind, fixed uint32, text string) []byte {
	b := make([]byte, fixed, int(fixed)+len(text)+8)
	b = append(append(b, text...), 0)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	binary.LittleEndian.PutUint32(b, kind)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[8:], fixed)
	return b
}

func load(name string) []byte  { return textCommand(lcLoadDylib, 24, name) }
func weak(name string) []byte  { return textCommand(lcLoadWeak, 24, name) }
func rpath(path string) []byte { return textCommand(lcRpath, 12, path) }

func (f machFile) bytes() []byte {
	commands := f.commands
	if !f.bare {
		commands = append(commands, command(lcBuildVersion, platformMacOS, 11<<16, 0, 0))
		if f.kind == 0 {
			commands = append(commands, textCommand(lcLoadDylinker, 12, dyldPath))
		}
	}
	var body []byte
	for _, c := range commands {
		body = append(body, c...)
	}
	kind := f.kind
	if kind == 0 {
		kind = machExecute
	}
	var b []byte
	for _, v := range []uint32{0xfeedfacf, cpuX64, subtypeX64, kind, uint32(len(commands)), uint32(len(body)), 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, body...)
	if f.change != nil {
		f.change(b)
	}
	return b
}

// part is a slice of a fat file.
type part struct {
	cpu, subtype, align uint32
	data                []byte
}

func fat(wide bool, parts ...part) []byte {
	be := binary.BigEndian
	entry, magic := 20, uint32(0xcafebabe)
	if wide {
		entry, magic = 32, 0xcafebabf
	}
	b := be.AppendUint32(be.AppendUint32(nil, magic), uint32(len(parts)))
	b = append(b, make([]byte, entry*len(parts))...)
	for i, p := range parts {
		for len(b)%(1<<p.align) != 0 {
			b = append(b, 0)
		}
		e := b[8+i*entry:]
		be.PutUint32(e, p.cpu)
		be.PutUint32(e[4:], p.subtype)
		if wide {
			be.PutUint64(e[8:], uint64(len(b)))
			be.PutUint64(e[16:], uint64(len(p.data)))
			be.PutUint32(e[24:], p.align)
		} else {
			be.PutUint32(e[8:], uint32(len(b)))
			be.PutUint32(e[12:], uint32(len(p.data)))
			be.PutUint32(e[16:], p.align)
		}
		b = append(b, p.data...)
	}
	return b
}

// rule: P-126, P-127
func TestMachONamesWhatDyldReads(t *testing.T) {
	thin := machFile{commands: [][]byte{load("/usr/lib/libSystem.B.dylib"), weak("@rpath/a.dylib"), rpath("@loader_path/../lib"), command(0x1b, 0, 0, 0, 0)}}.bytes()
	want := &image{executable: true, dylibs: []dylib{{"/usr/lib/libSystem.B.dylib", false}, {"@rpath/a.dylib", true}}, rpaths: []string{"@loader_path/../lib"}}
	arm := part{0x0100000c, 0, 14, []byte("not looked at")}
	for name, data := range map[string][]byte{
		"thin":   thin,
		"lib64":  machFile{commands: [][]byte{load("/usr/lib/libSystem.B.dylib"), weak("@rpath/a.dylib"), rpath("@loader_path/../lib"), command(0x1b, 0, 0, 0, 0)}, change: func(b []byte) { b[11] = 0x80 }}.bytes(),
		"fat":    fat(false, arm, part{cpuX64, subtypeX64, 12, thin}),
		"fat 64": fat(true, part{cpuX64, subtypeX64, 12, thin}, arm),
	} {
		m, err := readMachO(memory(data), DarwinX64)
		require.NoError(t, err, name)
		require.Equal(t, want, m)
	}
	m, err := readMachO(memory(machFile{kind: machDylib}.bytes()), DarwinX64)
	require.NoError(t, err)
	require.Equal(t, &image{}, m)
	_, err = readMachO(memory(thin), DarwinARM64)
	require.Equal(t, ReasonFormat, reasonOf(err))
}

// rule: P-126, P-127, P-128
func TestMachORefusesMutations(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	put := func(at int, v uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], v) } }
	with := func(commands ...[]byte) machFile { return machFile{commands: commands} }
	mend := func(c []byte, at int, v uint32) []byte { le.PutUint32(c[at:], v); return c }
	thin := machFile{}.bytes()
	x64 := part{cpuX64, subtypeX64, 3, thin}
	change := func(b []byte, at int, v uint32) []byte { be.PutUint32(b[at:], v); return b }
	for name, c := range map[string]struct {
		reason Reason
		data   []byte
	}{
		"empty":             {ReasonFormat, nil},
		"32 bit":            {ReasonFormat, machFile{change: put(0, 0xfeedface)}.bytes()},
		"ELF":               {ReasonFormat, elfFile{}.bytes()},
		"arm64":             {ReasonFormat, machFile{change: put(4, 0x0100000c)}.bytes()},
		"Haswell":           {ReasonFormat, machFile{change: put(8, 8)}.bytes()},
		"object file":       {ReasonFormat, machFile{change: put(12, 1)}.bytes()},
		"4097 commands":     {ReasonMalformed, machFile{change: put(16, machMaxCommands+1)}.bytes()},
		"too many commands": {ReasonMalformed, machFile{change: put(16, 3)}.bytes()},
		"too few commands":  {ReasonMalformed, machFile{change: put(16, 1)}.bytes()},
		"commands past end": {ReasonMalformed, machFile{change: put(20, uint32(len(thin)))}.bytes()},
		"huge commands":     {ReasonMalformed, machFile{change: put(20, 0xffffffff)}.bytes()},
		"command of 0":      {ReasonMalformed, machFile{change: put(36, 0)}.bytes()},
		"command of 12":     {ReasonMalformed, machFile{change: put(36, 12)}.bytes()},
		"command past end":  {ReasonMalformed, machFile{change: put(36, 4096)}.bytes()},
		"no dylinker":       {ReasonUnsupported, machFile{bare: true, commands: [][]byte{command(lcBuildVersion, 1, 0, 0, 0)}}.bytes()},
		"two dylinkers":     {ReasonUnsupported, with(textCommand(lcLoadDylinker, 12, dyldPath)).bytes()},
		"other dylinker":    {ReasonUnsupported, machFile{bare: true, commands: [][]byte{command(lcBuildVersion, 1, 0, 0, 0), textCommand(lcLoadDylinker, 12, "/tmp/dyld")}}.bytes()},
		"dyld environment":  {ReasonUnsupported, with(textCommand(0x27, 12, "DYLD_X=1")).bytes()},
		"thread":            {ReasonUnsupported, with(command(0x5, 0, 0)).bytes()},
		"encrypted":         {ReasonUnsupported, with(command(0x2c, 0, 0, 0, 0)).bytes()},
		"unknown command":   {ReasonUnsupported, with(command(0x7fffffff)).bytes()},
		"iOS":               {ReasonSystem, machFile{bare: true, commands: [][]byte{command(lcBuildVersion, 2, 0, 0, 0), textCommand(lcLoadDylinker, 12, dyldPath)}}.bytes()},
		"two versions":      {ReasonSystem, with(command(lcVersionMin, 0, 0)).bytes()},
		"no version":        {ReasonSystem, machFile{bare: true, commands: [][]byte{textCommand(lcLoadDylinker, 12, dyldPath)}}.bytes()},
		"short version":     {ReasonMalformed, with(command(lcBuildVersion)).bytes()},
		"short dylib":       {ReasonMalformed, with(command(lcLoadDylib, 24, 0)).bytes()},
		"name in the front": {ReasonMalformed, with(mend(load("/usr/lib/a"), 8, 8)).bytes()},
		"name past the end": {ReasonMalformed, with(mend(load("/usr/lib/a"), 8, 40)).bytes()},
		"name far away":     {ReasonMalformed, with(mend(load("/usr/lib/a"), 8, 0xffffffff)).bytes()},
		"name not ended":    {ReasonMalformed, with(append(load("/usr/lib")[:32:32], "xxxxxxxx"...)).bytes()},
		"empty name":        {ReasonMalformed, with(load("")).bytes()},
		"name not UTF-8":    {ReasonMalformed, with(load("/\xff")).bytes()},
		"long name":         {ReasonMalformed, with(load("/" + strings.Repeat("n", maxStringBytes))).bytes()},
		"no slices":         {ReasonMalformed, fat(false)},
		"only arm64":        {ReasonFormat, fat(false, part{0x0100000c, 0, 3, thin})},
		"two for x86-64":    {ReasonMalformed, fat(false, x64, x64)},
		"overlap":           {ReasonMalformed, change(fat(false, x64, part{7, 3, 3, thin}), 8+20+8, 48)},
		"over the table":    {ReasonMalformed, change(fat(false, x64), 16, 0)},
		"slice past end":    {ReasonMalformed, change(fat(false, x64), 20, 1<<30)},
		"slice empty":       {ReasonMalformed, change(fat(false, x64), 20, 0)},
		"alignment":         {ReasonMalformed, change(fat(false, x64), 24, 12)},
		"huge alignment":    {ReasonMalformed, change(fat(false, x64), 24, 0xffffffff)},
		"huge count":        {ReasonMalformed, change(fat(false, x64), 4, 0xffffffff)},
		"fat in fat":        {ReasonFormat, fat(false, part{cpuX64, subtypeX64, 3, fat(false, x64)})},
		"fat 64 past end":   {ReasonMalformed, change(fat(true, x64), 24, 0xffffffff)},
	} {
		_, err := readMachO(memory(c.data), DarwinX64)
		require.Equal(t, c.reason, reasonOf(err), name)
	}
	for n := range thin {
		_, err := readMachO(memory(thin[:n]), DarwinX64)
		require.Error(t, err, n)
	}
}

// rule: P-126, P-128
func TestMachOBounds(t *testing.T) {
	x64 := part{cpuX64, subtypeX64, 3, machFile{}.bytes()}
	for n, ok := range map[int]bool{31: true, 32: true, 33: false} {
		parts := []part{x64}
		for len(parts) < n {
			parts = append(parts, part{7, 3, 3, []byte("i386")})
		}
		_, err := readMachO(memory(fat(false, parts...)), DarwinX64)
		require.Equal(t, ok, err == nil, n)
	}
	for n, ok := range map[int]bool{4095: true, 4096: true, 4097: false} {
		f := machFile{}
		for range n - 2 {
			f.commands = append(f.commands, command(0x1b))
		}
		_, err := readMachO(memory(f.bytes()), DarwinX64)
		require.Equal(t, ok, err == nil, n)
	}
	for version, ok := range map[uint32]bool{14<<16 | 4<<8: true, 14<<16 | 4<<8 | 1: true, 14<<16 | 4<<8 | 2: false, 15 << 16: false} {
		for _, c := range [][]byte{command(lcBuildVersion, platformMacOS, version, 0, 0), command(lcVersionMin, version, 0)} {
			_, err := readMachO(memory(machFile{kind: machDylib, bare: true, commands: [][]byte{c}}.bytes()), DarwinX64)
			require.Equal(t, ok, err == nil)
		}
	}
}

// mac inspects a Mach-O executable whose system libraries are those of cached.
func (m *machine) mac(f machFile, cached func(string) (bool, error)) (*Installation, error) {
	m.env["CODEX_PATH"] = m.file("app/bin/codex", string(f.bytes()), 0o755)
	o := m.options(Codex)
	o.Platform, o.SharedCache = DarwinX64, cached
	return Inspect(m.Context(), o)
}

func (m *machine) dylib(path string, commands ...[]byte) string {
	return m.file(path, string(machFile{kind: machDylib, commands: commands}.bytes()), 0o644)
}

// rule: P-127, P-128, F-177
func TestMachOClosure(t *testing.T) {
	m := newMachine(t)
	system := map[string]bool{"/usr/lib/libSystem.B.dylib": true, "/System/Library/Frameworks/A.framework/A": true}
	var asked []string
	cached := func(path string) (bool, error) { asked = append(asked, path); return system[path], nil }
	m.dylib("app/lib/a.dylib", load("@rpath/b.dylib"), load("@executable_path/beside.dylib"), load("/usr/lib/libSystem.B.dylib"))
	m.dylib("app/deep/b.dylib", load("@loader_path/../lib/c.dylib"), load("@rpath/a.dylib"))
	m.dylib("app/lib/c.dylib", weak("@rpath/missing.dylib"), weak("/usr/lib/gone.dylib"))
	m.dylib("app/bin/beside.dylib")
	i, err := m.mac(machFile{commands: [][]byte{
		rpath("@loader_path/../nowhere"), rpath("@executable_path/../lib"), rpath("@loader_path/../deep"),
		load("@rpath/a.dylib"), load("/System/Library/Frameworks/A.framework/A"),
	}}, cached)
	require.NoError(t, err)
	require.Equal(t, []string{"app/bin/beside.dylib", "app/deep/b.dylib", "app/lib/a.dylib", "app/lib/c.dylib"}, m.paths(i.Files))
	require.Nil(t, i.Helper)
	require.ElementsMatch(t, []string{"/System/Library/Frameworks/A.framework/A", "/usr/lib/libSystem.B.dylib", "/usr/lib/gone.dylib"}, asked)
	chain, _ := i.Why(m.at("app/deep/b.dylib"))
	require.Equal(t, "LC_RPATH @loader_path/../deep", chain[2].Found)
	require.NoError(t, i.Recheck(t.Context()))
}

// rule: F-179, F-180, P-115, P-127, P-128
func TestMachOClosureFaults(t *testing.T) {
	m := newMachine(t)
	all := func(string) (bool, error) { return true, nil }
	none := func(string) (bool, error) { return false, nil }
	m.dylib("home/project/in.dylib")
	m.link(m.at("home/project/in.dylib"), "app/lib/link.dylib")
	m.file("app/lib/program", string(machFile{}.bytes()), 0o755)
	m.file("app/lib/elf", string(elfFile{}.bytes()), 0o755)
	m.dir("else/deep")
	m.link(m.at("else/deep"), "app/jump")
	m.dylib("app/real.dylib")
	for name, c := range map[string]struct {
		reason   Reason
		cached   func(string) (bool, error)
		commands [][]byte
	}{
		"missing":            {ReasonMissing, all, [][]byte{load("@rpath/a.dylib"), rpath("/nowhere")}},
		"no run path":        {ReasonMissing, all, [][]byte{load("@rpath/a.dylib")}},
		"system missing":     {ReasonMissing, none, [][]byte{load("/usr/lib/libnone.dylib")}},
		"nobody to ask":      {ReasonSharedCache, nil, [][]byte{load("/usr/lib/libnone.dylib")}},
		"answer is an error": {ReasonSharedCache, func(string) (bool, error) { return true, errors.New("x") }, [][]byte{load("/usr/lib/a")}},
		"relative":           {ReasonSearch, all, [][]byte{load("a.dylib")}},
		"unknown token":      {ReasonSearch, all, [][]byte{load("@other/a.dylib")}},
		"relative run path":  {ReasonSearch, all, [][]byte{rpath("lib")}},
		"nested run path":    {ReasonSearch, all, [][]byte{rpath("@rpath/lib")}},
		"not short":          {ReasonSearch, all, [][]byte{load("/a/../usr/lib/x")}},
		"through a link":     {ReasonSearch, all, [][]byte{load("@executable_path/../jump/../real.dylib")}},
		"in the project":     {ReasonProject, all, [][]byte{load(m.at("home/project/in.dylib"))}},
		"linked from it":     {ReasonProject, all, [][]byte{load("@executable_path/../lib/link.dylib")}},
		"a program":          {ReasonFormat, all, [][]byte{load("@executable_path/../lib/program")}},
		"an ELF file":        {ReasonFormat, all, [][]byte{load("@executable_path/../lib/elf")}},
	} {
		_, err := m.mac(machFile{commands: c.commands}, c.cached)
		require.Error(t, err, name)
		m.refused(err, StageInstallation, c.reason)
	}
	_, err := m.mac(machFile{kind: machDylib}, all)
	m.refused(err, StageInstallation, ReasonFormat)
	f := machFile{commands: [][]byte{rpath("@loader_path/../many")}}
	for i := range MaxDestinations + 1 {
		name := "lib" + strings.Repeat("x", i) + ".dylib"
		m.dylib("app/many/" + name)
		f.commands = append(f.commands, load("@rpath/"+name))
	}
	_, err = m.mac(f, all)
	m.refused(err, StageInstallation, ReasonTooManyFiles)
	f.commands = f.commands[:MaxDestinations+1]
	_, err = m.mac(f, all)
	require.NoError(t, err)
}

func FuzzReadMachO(f *testing.F) {
	thin := machFile{commands: [][]byte{load("/usr/lib/libSystem.B.dylib"), weak("@rpath/a.dylib"), rpath("@loader_path")}}.bytes()
	f.Add(thin)
	f.Add(fat(false, part{cpuX64, subtypeX64, 3, thin}, part{7, 3, 2, []byte("x")}))
	f.Add(fat(true, part{cpuX64, subtypeX64, 3, thin}))
	f.Add(machFile{kind: machDylib}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMachO(memory(data), DarwinX64)
		if err != nil {
			require.Contains(t, []Reason{ReasonFormat, ReasonMalformed, ReasonUnsupported, ReasonSystem}, reasonOf(err))
			return
		}
		require.LessOrEqual(t, len(m.dylibs)+len(m.rpaths), machMaxCommands)
		for _, d := range m.dylibs {
			require.NotEmpty(t, d.name)
		}
	})
}
