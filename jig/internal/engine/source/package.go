package source

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// Package is the captured package of a Flow. It is safe for concurrent use.
type Package struct {
	fsys  fs.FS
	mount string // where the Flow sees it

	compiled *Compiled // nil: none; set before use

	mu        sync.Mutex
	manifests map[string]*manifest // package.json by folder; nil: none there; guarded by mu
}

// NewPackage reads the package in fsys, which the Flow sees at mount.
func NewPackage(fsys fs.FS, mount string) *Package {
	return &Package{fsys: fsys, mount: mount, manifests: map[string]*manifest{}}
}

// Entry finds the one FLOW.<ext> that the engine runs.
func (p *Package) Entry() (string, error) {
	for _, name := range []string{"FLOW.ts", "FLOW.js", "FLOW.mjs"} {
		if isFile(p.fsys, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("the package has no FLOW.ts, FLOW.js or FLOW.mjs: %w", fs.ErrNotExist)
}

// Module is what a specifier stands for.
type Module struct {
	Builtin string // name of one of the engine's own; or
	File    string // path in the package
}

// Name is the module's name inside the engine.
func (p *Package) Name(m Module) string {
	if m.Builtin != "" {
		return m.Builtin
	}
	return p.mount + "/" + m.File
}

// Resolve finds what specifier means in the file importer. require says that it
// stands in a require(), which has conditions of its own.
func (p *Package) Resolve(importer, specifier string, require bool) (Module, *Problem) {
	condition := "import"
	if require {
		condition = "require"
	}
	switch {
	case specifier == Flow:
		return Module{Builtin: Flow}, nil
	case specifier == Jig:
		return Module{}, refused(specifier, "it is for declarations", "a Flow imports "+Flow)
	case specifier == "":
		return Module{}, refused(specifier, "it is empty", "")
	case specifier == "." || specifier == ".." || strings.HasPrefix(specifier, "./") || strings.HasPrefix(specifier, "../"):
		name, ok := join(importer, specifier)
		if !ok {
			return Module{}, refused(specifier, "it leaves the package", "")
		}
		return p.file(name, specifier)
	case strings.HasPrefix(specifier, "/"), strings.HasPrefix(specifier, "file:///"):
		name, ok := strings.CutPrefix(strings.TrimPrefix(specifier, "file://"), p.mount+"/")
		if !ok || !fs.ValidPath(name) {
			return Module{}, refused(specifier, "it leaves the package", "")
		}
		return p.file(name, specifier)
	case strings.HasPrefix(specifier, "#"):
		return p.private(importer, specifier, condition)
	}
	if name, no := builtin(specifier); name != "" || no != nil {
		return Module{Builtin: name}, no
	}
	if scheme, _, ok := strings.Cut(specifier, ":"); ok && scheme != "" {
		reason := "only files of the package and its node_modules can be loaded"
		if scheme == "bun" {
			reason = "this is not Bun"
		}
		return Module{}, refused(specifier, reason, "")
	}
	if specifier == "bun" {
		return Module{}, refused(specifier, "this is not Bun", "")
	}
	m, no := p.bare(importer, specifier, condition)
	if no != nil && specifier == AgentMethod {
		return Module{Builtin: AgentMethod}, nil
	}
	return m, no
}

// others are tried in this order where a name has no extension.
var others = []string{".ts", ".mts", ".js", ".mjs", ".cjs", ".json"}

// typed is what TypeScript's own way of naming modules means.
var typed = map[string]string{".js": ".ts", ".mjs": ".mts", ".cjs": ".cts"}

// file finds the file that name means.
func (p *Package) file(name, specifier string) (Module, *Problem) {
	extension := path.Ext(name)
	_, loadable := loaders[extension]
	candidates := []string{name}
	if ts, ok := typed[extension]; ok {
		candidates = append(candidates, strings.TrimSuffix(name, extension)+ts)
	}
	if !loadable {
		for _, e := range others {
			candidates = append(candidates, name+e)
		}
		for _, e := range others[:5] {
			candidates = append(candidates, name+"/index"+e)
		}
	}
	for _, c := range candidates {
		if !isFile(p.fsys, c) {
			continue
		}
		if _, ok := loaders[path.Ext(c)]; !ok {
			return Module{}, refused(specifier, kindOf(path.Ext(c)), "modules are .ts, .mts, .js, .mjs, .cjs or .json")
		}
		return Module{File: c}, nil
	}
	return Module{}, refused(specifier, "there is no such file in the package", "")
}

func kindOf(extension string) string {
	switch extension {
	case ".node":
		return "a native addon cannot be loaded"
	case ".wasm":
		return "WebAssembly cannot be loaded"
	case ".tsx", ".jsx":
		return "JSX is not supported"
	}
	return "a file of this kind is no module"
}

// Check judges every import that can be reached from entry, and the syntax of
// every file, before anything runs.
// files are those that were judged.
func (p *Package) Check(entry string) (found []*Problem, files []string) {
	if p.compiled != nil && p.compiled.entry == entry {
		return nil, slices.Collect(maps.Keys(p.compiled.code))
	}
	var mu sync.Mutex
	resolve := func(importer string, args api.OnResolveArgs) api.OnResolveResult {
		require := args.Kind == api.ResolveJSRequireCall || args.Kind == api.ResolveJSRequireResolve
		m, no := p.Resolve(importer, args.Path, require)
		if require && !vendored(importer) && !p.IsCommonJS(importer) {
			no = refused(args.Path, "an ES module has no require", "use import, or name the file .cjs")
		}
		switch {
		case no != nil && vendored(importer) && (require || args.Kind == api.ResolveJSDynamicImport):
			return api.OnResolveResult{Path: args.Path, External: true}
		case no != nil:
			return api.OnResolveResult{Errors: []api.Message{{Text: no.Message, Detail: no}}}
		case m.Builtin != "":
			return api.OnResolveResult{Path: m.Builtin, External: true}
		}
		return api.OnResolveResult{Path: m.File}
	}
	load := func(name string) ([]byte, api.Loader, error) {
		mu.Lock()
		files = append(files, name)
		mu.Unlock()
		b, err := read(p.fsys, name)
		loader := loaders[path.Ext(name)]
		b = withoutHashbang(b)
		if loader != api.LoaderJSON && !p.common(name, b) {
			// What has no import and no export is a module here as well, and strict.
			b = append(slices.Clip(b), "\nexport {};"...)
		}
		return b, loader, err
	}
	result := api.Build(buildOptions(entry, `{}`, plugin(resolve, load)))
	return p.asWritten(problems(result.Errors, unnamespaced)), files
}

// asWritten puts a problem that was found behind the end of a file, in what was
// added there, to where it is in the file of its author.
func (p *Package) asWritten(found []*Problem) []*Problem {
	for i, f := range found {
		if !f.Syntax || f.Line == 0 {
			continue
		}
		text, err := read(p.fsys, f.Path)
		if err != nil || f.Line <= 1+bytes.Count(text, []byte("\n")) {
			continue
		}
		if _, no := p.Load(f.Path, false); no != nil {
			found[i] = no
		}
	}
	return found
}

// ReadFile reads a file of the package.
func (p *Package) ReadFile(name string) ([]byte, error) { return read(p.fsys, name) }

func unnamespaced(file string) string { return strings.TrimPrefix(file, "jig:") }

func vendored(file string) bool {
	return slices.Contains(strings.Split(path.Dir(file), "/"), "node_modules")
}

// withoutHashbang blanks a first line "#!…", so that lines keep their numbers.
func withoutHashbang(b []byte) []byte {
	if len(b) < 2 || b[0] != '#' || b[1] != '!' {
		return b
	}
	return append([]byte("//"), b[2:]...)
}
