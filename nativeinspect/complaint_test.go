package nativeinspect

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: B4.41 openai/codex#15282 - a client from the project's own folders was run, and later refused as "not found"
// rule: F-158, F-159, P-091
func TestComplaintB4_41Codex15282(t *testing.T) {
	m := newMachine(t)
	m.elf("home/project/bin/codex", elfFile{})
	m.elf("home/project/tool", elfFile{})
	m.link(m.at("home/project/tool"), "home/project/node_modules/.bin/codex")
	m.link(m.at("home/project/tool"), "usr/bin/codex")
	m.path("./bin", m.at("home/project/node_modules/.bin"), m.root+"/home/project/../project/bin", m.at("usr/bin"))
	r := m.refuses(Codex, StageExecutable, ReasonNotFound)
	require.Equal(t, []string{
		"0 ./bin: the path is not absolute",
		"1 home/project/node_modules/.bin/codex: it lies in the project or in a node_modules folder above it",
		"2 home/project/../project/bin/codex: it lies in the project or in a node_modules folder above it",
		"3 usr/bin/codex: it lies in the project or in a node_modules folder above it",
	}, m.rejections(r.Rejected))
	require.Contains(t, r.Correction(), "outside the project")
	// The same answer, wherever the caller stands.
	t.Chdir(m.at("home/project"))
	require.Equal(t, r.Rejected, m.refuses(Codex, StageExecutable, ReasonNotFound).Rejected)
}

// complaint: B4.42 openai/codex#20906 - the launcher's path, behind links of a version manager, did not exist inside the sandbox
// rule: F-160, P-114
func TestComplaintB4_42Codex20906(t *testing.T) {
	m := newMachine(t)
	m.npm("nvm/versions/v22/lib", "nvm/versions/v22/lib")
	m.link("../lib/node_modules/@openai/codex/bin/codex.js", "nvm/versions/v22/bin/codex")
	m.link("versions/v22", "nvm/current")
	m.link(m.at("nvm/current/bin/codex"), "local/bin/codex")
	var found []*Installation
	for _, entry := range []string{"nvm/versions/v22/bin", "nvm/current/bin", "local/bin"} {
		m.path(m.at(entry), m.at("usr/bin"))
		found = append(found, m.found(Codex))
	}
	for _, i := range found {
		require.Equal(t, found[0].Digest(), i.Digest())
		require.Equal(t, i.Executable.Source, i.Executable.Path) // what is bound is what is started
		require.Equal(t, m.at("nvm/versions/v22/lib/node_modules/@openai/codex-linux-x64"+nativePath), i.Executable.Path)
	}
}

// complaint: B4.44 xenodium/agent-shell#23 - shims of version managers ended in "no such file" although the file was there
// rule: F-171, F-174, F-176, P-093
func TestComplaintB4_44AgentShell23(t *testing.T) {
	m := newMachine(t)
	canary := "touch " + m.at("executed") + "\n"
	m.elf("usr/bin/mise", elfFile{})
	m.elf("usr/bin/bwrap", elfFile{})
	for name, c := range map[string]struct {
		reason  Reason
		manager Manager
		install func(path string)
	}{
		"node": {ReasonScript, ManagerNode, func(path string) { m.file(path, "#!/usr/bin/env node\n"+canary, 0o755) }},
		"asdf": {ReasonShim, ManagerAsdf, func(path string) {
			m.file(path, "#!/usr/bin/env bash\n# asdf-plugin: nodejs 22.1.0\n"+canary+"exec asdf exec \"codex\" \"$@\"\n", 0o755)
		}},
		"mise":  {ReasonShim, ManagerMise, func(path string) { m.link(m.at("usr/bin/mise"), path) }},
		"plain": {ReasonScript, "", func(path string) { m.file(path, "#!/bin/sh\n"+canary, 0o755) }},
	} {
		for _, client := range []Client{Codex, Claude, Pi} {
			c.install(name + "/" + string(client))
			m.path(m.at(name), m.at("usr/bin"))
			r := m.refuses(client, StageWrapper, c.reason)
			require.Equal(t, c.manager, r.Manager)
			require.Contains(t, r.Correction(), client.Override())
			if c.reason == ReasonShim {
				require.Contains(t, r.Correction(), string(c.manager)+" which "+string(client))
			}
		}
	}
	m.notExecuted()
}

// complaint: B4.45 razzant/claudexor#191 - npm lays packages out differently on each platform, and the wrong one was started
// rule: F-162, F-163, P-097
func TestComplaintB4_45Claudexor191(t *testing.T) {
	nested := launcherAt + "/node_modules/@openai/codex-linux-x64"
	for name, change := range map[string]func(m *machine){
		"two systems": func(m *machine) { m.replace(nativeAt+"/package.json", `["linux"]`, `["linux","darwin"]`) },
		"mismatch":    func(m *machine) { m.replace(nativeAt+"/package.json", `1.2.3-linux-x64`, `1.2.4-linux-x64`) },
		"nested bad, hoisted good": func(m *machine) {
			m.file(nested+"/package.json", strings.ReplaceAll(nativeJSON, `["x64"]`, `["arm64"]`), 0o644)
			m.elf(nested+nativePath, elfFile{})
		},
		"another platform's package": func(m *machine) {
			require.NoError(m, os.Rename(m.at(nativeAt), m.at(strings.ReplaceAll(nativeAt, "linux-x64", "linux-arm64"))))
		},
	} {
		m := newMachine(t)
		m.env["CODEX_PATH"] = m.npm("opt", "opt")
		m.path(m.at("usr/bin"))
		m.found(Codex)
		change(m)
		r := m.refuses(Codex, StageWrapper, ReasonLayout)
		require.Contains(t, r.Error(), "layout", name)
		require.Contains(t, r.Correction(), "CODEX_PATH")
	}
}
