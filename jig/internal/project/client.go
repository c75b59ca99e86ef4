package project

import "context"

// ClientOpener finds out what a native client on this machine is, for the acp
// grants of a review, without running it. Where a host has none, acp grants are
// read and shown, and their targets are not runnable.
type ClientOpener interface {
	// Open examines one client. A *Refusal says what the operator has to change.
	Open(ctx context.Context, r ClientRequest) (*Client, error)
}

// ClientRequest says which client a grant asks for.
type ClientRequest struct {
	Client      string // codex, claude or pi
	Model       string // of the grant; empty: the operator's
	Project     string // folder of the project, which no part of a client may lie in
	Path        string // of the FLOW file that is lent the client, for diagnostics
	Environment Environment
	Reach       *Reach
}

// Client is an examined client.
type Client struct {
	Provider       string // identity digest
	Model          string // empty: the client's own default
	Authentication string
	Executable     string
	Warnings       []Diagnostic
}
