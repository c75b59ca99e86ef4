package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/retain"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/sessionstore"
)

const codeSessionNotFound = "SESSION_NOT_FOUND"

// sessionRecord is what is told of a retained session: nothing of its content.
type sessionRecord struct {
	Reference string `json:"reference"`
	Lifetime  string `json:"lifetime"` // run or project
	Created   string `json:"created"`
	Expires   string `json:"expires"`
	AgeMS     int64  `json:"ageMs"`
	Bytes     int    `json:"bytes"`
}

// sessionCounts is what jig status tells of them.
type sessionCounts struct {
	Count     int `json:"count"`
	RunScoped int `json:"runScoped"`
}

func lifetime(s sessionstore.Info) string {
	if s.Tied {
		return "run"
	}
	return "project"
}

func (a *app) sessionsCommand(end func(ending)) *cobra.Command {
	c := a.command("sessions", "List the retained sessions", noArguments, func(ctx context.Context, _ []string) ending { return a.sessions(ctx) }, end)
	all := false
	remove := a.command("delete [REF]", "Delete a retained session", atMost(1), func(ctx context.Context, args []string) ending {
		switch {
		case all && len(args) > 0:
			return a.refused(refuse(codeUsage, "either a reference or --all"))
		case all:
			return a.deleteSessions(ctx, "")
		case len(args) == 0:
			return a.refused(refuse(codeUsage, "a reference or --all is needed"))
		}
		return a.deleteSessions(ctx, args[0])
	}, end)
	remove.ValidArgsFunction = a.completeSessions
	flag(remove.Flags(), &all, "all", "delete every one")
	c.AddCommand(remove)
	return c
}

func (a *app) sessions(ctx context.Context) ending {
	d, err := a.open(ctx)
	if err != nil {
		return a.refused(err)
	}
	now := time.Now()
	var found []sessionstore.Info
	err = d.View(func(t *state.Tx) (err error) {
		if err = t.Own(); err == nil {
			found, err = retain.List(t, now)
		}
		return err
	})
	if err != nil {
		return a.refused(err)
	}
	records := []sessionRecord{}
	lines := []string{}
	for _, s := range found {
		r := sessionRecord{
			Reference: s.Reference, Lifetime: lifetime(s), Created: timeText(s.Created.UnixMilli()), Expires: timeText(s.Expires.UnixMilli()),
			AgeMS: max(now.Sub(s.Created).Milliseconds(), 0), Bytes: s.Bytes,
		}
		records = append(records, r)
		lines = append(lines, fmt.Sprintf("%s  %-7s  %s old, expires in %s", r.Reference, r.Lifetime, minutes(now.Sub(s.Created)), minutes(s.Expires.Sub(now))))
	}
	human := "no retained sessions\n"
	if len(lines) > 0 {
		human = joinLines(append(lines, fmt.Sprintf("%d of %d", len(lines), sessionstore.DefaultSnapshots)))
	}
	return ending{record: record{"status": statusSucceeded, "sessions": records, "diagnostics": []project.Diagnostic{}}, human: human}
}

// minutes is a time for a person.
func minutes(d time.Duration) string {
	if d = d.Truncate(time.Minute); d <= 0 {
		return "0m"
	}
	return strings.TrimSuffix(d.String(), "0s")
}

// deleteSessions deletes the session of a reference, or all of them without one.
func (a *app) deleteSessions(ctx context.Context, reference string) ending {
	d, err := a.open(ctx)
	if err != nil {
		return a.refused(err)
	}
	deleted, unknown := 1, false
	err = d.Update(func(t *state.Tx) (err error) {
		if reference == "" {
			deleted, err = retain.DeleteAll(t, time.Now())
			return err
		}
		err = retain.Delete(t, time.Now(), reference)
		if unknown = errors.Is(err, retain.ErrUnknown); unknown {
			return nil // what had expired is gone all the same
		}
		return err
	})
	if err == nil && unknown {
		err = &refusal{code: codeSessionNotFound, message: retain.ErrUnknown.Error(), hint: "see jig sessions"}
	}
	if err != nil {
		return a.refused(err)
	}
	return ending{
		record: record{"status": statusSucceeded, "deleted": deleted, "diagnostics": []project.Diagnostic{}},
		human:  fmt.Sprintf("deleted %d\n", deleted),
	}
}

// countSessions counts what is available.
func countSessions(t *state.Tx) (n sessionCounts, err error) {
	found, err := retain.List(t, time.Now())
	for _, s := range found {
		n.Count++
		if s.Tied {
			n.RunScoped++
		}
	}
	return n, err
}
