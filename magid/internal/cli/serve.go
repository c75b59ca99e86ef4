package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/magid/internal/daemon"
	"github.com/magi-jig/magi-jig/magid/internal/socket"
)

func (a *app) serveCommand() *cobra.Command {
	background := false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve in the foreground until stopped",
		Long: "Serve in the foreground until SIGINT or SIGTERM. The log goes to standard error.\n" +
			"A daemon that a service manager started through its socket ends after 30 idle minutes; any other goes on.",
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), background) },
	}
	cmd.Flags().BoolVar(&background, "background", false, "as `magid start` runs it: report on descriptor 3, end when idle")
	_ = cmd.Flags().MarkHidden("background") // it exists
	return cmd
}

func (a *app) serve(ctx context.Context, background bool) error {
	if err := socket.Harden(); err != nil {
		return err
	}
	// A reader of our log or of the report that goes away is no reason to die.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	report := io.WriteCloser(nopCloser{io.Discard})
	if background {
		report = os.NewFile(reportDescriptor, "report")
	}
	opts := daemon.Options{
		Version: version(), Log: daemon.NewLog(a.err, a.errTerminal), Idle: background,
		Ready: func(string) { finish(report, reportReady) },
	}
	err := daemon.Serve(ctx, opts)
	switch {
	case errors.Is(err, socket.ErrServed):
		finish(report, reportServed)
	case err != nil:
		finish(report, err.Error())
	}
	switch {
	case !background || err == nil:
		return err
	case errors.Is(err, socket.ErrServed):
		opts.Log.Info("not serving", "reason", err.Error())
	default:
		opts.Log.Error("not serving", "error", err.Error())
	}
	return silentError{err}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
