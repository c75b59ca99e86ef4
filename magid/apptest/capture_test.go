package apptest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// still is what a refused mutation must leave as it was: the registry, the budgets, what is connected and claimed.
func (a *app) still() object {
	a.t.Helper()
	status := a.ok(request{method: "daemon.status"})
	delete(status, "uptime_ms")
	return object{"list": a.list(), "status": status}
}

// refuses sends a mutation that must be refused with a code, leaves everything as it was, and is recorded as rejected.
func (a *app) refuses(code string, q request, why string) (message string) {
	a.t.Helper()
	before := a.still()
	q.operation = newID()
	got, message := a.refused(q)
	require.Equal(a.t, code, got, "%s: %s", why, message)
	require.Equal(a.t, before, a.still(), "%s changed something", why)
	require.NotContains(a.t, message, "\n")
	lookup := a.ok(a.in("operation.lookup", object{"operation_id": q.operation}))
	require.Equal(a.t, "rejected", lookup["state"], why)
	require.Equal(a.t, object{"code": code, "message": message}, object(lookup.object("error")), why)
	require.Nil(a.t, lookup["result"])
	return message
}

func (a *app) registering(resource object) request {
	return a.in("session.resources.register", object{"expected_revision": nil, "resource": resource})
}

// rule, M-061, M-062, M-063, M-088, M-089, A-042, A-124
func TestFilesThatAreNoSourcesAreRefusedAndNothingElseHappens(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	// The state folder lies in the workspace: no capture reads it all the same.
	d.state = filepath.Join(d.workspace, "kept")
	d.env = append(d.env, "MAGI_STATE="+d.state)
	d.serve()
	a := d.application()
	a.register(inline("skill", "already", "there"), "")

	const hidden = "Some words that must not be shown."
	outside := filepath.Join(d.dir, "outside-canary")
	require.NoError(t, os.MkdirAll(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.md"), []byte(hidden), 0o600))
	d.write("plain/file.md", hidden)
	in := func(name string) string { return filepath.Join(d.workspace, name) }
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.md"), in("link.md")))
	require.NoError(t, os.Symlink("plain/file.md", in("inner-link.md")))
	require.NoError(t, os.Symlink(outside, in("folder-link")))
	require.NoError(t, os.Symlink("plain", in("inner-folder-link")))
	require.NoError(t, os.Symlink("nowhere", in("dangling")))
	d.write("twin.md", hidden)
	require.NoError(t, os.Link(in("twin.md"), in("other-twin.md")))
	require.NoError(t, os.Link(filepath.Join(outside, "secret.md"), in("hard.md")))
	require.NoError(t, syscall.Mkfifo(in("fifo"), 0o600))
	listener, err := net.Listen("unix", in("socket"))
	require.NoError(t, err)
	defer listener.Close()
	d.write("bad-utf8.md", "caf\xe9 "+hidden)
	d.write("half.md", hidden+"\xe2\x82")
	d.write("surrogate.md", hidden+"\xed\xa0\x80")
	d.write("nul.md", hidden+"\x00")
	for _, name := range []string{".env", ".ENV.local", ".git/config", ".ssh/known", "deep/.aws/x", "id_rsa.pub", "Cert.PEM", "a.key", "credentials.json", "Secrets/x", "auth.json", ".magi/x"} {
		d.write(name, hidden)
	}

	for _, path := range []string{
		"link.md", "inner-link.md", "folder-link/secret.md", "inner-folder-link/file.md", "dangling", "twin.md", "other-twin.md", "hard.md",
		"fifo", "socket", "plain", "nowhere.md", "plain/file.md/x", "bad-utf8.md", "half.md", "surrogate.md", "nul.md",
		".env", ".ENV.local", ".git/config", ".ssh/known", "deep/.aws/x", "id_rsa.pub", "Cert.PEM", "a.key", "credentials.json", "Secrets/x", "auth.json", ".magi/x",
		"kept/sessions/" + a.session + "/journal.jsonl",
		"/etc/passwd", "../outside-canary/secret.md", "plain/../plain/file.md", "./plain/file.md", "plain//file.md", "plain/file.md/", "/", "", ".", "..", "plain/./file.md",
		strings.Repeat("a/", 512) + "b",
	} {
		message := a.refuses("invalid_payload", a.registering(fromFile("skill", "captured", path)), path)
		for _, canary := range []string{hidden, "outside", "canary", d.dir} {
			require.NotContains(t, message, canary, path)
		}
		if len(path) > 4 {
			require.NotContains(t, message, path)
		}
	}
	if os.Geteuid() == 0 { // only root can make one
		require.NoError(t, syscall.Mknod(in("device"), syscall.S_IFCHR|0o600, 1<<8|5))
		a.refuses("invalid_payload", a.registering(fromFile("skill", "captured", "device")), "device")
	}

	// A path of the longest form is looked at, one byte more is malformed.
	longest := strings.Repeat("d/", 511) + "ff"
	require.Len(t, longest, 1024)
	require.Contains(t, a.refuses("invalid_payload", a.registering(fromFile("skill", "captured", longest)), "1,024 bytes"), "source:")
	require.Contains(t, a.refuses("invalid_payload", a.registering(fromFile("skill", "captured", longest+"f")), "1,025 bytes"), "1024")

	// Sources at their limits, and one byte over them.
	d.write("long.md", strings.Repeat("x", 16384))
	d.write("longer.md", strings.Repeat("x", 16385))
	d.write("longest.md", strings.Repeat("x", 1<<20))
	a.refuses("limit_exceeded", a.registering(fromFile("skill", "captured", "longer.md")), "16,385 bytes")
	a.refuses("limit_exceeded", a.registering(fromFile("skill", "captured", "longest.md")), "1 MiB")
	a.refuses("limit_exceeded", a.registering(inline("skill", "captured", strings.Repeat("x", 16385))), "16,385 bytes inline")
	d.write("tool.json", strings.Repeat(" ", 32769))
	a.refuses("limit_exceeded", a.registering(fromFile("tool", "captured", "tool.json")), "32,769 bytes")
	d.write("tool.json", contract("x")+strings.Repeat(" ", 32768-len(contract("x"))))
	require.Contains(t, a.refuses("limit_exceeded", a.registering(fromFile("tool", "captured", "tool.json")), "a tool of 32,768 bytes and its descriptor"), "registry bytes")

	// And the daemon is none the worse for it.
	a.ok(a.in("session.resources.clear", object{"expected_registry_revision": a.list()["registry_revision"]}))
	entry := a.register(fromFile("skill", "captured", "long.md"), "")
	require.EqualValues(t, 16384, entry.number("captured_bytes"))
	require.NotContains(t, d.log.String(), hidden)
	for _, line := range a.records() {
		require.NotContains(t, line, hidden)
		require.NotContains(t, line, "outside-canary")
	}
}

// rule, M-064, M-065, M-066, M-069, M-071, M-072, A-027, A-031, A-041, A-009, A-011, A-028, M-057, M-058, M-060, M-085, M-087
func TestResourcesThatAreNoneAreRefusedAndNothingElseHappens(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "config.toml"), []byte("[tools]\ndisabled = [\"Old_Tool\"]\n[skills]\ndisabled = [\"Old_Skill\"]\n"), 0o600))
	d.serve()
	a := d.application()
	a.register(inline("tool", "taken", contract("x")), "")

	const output = `"output_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}`
	schema := func(properties, required string) string {
		return `{"input_schema":{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]},` + output + `}`
	}
	for name, content := range map[string]string{
		"nothing":              "",
		"no JSON":              "{",
		"an array":             "[]",
		"two values":           contract("x") + contract("x"),
		"trailing comma":       strings.TrimSuffix(contract("x"), "}") + ",}",
		"a byte order mark":    "\ufeff" + contract("x"),
		"a comment":            "// tool\n" + contract("x"),
		"no output_schema":     `{"input_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}}`,
		"an unknown member":    strings.TrimSuffix(contract("x"), "}") + `,"title":"x"}`,
		"a duplicate member":   strings.TrimSuffix(contract("x"), "}") + `,"input_schema":{}}`,
		"an escaped duplicate": strings.TrimSuffix(contract("x"), "}") + `,"\u0069nput_schema":{}}`,
		"timeout below":        contractWithin("x", 999),
		"timeout above":        contractWithin("x", 600001),
		"timeout null":         strings.Replace(contractWithin("x", 1000), "1000", "null", 1),
		"timeout a fraction":   strings.Replace(contractWithin("x", 1000), "1000", "1000.0", 1),
		"timeout a string":     strings.Replace(contractWithin("x", 1000), "1000", `"1000"`, 1),
		"timeout an exponent":  strings.Replace(contractWithin("x", 1000), "1000", "1e3", 1),
		"no object":            strings.Replace(schema("", ""), `"object"`, `"string"`, 1),
		"more than it says":    strings.Replace(schema("", ""), "false", "true", 1),
		"nested":               schema(`"a":{"type":"object","additionalProperties":false,"properties":{},"required":[]}`, `"a"`),
		"an array property":    schema(`"a":{"type":"array"}`, `"a"`),
		"a number":             schema(`"a":{"type":"number"}`, `"a"`),
		"an extra keyword":     schema(`"a":{"type":"boolean","default":true}`, `"a"`),
		"a reference":          schema(`"a":{"$ref":"#"}`, `"a"`),
		"no maxLength":         schema(`"a":{"type":"string"}`, `"a"`),
		"maxLength 0":          schema(`"a":{"type":"string","maxLength":0}`, `"a"`),
		"maxLength 4097":       schema(`"a":{"type":"string","maxLength":4097}`, `"a"`),
		"no bounds":            schema(`"a":{"type":"integer"}`, `"a"`),
		"an unsafe integer":    schema(`"a":{"type":"integer","minimum":0,"maximum":9007199254740992}`, `"a"`),
		"not required":         schema(`"a":{"type":"boolean"}`, ``),
		"required and absent":  schema(``, `"a"`),
		"required twice":       schema(`"a":{"type":"boolean"}`, `"a","a"`),
		"a duplicate property": schema(`"a":{"type":"boolean"},"a":{"type":"boolean"}`, `"a"`),
		"a name of 49":         schema(`"`+strings.Repeat("a", 49)+`":{"type":"boolean"}`, `"`+strings.Repeat("a", 49)+`"`),
	} {
		message := a.refuses("invalid_payload", a.registering(inline("tool", "fresh", content)), name)
		require.NotContains(t, message, "title", name)
		d.write("tool.json", content)
		require.Equal(t, message, a.refuses("invalid_payload", a.registering(fromFile("tool", "fresh", "tool.json")), name+", from a file"))
	}
	for name, resource := range map[string]object{
		"an unknown kind":      inline("prompt", "fresh", "x"),
		"a capital":            inline("skill", "Fresh", "x"),
		"an empty name":        inline("skill", "", "x"),
		"a leading digit":      inline("skill", "1st", "x"),
		"49 bytes":             inline("skill", strings.Repeat("a", 49), "x"),
		"a description of 513": inline("skill", "fresh", "x").with(object{"description": strings.Repeat("x", 513)}),
		"a bell":               inline("skill", "fresh", "x").with(object{"description": "\a"}),
		"no description":       {"kind": "skill", "name": "fresh", "source": object{"kind": "inline", "content": "x"}},
		"legacy content":       {"kind": "skill", "name": "fresh", "description": "", "content": "x"},
		"legacy contract":      {"kind": "tool", "name": "fresh", "description": "", "contract": object{}},
		"both sources":         inline("skill", "fresh", "x").with(object{"source": object{"kind": "inline", "content": "x", "path": "y"}}),
		"no source":            inline("skill", "fresh", "x").with(object{"source": nil}),
		"an unknown source":    inline("skill", "fresh", "x").with(object{"source": object{"kind": "url", "path": "x"}}),
		"a NUL":                inline("skill", "fresh", "a\x00b"),
	} {
		a.refuses("invalid_payload", a.registering(resource), name)
	}
	for name, resource := range map[string]object{
		"taken":               inline("tool", "taken", contract("x")),
		"taken by the other":  inline("skill", "taken", "x"),
		"a built-in tool":     inline("tool", "read_file", contract("x")),
		"another":             inline("skill", "list_files", "x"),
		"and another":         inline("tool", "find_text", contract("x")),
		"one that is to come": inline("tool", "delegate", contract("x")),
		"a server's":          inline("tool", "mcp_x_y", contract("x")),
		"a server's, bare":    inline("tool", "mcp_", contract("x")),
		"a disabled tool's":   inline("skill", "old_tool", "x"),
		"a disabled skill's":  inline("tool", "old_skill", contract("x")),
	} {
		a.refuses("conflict", a.registering(resource), name)
	}
	absent := a.in("session.resources.register", object{"expected_revision": newID(), "resource": inline("skill", "fresh", "x")})
	a.refuses("conflict", absent, "a revision of what is not there")
}
