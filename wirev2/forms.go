package wirev2

import (
	"slices"
	"strings"
	"unicode"
)

// The methods of this file say what makes a payload malformed beyond the types of its members, whatever the state of the
// daemon: the step "payload shape" of the order of checks (wire-v2 5). Budgets that answer limit_exceeded, and what
// depends on state, are the daemon's.

func outside(n, low, high int) bool { return n < low || n > high }

func (q *InitializeRequest) malformed() string {
	switch {
	case outside(len(q.Client.Name), 1, 64):
		return "client.name is not of 1 to 64 bytes"
	case outside(len(q.Client.Version), 1, 64):
		return "client.version is not of 1 to 64 bytes"
	case len(q.RequestedCapabilities) > 32:
		return "requested_capabilities has more than 32 tokens"
	}
	sorted := slices.Sorted(slices.Values(q.RequestedCapabilities))
	if len(slices.Compact(sorted)) != len(q.RequestedCapabilities) {
		return "requested_capabilities has a token twice"
	}
	return ""
}

func (q *SessionCreateRequest) malformed() string {
	switch {
	case !strings.HasPrefix(q.Workspace, "/") || strings.ContainsRune(q.Workspace, 0):
		return "workspace is not an absolute path"
	case len(q.Workspace) > 4096:
		return "workspace is longer than 4096 bytes"
	case q.Title != nil && len(*q.Title) > 256:
		return "title is longer than 256 bytes"
	}
	return ""
}

func (q *SessionListRequest) malformed() string {
	if q.Limit != nil && (*q.Limit < 1 || *q.Limit > 100) {
		return "limit is not in 1 to 100"
	}
	return ""
}

func (q *SessionHistoryRequest) malformed() string {
	switch {
	case q.Limit != nil && (*q.Limit < 1 || *q.Limit > 200):
		return "limit is not in 1 to 200"
	case q.After != nil && *q.After < 0:
		return "after is negative"
	}
	return ""
}

func (q *TurnStartRequest) malformed() string {
	switch {
	case q.Prompt == "":
		return "prompt is empty"
	case strings.ContainsRune(q.Prompt, 0):
		return "prompt holds a NUL"
	case q.Application != nil && (q.Application.ExecutorID == nil) != (q.Application.ExecutorGeneration == nil):
		return "application has only one of executor_id and executor_generation"
	}
	return ""
}

func (q *SessionResourcesRegisterRequest) malformed() string {
	r := &q.Resource
	switch {
	case r.Kind != KindTool && r.Kind != KindSkill:
		return "resource.kind is not tool or skill"
	case !validName(r.Name):
		return "resource.name is not of the form [a-z][a-z0-9_]* with at most 48 bytes"
	case len(r.Description) > 512:
		return "resource.description is longer than 512 bytes"
	case strings.ContainsFunc(r.Description, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' && c != '\t'
	}):
		return "resource.description holds a control character"
	}
	switch s := &r.Source; s.Kind {
	case SourceInline:
		if s.Content == nil || s.Path != nil {
			return "resource.source of kind inline has content and nothing else"
		}
	case SourceWorkspaceFile:
		if s.Path == nil || s.Content != nil {
			return "resource.source of kind workspace_file has path and nothing else"
		}
		return malformedPath(*s.Path)
	default:
		return "resource.source.kind is not inline or workspace_file"
	}
	return ""
}

func validName(s string) bool {
	if outside(len(s), 1, 48) || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

func malformedPath(path string) string {
	if len(path) > 1024 {
		return "resource.source.path is longer than 1024 bytes"
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return "resource.source.path is not a relative path without empty and dot components"
		}
	}
	return ""
}

func malformedSecret(s Secret) string {
	if !s.Valid() {
		return "resume_secret is not of 1 to 128 bytes"
	}
	return ""
}

func (q *ExecutorConfirmRequest) malformed() string       { return malformedSecret(q.ResumeSecret) }
func (q *ExecutorResumeRequest) malformed() string        { return malformedSecret(q.ResumeSecret) }
func (q *ExecutorRotateConfirmRequest) malformed() string { return malformedSecret(q.ResumeSecret) }

func (q *TurnApplicationToolResultRequest) malformed() string {
	switch o := &q.Outcome; o.Status {
	case OutcomeSuccess:
		if o.Value == nil || o.Code != nil || o.Message != nil {
			return "outcome of status success has value and nothing else"
		}
	case OutcomeError:
		if o.Value != nil || o.Code == nil || o.Message == nil {
			return "outcome of status error has code and message and nothing else"
		}
		if *o.Code != ToolExecutionFailed && *o.Code != ToolPermissionDenied {
			return "outcome.code is not execution_failed or permission_denied"
		}
	default:
		return "outcome.status is not success or error"
	}
	return ""
}
