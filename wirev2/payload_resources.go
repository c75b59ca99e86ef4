package wirev2

// ResourceKind is what a resource is.
type ResourceKind string

// The kinds of resources.
const (
	KindTool  ResourceKind = "tool"
	KindSkill ResourceKind = "skill"
)

// SourceKind is where a source comes from.
type SourceKind string

// The kinds of sources.
const (
	SourceInline        SourceKind = "inline"
	SourceWorkspaceFile SourceKind = "workspace_file"
)

// Source is exactly {kind:"inline",content} or {kind:"workspace_file",path}.
type Source struct {
	Kind    SourceKind `json:"kind"`
	Content *string    `json:"content,omitzero"`
	Path    *string    `json:"path,omitzero"` // relative to the workspace
}

// Resource is what a controller registers.
type Resource struct {
	Kind        ResourceKind `json:"kind"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Source      Source       `json:"source"`
}

// Descriptor describes a registered revision, without body or path.
type Descriptor struct {
	ResourceID     ID           `json:"resource_id"`
	RevisionID     ID           `json:"revision_id"`
	Kind           ResourceKind `json:"kind"`
	Name           string       `json:"name"`
	Description    string       `json:"description"`
	ContentSHA256  string       `json:"content_sha256"`
	RevisionSHA256 string       `json:"revision_sha256"`
	CapturedBytes  int64        `json:"captured_bytes"`
	RegisteredBy   Attribution  `json:"registered_by"`
}

// SessionResourcesListRequest is the payload of session.resources.list.
type SessionResourcesListRequest struct{}

// SessionResourcesListReply is the reply to session.resources.list.
type SessionResourcesListReply struct {
	RegistryRevision ID           `json:"registry_revision"`
	Entries          []Descriptor `json:"entries"` // by kind, then name
}

// SessionResourcesRegisterRequest is the payload of session.resources.register.
type SessionResourcesRegisterRequest struct {
	ExpectedRevision *ID      `json:"expected_revision"` // nil to create
	Resource         Resource `json:"resource"`
}

// SessionResourcesRegisterReply is the reply to session.resources.register.
type SessionResourcesRegisterReply struct {
	Entry            Descriptor `json:"entry"`
	RegistryRevision ID         `json:"registry_revision"`
}

// SessionResourcesUnregisterRequest is the payload of session.resources.unregister.
type SessionResourcesUnregisterRequest struct {
	ResourceID       ID `json:"resource_id"`
	ExpectedRevision ID `json:"expected_revision"`
}

// SessionResourcesUnregisterReply is the reply to session.resources.unregister.
type SessionResourcesUnregisterReply struct {
	ResourceID       ID `json:"resource_id"`
	RemovedRevision  ID `json:"removed_revision"`
	RegistryRevision ID `json:"registry_revision"`
}

// SessionResourcesClearRequest is the payload of session.resources.clear.
type SessionResourcesClearRequest struct {
	ExpectedRegistryRevision ID `json:"expected_registry_revision"`
}

// SessionResourcesClearReply is the reply to session.resources.clear.
type SessionResourcesClearReply struct {
	RegistryRevision ID    `json:"registry_revision"`
	RemovedCount     int64 `json:"removed_count"`
}
