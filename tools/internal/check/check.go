// Package check makes the checks that the project's CI makes.
//
// Each check is one file of this package: it looks at the tree or asks the go
// command, and returns either a short note on what it saw or the problems it
// found, each in a line that begins with the file. A check refuses; only when
// Env.Write is set does it also mend what can be mended by rule (formatting,
// fixes of the go command, go.mod and go.sum, generated pages).
//
// Exceptions to a check stand in tools/exceptions.tsv with their reasons. An
// exception that no longer excuses anything is itself a problem.
//
// # Limits
//
// Go files over 500 lines are refused; the checks themselves read whole
// files into memory, one at a time.
//
// # Errors
//
// Problems is the error of a check that did its work and found faults; any
// other error means that the check could not do its work.
//
// # Concurrency
//
// Checks do not share state: Run runs the light ones two at a time and the
// heavy ones, which start their own parallel go commands, one after another.
package check

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Problems are faults that a check found, one line each.
type Problems []string

// Error returns the lines.
func (p Problems) Error() string { return strings.Join(p, "\n") }

// Err returns nil when there are no problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...))
}

// Env is what a check works on. It must not be changed while checks run.
type Env struct {
	Work   *workspace.Workspace // required
	Out    io.Writer            // required; the test check prints packages here as they end
	Write  bool                 // mend what can be mended
	Long   bool                 // run the whole suites
	Except Exceptions           // excused files; see ReadExceptions

	rehearsed rehearsed
	counts    *Counts // of the test check; nil when it did not run
}

// Counts returns what the tests came to; ok is false when they did not run.
func (e *Env) Counts() (c Counts, ok bool) {
	if e.counts == nil {
		return Counts{}, false
	}
	return *e.counts, true
}

// Check is one check. It is a value.
type Check struct {
	Name  string
	What  string // one line for people
	Heavy bool   // keeps the machine busy by itself
	Run   func(ctx context.Context, e *Env) (note string, err error)
}

// All returns every check in the order of a whole run, the tests last.
func All() []Check {
	return []Check{
		{"gofmt", "Go files are formatted (gofmt -s)", false, gofmt},
		{"length", "no Go file over 500 lines, generated files apart", false, length},
		{"doc", "one package comment a package, joined to its package clause", false, packageDoc},
		{"todo", "no open end without the issue that owns it", false, todo},
		{"words", "no promise that cannot be kept", false, words},
		{"traces", "no machine path, registry host or key in the tree", false, traces},
		{"rules", "tests cite known rules, and every rule of a finished issue", false, rules},
		{"complaints", "complaint tests carry their reference", false, complaints},
		{"pages", "module pages are there, links lead somewhere, programs shown build", false, pages},
		{"arrows", "imports follow the table of the architecture page", false, arrows},
		{"vet", "go vet", true, vet},
		{"fix", "go fix has nothing to propose", true, fix},
		{"darwin", "go vet for darwin", true, darwin},
		{"bench", "benchmarks compile, run once, and name true limits", true, benchOnce},
		{"tidy", "go.mod and go.sum are what a release would hold", true, tidy},
		{"alone", "each module builds, vets and tests alone, as released", true, alone},
		{"test", "race tests of every module, fuzz seeds included", true, test},
	}
}

// Select returns the checks named in run (all when it is empty) without those
// named in skip; both are comma separated.
func Select(all []Check, run, skip string) ([]Check, error) {
	wanted, err := names(all, run)
	if err != nil {
		return nil, err
	}
	unwanted, err := names(all, skip)
	if err != nil {
		return nil, err
	}
	var chosen []Check
	for _, c := range all {
		if (run == "" || slices.Contains(wanted, c.Name)) && !slices.Contains(unwanted, c.Name) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

func names(all []Check, list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	asked := strings.Split(list, ",")
	for _, name := range asked {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.Name == name }) {
			var known []string
			for _, c := range all {
				known = append(known, c.Name)
			}
			return nil, fmt.Errorf("no check is called %q; the checks are %s", name, strings.Join(known, ", "))
		}
	}
	return asked, nil
}

// Run runs the checks, prints one line for each and its problems below it, and
// returns the names of those that failed. It also removes what checks shared.
func Run(ctx context.Context, e *Env, checks []Check) (failed []string) {
	defer e.rehearsed.close()
	var mu sync.Mutex
	one := func(c Check) {
		start := time.Now()
		note, err := c.Run(ctx, e)
		took := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		verdict := "ok  "
		if err != nil {
			verdict = "FAIL"
			failed = append(failed, c.Name)
		}
		line := fmt.Sprintf("%s %-10s %6.1fs  %s", verdict, c.Name, took.Seconds(), note)
		fmt.Fprintln(e.Out, strings.TrimRight(line, " "))
		if err != nil {
			fmt.Fprintln(e.Out, indent(err.Error()))
		}
	}
	var light sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, c := range checks {
		if c.Heavy {
			continue
		}
		light.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one(c)
		})
	}
	light.Wait()
	for _, c := range checks {
		if c.Heavy {
			one(c)
		}
	}
	return failed
}

func indent(text string) string {
	return "     " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n     ")
}
