package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// PrepareRequest says what was admitted and what a launch needs of it.
type PrepareRequest struct {
	Client      string // codex, claude or pi
	Model       string // of the grant; empty: the operator's
	Project     string // folder of the project
	Digest      string // of the admitted provider
	Admitted    project.Provider
	Environment project.Environment
	Reach       *project.Reach
	// Deadline of the run; zero: none. A credential that ends before it is warned
	// about.
	Deadline time.Time
}

// Prepared is a client that can be started.
type Prepared struct {
	Plan       *Plan
	Credential *Credential
	Warnings   []project.Diagnostic
}

// Prepare opens an admitted client again, without a search, reads every byte of it
// again, and reads the credential. A [*ChangedError] names what is not as it was
// admitted.
func (o *Opener) Prepare(ctx context.Context, r PrepareRequest) (*Prepared, error) {
	plan, p, warnings, err := o.reopened(ctx, r)
	if err != nil {
		return nil, err
	}
	credential, err := p.read(r.Environment, o.o.Now())
	if err != nil {
		return nil, err
	}
	if w := ending(p, credential, r.Deadline); w != nil {
		warnings = append(warnings, *w)
	}
	return &Prepared{plan, credential, warnings}, nil
}

// Check is Prepare without anything to start: for a run that is about to begin.
func (o *Opener) Check(ctx context.Context, r PrepareRequest) ([]project.Diagnostic, error) {
	ready, err := o.Prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	ready.Credential.Zero()
	return ready.Warnings, nil
}

// ending warns about a credential that ends before the run has to.
func ending(p Profile, c *Credential, deadline time.Time) *project.Diagnostic {
	if c.expires.IsZero() || deadline.IsZero() || !c.expires.Before(deadline) {
		return nil
	}
	return &project.Diagnostic{
		Code:    Code(p.Client, StageLogin),
		Message: fmt.Sprintf("the login of %s ends at %s, before the run's deadline; it is not renewed meanwhile", p.Client, c.expires.UTC().Format(time.RFC3339)),
		Hint:    "renew it by running " + string(p.Client) + " once, or choose a shorter --timeout",
	}
}

func (o *Opener) reopened(ctx context.Context, r PrepareRequest) (*Plan, Profile, []project.Diagnostic, error) {
	c := nativeinspect.Client(r.Client)
	p, err := Resolve(c, r.Model, r.Environment)
	if err != nil {
		return nil, p, nil, err
	}
	if err := observe(c); err != nil {
		return nil, p, nil, err
	}
	selection, ok := selectionOf(c, r.Admitted)
	if !ok {
		return nil, p, nil, &ChangedError{Client: r.Client, Parts: []string{PartExecutable}}
	}
	i, err := within(ctx, c, func(ctx context.Context) (*nativeinspect.Installation, error) {
		return o.reopen(ctx, selection, nativeinspect.Options{Lookup: r.Environment.Lookup, Project: r.Project, Protected: Protected()})
	})
	if err != nil {
		return nil, p, nil, o.unopened(ctx, c, err)
	}
	m := o.at.look(r.Reach)
	plan, err := o.plan(p, i, r.Reach, m, r.Admitted.Contract)
	if err != nil {
		return nil, p, nil, err
	}
	if plan.Digest != r.Digest {
		return nil, p, nil, differ(r.Client, r.Admitted, plan.Provider)
	}
	return plan, p, m.warnings, nil
}

// selectionOf names the installation that was admitted.
func selectionOf(c nativeinspect.Client, admitted project.Provider) (nativeinspect.Selection, bool) {
	if admitted.Executable == nil || admitted.Client == nil || *admitted.Client != c.Identity() {
		return nativeinspect.Selection{}, false
	}
	s := nativeinspect.Selection{Client: c, Executable: admitted.Executable.Path}
	if h := admitted.Helper; h != nil {
		s.Helper, s.HelperRoute = h.Path, nativeinspect.RouteBundled
		if admitted.Env["PATH"] != noPath {
			s.HelperRoute = nativeinspect.RoutePath
		}
	}
	return s, true
}

// unopened is an admitted installation that is not there any more as it was.
func (o *Opener) unopened(ctx context.Context, c nativeinspect.Client, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var r *nativeinspect.Refusal
	if !errors.As(err, &r) || r.Stage == nativeinspect.StageUnavailable {
		return unclassified(c)
	}
	part := PartExecutable
	switch {
	case r.Role == nativeinspect.RoleHelper || r.Stage == nativeinspect.StageSandbox:
		part = PartHelper
	case r.Role != "" && r.Role != nativeinspect.RoleExecutable:
		part = PartSupport
	}
	return &ChangedError{Client: string(c), Parts: []string{part}, Why: about(r)}
}
