package client

import (
	"context"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Do calls q.Method and returns the reply's payload as a Reply: what Call does, for types known at compile time.
func Do[Reply any](ctx context.Context, c *Client, q *Call, payload any) (Reply, error) {
	var reply Reply
	err := c.Call(ctx, q, payload, &reply)
	return reply, err
}

// The helpers below take the operation ID of a mutation as op: "" has a fresh one made, which an *UnansweredError names.

// Status asks for the daemon's figures.
func (c *Client) Status(ctx context.Context) (wirev2.DaemonStatusReply, error) {
	return Do[wirev2.DaemonStatusReply](ctx, c, &Call{Method: wirev2.MethodDaemonStatus}, nil)
}

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, op wirev2.ID, q wirev2.SessionCreateRequest) (wirev2.ID, error) {
	reply, err := Do[wirev2.SessionCreateReply](ctx, c, &Call{Method: wirev2.MethodSessionCreate, OperationID: op}, q)
	return reply.SessionID, err
}

// ListSessions returns one page of the sessions.
func (c *Client) ListSessions(ctx context.Context, q wirev2.SessionListRequest) (wirev2.SessionListReply, error) {
	return Do[wirev2.SessionListReply](ctx, c, &Call{Method: wirev2.MethodSessionList}, q)
}

// LookupOperation asks for the fate of session.create or an executor operation. For one of a session use
// Session.LookupOperation.
func (c *Client) LookupOperation(ctx context.Context, id wirev2.ID) (wirev2.OperationLookupReply, error) {
	return Do[wirev2.OperationLookupReply](ctx, c, &Call{Method: wirev2.MethodOperationLookup},
		wirev2.OperationLookupRequest{OperationID: id})
}

// Session is the control of one session on one connection: a grant. It holds until it is released, the connection ends
// or another connection takes the session over. A Session is safe for concurrent use.
type Session struct {
	c          *Client
	id         wirev2.ID
	token      wirev2.Secret
	generation int64
	snapshot   wirev2.Snapshot
	events     *Subscription
}

// Claim takes control of a session, from another connection only with takeover, after subscribing to its events.
func (c *Client) Claim(ctx context.Context, op, session wirev2.ID, takeover bool) (*Session, error) {
	events := c.Subscribe(OfSession(session))
	reply, err := Do[wirev2.SessionClaimReply](ctx, c,
		&Call{Method: wirev2.MethodSessionClaim, SessionID: session, OperationID: op},
		wirev2.SessionClaimRequest{Takeover: takeover})
	if err != nil {
		events.Close()
		return nil, err
	}
	return &Session{c, session, reply.ControlToken, reply.GrantGeneration, reply.Snapshot, events}, nil
}

// ID returns the session's ID.
func (s *Session) ID() wirev2.ID { return s.id }

// Token returns the control token, for a Call of your own.
func (s *Session) Token() wirev2.Secret { return s.token }

// Generation returns the grant's generation.
func (s *Session) Generation() int64 { return s.generation }

// Claimed returns the snapshot of the moment of the claim. Its text and the turn.text events after it make up the text of
// the turn.
func (s *Session) Claimed() wirev2.Snapshot { return s.snapshot }

// Events returns the subscription to the session's events, all of the grant's among them.
func (s *Session) Events() *Subscription { return s.events }

func (s *Session) call(m wirev2.Method, op wirev2.ID) *Call {
	return &Call{Method: m, SessionID: s.id, ControlToken: s.token, OperationID: op}
}

// Release gives the session free and ends its subscription; a running turn goes on.
func (s *Session) Release(ctx context.Context, op wirev2.ID) error {
	err := s.c.Call(ctx, s.call(wirev2.MethodSessionRelease, op), nil, &wirev2.SessionReleaseReply{})
	if err == nil {
		s.events.Close()
	}
	return err
}

// Snapshot asks for the present turn or the last one's end.
func (s *Session) Snapshot(ctx context.Context) (wirev2.Snapshot, error) {
	reply, err := Do[wirev2.SessionSnapshotReply](ctx, s.c, s.call(wirev2.MethodSessionSnapshot, ""), nil)
	return reply.Snapshot, err
}

// History returns one page of the durable records.
func (s *Session) History(ctx context.Context, q wirev2.SessionHistoryRequest) (wirev2.SessionHistoryReply, error) {
	return Do[wirev2.SessionHistoryReply](ctx, s.c, s.call(wirev2.MethodSessionHistory, ""), q)
}

// LookupOperation asks for the fate of one of the session's operations.
func (s *Session) LookupOperation(ctx context.Context, id wirev2.ID) (wirev2.OperationLookupReply, error) {
	return Do[wirev2.OperationLookupReply](ctx, s.c, s.call(wirev2.MethodOperationLookup, ""),
		wirev2.OperationLookupRequest{OperationID: id})
}

// StartTurn starts a turn. A lost reply is no reason to send it with another operation ID: look the operation up.
func (s *Session) StartTurn(ctx context.Context, op wirev2.ID, q wirev2.TurnStartRequest) (wirev2.TurnStartReply, error) {
	return Do[wirev2.TurnStartReply](ctx, s.c, s.call(wirev2.MethodTurnStart, op), q)
}

// StopTurn asks for the end of a turn.
func (s *Session) StopTurn(ctx context.Context, op, turn wirev2.ID) (wirev2.StopStatus, error) {
	reply, err := Do[wirev2.TurnStopReply](ctx, s.c, s.call(wirev2.MethodTurnStop, op), wirev2.TurnStopRequest{TurnID: turn})
	return reply.Status, err
}

// ListResources returns the session's registry.
func (s *Session) ListResources(ctx context.Context) (wirev2.SessionResourcesListReply, error) {
	return Do[wirev2.SessionResourcesListReply](ctx, s.c, s.call(wirev2.MethodSessionResourcesList, ""), nil)
}

// RegisterResource registers or replaces a tool or a skill.
func (s *Session) RegisterResource(ctx context.Context, op wirev2.ID, q wirev2.SessionResourcesRegisterRequest) (wirev2.SessionResourcesRegisterReply, error) {
	return Do[wirev2.SessionResourcesRegisterReply](ctx, s.c, s.call(wirev2.MethodSessionResourcesRegister, op), q)
}

// UnregisterResource removes a resource from later turns.
func (s *Session) UnregisterResource(ctx context.Context, op wirev2.ID, q wirev2.SessionResourcesUnregisterRequest) (wirev2.SessionResourcesUnregisterReply, error) {
	return Do[wirev2.SessionResourcesUnregisterReply](ctx, s.c, s.call(wirev2.MethodSessionResourcesUnregister, op), q)
}

// ClearResources removes all resources from later turns.
func (s *Session) ClearResources(ctx context.Context, op, revision wirev2.ID) (wirev2.SessionResourcesClearReply, error) {
	return Do[wirev2.SessionResourcesClearReply](ctx, s.c, s.call(wirev2.MethodSessionResourcesClear, op),
		wirev2.SessionResourcesClearRequest{ExpectedRegistryRevision: revision})
}

// Evidence asks what is known of a turn's application calls.
func (s *Session) Evidence(ctx context.Context, turn wirev2.ID) (wirev2.TurnApplicationEvidenceReply, error) {
	return Do[wirev2.TurnApplicationEvidenceReply](ctx, s.c, s.call(wirev2.MethodTurnApplicationEvidence, ""),
		wirev2.TurnApplicationEvidenceRequest{TurnID: turn})
}
