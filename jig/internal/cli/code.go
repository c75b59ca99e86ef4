package cli

import (
	"errors"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// Codes of refusals (finite-acp 7d). Failures of runs have those of package
// fault, diagnostics also those of package project.
const (
	codeUsage             = "JIG_USAGE"
	codeInputInvalid      = "JIG_RUN_INPUT_INVALID"
	codeTargetInvalid     = "JIG_RUN_TARGET_INVALID"
	codeTargetNotFound    = "JIG_RUN_TARGET_NOT_FOUND"
	codeTimeoutInvalid    = "JIG_RUN_TIMEOUT_INVALID"
	codeApprovalRequired  = "JIG_APPROVAL_REQUIRED"
	codeAuthorityRequired = "JIG_AUTHORITY_APPROVAL_REQUIRED"
	codeDeclined          = "JIG_CHANGES_DECLINED"
	codeInterrupted       = "JIG_COMMAND_INTERRUPTED"
	codeDeliveryFailed    = "JIG_DELIVERY_FAILED"
	codeInitExists        = "JIG_INIT_DESTINATION_EXISTS"
	codeInitCleanup       = "JIG_INIT_CLEANUP_FAILED"
	codeTargetUnknown     = "JIG_TARGET_NOT_FOUND"
	codeInspection        = "JIG_INSPECTION_UNAVAILABLE"

	codeAdmissionMissing = "ADMISSION_MISSING"
	codeReviewRequired   = "REVIEW_REQUIRED"
	codeCloseFailed      = "PROJECT_CLOSE_FAILED"
	codeNotFound         = "PROJECT_NOT_FOUND"
	codeUnsafe           = "PROJECT_UNSAFE"
	codeStateInvalid     = "PROJECT_STATE_INVALID"
	codeCandidate        = "INVALID_CANDIDATE"
	codeLockMismatch     = "LOCK_MISMATCH"
	codeStalePlan        = "STALE_PLAN"
	codeBusy             = "PROJECT_BUSY"
	codeUnavailable      = "UNAVAILABLE"
	codeInternal         = "INTERNAL"
	codeRunNotFound      = "RUN_NOT_FOUND"
	codeFeature          = project.CodeFeatureUnavailable
	codeCoordinatorLost  = "COORDINATOR_LOST"
)

// operatorCodes are refusals that exit 2; every other one exits 1.
var operatorCodes = map[string]bool{
	codeUsage: true, codeApprovalRequired: true, codeAuthorityRequired: true, codeInterrupted: true, codeDeliveryFailed: true,
	codeAdmissionMissing: true, codeReviewRequired: true, codeCloseFailed: true, codeBusy: true, codeUnavailable: true, codeInternal: true,
	codeInspection: true, codeInitCleanup: true,
}

func exitOf(code string) int {
	if operatorCodes[code] {
		return 2
	}
	return 1
}

// refusal is a command that ends before it did anything that is recorded.
type refusal struct {
	code        string
	message     string
	hint        string
	details     any
	diagnostics []project.Diagnostic
	cause       error
}

func (r *refusal) Error() string { return r.message }
func (r *refusal) Unwrap() error { return r.cause }

func refuse(code, message string) *refusal { return &refusal{code: code, message: message} }

// staticJig is what makes jig run in a sandbox.
const staticJig = "build it with CGO_ENABLED=0, or install a released jig"

// refusalOf finds the code of an error and a sentence for a person.
func refusalOf(err error) *refusal {
	var own *refusal
	var declared *project.Refusal
	var unusable *sandbox.UnavailableError
	var failed *fault.Error
	var lock *review.LockError
	var agent *project.AgentError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &declared):
		return declaredRefusal(declared)
	case errors.As(err, &agent):
		return refuse(codeUsage, agent.Error())
	case errors.Is(err, project.ErrNotFound):
		return &refusal{code: codeNotFound, message: err.Error(), hint: "run jig init, or change to the project's folder"}
	case errors.Is(err, state.ErrNone):
		return &refusal{code: codeAdmissionMissing, message: err.Error(), hint: "run jig review"}
	case errors.Is(err, state.ErrMoved):
		return &refusal{code: codeAdmissionMissing, message: err.Error(), hint: "run jig review"}
	case errors.Is(err, state.ErrStale):
		return &refusal{code: codeStalePlan, message: err.Error(), hint: "run jig review again"}
	case errors.Is(err, state.ErrBusy):
		return refuse(codeBusy, err.Error())
	case errors.Is(err, state.ErrUnsafe):
		return &refusal{code: codeUnsafe, message: err.Error(), hint: state.Correction(err), cause: err}
	case errors.Is(err, flowpkg.ErrStore):
		return &refusal{code: codeUnsafe, message: strings.TrimPrefix(flowpkg.ErrStore.Error(), "flowpkg: "), hint: state.Correction(err), cause: err}
	case errors.Is(err, state.ErrProgram):
		return &refusal{code: codeUnavailable, message: err.Error(), hint: staticJig}
	case errors.Is(err, state.ErrInvalid), errors.Is(err, flowpkg.ErrChanged), errors.Is(err, project.ErrChanged):
		return &refusal{code: codeStateInvalid, message: strings.TrimPrefix(err.Error(), "flowpkg: "), hint: "if nobody meant to change .jig, move it away and review again", cause: err}
	case errors.As(err, &unusable):
		return &refusal{code: codeUnavailable, message: "bubblewrap cannot be used: " + unusable.Reason, hint: unusable.Fix}
	case errors.Is(err, sandbox.ErrUnconfirmed):
		return refuse(codeInternal, "the end of a scope could not be confirmed")
	case errors.As(err, &lock):
		return &refusal{code: codeUnsafe, message: lock.Error(), hint: "make jig.lock writable, or remove what stands in its place"}
	case errors.As(err, &failed):
		return refuse(string(failed.Code), failed.Message)
	}
	return &refusal{code: codeInternal, message: "jig failed: " + err.Error(), cause: err}
}

// declaredRefusal is one line about a project that cannot be taken; what to mend
// stands in the diagnostics.
func declaredRefusal(r *project.Refusal) *refusal {
	out := &refusal{code: codeCandidate, message: "the project cannot be taken as it is", diagnostics: r.Diagnostics}
	for _, d := range r.Diagnostics {
		switch {
		case d.Code == project.CodeHTTPUnavailable:
			out.code, out.message = d.Code, "a grant of the project cannot be used"
		case strings.HasPrefix(d.Code, "PROJECT_ACP_"):
			out.code, out.message = d.Code, "a native client cannot be used"
			return out
		}
	}
	return out
}
