package catalog

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The built-in names. ToolDelegate is reserved and not implemented yet. (magid: Catalog)
const (
	ToolReadFile  = "read_file"
	ToolListFiles = "list_files"
	ToolFindText  = "find_text"
	ToolDelegate  = "delegate"
)

// mcpPrefix begins every name of the namespace of MCP tools.
const mcpPrefix = "mcp_"

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
	InputSchema jsontext.Value // a JSON object
}

// Code says what kind of tool error it is; it goes into tool_result.code.
type Code string

// The tool error codes of built-in tools.
const (
	CodeInvalidArguments Code = "invalid_arguments" // the call does not fit the tool's input schema
	CodePermissionDenied Code = "permission_denied" // the tool keeps out of that place
	CodeExecutionFailed  Code = "execution_failed"
	CodeCancelled        Code = "cancelled" // the context ended first
)

// ToolError is a tool error: the model gets it and the turn goes on. Message is one line that shows no path.
type ToolError struct {
	Code    Code
	Message string
}

func (e *ToolError) Error() string { return string(e.Code) + ": " + e.Message }

// Catalog is immutable and safe for concurrent use.
type Catalog struct {
	disabled map[string]bool // folded names of tools and skills
	off      map[string]bool // folded names of tools that are not offered
	stateDir string
}

// New makes a catalog. Disabled names need not be those of a tool that exists: they are reserved all the same.
func New(cfg Config) *Catalog {
	c := &Catalog{disabled: map[string]bool{}, off: map[string]bool{}, stateDir: cfg.StateDir}
	for _, name := range cfg.DisabledTools {
		c.disabled[fold(name)] = true
		c.off[fold(name)] = true
	}
	for _, name := range cfg.DisabledSkills {
		c.disabled[fold(name)] = true
	}
	return c
}

// Tools returns the tools offered to the model, without the disabled ones, by name.
func (c *Catalog) Tools() []Tool {
	var offered []Tool
	for _, t := range tools {
		if !c.off[t.name] {
			offered = append(offered, Tool{t.name, t.description, t.schema()})
		}
	}
	return offered
}

// Has reports whether name is a built-in tool that is offered.
func (c *Catalog) Has(name string) bool {
	_, ok := c.find(name)
	return ok
}

// CheckArguments says what makes args unfit for the tool: a *ToolError with CodeInvalidArguments, or nil. Run refuses
// the same; a caller that must know before it records the call asks here.
func (c *Catalog) CheckArguments(name string, args jsontext.Value) *ToolError {
	t, ok := c.find(name)
	if !ok {
		return errNoTool()
	}
	_, err := t.parse(args)
	return err
}

// Run runs a tool in workspace, an absolute path. The result is a JSON object of at most MaxResultBytes as the daemon
// encodes it.
func (c *Catalog) Run(ctx context.Context, workspace, name string, args jsontext.Value) (jsontext.Value, *ToolError) {
	t, ok := c.find(name)
	if !ok {
		return nil, errNoTool()
	}
	a, err := t.parse(args)
	if err != nil {
		return nil, err
	}
	w, err := c.openWorkspace(workspace)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return t.run(ctx, w, a)
}

func (c *Catalog) find(name string) (tool, bool) {
	for _, t := range tools {
		if t.name == name && !c.off[name] {
			return t, true
		}
	}
	return tool{}, false
}

func errNoTool() *ToolError { return &ToolError{CodeInvalidArguments, "there is no tool of this name"} }

// Reserved reports whether an application resource may not have this name: a built-in name, implemented or not, the
// namespace of MCP tools, or a name that is disabled, compared without case (magid: Catalog; seed: Delivery status).
func (c *Catalog) Reserved(name string) bool {
	name = fold(name)
	switch name {
	case ToolReadFile, ToolListFiles, ToolFindText, ToolDelegate:
		return true
	}
	return strings.HasPrefix(name, mcpPrefix) || c.disabled[name]
}

// Refused reports whether capture and the built-in tools keep out of rel in workspace: CredentialPath, or a place in the
// daemon's state folder. The caller has resolved both paths: neither goes through a link.
func (c *Catalog) Refused(workspace, rel string) bool {
	return CredentialPath(rel) || inside(c.state(), filepath.Join(workspace, filepath.FromSlash(rel)))
}

// state is the state folder without links. It is resolved at each use: the folder may be made after the catalog.
func (c *Catalog) state() string {
	if c.stateDir == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(c.stateDir); err == nil {
		return real
	}
	return filepath.Clean(c.stateDir)
}

// inside reports whether path is folder or lies in it.
func inside(folder, path string) bool {
	return folder != "" && (path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/"))
}
