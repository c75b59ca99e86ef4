// Package bench compares benchmarks with the limits measured beside them.
//
// A benchmark says what it wants to reach in a comment above its function:
//
//	// target: <= 1.5x BenchmarkRoundTrip_LimitRaw
//	// target: >= 0.7x BenchmarkDecode_LimitValid
//	// target: <= 4 allocs, <= 24 KiB
//
// "<= 1.5x" compares the time of an operation, ">= 0.7x" its speed (bytes a
// second where both report them); the named benchmark stands in the same
// package. Allocations and bytes are those of one operation. Sub-benchmarks are
// compared name by name, or all with the one limit. Both are measured in turn,
// round after round, and the median of the rounds' ratios counts: what slows
// the machine down slows both.
//
// # Limits
//
// A target that cannot be read, or names no benchmark of its package, is refused.
//
// # Errors
//
// Faults in comments are returned as lines that begin with file and line.
//
// # Concurrency
//
// Functions only. Measure must have the machine to itself to mean anything.
package bench

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Kind is what a target speaks of.
type Kind string

// The kinds of target.
const (
	Time   Kind = "time"   // ratio of times of an operation, at most
	Speed  Kind = "speed"  // ratio of speeds, at least
	Allocs Kind = "allocs" // allocations an operation, at most
	Bytes  Kind = "bytes"  // bytes allocated an operation, at most
)

// Target is one target comment. It is a value.
type Target struct {
	File      string // slash-separated, below the root
	Line      int
	Benchmark string
	Kind      Kind
	Want      float64
	Limit     string // the benchmark compared with, for Time and Speed
	Text      string // as written, after "target: "
}

var (
	targetComment = regexp.MustCompile(`^//\s*target:\s*(.*?)\s*$`)
	ratioForm     = regexp.MustCompile(`^(<=|>=) ([0-9]+(?:\.[0-9]+)?)x (Benchmark\w+)$`)
	amountForm    = regexp.MustCompile(`^<= ([0-9]+(?:\.[0-9]+)?) (allocs|B|KiB|MiB)(?:/op)?$`)
)

// Targets reads the targets of a package's test files, given as name to text.
// It also returns the benchmarks that the files define.
func Targets(files map[string][]byte) (targets []Target, benchmarks map[string]bool, problems []string) {
	benchmarks = map[string]bool{}
	for _, name := range sortedKeys(files) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, files[name], parser.ParseComments)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		doc := map[*ast.CommentGroup]string{}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Benchmark") {
				benchmarks[fn.Name.Name] = true
				doc[fn.Doc] = fn.Name.Name
			}
		}
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				m := targetComment.FindStringSubmatch(comment.Text)
				if m == nil {
					continue
				}
				for text := range strings.SplitSeq(m[1], ", ") {
					t := Target{File: name, Line: fset.Position(comment.Pos()).Line, Benchmark: doc[group], Text: text}
					if err := t.parse(); err != nil {
						problems = append(problems, fmt.Sprintf("%s:%d: %v", name, t.Line, err))
						continue
					}
					targets = append(targets, t)
				}
			}
		}
	}
	for _, t := range targets {
		if t.Limit != "" && !benchmarks[t.Limit] {
			problems = append(problems, fmt.Sprintf("%s:%d: no benchmark %s in %s", t.File, t.Line, t.Limit, path.Dir(t.File)))
		}
	}
	return targets, benchmarks, problems
}

func (t *Target) parse() error {
	if t.Benchmark == "" {
		return fmt.Errorf("a target belongs directly above its benchmark")
	}
	if m := ratioForm.FindStringSubmatch(t.Text); m != nil {
		t.Kind, t.Limit = Time, m[3]
		if m[1] == ">=" {
			t.Kind = Speed
		}
		if t.Limit == t.Benchmark {
			return fmt.Errorf("%s is compared with itself", t.Benchmark)
		}
		return t.number(m[2], 1)
	}
	if m := amountForm.FindStringSubmatch(t.Text); m != nil {
		t.Kind = Bytes
		switch m[2] {
		case "allocs":
			t.Kind = Allocs
			return t.number(m[1], 1)
		case "KiB":
			return t.number(m[1], 1<<10)
		case "MiB":
			return t.number(m[1], 1<<20)
		}
		return t.number(m[1], 1)
	}
	return fmt.Errorf("cannot read the target %q; want \"<= 1.5x BenchmarkName\", \">= 0.7x BenchmarkName\", \"<= 4 allocs\" or \"<= 24 KiB\"", t.Text)
}

func (t *Target) number(text string, unit float64) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	t.Want = n * unit
	return nil
}
