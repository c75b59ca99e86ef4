package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/magid/internal/daemon"
	"github.com/magi-jig/magi-jig/magid/internal/socket"
)

// errReplaced is a daemon that has ended while it was about to be stopped, and another in its place.
var errReplaced = errors.New("another daemon took over meanwhile")

// stopTimeout bounds how long a daemon may take to end: twice five seconds are its own.
const stopTimeout = 20 * time.Second

// stopped is what stop prints with --json.
type stopped struct {
	Running bool `json:"running"`
	Stopped bool `json:"stopped"`
}

func (a *app) stopCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon, if one runs",
		Long: "Stop the daemon and return once its process has ended. Turns that run are ended as failed, and nothing\n" +
			"that was said is lost. Where no daemon runs, nothing is done.",
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.socketPath()
			if err != nil {
				return err
			}
			was, err := stop(cmd.Context(), path)
			if err != nil {
				return err
			}
			return a.result(stopped{Stopped: was}, func() {
				if was {
					a.say("magid has stopped")
				} else {
					a.say("magid was not running")
				}
			})
		},
	})
}

func (a *app) restartCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "restart",
		Short: "Stop the daemon if one runs, and start one",
		Args:  takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.socketPath()
			if err != nil {
				return err
			}
			// A daemon that works is not stopped for one that cannot start.
			if err := daemon.Check(a.getenv); err != nil {
				return err
			}
			if _, err := stop(cmd.Context(), path); err != nil {
				return err
			}
			status, err := a.launch(cmd.Context(), path)
			if err != nil {
				return err
			}
			return a.showRunning(path, status, true)
		},
	})
}

// stop ends the daemon that answers at the socket, and reports whether there was one.
//
// The wire has no word for it: a signal goes to the process that the lock file names. That number is only
// trusted while a connection to the daemon lives: a daemon that answers holds the lock, and who holds
// the lock has written the file. The process is held by a descriptor before the daemon is asked
// again, so a number that was given to another process meanwhile is not signalled.
func stop(ctx context.Context, path string) (was bool, err error) {
	err = whileEnding(ctx, func() error {
		stopped, err := stopAnswering(ctx, path)
		was = was || stopped || ending(err) // somebody else has stopped it
		return err
	})
	return was, err
}

func stopAnswering(ctx context.Context, path string) (was bool, err error) {
	c, err := dial(ctx, path)
	if errors.Is(err, errNoDaemon) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer c.Close()
	pid, err := socket.Holder(path)
	if err != nil {
		return false, err
	}
	process, err := hold(pid)
	if err != nil {
		return false, fmt.Errorf("process %d: %w", pid, err)
	}
	defer process.close()
	asking, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if _, err := c.Status(asking); err != nil {
		return false, err
	}
	if again, err := socket.Holder(path); err != nil || again != pid {
		return false, errors.Join(errReplaced, err)
	}
	// Our connection would only be one more to flush.
	if err := errors.Join(c.Close(), process.terminate()); err != nil {
		return false, fmt.Errorf("the daemon (process %d) cannot be stopped: %w", pid, err)
	}
	return true, waitForEnd(ctx, process, pid)
}

// waitForEnd waits until the process has ended, and with it its lock.
func waitForEnd(ctx context.Context, process held, pid int) error {
	deadline := time.Now().Add(stopTimeout)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		ended, err := process.ended(100 * time.Millisecond)
		if err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		if ended {
			return nil
		}
	}
	return fmt.Errorf("the daemon (process %d) has been told to stop and has not ended yet", pid)
}
