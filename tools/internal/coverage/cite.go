package coverage

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Test is a test that cites something. It is a value.
type Test struct {
	File string // slash-separated, below the root
	Name string // function; "" for a txtar script
}

// String returns what people call the test.
func (t Test) String() string {
	if t.Name == "" {
		return path.Base(t.File)
	}
	return t.Name
}

func compareTests(a, b Test) int {
	return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Name, b.Name))
}

// Complaint is the citation of one. It is a value.
type Complaint struct {
	ID        string
	Reference string // owner/project#number, or what else names the report
	Symptom   string
	Test      Test
}

// Citations is what the tests of a tree cite. It is not safe for concurrent use.
type Citations struct {
	Rules      map[string][]Test // rule ID to the tests that cite it, sorted, each once
	Complaints []Complaint       // sorted by ID, then test
	Problems   []string          // citations that cannot be read, each "file:line: text"
}

var (
	ruleComment      = regexp.MustCompile(`^//\s*rules?\b\s*:?(.*)$`)
	complaintComment = regexp.MustCompile(`^//\s*complaints?\b\s*:(.*)$`)
	complaintForm    = regexp.MustCompile(`^ (\S+) (\S.*?) - (\S.*)$`)
	scriptRule       = regexp.MustCompile(`^#\s*rule:(.*)$`)
	testFunc         = regexp.MustCompile(`^(?:Test|Fuzz|Example|Benchmark)(?:[^a-z].*)?$`)
	complaintFunc    = regexp.MustCompile(`^TestComplaint(?:B?[0-9])`)
	fileMarker       = regexp.MustCompile(`^-- .+ --$`)
)

// Read collects the citations of the files, which it gets by read. Go files
// other than tests and files that are no txtar scripts are passed over.
func Read(files []string, read func(file string) ([]byte, error)) (*Citations, error) {
	c := &Citations{Rules: map[string][]Test{}}
	for _, file := range files {
		isTest := strings.HasSuffix(file, "_test.go")
		if !isTest && path.Ext(file) != ".txtar" {
			continue
		}
		data, err := read(file)
		if err != nil {
			return nil, err
		}
		if isTest {
			c.readGo(file, data)
		} else {
			c.readScript(file, string(data))
		}
	}
	for id, tests := range c.Rules {
		slices.SortFunc(tests, compareTests)
		c.Rules[id] = slices.Compact(tests)
	}
	slices.SortFunc(c.Complaints, func(a, b Complaint) int {
		return cmp.Or(compareIDs(a.ID, b.ID), compareTests(a.Test, b.Test))
	})
	return c, nil
}

func (c *Citations) problem(file string, line int, format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf("%s:%d: %s", file, line, fmt.Sprintf(format, args...)))
}

func (c *Citations) readGo(file string, data []byte) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, data, parser.ParseComments)
	if err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	told := map[string]bool{} // complaint functions that have their comment
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			line := fset.Position(comment.Pos()).Line
			fn := holder(parsed, comment.Pos())
			if m := ruleComment.FindStringSubmatch(comment.Text); m != nil && looksLikeCitation(comment.Text) {
				c.cite(file, line, fn, strings.TrimPrefix(comment.Text, "//"))
			}
			if m := complaintComment.FindStringSubmatch(comment.Text); m != nil {
				if fn != nil && fn.Doc != group {
					fn = nil
				}
				c.complain(file, line, fn, m[1], told)
			}
		}
	}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && complaintFunc.MatchString(fn.Name.Name) && !told[fn.Name.Name] {
			c.problem(file, fset.Position(fn.Pos()).Line,
				"%s has no line \"// complaint: ID reference - symptom\" of its number above it", fn.Name.Name)
		}
	}
}

// looksLikeCitation says whether a comment that begins with the word rule means
// to cite: it goes on with a colon or with what looks like an ID.
func looksLikeCitation(text string) bool {
	rest := strings.TrimLeft(strings.TrimPrefix(text, "//"), " \t")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "rule"), "s")
	return strings.HasPrefix(rest, ":") || regexp.MustCompile(`^\s+[A-Z]-[0-9]{3}\b`).MatchString(rest)
}

// holder returns the function in or above which pos lies.
func holder(file *ast.File, pos token.Pos) *ast.FuncDecl {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		start := fn.Pos()
		if fn.Doc != nil {
			start = fn.Doc.Pos()
		}
		if start <= pos && pos <= fn.End() {
			return fn
		}
	}
	return nil
}

// cite takes " rule: W-017, A-044", the comment without its slashes.
func (c *Citations) cite(file string, line int, fn *ast.FuncDecl, text string) {
	list, ok := strings.CutPrefix(text, " rule:")
	if !ok {
		c.problem(file, line, "write a citation as \"// rule: W-017, A-044\"")
		return
	}
	if fn == nil || fn.Recv != nil || !testFunc.MatchString(fn.Name.Name) {
		c.problem(file, line, "this citation hangs on no test; put it above or into a test function")
		return
	}
	c.add(file, line, Test{file, fn.Name.Name}, list)
}

func (c *Citations) add(file string, line int, test Test, list string) {
	for part := range strings.SplitSeq(list, ",") {
		id := strings.TrimSpace(part)
		if !ruleID.MatchString(id) {
			c.problem(file, line, "%q is no rule ID; want IDs separated by commas and nothing else", id)
			continue
		}
		c.Rules[id] = append(c.Rules[id], test)
	}
}

// complain takes " 16 owner/project#7978 - the symptom" from above fn. Several
// complaints may stand above one test, which has the number of one of them.
func (c *Citations) complain(file string, line int, fn *ast.FuncDecl, text string, told map[string]bool) {
	m := complaintForm.FindStringSubmatch(text)
	if m == nil || !complaintID.MatchString(m[1]) {
		c.problem(file, line, "write \"// complaint: 16 owner/project#7978 - the symptom\"")
		return
	}
	prefix := "TestComplaint" + strings.ReplaceAll(m[1], ".", "_")
	if fn == nil || !complaintFunc.MatchString(fn.Name.Name) {
		c.problem(file, line, "complaint %s belongs directly above a function %sName", m[1], prefix)
		return
	}
	name := fn.Name.Name
	if strings.HasPrefix(name, prefix) && len(name) > len(prefix) && !isDigit(name[len(prefix)]) {
		told[name] = true
	}
	c.Complaints = append(c.Complaints, Complaint{m[1], m[2], m[3], Test{file, name}})
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// readScript reads the heading of a txtar file: what stands before its first file.
func (c *Citations) readScript(file, text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if fileMarker.MatchString(line) {
			return
		}
		if m := scriptRule.FindStringSubmatch(line); m != nil {
			c.add(file, n, Test{File: file}, m[1])
		}
	}
}

// compareIDs orders complaint numbers: 2 before 16, all before B1.2 before B1.16.
func compareIDs(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

func numbers(id string) []int {
	key := []int{0}
	if strings.HasPrefix(id, "B") {
		key[0] = 1
	}
	n, in := 0, false
	for _, r := range id + "." {
		if '0' <= r && r <= '9' {
			n, in = 10*n+int(r-'0'), true
			continue
		}
		if in {
			key = append(key, n)
		}
		n, in = 0, false
	}
	return key
}
