package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2/client"
)

// unit reads a unit file: "Section.Key" to its value. A key that is there twice, or outside a section, is a fault.
func unit(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("contrib", "systemd", name))
	require.NoError(t, err)
	values, section := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if title, ok := strings.CutPrefix(line, "["); ok {
			title, ok = strings.CutSuffix(title, "]")
			require.True(t, ok, line)
			section = title
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		require.True(t, ok && section != "" && value != "", line)
		require.NotContains(t, values, section+"."+key)
		values[section+"."+key] = value
	}
	return values
}

// The unit files put the socket where every program looks for it, as private as the daemon would make it, and start the
// program as it wants to be started.
//
// rule: M-137, M-138
func TestUnitFilesServe(t *testing.T) {
	t.Parallel()
	socket, service := unit(t, "magid.socket"), unit(t, "magid.service")
	require.Equal(t, map[string]string{
		"Unit.Description": "Socket of magid, a local agent daemon", "Socket.ListenStream": "%t/magi/magid.sock",
		"Socket.SocketMode": "0600", "Socket.DirectoryMode": "0700", "Install.WantedBy": "sockets.target",
	}, socket)
	require.Equal(t, map[string]string{
		"Unit.Description": "magid, a local agent daemon", "Unit.Requires": "magid.socket", "Unit.After": "magid.socket",
		"Service.Type": "notify", "Service.ExecStart": "%h/.local/bin/magid serve", "Service.Restart": "on-failure",
		"Service.UMask": "0077", "Service.NoNewPrivileges": "yes", "Install.Also": "magid.socket",
	}, service)

	// What a user's service manager does with them. It has no variable of ours: programs and socket find each other by
	// the runtime folder alone.
	p := newPlace(t)
	runtime := filepath.Join(p.dir, "run")
	p.socket = strings.Replace(socket["Socket.ListenStream"], "%t", runtime, 1)
	path, err := client.SocketPath(func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": runtime}[name] })
	require.NoError(t, err)
	require.Equal(t, path, p.socket)
	p.env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + runtime}
	program := filepath.Join(p.dir, ".local", "bin", "magid")
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o700))
	require.NoError(t, os.Symlink(magid, program))
	command := strings.Fields(strings.Replace(service["Service.ExecStart"], "%h", p.dir, 1))
	require.Equal(t, []string{program, "serve"}, command)
	m := p.manager()
	m.program = program
	p.answers(m.activate())
	found := p.run("status")
	require.Zero(t, found.code, found.stderr)
	require.FileExists(t, p.socket+".lock")
}
