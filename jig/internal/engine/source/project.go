package source

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// Project holds the modules that declarations are made of. It is for one
// goroutine.
type Project struct {
	files map[string][]byte
}

// NewProject holds no file yet.
func NewProject() *Project { return &Project{files: map[string][]byte{}} }

// Add brings a file, by its path in the project.
func (p *Project) Add(name string, text []byte) { p.files[name] = text }

// Resolve finds what specifier means in a declaration or in what it imports.
func (p *Project) Resolve(importer, specifier string) (Module, *Problem) {
	if specifier == Jig {
		return Module{Builtin: Jig}, nil
	}
	if !strings.HasPrefix(specifier, "./") && !strings.HasPrefix(specifier, "../") {
		return Module{}, refused(specifier, "a declaration imports relative .ts files and "+Jig+", and nothing else", "")
	}
	name, ok := join(importer, specifier)
	switch {
	case !ok:
		return Module{}, refused(specifier, "it leaves the project", "")
	case path.Ext(name) != ".ts" || strings.HasSuffix(name, ".d.ts"):
		return Module{}, refused(specifier, "a declaration imports .ts files, by their whole name", "")
	}
	return Module{File: name}, nil
}

// Check judges every import that can be reached from entry, used or not, before
// types are taken out. missing are files that have not been added yet; while
// there are any, problems is not complete.
func (p *Project) Check(entry string) (missing []string, found []*Problem) {
	missing, found, edges := p.build(entry, nil)
	if len(missing) > 0 || len(found) > 0 {
		return missing, found
	}
	if back := circular(entry, edges); len(back) > 0 {
		_, found, _ = p.build(entry, back)
	}
	return nil, found
}

type edge struct{ from, to string }

func (p *Project) build(entry string, circle map[edge]bool) (missing []string, found []*Problem, edges map[string][]string) {
	var mu sync.Mutex
	absent := map[string]bool{}
	edges = map[string][]string{}
	resolve := func(importer string, args api.OnResolveArgs) api.OnResolveResult {
		m, no := p.Resolve(importer, args.Path)
		if args.Kind != api.ResolveJSImportStatement && args.Kind != api.ResolveJSDynamicImport {
			no = refused(args.Path, "a declaration has no require", "")
		}
		if no == nil && circle[edge{importer, m.File}] {
			no = refused(args.Path, "declarations that import one another in a circle cannot be evaluated", "")
		}
		switch {
		case no != nil:
			return api.OnResolveResult{Errors: []api.Message{{Text: no.Message, Detail: no}}}
		case m.Builtin != "":
			return api.OnResolveResult{Path: m.Builtin, External: true}
		}
		mu.Lock()
		defer mu.Unlock()
		if _, there := p.files[m.File]; !there {
			absent[m.File] = true
			return api.OnResolveResult{Path: args.Path, External: true}
		}
		if !slices.Contains(edges[importer], m.File) {
			edges[importer] = append(edges[importer], m.File)
		}
		return api.OnResolveResult{Path: m.File}
	}
	load := func(name string) ([]byte, api.Loader, error) {
		text, there := p.files[name]
		if !there {
			return nil, api.LoaderTS, fs.ErrNotExist
		}
		return withoutHashbang(text), api.LoaderTS, nil
	}
	o := buildOptions(entry, `{"compilerOptions":{"verbatimModuleSyntax":true}}`, plugin(resolve, load))
	o.LogOverride = map[string]api.LogLevel{"unsupported-dynamic-import": api.LogLevelError}
	result := api.Build(o)
	found = problems(result.Errors, unnamespaced)
	for _, f := range found {
		if f.Syntax && strings.Contains(f.Message, `"import" expression`) {
			f.Syntax, f.Message, f.Hint = false, "an import() whose specifier is computed is refused", "write the specifier as a string"
		}
	}
	return slices.Sorted(maps.Keys(absent)), found, edges
}

// circular finds imports that lead back to a file on the way to them.
func circular(entry string, edges map[string][]string) map[edge]bool {
	back := map[edge]bool{}
	on, done := map[string]bool{}, map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		on[file] = true
		for _, to := range edges[file] {
			switch {
			case on[to]:
				back[edge{file, to}] = true
			case !done[to]:
				visit(to)
			}
		}
		on[file] = false
		done[file] = true
	}
	visit(entry)
	return back
}

// Load transforms one file.
func (p *Project) Load(name string) (*Code, *Problem) {
	text, there := p.files[name]
	if !there {
		return nil, &Problem{Path: name, Message: "it cannot be loaded"}
	}
	return transform(name, withoutHashbang(text), false)
}
