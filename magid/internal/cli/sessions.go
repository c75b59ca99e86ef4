package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// sessionList is what sessions prints with --json.
type sessionList struct {
	Sessions []wirev2.SessionInfo `json:"sessions"`
}

func (a *app) sessionsCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "sessions",
		Short: "List the sessions, newest first",
		Args:  takes(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.sessions(cmd.Context()) },
	})
}

func (a *app) sessions(ctx context.Context) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := allSessions(ctx, c)
	if err != nil {
		return err
	}
	return a.result(list, func() { a.showSessions(list.Sessions) })
}

func allSessions(ctx context.Context, c *client.Client) (sessionList, error) {
	list := sessionList{Sessions: []wirev2.SessionInfo{}}
	var page wirev2.SessionListRequest
	for {
		reply, err := c.ListSessions(ctx, page)
		if err != nil {
			return list, err
		}
		list.Sessions = append(list.Sessions, reply.Sessions...)
		if reply.NextCursor == nil {
			return list, nil
		}
		page.Cursor = reply.NextCursor
	}
}

func (a *app) showSessions(sessions []wirev2.SessionInfo) {
	if len(sessions) == 0 {
		a.say("There are no sessions yet. `magid chat` begins one.")
		return
	}
	for _, s := range sessions {
		state := ""
		switch {
		case s.ActiveTurn != nil:
			state = a.styled(green, "  turn running")
		case s.Claimed:
			state = a.styled(green, "  claimed")
		}
		a.say("%s  %s%s", a.styled(bold, string(s.SessionID)), when(s.UpdatedAt), state)
		title := ""
		if s.Title != nil && *s.Title != "" {
			title = plain(*s.Title) + "  "
		}
		a.say("  %s%s", title, a.styled(faint, plain(s.Workspace)))
	}
}

// when shows a moment in the person's own time.
func when(t wirev2.Timestamp) string {
	moment, err := t.Time()
	if err != nil {
		return plain(string(t))
	}
	return moment.In(time.Local).Format("2006-01-02 15:04")
}

// turns is "1 turn", "2 turns".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
