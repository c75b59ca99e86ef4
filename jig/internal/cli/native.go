package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// clients are the native clients that a grant may name.
var clients = []string{"codex", "claude", "pi"}

func isClient(s string) bool { return slices.Contains(clients, s) }

var errClient = refuse(codeUsage, "a client is codex, claude or pi")

// identity is whom scopes run as.
func (a *app) identity() (uid, gid int) {
	if os.Geteuid() != 0 {
		return os.Getuid(), os.Getgid()
	}
	return sandbox.Identity(a.env.Get("SUDO_UID"), a.env.Get("SUDO_GID"), a.dir)
}

// opener examines native clients, which the jig binary at path will drive.
func (a *app) opener(path, digest string) (*client.Opener, error) {
	uid, gid := a.identity()
	return client.New(client.Options{JigPath: path, JigDigest: digest, UID: uid, GID: gid})
}

// natives are the native clients of one run.
type natives struct {
	a        *app
	p        *prepared
	opener   *client.Opener
	deadline time.Time // of the run; zero before it began
}

// request says what was admitted for a grant.
func (n *natives) request(policy []byte, provider string) (client.PrepareRequest, error) {
	g, err := author.ParseGrant(policy)
	admitted, there := n.p.content.Meaning.Providers[provider]
	if err != nil || g.ACP == nil || !there {
		return client.PrepareRequest{}, project.ErrChanged
	}
	return client.PrepareRequest{
		Client: g.ACP.Client, Model: g.ACP.Model, Project: n.a.dir, Digest: provider, Admitted: admitted,
		Environment: n.a.env, Reach: n.p.reach, Deadline: n.deadline,
	}, nil
}

// Prepare opens the client of a grant for a launch.
func (n *natives) Prepare(ctx context.Context, g *tree.Grant) (*client.Prepared, error) {
	r, err := n.request(g.Policy, g.Provider)
	if err != nil {
		return nil, err
	}
	return n.opener.Prepare(ctx, r)
}

// check opens every native client that the target may be lent, each once, before
// anything starts.
func (n *natives) check(ctx context.Context) error {
	var seen []string
	var changed []*client.ChangedError
	var warned []project.Diagnostic
	for _, s := range n.p.closure.Grants {
		if s.Kind != project.KindACP || slices.Contains(seen, s.Provider) {
			continue
		}
		seen = append(seen, s.Provider)
		r, err := n.request(s.Grant, s.Provider)
		if err != nil {
			return err
		}
		r.Deadline = time.Now().Add(n.p.timeout)
		warnings, err := n.opener.Check(ctx, r)
		var differs *client.ChangedError
		switch {
		case errors.As(err, &differs):
			changed = append(changed, differs)
		case err != nil:
			return err
		}
		for _, w := range warnings {
			if !slices.Contains(warned, w) {
				warned = append(warned, w)
			}
		}
	}
	if len(changed) > 0 {
		return nativeChanged(changed)
	}
	n.p.warnings = warned
	for _, w := range warned {
		n.a.warn("%s", escape(w.Message))
	}
	return nil
}

// nativeChanged refuses a run whose clients are not as they were reviewed.
func nativeChanged(changed []*client.ChangedError) error {
	var parts, texts, look []string
	for _, c := range changed {
		look = append(look, "jig inspect "+c.Client)
		texts = append(texts, c.Error())
		for _, part := range c.Parts {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return &refusal{
		code: codeReviewRequired, message: strings.Join(texts, "; "), hint: "run jig review; " + strings.Join(look, " and ") + " shows what is there now",
		details: map[string]any{"reason": "EXECUTION_ENVIRONMENT_CHANGED", "changed": parts, "flowStarted": false},
	}
}

// native says whether the run may be lent a native client.
func (p *prepared) native() bool {
	return slices.ContainsFunc(p.closure.Grants, func(s project.Slot) bool { return s.Kind == project.KindACP })
}
