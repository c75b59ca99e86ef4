package declare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/engine/realm"
	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// Serve answers questions until in ends. limits bound each realm.
func Serve(in io.Reader, out io.Writer, limits realm.Limits) error {
	s := &server{limits: limits, project: source.NewProject(), absent: map[string]bool{}}
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		var q question
		switch err := readLine(lines, &q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		a, err := s.answer(q)
		if err != nil {
			return err
		}
		if err := writeLine(out, a); err != nil {
			return err
		}
	}
}

// server holds the sources of one review.
type server struct {
	limits  realm.Limits
	project *source.Project
	absent  map[string]bool
}

func (s *server) answer(q question) (answer, error) {
	for path, text := range q.Sources {
		s.project.Add(path, []byte(text))
	}
	for _, path := range q.Absent {
		s.absent[path] = true
	}
	if s.absent[q.Entry] {
		return answer{Refusals: []Refusal{{Path: q.Entry, Message: "it is no file of the project"}}}, nil
	}
	missing, found := s.project.Check(q.Entry)
	if len(found) == 0 && len(missing) > 0 {
		var unknown []string
		for _, path := range missing {
			if s.absent[path] {
				found = append(found, &source.Problem{Path: q.Entry, Message: "it needs " + path + ", which is no file of the project"})
				continue
			}
			unknown = append(unknown, path)
		}
		if len(found) == 0 {
			return answer{Missing: unknown}, nil
		}
	}
	if len(found) == 0 {
		value, no, err := s.evaluate(q.Entry)
		if err != nil {
			return answer{}, err
		}
		if no == nil {
			return answer{Value: value}, nil
		}
		found = append(found, no)
	}
	a := answer{}
	for _, p := range found {
		a.Refusals = append(a.Refusals, Refusal{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message, Hint: p.Hint})
	}
	return a, nil
}

// entryModule imports the declaration and hands its default export out.
const entryModule = "jig:declaration"

// evaluation is one declaration in a realm of its own.
type evaluation struct {
	*server
	realm *realm.Realm
	entry string
	maps  map[string]*source.Map
	value jsontext.Value
	no    *source.Problem // the first thing that went wrong
}

func (s *server) evaluate(entry string) (jsontext.Value, *source.Problem, error) {
	e := &evaluation{server: s, entry: entry, maps: map[string]*source.Map{}}
	var err error
	if e.realm, err = realm.New(e, s.limits, "declare"); err != nil {
		return nil, nil, err
	}
	defer e.realm.Close()
	err = e.realm.Tell("load", entryModule)
	for idle := false; err == nil && !idle; {
		idle, err = e.realm.Drain()
	}
	switch {
	case e.no != nil:
		return nil, e.no, nil
	case errors.Is(err, realm.ErrMemory):
		return nil, e.problem("its evaluation needs more memory than declarations have"), nil
	case errors.Is(err, realm.ErrStack):
		return nil, e.problem("its evaluation calls too deep"), nil
	case err != nil:
		return nil, nil, err
	case e.value == nil:
		return nil, e.problem("its top level waits for something that never happens"), nil
	}
	return e.value, nil, nil
}

func (e *evaluation) problem(message string) *source.Problem {
	return &source.Problem{Path: e.entry, Message: message}
}

// Resolve implements realm.Host. Every import has been judged before.
func (e *evaluation) Resolve(importer, specifier string) string {
	file, isFile := strings.CutPrefix(importer, "/")
	if !isFile {
		return specifier // of the module above
	}
	m, no := e.project.Resolve(file, specifier)
	switch {
	case no != nil:
		return "jig:refused"
	case m.Builtin != "":
		return m.Builtin
	}
	return "/" + m.File
}

// Load implements realm.Host.
func (e *evaluation) Load(name string) (string, error) {
	switch name {
	case entryModule:
		return fmt.Sprintf("import { internal } from \"jig:internal\";\nimport value from %s;\ninternal(\"declare\").done(value);\n", strconv.Quote("/"+e.entry)), nil
	case source.Jig:
		return e.realm.Text("jig", false)
	}
	file, isFile := strings.CutPrefix(name, "/")
	if !isFile {
		return realm.ThrowText("this module is refused here"), nil
	}
	code, no := e.project.Load(file)
	if no != nil {
		return realm.ThrowText(no.Message), nil
	}
	e.maps[file] = code.Map
	return code.Text, nil
}

// inAnswer leaves room for the answer around a value.
var inAnswer = json0.Limits{Depth: json0.MaxDepth - 1, Nodes: json0.MaxNodes - 1}

// carried refuses the value of a declaration that no answer can carry.
func carried(value []byte) error {
	if len(value) > MaxValueBytes {
		return fmt.Errorf("the declaration is larger than %d bytes", MaxValueBytes)
	}
	if inAnswer.Check(value) != nil {
		return fmt.Errorf("the declaration has more than %d levels or more than %d values", inAnswer.Depth, inAnswer.Nodes)
	}
	return nil
}

// Call implements realm.Host.
func (e *evaluation) Call(op string, args []any) (any, error) {
	text := func(i int) string {
		s, _ := args[i].(string)
		return s
	}
	switch op {
	case "byteLength":
		return len(text(0)), nil
	case "define":
		define := map[string]func([]byte) (jsontext.Value, error){
			"defineJig": author.DefineJig, "defineBinding": author.DefineBinding, "discover": author.Discover,
		}[text(0)]
		v, err := define([]byte(text(1)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text(0), err)
		}
		return string(v), nil
	case "declared":
		if err := carried([]byte(text(0))); err != nil {
			return nil, err
		}
		e.value = jsontext.Value(text(0))
	case "error":
		e.thrown(text(1), text(2), text(3))
	case "loaded":
	default:
		return nil, fmt.Errorf("%s is not available to declarations", op)
	}
	return nil, nil
}

var frame = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*at (?:.* \()?/(.+?):(\d+)(?::(\d+))?\)?$`) })

// thrown keeps the first error, at the place where the author wrote it.
func (e *evaluation) thrown(head, stack, limit string) {
	if e.no != nil {
		return
	}
	e.no = e.problem(head)
	switch limit {
	case "memory":
		e.no = e.problem("its evaluation needs more memory than declarations have")
		return
	case "stack":
		e.no = e.problem("its evaluation calls too deep")
	case "null":
		e.no = e.problem("its evaluation threw null, which is also what comes of too little memory")
	}
	if head == "SyntaxError: Could not find export 'default' in module '/"+e.entry+"'" {
		e.no = e.problem("it has no default export")
		e.no.Hint = "write export default before defineJig(…) or defineBinding(…)"
	}
	if strings.HasPrefix(head, "ReferenceError: ") {
		e.no.Hint = "a declaration has the globals of the language and no others: no console, no timers, no files"
	}
	for line := range strings.SplitSeq(stack, "\n") {
		m := frame().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		row, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		e.no.Path = m[1]
		if at := e.maps[m[1]]; at != nil {
			if r, c, ok := at.Original(row, max(column, 1)); ok {
				row, column = r, c
			}
		}
		e.no.Line, e.no.Column = row, column
		return
	}
}
