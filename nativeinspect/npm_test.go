package nativeinspect

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	launcherJSON = `{"name":"@openai/codex","version":"1.2.3","bin":{"codex":"bin/codex.js"},"type":"module",` +
		`"optionalDependencies":{"@openai/codex-linux-x64":"npm:@openai/codex@1.2.3-linux-x64","@openai/codex-darwin-x64":"npm:@openai/codex@1.2.3-darwin-x64"}}`
	nativeJSON = `{"name":"@openai/codex","version":"1.2.3-linux-x64","os":["linux"],"cpu":["x64"],"files":["vendor"]}`
	voltaJSON  = `{"name":"codex","package":"@openai/codex","version":"1.2.3","platform":{"node":"20.0.0"},"loader":null,"manager":"Npm"}`
	nativePath = "/vendor/x86_64-unknown-linux-musl/bin/codex"
)

// launcherScript leaves a mark when anybody runs it.
func (m *machine) launcherScript() string {
	return "#!/bin/sh\ntouch " + m.at("executed") + "\nexit 1\n"
}

// npm installs the launcher below a folder, and the native package below another.
func (m *machine) npm(launcherIn, nativeIn string) (launcher string) {
	l := launcherIn + "/node_modules/@openai/codex"
	m.file(l+"/package.json", launcherJSON, 0o644)
	launcher = m.file(l+"/bin/codex.js", m.launcherScript(), 0o755)
	n := nativeIn + "/node_modules/@openai/codex-linux-x64"
	m.file(n+"/package.json", nativeJSON, 0o644)
	m.elf(n+nativePath, elfFile{text: nativeIn})
	m.elf("usr/bin/bwrap", elfFile{})
	return launcher
}

func (m *machine) notExecuted() {
	_, err := os.Lstat(m.at("executed"))
	require.ErrorIs(m, err, os.ErrNotExist)
}

// rule: F-161, F-163, F-176, P-098, N-002
func TestNPMLauncherResolvesStatically(t *testing.T) {
	for _, nativeIn := range []string{"opt", "opt/node_modules/@openai/codex"} { // hoisted, nested
		m := newMachine(t)
		launcher := m.npm("opt", nativeIn)
		m.link("../node_modules/@openai/codex/bin/codex.js", "opt/bin/codex")
		m.path(m.at("opt/bin"), m.at("usr/bin"))
		i := m.found(Codex)
		require.Equal(t, m.at(nativeIn+"/node_modules/@openai/codex-linux-x64"+nativePath), i.Executable.Path)
		require.Equal(t, LayoutNPM, i.Layout)
		require.Equal(t, "1.2.3", i.Version)
		require.Empty(t, i.Files)
		why, ok := i.Why(i.Executable.Path)
		require.True(t, ok)
		require.Equal(t, launcher, why[0].From)

		m.env["CODEX_PATH"] = launcher // the same with an override
		require.Equal(t, i.Executable, m.found(Codex).Executable)
		m.notExecuted()
	}
}

// breaks describes one fault in an installation whose launcher is m.at("opt/bin/codex").
type breaks map[string]func(m *machine)

// refuseEach requires that each fault is WRAPPER without detail, also with a good
// executable later on PATH.
func refuseEach(t *testing.T, install func(m *machine), faults breaks) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			install(m)
			m.elf("later/codex", elfFile{})
			m.path(m.at("opt/bin"), m.at("later"), m.at("usr/bin"))
			fault(m)
			r := m.refuses(Codex, StageWrapper, ReasonLayout)
			require.NoError(t, r.Unwrap())
			require.Equal(t, m.at("opt/bin/codex"), r.Subject)
			if r.Manager == "" {
				require.Contains(t, r.Correction(), "Reinstall codex")
			}
			require.Contains(t, r.Correction(), "CODEX_PATH")
			m.notExecuted()
		})
	}
}

const (
	launcherAt = "opt/node_modules/@openai/codex"
	nativeAt   = "opt/node_modules/@openai/codex-linux-x64"
)

func (m *machine) replace(path, old, new string) {
	data, err := os.ReadFile(m.at(path))
	require.NoError(m, err)
	require.Contains(m, string(data), old)
	m.write(path, strings.ReplaceAll(string(data), old, new))
}

func (m *machine) write(path, content string) {
	m.remove(path)
	m.file(path, content, 0o755)
}

func (m *machine) remove(path string) { require.NoError(m, os.RemoveAll(m.at(path))) }

// rule: F-162, F-163, F-169, F-170, F-172, P-096, P-097, P-098, P-100, N-003
func TestNPMFaultsAreWrapper(t *testing.T) {
	launcher, native := launcherAt+"/package.json", nativeAt+"/package.json"
	install := func(m *machine) {
		m.npm("opt", "opt")
		m.link(m.at(launcherAt+"/bin/codex.js"), "opt/bin/codex")
	}
	faults := breaks{
		"no manifest":        func(m *machine) { m.remove(launcher) },
		"manifest FIFO":      func(m *machine) { m.remove(launcher); m.fifo(launcher) },
		"manifest folder":    func(m *machine) { m.remove(launcher); m.dir(launcher) },
		"manifest cut":       func(m *machine) { m.write(launcher, "{") },
		"manifest null":      func(m *machine) { m.write(launcher, "null") },
		"manifest array":     func(m *machine) { m.write(launcher, "["+launcherJSON+"]") },
		"two documents":      func(m *machine) { m.write(launcher, launcherJSON+launcherJSON) },
		"not UTF-8":          func(m *machine) { m.replace(launcher, `"module"`, "\"\xff\"") },
		"other name":         func(m *machine) { m.replace(launcher, `"name":"@openai/codex"`, `"name":"@openai/codexx"`) },
		"name twice":         func(m *machine) { m.replace(launcher, `"type":"module"`, `"name":"@openai/codex"`) },
		"bin elsewhere":      func(m *machine) { m.replace(launcher, `bin/codex.js`, `bin/other.js`) },
		"bin not an object":  func(m *machine) { m.replace(launcher, `{"codex":"bin/codex.js"}`, `"bin/codex.js"`) },
		"no platform":        func(m *machine) { m.replace(launcher, `codex-linux-x64"`, `codex-linux-arm64"`) },
		"other pin":          func(m *machine) { m.replace(launcher, `1.2.3-linux-x64`, `1.2.4-linux-x64`) },
		"range":              func(m *machine) { m.replace(launcher, `codex@1.2.3-linux-x64`, `codex@^1.2.3-linux-x64`) },
		"version":            func(m *machine) { m.replace(launcher, `"version":"1.2.3"`, `"version":"1.2"`) },
		"leading zero":       func(m *machine) { m.replace(launcher, `1.2.3`, `1.02.3`); m.replace(native, `1.2.3`, `1.02.3`) },
		"version number":     func(m *machine) { m.replace(launcher, `"version":"1.2.3"`, `"version":1`) },
		"launcher linked in": func(m *machine) { m.inProject(launcher) },
		"no native manifest": func(m *machine) { m.remove(native) },
		"native FIFO":        func(m *machine) { m.remove(native); m.fifo(native) },
		"native name":        func(m *machine) { m.replace(native, `"@openai/codex"`, `"@openai/codex-linux-x64"`) },
		"native version":     func(m *machine) { m.replace(native, `1.2.3`, `1.2.4`) },
		"native os":          func(m *machine) { m.replace(native, `["linux"]`, `["darwin"]`) },
		"two systems":        func(m *machine) { m.replace(native, `["linux"]`, `["linux","darwin"]`) },
		"os not an array":    func(m *machine) { m.replace(native, `["linux"]`, `"linux"`) },
		"native cpu":         func(m *machine) { m.replace(native, `["x64"]`, `["arm64"]`) },
		"no cpu":             func(m *machine) { m.replace(native, `,"cpu":["x64"]`, ``) },
		"no native file":     func(m *machine) { m.remove(nativeAt + nativePath) },
		"not executable":     func(m *machine) { require.NoError(m, os.Chmod(m.at(nativeAt+nativePath), 0o644)) },
		"native linked away": func(m *machine) {
			m.elf("opt/real", elfFile{})
			m.remove(nativeAt + nativePath)
			m.link(m.at("opt/real"), nativeAt+nativePath)
		},
		"native linked into the project": func(m *machine) { m.inProject(nativeAt + nativePath) },
		"package in the project":         func(m *machine) { m.inProject(nativeAt) },
		"package a dangling link":        func(m *machine) { m.remove(nativeAt); m.link("nowhere", nativeAt) },
		"not installed":                  func(m *machine) { m.remove(nativeAt) },
		"not in a bin folder": func(m *machine) {
			require.NoError(m, os.Rename(m.at(launcherAt+"/bin"), m.at(launcherAt+"/sbin")))
			m.remove("opt/bin/codex")
			m.link(m.at(launcherAt+"/sbin/codex.js"), "opt/bin/codex")
		},
	}
	refuseEach(t, install, faults)

	// The nearest package decides: a good one above does not help.
	nested := launcherAt + "/node_modules/@openai/codex-linux-x64"
	refuseEach(t, install, breaks{
		"nested without manifest": func(m *machine) { m.dir(nested) },
		"nested other version": func(m *machine) {
			m.file(nested+"/package.json", strings.ReplaceAll(nativeJSON, "1.2.3", "1.2.2"), 0o644)
			m.elf(nested+nativePath, elfFile{})
		},
		"nested a file": func(m *machine) { m.file(nested, "x", 0o644) },
	})
}

// inProject moves a file into the project and leaves a link.
func (m *machine) inProject(path string) {
	require.NoError(m, os.Rename(m.at(path), m.at("home/project/moved")))
	m.link(m.at("home/project/moved"), path)
}

// rule: F-170
func TestNPMLauncherInTheProjectIsNoOverride(t *testing.T) {
	m := newMachine(t)
	m.env["CODEX_PATH"] = m.npm("home/project", "home/project")
	m.path(m.at("usr/bin"))
	m.refuses(Codex, StageWrapper, ReasonLayout)
}

// rule: F-169, P-096
func TestNPMRecordBounds(t *testing.T) {
	for n, ok := range map[int]bool{MaxRecordBytes - 1: true, MaxRecordBytes: true, MaxRecordBytes + 1: false} {
		m := newMachine(t)
		m.env["CODEX_PATH"] = m.npm("opt", "opt")
		m.path(m.at("usr/bin"))
		m.file(launcherAt+"/package.json", launcherJSON+strings.Repeat(" ", n-len(launcherJSON)), 0o644)
		if ok {
			m.found(Codex)
		} else {
			m.refuses(Codex, StageWrapper, ReasonLayout)
		}
	}
	for n, ok := range map[int]bool{127: true, 128: true, 129: false} {
		m := newMachine(t)
		m.env["CODEX_PATH"] = m.npm("opt", "opt")
		m.path(m.at("usr/bin"))
		number := "1.2.3-" + strings.Repeat("a", n-len("1.2.3-"))
		m.file(launcherAt+"/package.json", strings.ReplaceAll(launcherJSON, "1.2.3", number), 0o644)
		m.file(nativeAt+"/package.json", strings.ReplaceAll(nativeJSON, "1.2.3", number), 0o644)
		if ok {
			require.Equal(t, number, m.found(Codex).Version)
		} else {
			m.refuses(Codex, StageWrapper, ReasonLayout)
		}
	}
}

// rule: F-164
func TestNPMLooksUpThirtyTwoAncestors(t *testing.T) {
	for n, ok := range map[int]bool{31: true, 32: true, 33: false} {
		m := newMachine(t)
		// bin is the launcher's first ancestor; the folder of node_modules is the nth.
		deep := "opt" + strings.Repeat("/d", n-3) // bin and the package below, opt above
		m.file(deep+"/codexpkg/package.json", launcherJSON, 0o644)
		m.env["CODEX_PATH"] = m.file(deep+"/codexpkg/bin/codex.js", "#!", 0o755)
		m.npm("other", "opt")
		m.path(m.at("usr/bin"))
		if ok {
			m.found(Codex)
		} else {
			m.refuses(Codex, StageWrapper, ReasonLayout)
		}
	}
}

// rule: P-095
func TestELFNamedCodexJSIsNative(t *testing.T) {
	m := newMachine(t)
	m.env["CODEX_PATH"] = m.elf("x/codex.js", elfFile{})
	m.elf("usr/bin/bwrap", elfFile{})
	m.path(m.at("usr/bin"))
	require.Equal(t, LayoutDirect, m.found(Codex).Layout)
}

// volta installs a Volta home whose image holds the npm layout.
func (m *machine) volta(home, nativeIn string) {
	image := home + "/tools/image/packages/@openai/codex"
	m.npm(image+"/lib", nativeIn)
	m.link("../lib/node_modules/@openai/codex/bin/codex.js", image+"/bin/codex")
	m.file(home+"/tools/user/bins/codex.json", voltaJSON, 0o644)
}

// rule: F-165, F-166, F-167, F-176
func TestVoltaDispatcherResolvesStatically(t *testing.T) {
	image := "v/tools/image/packages/@openai/codex/lib"
	for _, nativeIn := range []string{image, image + "/node_modules/@openai/codex"} {
		m := newMachine(t)
		m.volta("v", nativeIn)
		m.file("v/bin/volta-shim", m.launcherScript(), 0o755)
		m.link("volta-shim", "v/bin/codex")
		m.path(m.at("v/bin"), m.at("usr/bin"))
		i := m.found(Codex)
		require.Equal(t, m.at(nativeIn+"/node_modules/@openai/codex-linux-x64"+nativePath), i.Executable.Path)
		require.Equal(t, LayoutVolta, i.Layout)

		// The home may be another place than the dispatcher's.
		m.file("w/bin/volta-shim", m.launcherScript(), 0o755)
		m.link("volta-shim", "w/bin/codex")
		m.path(m.at("w/bin"), m.at("usr/bin"))
		m.refuses(Codex, StageWrapper, ReasonLayout)
		m.env["VOLTA_HOME"] = m.at("v")
		require.Equal(t, i.Executable, m.found(Codex).Executable)
		m.notExecuted()
	}
}

// rule: F-165, F-166, F-167, F-168, F-170
func TestVoltaFaultsAreWrapper(t *testing.T) {
	record := "v/tools/user/bins/codex.json"
	faults := breaks{
		"VOLTA_HOME empty":    func(m *machine) { m.env["VOLTA_HOME"] = "" },
		"VOLTA_HOME relative": func(m *machine) { m.env["VOLTA_HOME"] = "v" },
		"VOLTA_HOME missing":  func(m *machine) { m.env["VOLTA_HOME"] = m.at("none") },
		"VOLTA_HOME with NUL": func(m *machine) { m.env["VOLTA_HOME"] = m.at("v\x00") },
		"VOLTA_HOME in the project": func(m *machine) {
			m.volta("home/project/v", "home/project/v")
			m.env["VOLTA_HOME"] = m.at("home/project/v")
		},
		"no record":     func(m *machine) { m.remove(record) },
		"record FIFO":   func(m *machine) { m.remove(record); m.fifo(record) },
		"record inside": func(m *machine) { m.inProject(record) },
		"other name":    func(m *machine) { m.replace(record, `"codex"`, `"claude"`) },
		"other package": func(m *machine) { m.replace(record, `@openai/codex`, `@openai/other`) },
		"other manager": func(m *machine) { m.replace(record, `Npm`, `Yarn`) },
		"other version": func(m *machine) { m.replace(record, `1.2.3`, `1.2.4`) },
		"no version":    func(m *machine) { m.replace(record, `"version"`, `"v"`) },
		"image inside":  func(m *machine) { m.inProject("v/tools/image/packages/@openai/codex/lib") },
		"image elsewhere": func(m *machine) {
			m.remove("v/tools/image/packages/@openai/codex/bin/codex")
			m.link(m.at("later/codex"), "v/tools/image/packages/@openai/codex/bin/codex")
		},
		"not in a bin folder": func(m *machine) {
			m.remove("opt/bin/codex")
			m.file("v/sbin/volta-shim", "#!", 0o755)
			m.link(m.at("v/sbin/volta-shim"), "opt/bin/codex")
		},
	}
	refuseEach(t, func(m *machine) {
		m.volta("v", "v/tools/image/packages/@openai/codex/lib")
		m.file("v/bin/volta-shim", m.launcherScript(), 0o755)
		m.link(m.at("v/bin/volta-shim"), "opt/bin/codex")
	}, faults)
}

// rule: F-171
func TestLaunchersOfOtherClientsAreRefused(t *testing.T) {
	for _, c := range []Client{Claude, Pi} {
		m := newMachine(t)
		m.volta("v", "v")
		m.elf("v/bin/volta-shim", elfFile{})
		m.link("volta-shim", fmt.Sprintf("v/bin/%s", c))
		m.path(m.at("v/bin"))
		r := m.refuses(c, StageWrapper, ReasonShim)
		require.Equal(t, ManagerVolta, r.Manager)
		require.Contains(t, r.Correction(), "volta which "+string(c))

		m.env[c.Override()] = m.npm("opt", "opt")
		m.refuses(c, StageWrapper, ReasonScript)
		m.notExecuted()
	}
}

// rule: P-099
func TestRecordThatChangesWhileItIsReadIsRefused(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"size":  func(path string) error { return os.WriteFile(path, []byte(launcherJSON+" "), 0o644) },
		"mtime": func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
		"ctime": func(path string) error { return os.Chmod(path, 0o600) },
	} {
		m := newMachine(t)
		path := m.file("record.json", launcherJSON, 0o644)
		f, err := openRegular(path)
		require.NoError(t, err)
		_, err = f.at(0, f.size)
		require.NoError(t, err)
		require.NoError(t, change(path))
		_, err = f.hash(t.Context(), make([]byte, 64))
		require.Equal(t, ReasonChanged, reasonOf(err), name)
		f.close()
	}
}
