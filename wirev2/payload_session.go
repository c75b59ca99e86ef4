package wirev2

import "github.com/go-json-experiment/json/jsontext"

// SessionCreateRequest is the payload of session.create.
type SessionCreateRequest struct {
	Workspace string  `json:"workspace"`      // an absolute path of at most 4,096 bytes, kept as sent
	Title     *string `json:"title,omitzero"` // optional; at most 256 bytes
}

// SessionCreateReply is the reply to session.create.
type SessionCreateReply struct {
	SessionID ID `json:"session_id"`
}

// SessionListRequest is the payload of session.list.
type SessionListRequest struct {
	Cursor *string `json:"cursor,omitzero"` // optional; a next_cursor
	Limit  *int64  `json:"limit,omitzero"`  // optional; 1 to 100
}

// SessionListReply is the reply to session.list.
type SessionListReply struct {
	Sessions   []SessionInfo `json:"sessions"` // by created_at, then session_id, descending
	NextCursor *string       `json:"next_cursor"`
}

// SessionInfo is one session in a list.
type SessionInfo struct {
	SessionID  ID        `json:"session_id"`
	Workspace  string    `json:"workspace"`
	Title      *string   `json:"title"`
	CreatedAt  Timestamp `json:"created_at"`
	UpdatedAt  Timestamp `json:"updated_at"`
	Claimed    bool      `json:"claimed"`
	ActiveTurn *ID       `json:"active_turn"`
}

// SessionClaimRequest is the payload of session.claim.
type SessionClaimRequest struct {
	Takeover bool `json:"takeover,omitzero"` // optional
}

// SessionClaimReply is the reply to session.claim.
type SessionClaimReply struct {
	ControlToken    Secret   `json:"control_token"`
	GrantGeneration int64    `json:"grant_generation"`
	Snapshot        Snapshot `json:"snapshot"`
}

// SessionReleaseRequest is the payload of session.release.
type SessionReleaseRequest struct{}

// SessionReleaseReply is the reply to session.release.
type SessionReleaseReply struct{}

// SessionSnapshotRequest is the payload of session.snapshot.
type SessionSnapshotRequest struct{}

// SessionSnapshotReply is the reply to session.snapshot.
type SessionSnapshotReply struct {
	Snapshot Snapshot `json:"snapshot"`
}

// SessionHistoryRequest is the payload of session.history.
type SessionHistoryRequest struct {
	After *int64 `json:"after,omitzero"` // optional; the n of the last record already known
	Limit *int64 `json:"limit,omitzero"` // optional; 1 to 200
}

// SessionHistoryReply is the reply to session.history. Its payload may take 49,152 bytes.
type SessionHistoryReply struct {
	Records   []jsontext.Value `json:"records"`    // each a journal record: see DecodeRecord
	NextAfter *int64           `json:"next_after"` // the last n returned; nil at the end
}

// ControlLostReason says why a controller lost its session.
type ControlLostReason string

// ControlLostTakeover: another connection claimed the session.
const ControlLostTakeover ControlLostReason = "takeover"

// SessionControlLostEvent is the payload of session.control_lost, the last event of its grant.
type SessionControlLostEvent struct {
	Reason ControlLostReason `json:"reason"`
}

// Snapshot is the present turn or the last turn's end; at most one of the two is not nil.
type Snapshot struct {
	Turn     *Turn     `json:"turn"`
	Terminal *Terminal `json:"terminal"`
}

// OperationState is the state of an operation.
type OperationState string

// The states of an operation.
const (
	OperationPending   OperationState = "pending"
	OperationAccepted  OperationState = "accepted" // a turn that runs
	OperationCompleted OperationState = "completed"
	OperationRejected  OperationState = "rejected"
)

// OperationLookupRequest is the payload of operation.lookup.
type OperationLookupRequest struct {
	OperationID ID `json:"operation_id"`
}

// OperationLookupReply is the reply to operation.lookup.
type OperationLookupReply struct {
	OperationID ID             `json:"operation_id"`
	Method      Method         `json:"method"`
	State       OperationState `json:"state"`
	Result      jsontext.Value `json:"result"` // an object or null: the reply without secrets, ExecutorResult, TurnStartResult
	Error       *Error         `json:"error"`  // not nil only where rejected
}
