package acp

import (
	"github.com/google/uuid"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// policy is an acp grant in its normal form.
type policy struct {
	Kind           string `json:"kind"`
	Client         string `json:"client"`
	Model          string `json:"model,omitzero"`
	MaxTurns       int    `json:"maxTurns,omitzero"`
	RetainSessions bool   `json:"retainSessions,omitzero"`
}

// order is what one call asks for.
type order struct {
	policy
	session bool   // a receipt is wanted
	tied    bool   // to the root
	restore string // a reference; empty: a new session
}

// read checks the grant and the input of a call. It has no effect.
func (r *Resource) read(c tree.ResourceCall) (order, *fault.Error) {
	var o order
	if c.Grant == nil || json0.Decode(c.Grant.Policy, &o.policy) != nil || o.Kind != "acp" {
		return o, fault.New(fault.Unavailable, "the slot has no grant of a native conversation")
	}
	if o.MaxTurns == 0 {
		o.MaxTurns = 1
	}
	if err := r.agreement.CheckInput(c.Input); err != nil {
		return o, fault.New(fault.InvalidInput, sayInput)
	}
	if err := o.input(c.Input); err != nil {
		return o, err
	}
	if !o.session {
		return o, nil
	}
	switch {
	case !o.RetainSessions:
		return o, fault.New(fault.Unavailable, "the grant retains no sessions: it has no retainSessions: true")
	case o.Client != "codex":
		return o, fault.New(fault.Unavailable, "sessions of this client are not retained; only those of codex are")
	case r.o.Sessions == nil:
		return o, fault.New(fault.Unavailable, "this host retains no sessions")
	}
	return o, nil
}

const sayInput = "the input is neither null nor a session request"

// input reads the one value a call takes: null, or a request for a session.
func (o *order) input(raw []byte) *fault.Error {
	invalid := fault.New(fault.InvalidInput, sayInput)
	var in *struct {
		Session *struct {
			Retain   *bool   `json:"retain"`
			Lifetime *string `json:"lifetime"`
			Restore  *string `json:"restore"`
		} `json:"session"`
	}
	if json0.Decode(raw, &in) != nil {
		return invalid
	}
	if in == nil {
		return nil
	}
	s := in.Session
	switch {
	case s == nil, (s.Retain == nil) == (s.Restore == nil):
		return invalid
	case s.Retain != nil:
		if !*s.Retain || s.Lifetime != nil && *s.Lifetime != "run" {
			return invalid
		}
		o.tied = s.Lifetime != nil
	default:
		if s.Lifetime != nil || !canonical(*s.Restore) {
			return invalid
		}
		o.restore = *s.Restore
	}
	o.session = true
	return nil
}

// canonical says whether s is a UUID in its one lower-case form.
func canonical(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s
}
