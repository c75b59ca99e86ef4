package source

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// Code is one file that the engine can execute.
type Code struct {
	Text     string
	CommonJS bool     // Text is the body of a function(exports, require, module, __filename, __dirname)
	Names    []string // of what a CommonJS file exports, as far as they can be seen
	Map      *Map     // back to what the author wrote; nil: none
}

// Load reads and transforms one file of the package. main says that it is the
// entry.
func (p *Package) Load(file string, main bool) (*Code, *Problem) {
	if code := p.compiledCode(file); code != nil {
		return code, nil
	}
	raw, err := read(p.fsys, file)
	if err != nil {
		return nil, &Problem{Path: file, Message: "it cannot be loaded: " + err.Error()}
	}
	if path.Ext(file) == ".json" {
		return jsonModule(file, raw)
	}
	common := p.common(file, raw)
	code, no := transform(file, withoutHashbang(raw), common)
	if no != nil {
		return nil, no
	}
	code.CommonJS = common
	if common {
		code.Names = exportsOf(code.Text)
	} else if strings.Contains(code.Text, "import.meta") {
		code.Text = p.meta(file, main) + code.Text
	}
	return code, nil
}

// jsonModule is a JSON file as a module.
func jsonModule(file string, raw []byte) (*Code, *Problem) {
	if err := (json0.Limits{}).Check(raw); err != nil {
		no := &Problem{Syntax: true, Path: file, Message: "it is no JSON that can be imported: " + err.Error()}
		if e, ok := err.(*json0.Error); ok && e.Offset >= 0 {
			no.Line, no.Column = e.Position(raw)
		}
		return nil, no
	}
	quoted, err := json.Marshal(string(raw), jsontext.EscapeForJS(true))
	if err != nil {
		return nil, &Problem{Syntax: true, Path: file, Message: "it cannot be read"}
	}
	return &Code{Text: "export default JSON.parse(" + string(quoted) + ");\n"}, nil
}

// meta is the first line of a module that looks at import.meta.
func (p *Package) meta(file string, main bool) string {
	name := p.mount + "/" + file
	q := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			return `""`
		}
		return string(b)
	}
	dir, url := q(path.Dir(name)), q(FileURL(name))
	return fmt.Sprintf("import.meta.url=%s;import.meta.filename=%s;import.meta.dirname=%s;import.meta.main=%t;import.meta.path=%[2]s;import.meta.dir=%[3]s;",
		url, q(name), dir, main)
}

// FileURL is the file: URL of an absolute path.
func FileURL(name string) string {
	var b strings.Builder
	b.WriteString("file://")
	for i := range len(name) {
		c := name[i]
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`"#%<>?[\]^`+"`{|}", rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func transform(file string, text []byte, common bool) (*Code, *Problem) {
	o := api.TransformOptions{
		Loader: loaders[path.Ext(file)], Target: target, Supported: supported, Sourcefile: file, LogLevel: api.LogLevelSilent,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, TsconfigRaw: `{}`, LegalComments: api.LegalCommentsNone,
		Charset: api.CharsetUTF8,
	}
	if common {
		o.Format = api.FormatCommonJS
	}
	r := api.Transform(string(text), o)
	if len(r.Errors) > 0 {
		return nil, located(r.Errors[0], func(string) string { return file })
	}
	return &Code{Text: string(r.Code), Map: readMap(r.Map)}, nil
}

// lazy is a pattern that is compiled when it is needed first: this program starts
// for every Flow, and most need none of them.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	moduleSyntax = lazy(`(?m)^\s*(?:import\s*[\w{*"'$]|export\s*(?:[{*]|default\b|const\b|let\b|var\b|function\b|class\b|async\b))|\bimport\.meta\b`)
	commonSyntax = lazy(`\bmodule\.exports\b|\bexports\.\w|\brequire\s*\(|Object\.defineProperty\(\s*exports\b`)
)

// IsCommonJS says whether a file of the package is a CommonJS module.
func (p *Package) IsCommonJS(file string) bool {
	if code := p.compiledCode(file); code != nil {
		return code.CommonJS
	}
	if e := path.Ext(file); e != ".js" && e != ".cjs" && e != ".cts" {
		return false
	}
	raw, err := read(p.fsys, file)
	return err == nil && p.common(file, raw)
}

// common says whether a file is a CommonJS module, as node decides it: by the
// extension, by the type in its package.json, and otherwise by looking at it.
func (p *Package) common(file string, raw []byte) bool {
	switch path.Ext(file) {
	case ".cjs", ".cts":
		return true
	case ".js":
	default:
		return false
	}
	if _, m := p.scope(file); m != nil {
		switch m.Type {
		case "module":
			return false
		case "commonjs":
			return true
		}
	}
	return !moduleSyntax().Match(raw) && commonSyntax().Match(raw)
}

var exportPatterns = []func() *regexp.Regexp{
	lazy(`\bexports\.([A-Za-z_$][\w$]*)\s*=`),
	lazy(`\bexports\[["']([A-Za-z_$][\w$]*)["']\]\s*=`),
	lazy(`Object\.defineProperty\(\s*(?:module\.)?exports\s*,\s*["']([A-Za-z_$][\w$]*)["']`),
}

var exportLists = lazy(`(?s)(?:\bmodule\.exports\s*=\s*|__export\(\w+,\s*)\{([^{}]*)`)

var listed = lazy(`(?:^|,)\s*(?:get\s+)?([A-Za-z_$][\w$]*)\s*(?:[,:(]|$)`)

// exportsOf guesses the names that a CommonJS file exports.
func exportsOf(text string) []string {
	seen := map[string]bool{"default": true, "__esModule": true}
	var out []string
	add := func(name string) {
		if !seen[name] && !reserved()[name] && len(out) < 1024 {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, p := range exportPatterns {
		for _, m := range p().FindAllStringSubmatch(text, -1) {
			add(m[1])
		}
	}
	for _, m := range exportLists().FindAllStringSubmatch(text, -1) {
		for body := m[1]; ; {
			at := listed().FindStringSubmatchIndex(body)
			if at == nil {
				break
			}
			add(body[at[2]:at[3]])
			body = body[at[3]:]
			if next := strings.IndexByte(body, ','); next >= 0 {
				body = body[next:]
			} else {
				break
			}
		}
	}
	return out
}

var reserved = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq("await break case catch class const continue debugger delete do else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield arguments eval") {
		words[word] = true
	}
	return words
})
