package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

func (a *app) runsCommand(end func(ending)) *cobra.Command {
	c := a.command("runs", "List the runs", noArguments, func(ctx context.Context, _ []string) ending { return a.runs(ctx) }, end)
	show := a.command("show ID", "Show the record of a run", exactly(1, "the id of a run"), func(ctx context.Context, args []string) ending {
		return a.showRun(ctx, args[0])
	}, end)
	show.ValidArgsFunction = a.completeRuns
	c.AddCommand(
		show,
		a.command("prune", "Forget the runs that have ended", noArguments, func(ctx context.Context, _ []string) ending { return a.pruneRuns(ctx) }, end),
	)
	return c
}

func (a *app) runs(ctx context.Context) ending {
	d, err := a.open(ctx)
	if err != nil {
		return a.refused(err)
	}
	runs := []runRecord{}
	err = d.View(func(t *state.Tx) error {
		all, err := t.Runs()
		for _, r := range slices.Backward(all) {
			runs = append(runs, runOf(r, r.Alive() && d.Coordinated(r.ID), time.Now()))
		}
		return err
	})
	if err != nil {
		return a.refused(err)
	}
	human := "no runs\n"
	if len(runs) > 0 {
		var lines []string
		for _, r := range runs {
			lines = append(lines, r.line(a.outStyle))
		}
		human = joinLines(lines)
	}
	return ending{record: record{"status": statusSucceeded, "runs": runs, "diagnostics": []project.Diagnostic{}}, human: human}
}

func (a *app) showRun(ctx context.Context, id string) ending {
	d, err := a.open(ctx)
	if err != nil {
		return a.refused(err)
	}
	var r state.RunRecord
	var end state.Terminal
	err = d.View(func(t *state.Tx) error {
		var found bool
		if r, found, err = t.Run(id); err != nil {
			return err
		}
		if !found {
			return &refusal{code: codeRunNotFound, message: "there is no such run", hint: "see jig runs"}
		}
		if !r.Alive() {
			end, err = t.Terminal(r)
		}
		return err
	})
	if err != nil {
		return a.refused(err)
	}
	run := runOf(r, r.Alive() && d.Coordinated(r.ID), time.Now())
	rec := record{"status": statusSucceeded, "run": run, "diagnostics": []project.Diagnostic{}}
	var human strings.Builder
	human.WriteString(run.line(a.outStyle) + "\n")
	if end.Record != nil {
		rec["record"], rec["stderr"] = encoded(end.Record), strings.ToValidUTF8(string(end.Stderr), "\ufffd")
		human.WriteString(recordText(end.Record))
		for line := range strings.Lines(string(end.Stderr)) {
			human.WriteString("  | " + escapeText(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	return ending{record: rec, human: human.String()}
}

// recordText is a stored record, member by member, whole, without what the line
// above it says and what says nothing.
func recordText(raw []byte) string {
	names, values := topLevel(raw)
	var b strings.Builder
	for i, name := range names {
		if name == "runId" || string(values[i]) == "[]" && name == "diagnostics" {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s\n", escape(name), strings.ReplaceAll(wholeText(values[i]), "\n", "\n    "))
	}
	return b.String()
}

// topLevel takes an encoded record apart. Its values may be as large as JSON/0
// allows, the record larger.
func topLevel(raw []byte) (names []string, values []jsontext.Value) {
	d := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		text := name.String()
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		names, values = append(names, text), append(values, v.Clone())
	}
	return names, values
}

func (a *app) pruneRuns(ctx context.Context) ending {
	d, err := a.open(ctx)
	if err != nil {
		return a.refused(err)
	}
	forgotten, err := d.PruneRuns(0)
	if err == nil {
		err = d.Sweep(nil, admittedPackages)
	}
	if err != nil {
		return a.refused(err)
	}
	return ending{
		record: record{"status": statusSucceeded, "forgotten": forgotten, "diagnostics": []project.Diagnostic{}},
		human:  fmt.Sprintf("forgot %d runs\n", forgotten),
	}
}
