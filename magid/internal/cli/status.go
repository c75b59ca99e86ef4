package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/wirev2"
)

func (a *app) statusCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "status",
		Short: "Show how the daemon is doing",
		Long:  "Show how the daemon is doing. The exit code is 3 where none runs.",
		Args:  takes(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context()) },
	})
}

func (a *app) status(ctx context.Context) error {
	path, err := a.socketPath()
	if err != nil {
		return err
	}
	s, err := ask(ctx, path)
	if err != nil {
		return err
	}
	return a.result(&s, func() { a.showStatus(path, s) })
}

func (a *app) showStatus(path string, s wirev2.DaemonStatusReply) {
	a.say("magid %s has been up for %s", plain(s.Version), duration(s.UptimeMS))
	for _, row := range [][2]string{
		{"socket", plain(path)},
		{"instance", string(s.InstanceID)},
		{"connections", fmt.Sprint(s.Connections)},
		{"sessions", fmt.Sprintf("%d, %d of them claimed", s.Sessions, s.ClaimedSessions)},
		{"turns", fmt.Sprintf("%d running", s.ActiveTurns)},
		{"executors", fmt.Sprintf("%d, %d calls pending", s.Executors, s.PendingCalls)},
	} {
		a.say("  %s  %s", a.styled(faint, fmt.Sprintf("%-11s", row[0])), row[1])
	}
}

func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return d.Truncate(100 * time.Millisecond).String()
	}
	return d.Truncate(time.Second).String()
}
