package catalog

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The built-in names. ToolDelegate is reserved and not implemented yet. (magid: Catalog)
const (
	ToolReadFile  = "read_file"
	ToolListFiles = "list_files"
	ToolFindText  = "find_text"
	ToolDelegate  = "delegate"
)

// MaxResultBytes is the most a result takes as the daemon encodes it.
const MaxResultBytes = 16384

// Config says what is switched off.
type Config struct {
	DisabledTools  []string // [tools] disabled
	DisabledSkills []string // [skills] disabled
	StateDir       string   // the daemon's state folder, refused wherever it lies; "" means none
}

// Tool is a built-in tool as offered to the model.
type Tool struct {
	Name        string
	Description string
	InputSchema jsontext.Value
}

// Code says what kind of tool error it is; it goes into tool_result.code.
type Code string

// The tool error codes of built-in tools.
const (
	CodeInvalidArguments Code = "invalid_arguments"
	CodePermissionDenied Code = "permission_denied"
	CodeExecutionFailed  Code = "execution_failed"
	CodeCancelled        Code = "cancelled"
)

// ToolError is a tool error: the model gets it and the turn goes on. Message is one line without a path outside the
// workspace.
type ToolError struct {
	Code    Code
	Message string
}

func (e *ToolError) Error() string { return string(e.Code) + ": " + e.Message }

// Catalog is immutable and safe for concurrent use.
type Catalog struct{}

// New makes a catalog.
func New(cfg Config) (*Catalog, error) { return nil, errors.New("catalog: not yet") }

// Tools returns the tools offered to the model, without the disabled ones, by name.
func (c *Catalog) Tools() []Tool { return nil }

// Has reports whether name is an offered built-in tool.
func (c *Catalog) Has(name string) bool { return false }

// CheckArguments reports why args do not fit the tool: a *ToolError with CodeInvalidArguments, or nil.
func (c *Catalog) CheckArguments(name string, args jsontext.Value) *ToolError { return nil }

// Run runs a tool in workspace. The result is a JSON object of at most MaxResultBytes.
func (c *Catalog) Run(ctx context.Context, workspace, name string, args jsontext.Value) (jsontext.Value, *ToolError) {
	return nil, &ToolError{CodeExecutionFailed, "not yet"}
}

// Reserved reports whether an application resource may not have this name.
func (c *Catalog) Reserved(name string) bool { return false }

// CredentialPath reports whether a component of the slash-separated path looks like a place of credentials.
func CredentialPath(rel string) bool { return false }

// Refused reports whether capture and the built-in tools keep out of workspace/rel: CredentialPath, or inside the
// daemon's state folder. Both paths are free of links.
func (c *Catalog) Refused(workspace, rel string) bool { return false }
