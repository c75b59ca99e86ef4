package flowpkg

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

const (
	metadataFile = "FLOW.meta.json"
	contractFile = "FLOW.contract.json"
	settingsFile = "settings.schema.json"

	// maxDescriptor bounds what is read into memory at once.
	maxDescriptor = 256 << 10
)

// Package is a captured package. It is immutable and safe for concurrent use.
type Package struct {
	Digest   string // sha256:…
	Dir      string // where the captured bytes lie
	Entry    string // FLOW.<ext>
	Selector string // of a "#!/usr/bin/env" line, or empty

	Metadata *contract.Metadata
	Contract *contract.Invocation            // of FLOW.contract.json, or the empty one
	Uses     map[string]*contract.Invocation // contract of each declared slot; nil for an uncontracted one
	settings *schema0.Schema
}

// Read returns a file of the captured package, at most 256 KiB of it.
func (p *Package) Read(name string) ([]byte, error) {
	root, err := openFolder(p.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readSmall(root, name)
}

// CheckSettings applies the settings schema. Without one only {} fits.
func (p *Package) CheckSettings(value []byte) error {
	if p.settings != nil {
		return p.settings.Validate(value)
	}
	if same, err := json0.Equal(value, []byte("{}")); err != nil || !same {
		return errors.New("the package has no settings.schema.json, so there can be no settings")
	}
	return nil
}

// Runtime is "embedded" for a package this host can execute. Otherwise it
// returns why not, in a sentence that says what is supported.
func (p *Package) Runtime() (string, error) {
	if unknown := p.Metadata.Unknown; len(unknown) > 0 {
		return "", refuse(metadataFile, "it holds members this host does not know ("+strings.Join(unknown, ", ")+"), so the package is not executed")
	}
	if p.Metadata.AllowedTools {
		return "", refuse(metadataFile, "allowed-tools cannot be enforced, so the package is not executed")
	}
	ext := strings.TrimPrefix(path.Ext(p.Entry), ".")
	if runtime, ok := runtimes[ext]; ok {
		return runtime, nil
	}
	if ext == "md" {
		return "", refuse(p.Entry, "Markdown Flows are not supported; write FLOW.ts, FLOW.js or FLOW.mjs")
	}
	return "", refuse(p.Entry, "no runtime for this extension; FLOW.ts, FLOW.js and FLOW.mjs are supported")
}

// runtimes says what executes which extension. A later runtime is one row.
var runtimes = map[string]string{"ts": "embedded", "js": "embedded", "mjs": "embedded"}

// read inspects the captured tree below dir.
func read(dir, digest string) (*Package, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := walk(root, MaxFiles)
	if err != nil {
		return nil, err
	}
	p := &Package{Digest: digest, Dir: dir, Metadata: &contract.Metadata{}, Contract: &contract.Invocation{}, Uses: map[string]*contract.Invocation{}}
	if p.Entry, err = entry(files); err != nil {
		return nil, err
	}
	if p.Selector, err = shebang(root, p.Entry); err != nil {
		return nil, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(files, func(f found) bool { return f.Path == name })
	}
	var metadata []byte
	if has(metadataFile) {
		if p.Entry == "FLOW.md" {
			return nil, refuse(metadataFile, "a Markdown package keeps its metadata in FLOW.md")
		}
		if metadata, err = readSmall(root, metadataFile); err != nil {
			return nil, err
		}
		if p.Metadata, err = contract.ParseMetadata(metadata); err != nil {
			return nil, located(metadataFile, metadata, err)
		}
	}
	if has(contractFile) {
		if p.Contract, err = invocation(root, contractFile); err != nil {
			return nil, err
		}
	}
	if err := p.Contract.CheckFeatures(p.Metadata.Supports, "/supports"); err != nil {
		return nil, located(metadataFile, metadata, err)
	}
	for slot, use := range p.Metadata.Uses {
		if use.Contract == "" {
			p.Uses[slot] = nil
			continue
		}
		at := "/uses/" + slot // a slot's name needs no escape
		name := strings.TrimPrefix(use.Contract, "./")
		if !has(name) {
			return nil, located(metadataFile, metadata, &contract.Error{Pointer: at + "/contract", Reason: use.Contract + " is no file of the package"})
		}
		i, err := invocation(root, name)
		if err != nil {
			return nil, err
		}
		if !i.Identity.Named() {
			return nil, refuse(name, "slot "+slot+" needs a named contract, and this one has no id and version")
		}
		if err := i.CheckFeatures(use.Requires, "/uses/"+slot+"/requires"); err != nil {
			return nil, located(metadataFile, metadata, err)
		}
		p.Uses[slot] = i
	}
	if has(settingsFile) {
		raw, err := readSmall(root, settingsFile)
		if err != nil {
			return nil, err
		}
		if err := json0.Check(raw); err != nil {
			return nil, located(settingsFile, raw, err)
		}
		if p.settings, err = schema0.Standalone(raw); err != nil {
			return nil, located(settingsFile, raw, err)
		}
	}
	return p, nil
}

func invocation(root *os.Root, name string) (*contract.Invocation, error) {
	raw, err := readSmall(root, name)
	if err != nil {
		return nil, err
	}
	i, err := contract.ParseInvocation(raw, func(p string) ([]byte, error) { return readSmall(root, path.Join(path.Dir(name), p)) })
	var inside *contract.Error
	if errors.As(err, &inside) && inside.File != "" {
		name = path.Join(path.Dir(name), inside.File)
		if raw, err = readSmall(root, name); err != nil {
			return nil, err
		}
		here := *inside
		here.File = ""
		err = &here
	}
	if err != nil {
		return nil, located(name, raw, err)
	}
	return i, nil
}

// located puts the line and column beside the path: those of the JSON that is
// wrong, or of the part that err names.
func located(name string, raw []byte, err error) error {
	e := &Error{Path: name, Reason: err.Error(), cause: err}
	var j *json0.Error
	var part *contract.Error
	var schema *schema0.CompileError
	pointer := ""
	switch {
	case errors.As(err, &part):
		pointer = part.Pointer
	case errors.As(err, &schema):
		pointer = schema.Pointer
	case errors.As(err, &j):
		e.Reason = j.Unwrap().Error() + ": " + j.Detail
	}
	switch {
	case pointer != "":
		e.Line, e.Column = contract.Position(raw, pointer)
	case errors.As(err, &j) && j.Offset >= 0 && raw != nil:
		e.Line, e.Column = j.Position(raw)
	}
	return e
}

func readSmall(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(name, "it is missing")
	}
	if err != nil {
		return nil, refuse(name, "it cannot be read")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDescriptor+1))
	if err != nil {
		return nil, refuse(name, "it cannot be read")
	}
	if len(b) > maxDescriptor {
		return nil, refuse(name, "it is larger than 262144 bytes")
	}
	return b, nil
}

// shebang reads the selector of a first line "#!/usr/bin/env SELECTOR".
func shebang(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", refuse(name, "it cannot be read")
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	first, _, _ := strings.Cut(string(head[:n]), "\n")
	if !strings.HasPrefix(first, "#!") || path.Ext(name) == ".md" {
		return "", nil
	}
	selector, ok := strings.CutPrefix(strings.TrimSuffix(first, "\r"), "#!/usr/bin/env ")
	if !ok || !validSelector(selector) {
		return "", &Error{Path: name, Line: 1, Column: 1, Reason: `the first line must be exactly "#!/usr/bin/env NAME"`}
	}
	return selector, nil
}

func validSelector(s string) bool {
	alphanumeric := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	if s == "" || len(s) > 64 || !alphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && strings.IndexByte("._+-", s[i]) < 0 {
			return false
		}
	}
	return true
}
