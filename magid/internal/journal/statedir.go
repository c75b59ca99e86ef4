package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// StateDir says where the daemon keeps its state: $MAGI_STATE, else $XDG_STATE_HOME/magi, else
// $HOME/.local/state/magi (wire-v2 6). A relative XDG_STATE_HOME is passed over, as the XDG rules ask; a relative
// MAGI_STATE, which a person wrote, is refused, because the daemon and its readers need not share a working folder.
func StateDir(getenv func(string) string) (string, error) {
	if dir := getenv("MAGI_STATE"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", errors.New("MAGI_STATE: the state folder is no absolute path")
		}
		return filepath.Clean(dir), nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "magi"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "magi"), nil
	}
	return "", errors.New("no place for the state: set MAGI_STATE, XDG_STATE_HOME or HOME to an absolute path")
}

// makeState makes the state folder and its sessions folder, and sees to it that both are the user's alone.
func makeState(dir string) error {
	if !filepath.IsAbs(dir) {
		return errors.New("the state folder is no absolute path")
	}
	if err := makeFolder(dir); err != nil {
		return err
	}
	if err := closeFolder(dir, false); err != nil {
		return err
	}
	sessions := filepath.Join(dir, sessionsFolder)
	if err := makeFolder(sessions); err != nil {
		return err
	}
	// The state folder is closed to others by now, so nobody else can have a hand in this one.
	return closeFolder(sessions, true)
}

// makeFolder makes dir and its missing parents, each 0700 whatever the umask, each durable in its parent.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder", dir)
		}
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look at the state folder: %w", err)
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return fmt.Errorf("%s does not exist", dir)
	}
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil // another daemon was quicker
		}
		return fmt.Errorf("make the state folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	p, err := os.Open(parent)
	if err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	return errors.Join(p.Sync(), p.Close())
}

// closeFolder makes sure that dir is the user's and closed to all others. A folder that is open is closed where it is
// plainly the daemon's: ours says so, or it is empty, or it holds sessions and nobody else could have put them there.
// Any other folder may be a person's own, named by mistake, and is refused as it is.
func closeFolder(dir string, ours bool) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the state folder: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open the state folder: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the state folder %s belongs to another user", dir)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	if !ours {
		ours, err = looksOurs(f, mode)
		if err != nil {
			return fmt.Errorf("read the state folder: %w", err)
		}
	}
	if !ours {
		return fmt.Errorf("the state folder %s is open to other users (mode %04o): run chmod 700 on it, or name another with MAGI_STATE", dir, mode)
	}
	if err := f.Chmod(0o700); err != nil {
		return fmt.Errorf("close the state folder to other users: %w", err)
	}
	return nil
}

func looksOurs(dir *os.File, mode os.FileMode) (bool, error) {
	names, err := dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if mode&0o022 != 0 {
		return false, nil
	}
	if len(names) == 1 && names[0] == sessionsFolder {
		return true, nil
	}
	info, err := os.Lstat(filepath.Join(dir.Name(), sessionsFolder))
	return err == nil && info.IsDir(), nil
}
