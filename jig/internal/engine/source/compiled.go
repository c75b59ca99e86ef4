package source

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
)

// MaxCompiledBytes is how large the compiled form of a package may be.
const MaxCompiledBytes = 16 << 20

// Compiled is a package that was checked and whose reachable files were
// transformed, so that it can be executed without a parser. It is immutable and
// safe for concurrent use.
type Compiled struct {
	entry string
	code  map[string]*Code // of every file that the entry reaches
}

// Compile checks the package and transforms what its entry reaches.
func (p *Package) Compile() (*Compiled, []*Problem) {
	entry, err := p.Entry()
	if err != nil {
		return nil, []*Problem{{Message: err.Error()}}
	}
	found, files := p.Check(entry)
	if len(found) > 0 {
		return nil, found
	}
	c := &Compiled{entry: entry, code: map[string]*Code{}}
	for _, file := range files {
		code, no := p.Load(file, file == entry)
		if no != nil {
			return nil, []*Problem{no}
		}
		c.code[file] = code
	}
	return c, nil
}

// Use gives the package its compiled form: what is in there is neither checked
// nor transformed again. It is called before anything else is asked of p.
func (p *Package) Use(c *Compiled) { p.compiled = c }

// compiledCode is the compiled form of a file, or nil.
func (p *Package) compiledCode(file string) *Code {
	if p.compiled == nil {
		return nil
	}
	return p.compiled.code[file]
}

// compiledMagic begins every compiled form. Only the jig that made one reads it.
const compiledMagic = "jig-compiled/1\n"

var errCompiled = errors.New("source: this is no compiled package")

// Bytes is the compiled form: the magic, and then texts and numbers, each text
// with its length before it as a uvarint. The same package gives the same bytes.
func (c *Compiled) Bytes() []byte {
	w := append([]byte(nil), compiledMagic...)
	text := func(s string) { w = append(binary.AppendUvarint(w, uint64(len(s))), s...) }
	text(c.entry)
	w = binary.AppendUvarint(w, uint64(len(c.code)))
	for _, file := range slices.Sorted(maps.Keys(c.code)) {
		code := c.code[file]
		text(file)
		text(code.Text)
		mappings, common := "", "module"
		if code.Map != nil {
			mappings = code.Map.mappings
		}
		if code.CommonJS {
			common = "common"
		}
		text(mappings)
		text(common)
		text(strings.Join(code.Names, " "))
	}
	return w
}

// ReadCompiled reads what [Compiled.Bytes] gave.
func ReadCompiled(b []byte) (*Compiled, error) {
	rest, ok := strings.CutPrefix(string(b), compiledMagic)
	if !ok || len(b) > MaxCompiledBytes {
		return nil, errCompiled
	}
	r := compiledReader{rest: rest}
	c := &Compiled{entry: r.text(), code: map[string]*Code{}}
	for n := r.number(); n > 0 && !r.broken; n-- {
		file := r.text()
		code := &Code{Text: r.text()}
		if mappings := r.text(); mappings != "" {
			code.Map = newMap(mappings)
		}
		code.CommonJS = r.text() == "common"
		code.Names = strings.Fields(r.text())
		c.code[file] = code
	}
	if r.broken || r.rest != "" || c.code[c.entry] == nil {
		return nil, errCompiled
	}
	return c, nil
}

// compiledReader takes the parts off the front of a compiled form.
type compiledReader struct {
	rest   string
	broken bool
}

func (r *compiledReader) number() uint64 {
	n, size := uint64(0), 0
	for shift := 0; size < len(r.rest) && shift < 63; shift += 7 {
		c := r.rest[size]
		size++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			r.rest = r.rest[size:]
			return n
		}
	}
	r.broken = true
	return 0
}

func (r *compiledReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.broken = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
