package socket

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// MaxPathBytes is the longest socket path the kernel accepts: its address
// holds 108 bytes and the last one ends the string.
const MaxPathBytes = 107

// Path says where the daemon's socket lies: $MAGI_SOCKET, else the configured
// path, else $XDG_RUNTIME_DIR/magi/magid.sock, else
// $HOME/.local/state/magi/magid.sock (wire-v2 1; magid: Configuration).
// Configured is "" where the configuration names none.
//
// A relative XDG_RUNTIME_DIR is passed over, as the XDG rules ask. A relative
// path that a person wrote is refused, because the daemon and its clients need
// not share a working folder.
func Path(getenv func(string) string, configured string) (string, error) {
	named := []struct{ source, path string }{
		{"MAGI_SOCKET", getenv("MAGI_SOCKET")},
		{"the configuration's [daemon] socket", configured},
	}
	for _, n := range named {
		if n.path == "" {
			continue
		}
		if err := checkPath(n.path); err != nil {
			return "", fmt.Errorf("%s: %w", n.source, err)
		}
		return filepath.Clean(n.path), nil
	}
	path := ""
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path = filepath.Join(dir, "magi", "magid.sock")
	} else if home := getenv("HOME"); filepath.IsAbs(home) {
		path = filepath.Join(home, ".local", "state", "magi", "magid.sock")
	} else {
		return "", errors.New("no place for the socket: set MAGI_SOCKET, XDG_RUNTIME_DIR or HOME to an absolute path")
	}
	if err := checkPath(path); err != nil {
		return "", fmt.Errorf("default socket path: %w", err)
	}
	return path, nil
}

func checkPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("socket path %q is not absolute", path)
	case strings.ContainsRune(path, 0):
		return errors.New("socket path holds a NUL byte")
	case strings.HasSuffix(path, "/") || filepath.Base(path) == "." || filepath.Base(path) == "..":
		return fmt.Errorf("socket path %q names a folder, not a file", path)
	case len(path) > MaxPathBytes:
		return fmt.Errorf("socket path is %d bytes long and the kernel takes at most %d: choose a shorter one with MAGI_SOCKET", len(path), MaxPathBytes)
	}
	return nil
}
