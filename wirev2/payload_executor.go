package wirev2

// ExecutorCreateRequest is the payload of executor.create.
type ExecutorCreateRequest struct{}

// ExecutorCreateReply is the reply to executor.create: the only place that discloses this secret.
type ExecutorCreateReply struct {
	ExecutorID         ID     `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResumeSecret       Secret `json:"resume_secret"`
}

// ExecutorConfirmRequest is the payload of executor.confirm.
type ExecutorConfirmRequest struct {
	ExecutorID   ID     `json:"executor_id"`
	ResumeSecret Secret `json:"resume_secret"` // 1 to 128 bytes
}

// ExecutorConfirmReply is the reply to executor.confirm.
type ExecutorConfirmReply struct {
	ExecutorID         ID    `json:"executor_id"`
	ExecutorGeneration int64 `json:"executor_generation"`
}

// ExecutorResumeRequest is the payload of executor.resume.
type ExecutorResumeRequest struct {
	ExecutorID   ID     `json:"executor_id"`
	ResumeSecret Secret `json:"resume_secret"` // 1 to 128 bytes
}

// ExecutorResumeReply is the reply to executor.resume.
type ExecutorResumeReply struct {
	ExecutorID         ID            `json:"executor_id"`
	ExecutorGeneration int64         `json:"executor_generation"`
	PendingCalls       []PendingCall `json:"pending_calls"` // unsettled calls only
}

// PendingCall is an unsettled call, without arguments.
type PendingCall struct {
	SessionID       ID         `json:"session_id"`
	TurnID          ID         `json:"turn_id"`
	CallID          ID         `json:"call_id"`
	ProviderCallID  string     `json:"provider_call_id"`
	Name            string     `json:"name"`
	ResourceID      ID         `json:"resource_id"`
	RevisionID      ID         `json:"revision_id"`
	RevisionSHA256  string     `json:"revision_sha256"`
	Status          CallStatus `json:"status"`
	ExternalEffects Effects    `json:"external_effects"`
	WaitKind        *WaitKind  `json:"wait_kind"`
	RemainingMS     *int64     `json:"remaining_ms"`
}

// ExecutorRotateRequest is the payload of executor.rotate.
type ExecutorRotateRequest struct {
	ExecutorID         ID    `json:"executor_id"`
	ExecutorGeneration int64 `json:"executor_generation"`
}

// RotationPending is the status of an executor.rotate reply.
const RotationPending = "rotation_pending"

// ExecutorRotateReply is the reply to executor.rotate: the only place that discloses the candidate.
type ExecutorRotateReply struct {
	ExecutorID         ID     `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResumeSecret       Secret `json:"resume_secret"`
	Status             string `json:"status"` // RotationPending
	PendingTimeoutMS   int64  `json:"pending_timeout_ms"`
}

// ExecutorRotateConfirmRequest is the payload of executor.rotate_confirm.
type ExecutorRotateConfirmRequest struct {
	ExecutorID         ID     `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResumeSecret       Secret `json:"resume_secret"` // 1 to 128 bytes
}

// ExecutorRotateConfirmReply is the reply to executor.rotate_confirm.
type ExecutorRotateConfirmReply struct {
	ExecutorID         ID    `json:"executor_id"`
	ExecutorGeneration int64 `json:"executor_generation"`
}

// ExecutorReleaseRequest is the payload of executor.release.
type ExecutorReleaseRequest struct {
	ExecutorID         ID    `json:"executor_id"`
	ExecutorGeneration int64 `json:"executor_generation"`
}

// ExecutorReleaseReply is the reply to executor.release.
type ExecutorReleaseReply struct {
	ExecutorID ID `json:"executor_id"`
}

// ExecutorResult is the result of operation.lookup for the six executor methods: history, never authority.
type ExecutorResult struct {
	Status             string `json:"status"` // "completed" unless the reply had one
	ExecutorID         ID     `json:"executor_id,omitzero"`
	ExecutorGeneration int64  `json:"executor_generation,omitzero"`
	PendingTimeoutMS   int64  `json:"pending_timeout_ms,omitzero"`
}
