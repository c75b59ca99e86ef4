package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/internal/config"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/socket"
	"github.com/magi-jig/magi-jig/wirev2"
)

// startTimeout bounds how long a start may take until the daemon answers.
const startTimeout = 30 * time.Second

// A background daemon reports on this descriptor how its start went, in one line: one of these words, or
// what went wrong.
const (
	reportDescriptor = 3
	reportReady      = "ready"
	reportServed     = "served" // by another daemon
	maxReportBytes   = 4096
)

// maxLogBytes is the size at which a start sets the log file aside.
const maxLogBytes = 8 << 20

// running is what start and restart print with --json.
type running struct {
	Running    bool      `json:"running"`
	Started    bool      `json:"started"`
	PID        int       `json:"pid"`
	InstanceID wirev2.ID `json:"instance_id"`
	Version    string    `json:"version"`
	Socket     string    `json:"socket"`
	Log        string    `json:"log"`
}

func (a *app) startCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "start",
		Short: "Start a daemon in the background, if none runs",
		Long: "Start a daemon in the background and return once it answers. Where one runs already, nothing is done.\n" +
			"The daemon ends by itself after 30 idle minutes ([daemon] idle_timeout).",
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.start(cmd.Context()) },
	})
}

func (a *app) start(ctx context.Context) error {
	path, err := a.socketPath()
	if err != nil {
		return err
	}
	var status wirev2.DaemonStatusReply
	err = whileEnding(ctx, func() (err error) {
		status, err = ask(ctx, path)
		return err
	})
	started := errors.Is(err, errNoDaemon)
	if started {
		status, err = a.launch(ctx, path)
	}
	if err != nil {
		return err
	}
	return a.showRunning(path, status, started)
}

func (a *app) showRunning(path string, status wirev2.DaemonStatusReply, started bool) error {
	log, err := a.logPath()
	if err != nil {
		return err
	}
	r := running{Running: true, Started: started, InstanceID: status.InstanceID, Version: status.Version, Socket: path, Log: log}
	if r.PID, err = socket.Holder(path); err != nil {
		return err
	}
	if started {
		a.sayUnconfigured()
	}
	return a.result(r, func() {
		word := "was already running"
		if started {
			word = "is running"
		}
		a.say("magid %s (process %d)\n  socket  %s\n  log     %s", word, r.PID, plain(path), plain(log))
	})
}

// sayUnconfigured tells who started a daemon that no turn can run in it. The settings
// are those that it has read as well; one that somebody else started may have others.
func (a *app) sayUnconfigured() {
	cfg, err := config.Load(config.Env{Get: a.getenv})
	if err != nil {
		return // they have changed since
	}
	if why := cfg.Provider.Unconfigured(); why != "" {
		_, _ = fmt.Fprintf(a.err, "magid: no turn can run yet: %s\n", why)
	}
}

// ask makes a real handshake and asks for the daemon's figures.
func ask(ctx context.Context, path string) (wirev2.DaemonStatusReply, error) {
	c, err := dial(ctx, path)
	if err != nil {
		return wirev2.DaemonStatusReply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	status, err := c.Status(ctx)
	return status, errors.Join(err, c.Close())
}

// launch starts a daemon and waits until one answers: ours, or the one of somebody who
// was quicker.
func (a *app) launch(ctx context.Context, path string) (wirev2.DaemonStatusReply, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		report, err := a.spawn(ctx)
		if err != nil {
			return wirev2.DaemonStatusReply{}, err
		}
		status, err := answering(ctx, path, report)
		// The daemon that was quicker than ours may be one that was about to stop, and ours may have been stopped.
		if (errors.Is(err, errNoDaemon) || ending(err)) && ctx.Err() == nil {
			continue
		}
		return status, err
	}
}

// answering waits for the daemon that holds the lock to answer. Ours does at once.
func answering(ctx context.Context, path, report string) (status wirev2.DaemonStatusReply, err error) {
	patience := time.Now().Add(time.Second)
	for {
		status, err = ask(ctx, path)
		if err == nil || report == reportReady || ctx.Err() != nil || time.Now().After(patience) {
			return status, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// spawn starts a background daemon and returns its report. The process has a session of its own, so that nothing
// that ends us or our terminal ends it, and its log goes to a file.
func (a *app) spawn(ctx context.Context) (string, error) {
	log, err := a.openLog()
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd, report, err := spawnDaemon(ctx, absoluteEnv(os.Environ()), log, &syscall.SysProcAttr{Setsid: true})
	if cmd != nil {
		err = errors.Join(err, cmd.Process.Release())
	}
	return report, err
}

// spawnDaemon starts this program as a daemon and waits for the report of its start: one of the two
// words, or an error that says what went wrong. A process that was started is returned in any case.
func spawnDaemon(ctx context.Context, env []string, log *os.File, attr *syscall.SysProcAttr) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer report.Close()
	cmd := exec.Command(self, "serve", "--background")
	cmd.Env = env
	cmd.Dir = "/" // no folder is kept busy
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{theirs} // becomes descriptor 3
	cmd.SysProcAttr = attr
	err = cmd.Start()
	if err := errors.Join(err, theirs.Close()); err != nil {
		return nil, "", fmt.Errorf("the daemon cannot be started: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := report.SetReadDeadline(deadline); err != nil {
			return cmd, "", err
		}
	}
	line, err := io.ReadAll(io.LimitReader(report, maxReportBytes))
	if err != nil {
		return cmd, "", fmt.Errorf("the daemon does not come up: %w; its log is %s", err, log.Name())
	}
	switch word := strings.TrimSuffix(string(line), "\n"); word {
	case reportReady, reportServed:
		return cmd, word, nil
	case "":
		return cmd, "", fmt.Errorf("the daemon ended before it served; its log is %s", log.Name())
	default:
		return cmd, "", errors.New(word)
	}
}

// finish gives the report and closes it.
func finish(report io.WriteCloser, line string) {
	// A launcher that is gone needs no report, and a second report finds the descriptor closed.
	_, _ = io.WriteString(report, line+"\n")
	_ = report.Close()
}

// absoluteEnv makes the paths absolute that the daemon, in another folder, would misread.
func absoluteEnv(env []string) []string {
	out := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if (name == "MAGI_CONFIG" || name == "MAGI_API_KEY_FILE") && value != "" && !filepath.IsAbs(value) {
			if abs, err := filepath.Abs(value); err == nil {
				entry = name + "=" + abs
			}
		}
		out = append(out, entry)
	}
	return out
}

func (a *app) logPath() (string, error) {
	dir, err := journal.StateDir(a.getenv)
	return filepath.Join(dir, "magid.log"), err
}

// openLog opens the log file, 0600, and sets an old long one aside.
func (a *app) openLog() (*os.File, error) {
	path, err := a.logPath()
	if err != nil {
		return nil, err
	}
	store, err := journal.Open(filepath.Dir(path)) // makes the folder, or refuses it
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > maxLogBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("log %s cannot be set aside: %w", path, err)
		}
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log %s cannot be opened: %w", path, err)
	}
	if err := log.Chmod(0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("log %s: %w", path, err), log.Close())
	}
	return log, nil
}
