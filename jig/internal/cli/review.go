package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

type reviewOptions struct {
	yes, authority, plan, details, detailedExit bool
	approve, agent                              string
}

// Statuses of a review.
const (
	statusUnchanged        = "unchanged"
	statusApproved         = "approved"
	statusApprovalRequired = "approval-required"
	statusDeclined         = "declined"
	statusFailed           = "failed"
)

func (a *app) reviewCommand(end func(ending)) *cobra.Command {
	var o reviewOptions
	c := a.command("review", "Show what the project wants, and approve it", noArguments, func(ctx context.Context, _ []string) ending {
		return a.review(ctx, o)
	}, end)
	f := c.Flags()
	flag(f, &o.yes, "yes", "approve without asking")
	flag(f, &o.authority, "allow-authority-changes", "with --yes, approve new and changed grants too")
	f.Var(&onceWord{into: &o.agent, words: clients}, "agent", "review with this client in every acp grant")
	flag(f, &o.plan, "plan", "only compute and print the plan")
	f.Var(&onceWord{into: &o.approve, some: true}, "approve", "approve the plan with this digest and no other")
	flag(f, &o.details, "details", "show each change whole")
	flag(f, &o.detailedExit, "detailed-exitcode", "exit 0 for unchanged, 3 for changes, 4 for changes of authority")
	return c
}

// reviewed is what a review has found out when it ends.
type reviewed struct {
	o      reviewOptions
	status string
	plan   *review.Plan
	number int64 // of the generation that is admitted now
	err    *refusal
	shown  bool                // the person has seen the plan already
	files  map[string][]string // which files of a changed package differ, by its path
}

func (a *app) review(ctx context.Context, o reviewOptions) ending {
	a.refusing(func(err error) ending { return a.reviewRefused(refusalOf(err)) })
	r := reviewed{o: o}
	if err := a.runReview(ctx, &r); err != nil {
		r.err = a.refusal(err)
		if r.status == "" {
			r.status = statusFailed
		}
	}
	return a.reviewEnding(&r)
}

// reviewRefused is a review that never began.
func (a *app) reviewRefused(r *refusal) ending {
	return a.reviewEnding(&reviewed{status: statusFailed, err: r})
}

func (a *app) runReview(ctx context.Context, r *reviewed) error {
	switch {
	case r.o.plan && (r.o.yes || r.o.approve != ""):
		return refuse(codeUsage, "--plan only prints; it goes with neither --yes nor --approve")
	case r.o.yes && r.o.approve != "":
		return refuse(codeUsage, "--approve names what is approved; it does not go with --yes")
	}
	if !project.Is(a.dir) {
		return project.ErrNotFound
	}
	d, err := state.Create(a.dir)
	if err != nil {
		return err
	}
	if err := a.recover(ctx, d); err != nil {
		return err
	}
	held, err := d.Review()
	if err != nil {
		return err
	}
	defer held.End()
	candidate, err := a.candidate(ctx, d, held, r.o.agent)
	if err != nil {
		return err
	}
	if r.o.agent != "" && len(grantRecords(candidate)) == 0 {
		a.warn("no Binding lends a native client, so --agent changes nothing")
	}
	var admitted state.Admission
	err = d.View(func(t *state.Tx) (err error) {
		admitted, err = t.Admission()
		return err
	})
	if err != nil {
		return err
	}
	if r.plan, err = review.New(a.dir, admitted, candidate); err != nil {
		return err
	}
	r.files = packageFiles(d.Packages(), r.plan.Changes)
	r.number = admitted.Number
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.decide(ctx, d, held, r)
}

// candidate reads the project as it is now.
func (a *app) candidate(ctx context.Context, d *state.Dir, held *state.Reviewing, agent string) (*project.Candidate, error) {
	launcher, bwrap, err := a.launcher()
	if err != nil {
		return nil, err
	}
	var known state.KnownBinary
	err = d.View(func(t *state.Tx) (err error) {
		known, err = t.KnownBinary()
		return err
	})
	if err != nil {
		return nil, err
	}
	jig, digest, err := d.Binary(a.self, known)
	if err != nil {
		return nil, err
	}
	opener, err := a.opener(jig, digest)
	if err != nil {
		return nil, err
	}
	evaluator := &project.ScopeEvaluator{Launcher: launcher, Jig: jig, Lock: held.Lock()}
	candidate, err := project.Load(ctx, project.Options{
		Dir: a.dir, Evaluator: evaluator, Store: d.Packages(), Environment: a.env,
		Reach: func() (*project.Reach, error) { return project.NewReach(a.env) },
		Bwrap: bwrap, Opener: opener, Agent: agent,
	})
	if closed := evaluator.Close(); err == nil && closed != nil {
		return nil, closed
	}
	return candidate, err
}

// decide approves, asks, or leaves everything as it is.
func (a *app) decide(ctx context.Context, d *state.Dir, held *state.Reviewing, r *reviewed) error {
	p := r.plan
	switch {
	case r.o.approve != "" && r.o.approve != p.Digest:
		return &refusal{code: codeStalePlan, message: "the plan is another one now: " + p.Digest, hint: "look at the difference and approve that digest"}
	case p.Unchanged():
		if !r.o.plan {
			if err := a.compile(ctx, d, held, p); err != nil {
				return err
			}
		}
		if !r.o.plan {
			if err := p.Refresh(d); err != nil {
				return err
			}
		}
		r.status = statusUnchanged
		return nil
	case r.o.plan:
		r.status = statusApprovalRequired
		return nil
	case r.o.approve != "":
	case r.o.yes && p.Authority() && !r.o.authority:
		r.status = statusApprovalRequired
		return &refusal{code: codeAuthorityRequired, message: "the plan changes what the project may do", hint: "look at it, then add --allow-authority-changes"}
	case r.o.yes:
	default:
		approved, err := a.ask(ctx, r)
		if errors.Is(err, errNoTerminal) {
			r.status = statusApprovalRequired
			return &refusal{code: codeApprovalRequired, message: "the plan needs an approval, and there is no terminal to ask at", hint: "review at a terminal, or add --yes, or --approve " + p.Digest}
		}
		if err != nil {
			return err
		}
		if !approved {
			r.status = statusDeclined
			return refuse(codeDeclined, "the changes were declined; nothing has changed")
		}
	}
	// Before the admission, so that a review which cannot end its scopes leaves the
	// earlier generation.
	err := a.compile(ctx, d, held, p)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	number, err := p.Apply(a.dir, d)
	if err != nil {
		return err
	}
	r.status, r.number = statusApproved, number
	// What nobody needs any more goes; that it stays harms nobody.
	_ = d.Sweep(held, admittedPackages)
	return nil
}

// admittedPackages are those that the admitted generation names.
func admittedPackages(t *state.Tx) ([]string, error) {
	a, err := t.Admission()
	if err != nil {
		return nil, err
	}
	c, err := review.ReadContent(a)
	if err != nil || c == nil {
		return nil, err
	}
	var digests []string
	for _, digest := range c.Meaning.Packages {
		digests = append(digests, digest)
	}
	return digests, nil
}

// exit is the exit status of a review.
func (r *reviewed) exit() int {
	exit := 0
	if r.err != nil {
		exit = exitOf(r.err.code)
	}
	if !r.o.detailedExit {
		return exit
	}
	switch {
	case r.plan == nil || r.status == statusFailed:
		return 1
	case r.plan.Unchanged():
		return 0
	case r.plan.Authority():
		return 4
	}
	return 3
}
