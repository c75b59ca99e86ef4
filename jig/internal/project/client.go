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
	Provider       Provider // what its identity is made of; the contract is the slot's
	Model          string   // empty: the client's own default
	ModelFrom      string   // one of ModelFromGrant, ModelFromOperator and ModelFromClient
	Authentication string
	Executable     string
	Warnings       []Diagnostic
}

// Where the model of a client comes from.
const (
	ModelFromGrant    = "project"  // the grant
	ModelFromOperator = "operator" // a variable of the operator
	ModelFromClient   = "client"   // its own default
)
