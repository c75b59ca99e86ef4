package nativeinspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared is the text that makeBinaryWrapper leaves in the supported form.
func declared(target, dirs string) string {
	return fmt.Sprintf("\x00\n\n# The C-code for this binary wrapper has been generated using the following command:\n\n\n"+
		"makeCWrapper '%s' \\\n    --inherit-argv0 \\\n    --prefix 'PATH' ':' '%s'\n\n\n# (Use `nix-shell -p makeBinaryWrapper` …)\n\x00", target, dirs)
}

// wrap makes a wrapper for the machine's loader.
func (m *machine) wrap(path, text string) string {
	e := m.program("")
	e.text = text
	return m.elf(path, e)
}

// rule: F-174, F-177, P-116, P-119
func TestWrapperOfTheSupportedForm(t *testing.T) {
	for _, c := range []Client{Claude, Codex} {
		m := newMachine(t)
		m.elf("usr/bin/bwrap", elfFile{})
		m.elf("store/lib/liba.so", library(""))
		target := m.elf("store/bin/.wrapped", m.program(m.at("store/lib"), "liba.so"))
		wrapper := m.wrap("store/bin/"+string(c), declared(target, m.at("tools")+":"+m.at("more")))
		m.path(m.at("store/bin"), m.at("usr/bin"))
		i := m.found(c)
		require.Equal(t, wrapper, i.Executable.Path)
		require.Equal(t, LayoutWrapper, i.Layout)
		require.Equal(t, []string{m.at("tools"), m.at("more")}, i.PathPrefix)
		require.Equal(t, []string{"loader/ld.so", "store/bin/.wrapped", "store/lib/liba.so"}, m.paths(i.Files))
		require.Equal(t, RoleWrapped, i.Files[1].Role)
		chain, _ := i.Why(target)
		require.Equal(t, "makeCWrapper", chain[1].Entry)
	}
}

// rule: F-175, P-116, P-117
func TestWrapperOfOtherForms(t *testing.T) {
	m := newMachine(t)
	good := declared("/t", "/d")
	for name, text := range map[string]string{
		"no inherit":         strings.ReplaceAll(good, "    --inherit-argv0 \\\n", ""),
		"add flags":          strings.ReplaceAll(good, "--inherit-argv0 \\", "--inherit-argv0 \\\n    --add-flags 'hunter2' \\"),
		"set":                strings.ReplaceAll(good, "'/d'", "'/d' \\\n    --set 'API_KEY' 'hunter2'"),
		"suffix":             strings.ReplaceAll(good, "--prefix", "--suffix"),
		"other variable":     strings.ReplaceAll(good, "'PATH'", "'LD_LIBRARY_PATH'"),
		"other separator":    strings.ReplaceAll(good, "':'", "';'"),
		"two prefixes":       strings.ReplaceAll(good, "'/d'", "'/d' \\\n    --prefix 'PATH' ':' '/e'"),
		"order":              "makeCWrapper '/t' \\\n    --prefix 'PATH' ':' '/d' \\\n    --inherit-argv0\n\n",
		"argv0":              strings.ReplaceAll(good, "--inherit-argv0", "--argv0 'codex'"),
		"spacing":            strings.ReplaceAll(good, "    --inherit", "   --inherit"),
		"one line":           "makeCWrapper '/t' --inherit-argv0 --prefix 'PATH' ':' '/d'\n\n",
		"tab":                strings.ReplaceAll(good, "    --inherit", "\t--inherit"),
		"trailing space":     strings.ReplaceAll(good, "'/d'", "'/d' "),
		"no end":             "makeCWrapper '/t' \\\n    --inherit-argv0 \\\n    --prefix 'PATH' ':' '/d'\n",
		"relative target":    declared("t", "/d"),
		"target not short":   declared("/a/../t", "/d"),
		"target empty":       declared("", "/d"),
		"relative folder":    declared("/t", "d"),
		"empty prefix":       declared("/t", ""),
		"empty part":         declared("/t", "/d::/e"),
		"folder not short":   declared("/t", "/d/:/e"),
		"quote in target":    declared(`/t'\''x`, "/d"),
		"line in target":     declared("/t\nx", "/d"),
		"twice":              good + good,
		"not UTF-8":          declared("/t\xff", "/d"),
		"only the marker":    wrapperMarker,
		"marker at the end":  "x" + wrapperMarker + "\n\n",
		"very long":          declared("/"+strings.Repeat("t", 3*maxStringBytes), "/d"),
		"something in front": strings.ReplaceAll(good, "makeCWrapper '/t'", "makeCWrapper 'x' '/t'"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readWrapper([]byte(text))
			require.Equal(t, ReasonWrapperForm, reasonOf(err))
			m.wrap("bin/claude", text)
			m.claude("bin/claude")
			m.T = t
			r := m.refuses(Claude, StageWrapper, ReasonWrapperForm)
			require.NotContains(t, fmt.Sprintf("%+v %#v %s", *r, *r, r.Correction()), "hunter2")
		})
	}
	d, err := readWrapper([]byte(good))
	require.NoError(t, err)
	require.Equal(t, &declaration{"/t", []string{"/d"}}, d)
}

// rule: P-116
func TestWrapperIsLookedForInSmallFilesOnly(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	text := declared("t", "d") // refused where it is seen
	plain := len(m.program("").bytes())
	for n, seen := range map[int]bool{maxWrapperBytes - 1: true, maxWrapperBytes: true, maxWrapperBytes + 1: false} {
		m.wrap("bin/claude", strings.Repeat(" ", n-plain-len(text))+text)
		if seen {
			m.refuses(Claude, StageWrapper, ReasonWrapperForm)
		} else {
			m.found(Claude)
		}
	}
}

// rule: F-175, P-108, P-115, P-118
func TestWrapperWrapsOneProgram(t *testing.T) {
	m := newMachine(t)
	m.claude("bin/claude")
	inner := m.elf("inner", m.program(""))
	nested := m.wrap("nested", declared(inner, "/d"))
	m.wrap("bin/claude", declared(nested, "/d"))
	r := m.refuses(Claude, StageWrapper, ReasonNested)
	require.Equal(t, RoleWrapped, r.Role)

	e := library("")
	e.text = declared(inner, "/d")
	m.elf("lib/liba.so", e)
	m.elf("bin/claude", m.program(m.at("lib"), "liba.so"))
	r = m.refuses(Claude, StageWrapper, ReasonNested)
	require.Equal(t, RoleLibrary, r.Role)

	for target, reason := range map[string]Reason{
		m.at("none"):                                      ReasonMissing,
		m.elf("home/project/native", elfFile{}):           ReasonProject,
		m.file("plain", string(elfFile{}.bytes()), 0o644): ReasonNotExecutable,
		m.fifo("fifo"):                                    ReasonNotRegular,
		m.file("x", "x", 0o755):                           ReasonFormat,
	} {
		m.wrap("bin/claude", declared(target, "/d"))
		m.refuses(Claude, StageInstallation, reason)
	}
	m.wrap("bin/claude", declared(m.file("script", "#!/bin/sh", 0o755), "/d"))
	m.refuses(Claude, StageWrapper, ReasonScript)
}

// rule: F-174, P-120
func TestPiIsNotWrapped(t *testing.T) {
	m := newMachine(t)
	m.pi("pi")
	m.elf("pi/native", elfFile{})
	m.wrap("pi/pi", declared(m.at("pi/native"), "/d"))
	m.refuses(Pi, StageWrapper, ReasonWrapperForm)
}

func FuzzReadWrapper(f *testing.F) {
	f.Add([]byte(declared("/nix/store/x/bin/.codex-wrapped", "/nix/store/y/bin:/z")))
	f.Add([]byte(declared("/t", "")))
	f.Add([]byte(wrapperMarker + "/t' \\\n    --inherit-argv0\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := readWrapper(data)
		switch {
		case err != nil:
			require.Equal(t, ReasonWrapperForm, reasonOf(err))
		case d == nil:
			require.NotContains(t, string(data), wrapperMarker)
		default: // what was understood says exactly what was there
			require.Contains(t, string(data), "makeCWrapper '"+d.target+"' \\\n    --inherit-argv0 \\\n    --prefix 'PATH' ':' '"+strings.Join(d.prefix, ":")+"'\n\n")
			require.True(t, normalised(d.target))
		}
	})
}
