package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes (magid: Command line).
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNoDaemon = 3
)

// Main runs the program and returns its exit code.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	a := newApp(stdin, stdout, stderr, os.Getenv)
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.out)
	root.SetErr(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.written.failed()
	}
	if err == nil {
		return exitDone
	}
	a.report(err)
	return exitCode(err)
}

// usageError is a command that was called wrongly.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// errNoDaemon is a command that needs a daemon where none answers.
var errNoDaemon = errors.New("no daemon answers: start one with `magid start`")

// silentError ends a command whose failure has been shown already.
type silentError struct{ error }

func exitCode(err error) int {
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errNoDaemon):
		return exitNoDaemon
	default:
		return exitFailed
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "magid",
		Short: "A local agent daemon: sessions, turns and tools over a Unix socket",
		Long: "magid holds your agent's conversations on this machine. Programs connect to its Unix socket,\n" +
			"open sessions in folders, and start turns; magid talks to the model and keeps what was said.\n\n" +
			"Try it without any key:  magid demo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("magid has no command %q", args[0])
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
				text += "; did you mean `magid " + strings.Join(like, "`, `magid ") + "`?"
			}
			return &usageError{text + "\nRun `magid help` for the list."}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s\nRun `%s --help` for what it takes.", err, cmd.CommandPath())
	})
	root.AddCommand(
		a.serveCommand(), a.startCommand(), a.stopCommand(), a.restartCommand(), a.statusCommand(),
		a.callCommand(), a.sessionsCommand(), a.historyCommand(), a.chatCommand(), a.demoCommand(), a.versionCommand(),
	)
	return root
}

// takes checks the number of arguments.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("`%s` takes %s\nRun `%s --help` for more.", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// withJSON adds --json to a command that prints a result.
func (a *app) withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON object on standard output")
	return cmd
}
