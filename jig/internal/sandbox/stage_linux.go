package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// StageCommand is the first argument of the jig binary as a stage.
const StageCommand = "__stage"

// stageRoot is where the stage puts its tmpfs. Bubblewrap needs the folder to
// exist and to be open to everybody, and so does every system.
const stageRoot = "/tmp"

func stagedPath(i int) string { return stageRoot + "/" + strconv.Itoa(i) }

const stagedBwrap = stageRoot + "/bwrap"

// stagePlan is what a root jig tells its stage, through sealed memory.
type stagePlan struct {
	Bwrap   stageSource   `json:"bwrap"`
	Sources []stageSource `json:"sources"`
	Command []string      `json:"command"`
	UID     int           `json:"uid"`
	GID     int           `json:"gid"`
	Parent  int           `json:"parent"`
}

// stageSource is a file or folder as the host saw it. The stage binds nothing
// else, whatever the path names by then.
type stageSource struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

func (l *Launcher) stagePlan(s *Spec, command []string) (*os.File, error) {
	plan := stagePlan{Command: command, UID: l.uid, GID: l.gid, Parent: os.Getpid()}
	var err error
	if plan.Bwrap, err = look(l.bwrap); err != nil {
		return nil, &UnavailableError{Reason: "its file cannot be opened"}
	}
	for _, b := range s.Binds {
		source, err := look(b.Source)
		if err != nil {
			return nil, fmt.Errorf("sandbox: what belongs at %s cannot be opened: %w", b.Dest, errors.Unwrap(err))
		}
		plan.Sources = append(plan.Sources, source)
	}
	b, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	return memfile("stage", b)
}

func look(path string) (stageSource, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return stageSource{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return stageSource{Path: path, Device: uint64(st.Dev), Inode: st.Ino}, nil
}

// StageMain is the stage: it runs as root in a mount namespace of its own and
// becomes bubblewrap as an ordinary user. It returns only with an exit status.
func StageMain(args []string) int {
	err := stage(args)
	fmt.Fprintln(os.Stderr, "jig: stage: "+err.Error())
	return 70
}

func stage(args []string) error {
	// no_new_privs and the parent death signal belong to a thread, and it is
	// this one that becomes bubblewrap.
	runtime.LockOSThread()
	if len(args) != 1 {
		return errors.New("no plan")
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return errors.New("no plan")
	}
	unix.CloseOnExec(fd)
	b, err := io.ReadAll(io.LimitReader(os.NewFile(uintptr(fd), "plan"), 4<<20))
	if err != nil {
		return errors.New("unreadable plan")
	}
	var plan stagePlan
	if err := json.Unmarshal(b, &plan, json.RejectUnknownMembers(true)); err != nil {
		return errors.New("unreadable plan")
	}
	if plan.UID <= 0 || plan.GID <= 0 {
		return errors.New("no ordinary user to become")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// Everything is opened before the tmpfs hides what lies below its folder.
	sources := append([]stageSource{plan.Bwrap}, plan.Sources...)
	opened := make([]int, len(sources))
	folder := make([]bool, len(sources))
	for i, s := range sources {
		if opened[i], folder[i], err = s.open(); err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
	}
	if err := unix.Mount("jig", stageRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	for i, fd := range opened {
		target := stagedBwrap
		if i > 0 {
			target = stagedPath(i - 1)
		}
		if err := bindAt(fd, folder[i], target); err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
	}
	return become(&plan)
}

func (s stageSource) open() (fd int, folder bool, err error) {
	fd, err = unix.Open(s.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, false, err
	}
	if uint64(st.Dev) != s.Device || st.Ino != s.Inode {
		return 0, false, errors.New("it was replaced while the scope started")
	}
	return fd, st.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

func bindAt(fd int, folder bool, target string) error {
	if folder {
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

// become gives up root for good and executes bubblewrap.
func become(plan *stagePlan) error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	if err := syscall.Setresgid(plan.GID, plan.GID, plan.GID); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if err := syscall.Setresuid(plan.UID, plan.UID, plan.UID); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	// A change of user clears the parent death signal, so it is set again, and
	// the parent looked at after it in case it ended in between.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("parent death signal: %w", err)
	}
	if os.Getppid() != plan.Parent {
		return errors.New("jig has ended")
	}
	return fmt.Errorf("bubblewrap: %w", unix.Exec(stagedBwrap, plan.Command, []string{}))
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
