// Package source reads what authors wrote: it finds the file behind a specifier,
// judges every import before any code runs, and takes the types out of one file
// at a time (flow-author-api 1.9, 6). esbuild parses; nothing is executed here
// and nothing but the given file system is read, whatever a tsconfig.json says.
//
// A [Package] is the captured package of a Flow. A specifier there is a module
// of the engine, a file of the package, or a package in its node_modules. A
// [Project] holds declarations, which may do less: relative `.ts` files and
// `@jigging/jig`.
//
// # Choices
//
// `@jigging/flow` is always the engine's own, so that there is one
// OperationError. `@jigging/agent-method` is the copy in the package's
// node_modules where there is one, since that is what its author tested, and the
// engine's otherwise. A specifier may leave out an extension, or say `.js` where
// the file is `.ts`. In the package's own files an import() with a literal
// specifier is judged before the Flow starts, like a static import; in its
// node_modules it is judged when it is executed, since optional dependencies are
// usual there. A CommonJS file is one as node decides it, may require what is
// CommonJS or the engine's, and has no import(). The conditions of an exports map are import, or require, and
// default; a package that asks whether this is node is told that it is not.
//
// # Limits
//
// A file has at most [MaxFileBytes]. At most [MaxProblems] problems are
// reported.
//
// # Errors
//
// Everything an author can mend is a [Problem] with file, line and column.
//
// # Concurrency
//
// A [Package] is safe for concurrent use. A [Project] is for one goroutine.
package source

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// Limits of sources.
const (
	MaxFileBytes = 8 << 20
	MaxProblems  = 32
)

// Problem is one thing that the author has to change. It is an error.
type Problem struct {
	Syntax    bool   // the file is no TypeScript or JavaScript; otherwise an import is refused
	Path      string // of the importing file, as the author knows it
	Line      int    // from 1; 0: unknown
	Column    int    // from 1, in Unicode scalars; 0: unknown
	Specifier string // of an import
	Message   string
	Hint      string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
}

// refused is an import that cannot be.
func refused(specifier, reason, hint string) *Problem {
	return &Problem{Specifier: specifier, Message: fmt.Sprintf("%q is refused: %s", shown(specifier), reason), Hint: hint}
}

// shown keeps a specifier to a length that can be read.
func shown(s string) string {
	if len(s) <= 200 {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.ToValidUTF8(s[:200], "\ufffd") + "…"
}

// target is what all code is written down to.
const target = api.ES2022

// supported says where the engine differs from it: it takes import attributes,
// and leaving a "for await" loop by break it does not wait for what return()
// promises, so those loops are written out.
var supported = map[string]bool{"import-attributes": true, "for-await": false}

// loaders are the files that can be modules.
var loaders = map[string]api.Loader{
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS,
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS, ".json": api.LoaderJSON,
}

// located fills in where esbuild found m.
func located(m api.Message, shownPath func(string) string) *Problem {
	p, ok := m.Detail.(*Problem)
	if ok {
		c := *p
		p = &c
	} else {
		p = &Problem{Syntax: true, Message: strings.ReplaceAll(m.Text, `"jig:`, `"`)}
		if len(m.Notes) > 0 {
			p.Hint = m.Notes[0].Text
		}
	}
	if l := m.Location; l != nil {
		p.Path, p.Line = shownPath(l.File), l.Line
		p.Column = 1 + utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))])
	}
	return p
}

func problems(all []api.Message, shownPath func(string) string) []*Problem {
	var out []*Problem
	for _, m := range all {
		if len(out) == MaxProblems {
			break
		}
		out = append(out, located(m, shownPath))
	}
	return out
}

// read reads a file of bounded size.
func read(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	if info.Size() > MaxFileBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxFileBytes)
	}
	return fs.ReadFile(fsys, name)
}

func isFile(fsys fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// join resolves a relative path; ok is false where it leaves the root.
func join(importer, specifier string) (name string, ok bool) {
	name = path.Join(path.Dir(importer), specifier)
	return name, fs.ValidPath(name)
}

// plugin is esbuild's view of one file system: everything it asks is answered
// here, so that it reads nothing by itself.
func plugin(resolve func(importer string, args api.OnResolveArgs) api.OnResolveResult, load func(name string) ([]byte, api.Loader, error)) api.Plugin {
	const namespace = "jig"
	return api.Plugin{Name: "jig", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				// esbuild puts "./" before the name of a file that its working
				// folder has as well, which in a scope is the package's own.
				return api.OnResolveResult{Path: strings.TrimPrefix(args.Path, "./"), Namespace: namespace}, nil
			}
			r := resolve(args.Importer, args)
			if !r.External {
				r.Namespace = namespace
			}
			return r, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			b, loader, err := load(args.Path)
			if err != nil {
				return api.OnLoadResult{Errors: []api.Message{{Text: args.Path + ": " + err.Error(), Detail: &Problem{Path: args.Path, Message: "it cannot be loaded: " + err.Error()}}}}, nil
			}
			text := string(b)
			return api.OnLoadResult{Contents: &text, Loader: loader}, nil
		})
	}}
}

func buildOptions(entry, tsconfig string, p api.Plugin) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Write: false, Format: api.FormatESModule, Platform: api.PlatformNeutral,
		Target: target, Supported: supported, LogLevel: api.LogLevelSilent, LogLimit: 0, TsconfigRaw: tsconfig, Outfile: "out.js",
		Plugins: []api.Plugin{p}, TreeShaking: api.TreeShakingFalse, LegalComments: api.LegalCommentsNone,
	}
}
