package client

import (
	"context"
	"errors"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// InspectionTimeout bounds the examination of one client.
const InspectionTimeout = 60 * time.Second

// Options say what an Opener goes by. They are a value.
type Options struct {
	JigPath   string // the jig binary that scopes run, absolute; required
	JigDigest string // of its bytes; required
	UID, GID  int    // whom scopes run as
	// Now is the time that credentials are judged at; nil: the host's clock.
	Now func() time.Time
}

// Opener examines native clients. It is safe for concurrent use.
type Opener struct {
	o       Options
	at      places
	inspect func(context.Context, nativeinspect.Options) (*nativeinspect.Installation, error)
	reopen  func(context.Context, nativeinspect.Selection, nativeinspect.Options) (*nativeinspect.Installation, error)
}

// New returns an Opener.
func New(o Options) (*Opener, error) {
	if o.JigPath == "" || o.JigDigest == "" {
		return nil, errors.New("client: an opener needs the jig binary and its digest")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Opener{o, hostPlaces, nativeinspect.Inspect, nativeinspect.Open}, nil
}

// Inspect looks at a client's installation as a review does, without its
// configuration. The error of a refused client is a [*nativeinspect.Refusal].
func Inspect(ctx context.Context, client nativeinspect.Client, env project.Environment, dir string) (*nativeinspect.Installation, error) {
	ctx, cancel := context.WithTimeout(ctx, InspectionTimeout)
	defer cancel()
	return nativeinspect.Inspect(ctx, nativeinspect.Options{Client: client, Lookup: env.Lookup, Project: dir, Protected: Protected()})
}

// within runs an examination in its time. An error of it that is no refusal and
// not the caller's own end is unclassified.
func within(ctx context.Context, client nativeinspect.Client, examine func(context.Context) (*nativeinspect.Installation, error)) (*nativeinspect.Installation, error) {
	bounded, cancel := context.WithTimeout(ctx, InspectionTimeout)
	defer cancel()
	i, err := examine(bounded)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return i, err
}

// Open implements [project.ClientOpener]: it finds the client, decides how it would
// run, and checks that its credential is there and good. It keeps no secret.
func (o *Opener) Open(ctx context.Context, r project.ClientRequest) (*project.Client, error) {
	c := nativeinspect.Client(r.Client)
	i, err := within(ctx, c, func(ctx context.Context) (*nativeinspect.Installation, error) {
		return o.inspect(ctx, nativeinspect.Options{Client: c, Lookup: r.Environment.Lookup, Project: r.Project, Protected: Protected()})
	})
	if err != nil {
		return nil, located(inspectionOrEnd(ctx, c, err), r.Path)
	}
	if err := observe(c); err != nil {
		return nil, located(err, r.Path)
	}
	p, err := Resolve(c, r.Model, r.Environment)
	if err != nil {
		return nil, located(err, r.Path)
	}
	credential, err := p.read(r.Environment, o.o.Now())
	if err != nil {
		return nil, located(err, r.Path)
	}
	credential.Zero()
	own, err := contract.Bundle(contract.FiniteACP)
	if err != nil {
		return nil, err
	}
	m := o.at.look(r.Reach)
	plan, err := o.plan(p, i, r.Reach, m, own.Identity.Digest)
	if err != nil {
		return nil, err
	}
	return &project.Client{
		Provider: plan.Provider, Model: p.shown(), ModelFrom: p.ModelFrom, Authentication: p.Mode, Executable: i.Executable.Path, Warnings: m.warnings,
	}, nil
}

// inspectionOrEnd tells the caller's own end from a refusal.
func inspectionOrEnd(ctx context.Context, c nativeinspect.Client, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return inspection(c, err)
}

// located puts the place into a refusal's diagnostics.
func located(err error, path string) error {
	var r *project.Refusal
	if errors.As(err, &r) {
		for i := range r.Diagnostics {
			r.Diagnostics[i].Path = path
		}
	}
	return err
}

// shown is the model as a person reads it.
func (p Profile) shown() string {
	if p.Provider != "" {
		return p.Provider + "/" + p.Model
	}
	return p.Model
}
