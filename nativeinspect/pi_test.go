package nativeinspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const piJSON = `{"name":"@earendil-works/pi-coding-agent","version":"0.84.4","bin":{"pi":"dist/bundle/cli.js"}}`

// pi installs the self-contained layout in a folder, and selects it.
func (m *machine) pi(dir string) {
	m.env["PI_PATH"] = m.elf(dir+"/pi", m.program(""))
	m.file(dir+"/package.json", piJSON, 0o644)
	m.file(dir+"/theme/dark.json", `{"dark":1}`, 0o644)
	m.file(dir+"/theme/light.json", `not read`, 0o644)
}

// rule: F-156, P-125, P-129
func TestPiNeedsItsLayout(t *testing.T) {
	m := newMachine(t)
	m.pi("opt/pi")
	i := m.found(Pi)
	require.Equal(t, []string{"loader/ld.so", "opt/pi/package.json", "opt/pi/theme/dark.json", "opt/pi/theme/light.json"}, m.paths(i.Files))
	require.Equal(t, []Role{RoleInterpreter, RoleManifest, RoleTheme, RoleTheme},
		[]Role{i.Files[0].Role, i.Files[1].Role, i.Files[2].Role, i.Files[3].Role})
	require.Equal(t, PiVersion, i.Version)
	require.Nil(t, i.Helper)
	require.Equal(t, []string{"openai-codex", "anthropic-claude-code", "pi", ""},
		[]string{Codex.Identity(), Claude.Identity(), Pi.Identity(), Client("x").Identity()})
}

// rule: F-156, F-172, F-181, P-125
func TestPiSupportFaults(t *testing.T) {
	manifest := "opt/pi/package.json"
	for name, c := range map[string]struct {
		reason Reason
		change func(m *machine)
	}{
		"no manifest":         {ReasonMissing, func(m *machine) { m.remove(manifest) }},
		"FIFO":                {ReasonNotRegular, func(m *machine) { m.remove(manifest); m.fifo(manifest) }},
		"other name":          {ReasonManifest, func(m *machine) { m.replace(manifest, "@earendil-works", "@mariozechner") }},
		"older":               {ReasonManifest, func(m *machine) { m.replace(manifest, "0.84.4", "0.84.3") }},
		"newer":               {ReasonManifest, func(m *machine) { m.replace(manifest, "0.84.4", "1.6.0") }},
		"suffix":              {ReasonManifest, func(m *machine) { m.replace(manifest, "0.84.4", "0.84.4-beta") }},
		"version twice":       {ReasonManifest, func(m *machine) { m.replace(manifest, `"bin"`, `"version":"0.84.4","bin"`) }},
		"not JSON":            {ReasonManifest, func(m *machine) { m.write(manifest, "{") }},
		"too long":            {ReasonTooLarge, func(m *machine) { m.write(manifest, piJSON+strings.Repeat(" ", MaxRecordBytes)) }},
		"no dark theme":       {ReasonMissing, func(m *machine) { m.remove("opt/pi/theme/dark.json") }},
		"no light theme":      {ReasonMissing, func(m *machine) { m.remove("opt/pi/theme/light.json") }},
		"theme a folder":      {ReasonNotRegular, func(m *machine) { m.remove("opt/pi/theme/dark.json"); m.dir("opt/pi/theme/dark.json") }},
		"manifest in project": {ReasonProject, func(m *machine) { m.inProject(manifest) }},
		"themes in project":   {ReasonProject, func(m *machine) { m.inProject("opt/pi/theme") }},
		"all in the project":  {ReasonProject, func(m *machine) { m.pi("home/project/pi") }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.pi("opt/pi")
			c.change(m)
			m.refuses(Pi, StageInstallation, c.reason)
		})
	}
	m := newMachine(t) // the second on PATH is complete, and not tried
	m.pi("opt/pi")
	delete(m.env, "PI_PATH")
	m.elf("first/pi", elfFile{})
	m.path(m.at("first"), m.at("opt/pi"))
	m.refuses(Pi, StageInstallation, ReasonMissing)

	o := m.options(Pi)
	o.Platform = DarwinX64
	_, err := Inspect(t.Context(), o)
	m.refused(err, StageInstallation, ReasonPlatform)
}
