package project

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
)

// AgentError is a client that the project does not let a review choose.
type AgentError struct {
	Agent  string
	Agents []string // that it lets choose
}

func (e *AgentError) Error() string {
	return "the project does not let a review choose " + e.Agent + "; its agents are " + strings.Join(e.Agents, ", ")
}

// effective is the grant as the review's --agent makes it: a model is kept only
// for the client that it was written for (jig.md 4).
func (k *linker) effective(d *draft, name string, g *author.ACP) *author.ACP {
	if k.Agent == "" || k.Agent == g.Client {
		return g
	}
	made := *g
	made.Client, made.Model = k.Agent, ""
	if g.Model != "" {
		k.warn(Diagnostic{
			Code: CodeACPUnavailable, Path: d.place,
			Message: fmt.Sprintf("slots.%s: the model %s was written for %s and is not used with %s", name, g.Model, g.Client, k.Agent),
		})
	}
	return &made
}

// warn notes a warning once.
func (k *linker) warn(d Diagnostic) {
	if !slices.Contains(k.warnings, d) && len(k.warnings) < maxDiagnostics {
		k.warnings = append(k.warnings, d)
	}
}

// client fills a slot with a native client. Each client is examined once for each
// model, and one that failed is not asked again; no other client takes its place.
func (k *linker) client(ctx context.Context, d *draft, name string, s Slot, declared *author.ACP, asked contract.Identity) (Slot, error) {
	g := k.effective(d, name, declared)
	if g != declared {
		s.Declared, s.Grant = s.Grant, (&author.Grant{ACP: g}).Canonical()
	}
	if k.Opener == nil {
		s.Reason = "acp grants can be reviewed, and this jig cannot start native clients"
		return s, nil
	}
	key := [2]string{g.Client, g.Model}
	c := k.opened[key]
	if c == nil && !k.failed[key] {
		var err error
		c, err = k.Opener.Open(ctx, ClientRequest{
			Client: g.Client, Model: g.Model, Project: k.Dir, Path: d.path + "/" + d.pkg.Entry, Environment: k.Environment, Reach: k.reach,
		})
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			k.failed[key] = true
			k.problems.err("", nil, err)
		case err != nil:
			return s, err
		default:
			k.opened[key] = c
			for _, w := range c.Warnings {
				k.warn(w)
			}
		}
	}
	if c == nil {
		return s, nil
	}
	p := c.Provider
	p.Contract = asked.Digest
	var err error
	if s.Provider, err = p.Digest(); err != nil {
		return s, err
	}
	k.providers[s.Provider] = p
	s.Shown = &Shown{Model: c.Model, ModelFrom: c.ModelFrom, Authentication: c.Authentication, Executable: c.Executable}
	return s, nil
}
