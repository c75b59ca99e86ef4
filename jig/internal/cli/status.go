package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

type runRecord struct {
	ID         string `json:"id"`
	Target     string `json:"target"`
	Generation int64  `json:"generation"`
	Status     string `json:"status"` // running, dead, succeeded, failed or lost
	Started    string `json:"started"`
	Deadline   string `json:"deadline"`
	Ended      string `json:"ended,omitzero"`
	ElapsedMS  int64  `json:"elapsedMs"`
}

func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func runOf(r state.RunRecord, coordinated bool, now time.Time) runRecord {
	out := runRecord{
		ID: r.ID, Target: r.Target, Generation: r.Generation, Status: r.Status,
		Started: timeText(r.Started), Deadline: timeText(r.Deadline), ElapsedMS: max(r.Ended-r.Started, 0),
	}
	switch {
	case !r.Alive():
		out.Ended = timeText(r.Ended)
	case coordinated:
		out.Status, out.ElapsedMS = "running", max(now.UnixMilli()-r.Started, 0)
	default:
		out.Status, out.ElapsedMS = "dead", max(now.UnixMilli()-r.Started, 0)
	}
	return out
}

func (r runRecord) line(s style) string {
	return s.wrap(fmt.Sprintf("%s  %s  %-9s %6dms  %s", r.ID, r.Started[:len("2006-01-02T15:04:05")]+"Z", r.Status, r.ElapsedMS, escape(r.Target)), 4)
}

func (a *app) statusCommand(end func(ending)) *cobra.Command {
	return a.command("status", "Say what is approved and what runs", noArguments, func(context.Context, []string) ending {
		return a.status()
	}, end)
}

// status reads and never waits for a run or a review.
func (a *app) status() ending {
	d, err := state.Open(a.dir)
	if err != nil {
		if errors.Is(err, state.ErrNone) && project.Is(a.dir) {
			return a.statusEnding(0, nil, nil, sessionCounts{})
		}
		return a.refused(a.nothingHere(err))
	}
	var number int64
	var content *review.Content
	var runs []runRecord
	var sessions sessionCounts
	err = d.View(func(t *state.Tx) error {
		admission, err := t.Admission()
		if err != nil {
			return err
		}
		number = admission.Number
		if content, err = review.ReadContent(admission); err != nil || t.Own() != nil {
			return err
		}
		all, err := t.Runs()
		for _, r := range all {
			if r.Alive() {
				runs = append(runs, runOf(r, d.Coordinated(r.ID), time.Now()))
			}
		}
		if err == nil {
			sessions, err = countSessions(t)
		}
		return err
	})
	if err != nil {
		return a.refused(err)
	}
	return a.statusEnding(number, content, runs, sessions)
}

func (a *app) statusEnding(number int64, content *review.Content, runs []runRecord, sessions sessionCounts) ending {
	meaning, plan := project.Empty(), ""
	if content != nil {
		meaning, plan = content.Meaning, content.Plan
	}
	drift := []string{}
	if content != nil {
		drift = append(drift, project.Drift(a.dir, content.Sources, content.Meaning.Packages)...)
		if review.LockDrifted(a.dir, content) {
			drift = append(drift, project.LockName)
		}
	}
	if runs == nil {
		runs = []runRecord{}
	}
	targets := targetRecords(meaning)
	rec := record{"status": statusSucceeded, "generation": number, "targets": targets, "runs": runs, "sessions": sessions, "differs": drift, "diagnostics": []project.Diagnostic{}}
	if plan != "" {
		rec["digest"] = plan
	}
	var b strings.Builder
	s := a.outStyle
	if number == 0 {
		b.WriteString("nothing is approved here; run jig review\n")
	} else {
		fmt.Fprintf(&b, "generation %d is approved\n", number)
	}
	for _, t := range targets {
		mark, text := s.paint(green, s.yes()), escape(t.Target)
		if !t.Ready {
			mark, text = s.paint(red, s.no()), text+" (not runnable: "+escape(t.Reason)+")"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, s.wrap(text, 4))
	}
	if len(drift) > 0 {
		b.WriteString(s.wrap("differs from what was reviewed: "+escape(list(drift, 8)), 2) + "\n")
	}
	for _, r := range runs {
		b.WriteString(r.line(s) + "\n")
	}
	if sessions.Count > 0 {
		fmt.Fprintf(&b, "retained sessions: %d, of which %d until their run ends\n", sessions.Count, sessions.RunScoped)
	}
	return ending{record: rec, human: b.String()}
}
