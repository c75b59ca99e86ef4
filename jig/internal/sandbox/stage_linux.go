package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The stage is a thread of a root jig in a mount namespace of its own. It binds
// what a scope holds below a tmpfs that everybody can reach, and starts
// bubblewrap from there as an ordinary user. A thread costs nothing of what a
// process costs that starts this program once more.

// stageRoot is where the stage puts its tmpfs. Bubblewrap needs the folder to
// exist and to be open to everybody, and so does every system.
const stageRoot = "/tmp"

func stagedPath(i int) string { return stageRoot + "/" + strconv.Itoa(i) }

const stagedBwrap = stageRoot + "/bwrap"

// startStaged starts cmd, which is bubblewrap for s, from a stage. The stage
// stays until reaped is closed: the parent death signal of a child fires when
// the thread that started it ends (J-129).
func (l *Launcher) startStaged(cmd *exec.Cmd, s *Spec, reaped <-chan struct{}) error {
	started := make(chan error, 1)
	go onOwnThread(func() {
		err := l.stage(cmd, s)
		started <- err
		if err == nil {
			<-reaped
		}
	})
	return <-started
}

// onOwnThread calls f on a thread that nothing else uses, and that ends with f
// and takes with it what f made of it. The first thread of a process never ends,
// so it is no such thread.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return // still locked, which ends the thread
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onOwnThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// stage makes the calling thread a stage and starts cmd from it.
func (l *Launcher) stage(cmd *exec.Cmd, s *Spec) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return notStarted(err, true)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return staging("private mounts", err)
	}
	// Everything is opened before the tmpfs hides what lies below its folder, and
	// in this namespace, whose mounts alone can be bound here.
	fd, err := unix.Open(l.bwrap, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &UnavailableError{Reason: "its file cannot be opened"}
	}
	opened := []int{fd}
	defer func() {
		for _, fd := range opened {
			unix.Close(fd)
		}
	}()
	for _, b := range s.Binds {
		fd, err := unix.Open(b.Source, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("sandbox: what belongs at %s cannot be opened: %w", b.Dest, err)
		}
		opened = append(opened, fd)
	}
	if err := unix.Mount("jig", stageRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return staging("a tmpfs", err)
	}
	for i, fd := range opened {
		target := stagedBwrap
		if i > 0 {
			target = stagedPath(i - 1)
		}
		if err := bindAt(fd, target); err != nil {
			return staging("source "+strconv.Itoa(i), err)
		}
	}
	// The child inherits it, and this thread has no other use.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return staging("no new privileges", err)
	}
	cmd.Path = stagedBwrap
	// It gives up root for good before it sets the parent death signal, which a
	// change of user would clear.
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(l.uid), Gid: uint32(l.gid)}
	if err := startClean(cmd); err != nil {
		return notStarted(err, true)
	}
	return nil
}

func staging(what string, err error) error {
	return advise("stage: "+what+": "+plainError(err), facts{})
}

// plainError is the reason without a path.
func plainError(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func bindAt(fd int, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := unix.Mkdir(target, 0o755); err != nil {
			return err
		}
	} else {
		f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		f.Close()
	}
	return unix.Mount("/proc/self/fd/"+strconv.Itoa(fd), target, "", unix.MS_BIND, "")
}

// Identity is whom a root jig runs scopes as: the user and group that sudo came
// from, else the owner of the project folder, else 65534 (jig.md 6). sudoUID
// and sudoGID are the operator's SUDO_UID and SUDO_GID.
func Identity(sudoUID, sudoGID, project string) (uid, gid int) {
	const nobody = 65534
	if u, err := strconv.Atoi(sudoUID); err == nil && u > 0 {
		if g, err := strconv.Atoi(sudoGID); err == nil && g > 0 {
			return u, g
		}
		return u, nobody
	}
	var st unix.Stat_t
	if unix.Stat(project, &st) == nil && st.Uid != 0 {
		if st.Gid == 0 {
			return int(st.Uid), nobody
		}
		return int(st.Uid), int(st.Gid)
	}
	return nobody, nobody
}
