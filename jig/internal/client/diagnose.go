package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// Finding is what became of one stage of a client's setup.
type Finding struct {
	Stage   Stage
	Detail  string              // for people; may hold a path of the operator's machine
	Problem *project.Diagnostic // nil: it is fine
}

// Diagnose goes through the stages of a client's setup as a review does, and goes on
// where a review would stop: what is wrong with the installation does not hide what
// is wrong with the configuration. dir is a folder that no part of the client may lie
// in. An error is the caller's own end.
func Diagnose(ctx context.Context, client nativeinspect.Client, env project.Environment, dir string, now time.Time) ([]Finding, error) {
	i, err := Inspect(ctx, client, env, dir)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var found []Finding
	if err != nil {
		found = append(found, problem(StageExecutable, inspection(client, err)))
	} else {
		found = installed(i)
	}
	p, err := Resolve(client, "", env)
	if err != nil {
		return append(found, problem(StageModel, err)), nil
	}
	model := p.shown()
	if model == "" {
		model = "the client's own"
	}
	found = append(found, Finding{Stage: StageModel, Detail: model})
	stage, detail := StageAPI, p.Endpoint
	switch p.Mode {
	case ModeOpenAISubscription, ModeClaudeSubscription, ModePiSubscription:
		stage, detail = StageLogin, ""
	}
	c, err := p.read(env, now)
	if err != nil {
		return append(found, problem(stage, err)), nil
	}
	defer c.Zero()
	if !c.expires.IsZero() {
		detail = fmt.Sprintf("good for another %s", c.expires.Sub(now).Truncate(time.Second))
	}
	if detail != "" {
		detail = ", " + detail
	}
	return append(found, Finding{Stage: stage, Detail: p.Mode + detail}), nil
}

func installed(i *nativeinspect.Installation) []Finding {
	found := []Finding{
		{Stage: StageExecutable, Detail: i.Executable.Path + ", found by " + string(i.Route)},
		{Stage: StageWrapper, Detail: "layout " + string(i.Layout)},
		{Stage: StageInstallation, Detail: fmt.Sprintf("%d files beside the executable", len(i.Files))},
	}
	if i.Helper != nil {
		found = append(found, Finding{Stage: StageSandbox, Detail: i.Helper.Path + ", found by " + string(i.Helper.Route)})
	}
	return found
}

// problem is a refused stage, which its code names.
func problem(otherwise Stage, err error) Finding {
	var r *project.Refusal
	if !errors.As(err, &r) || len(r.Diagnostics) == 0 {
		return Finding{Stage: otherwise, Problem: &project.Diagnostic{Code: project.CodeACPUnavailable, Message: "it could not be examined"}}
	}
	d := r.Diagnostics[0]
	d.Hint = strings.TrimSuffix(d.Hint, afterwards)
	for _, s := range []Stage{
		StageExecutable, StageInstallation, StageWrapper, StageSandbox, StageLogin, StageAPI, StageModel, StagePreferences, StagePolicy,
	} {
		for _, c := range []nativeinspect.Client{nativeinspect.Codex, nativeinspect.Claude, nativeinspect.Pi} {
			if d.Code == Code(c, s) {
				otherwise = s
			}
		}
	}
	return Finding{Stage: otherwise, Problem: &d}
}

// Refused is what an inspection says about a client that cannot be examined: err is
// that of [Inspect]. It is said where the file concerned is shown beside it, and no
// review is under way.
func Refused(client nativeinspect.Client, err error) error {
	err = inspected(client, err, false)
	var r *project.Refusal
	if errors.As(err, &r) {
		for i := range r.Diagnostics {
			r.Diagnostics[i].Hint = strings.TrimSuffix(r.Diagnostics[i].Hint, afterwards)
		}
	}
	return err
}
