package client

import (
	"errors"
	"path/filepath"
)

// SocketPath returns the path of the daemon's socket: $MAGI_SOCKET, else $XDG_RUNTIME_DIR/magi/magid.sock, else
// $HOME/.local/state/magi/magid.sock. A variable that is empty counts as not set. The argument is os.Getenv, or what
// stands for it. (wire-v2 1)
func SocketPath(getenv func(string) string) (string, error) {
	if path := getenv("MAGI_SOCKET"); path != "" {
		return path, nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "magi", "magid.sock"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "magi", "magid.sock"), nil
	}
	return "", errors.New("no path for the daemon's socket: set MAGI_SOCKET, XDG_RUNTIME_DIR or HOME")
}
