package client

import (
	"context"
	"errors"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Options say what an Opener goes by. They are a value.
type Options struct {
	JigPath   string // the jig binary that scopes run, absolute; required
	JigDigest string // of its bytes; required
	// Now is the time that credentials are judged at; nil: the host's clock.
	Now func() time.Time
}

// Opener examines native clients. It is safe for concurrent use.
type Opener struct{ o Options }

// New returns an Opener.
func New(o Options) (*Opener, error) {
	if o.JigPath == "" || o.JigDigest == "" {
		return nil, errors.New("client: an opener needs the jig binary and its digest")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Opener{o}, nil
}

// Open implements [project.ClientOpener].
func (o *Opener) Open(ctx context.Context, r project.ClientRequest) (*project.Client, error) {
	return nil, errors.New("client: not offered yet")
}

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

// Prepare opens an admitted client again, without a search, reads all of it
// again, and reads the credential. A [*ChangedError] names what is not as it was
// admitted.
func (o *Opener) Prepare(ctx context.Context, r PrepareRequest) (*Prepared, error) {
	return nil, errors.New("client: not offered yet")
}
