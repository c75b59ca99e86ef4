package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// test runs the race tests of every module in one go command, which shares the
// machine between packages better than we could.
func test(ctx context.Context, e *Env) (string, error) {
	args := []string{"test", "-race", "-json"}
	var env []string
	if e.Long {
		args = append(args, "-timeout=60m")
		env = append(env, "CHECK_LONG=1")
	}
	cmd := workspace.Command(ctx, e.Work.Root, env, "go", append(args, e.Work.Patterns()...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	counts, readErr := ReadTests(stdout, e.Out)
	e.counts = &counts
	waitErr := cmd.Wait()
	if readErr != nil {
		return "", fmt.Errorf("go test: %w\n%s", readErr, stderr.String())
	}
	note := fmt.Sprintf("%d packages", counts.Packages)
	var exit *exec.ExitError
	switch {
	case waitErr != nil && !errors.As(waitErr, &exit):
		return note, waitErr
	case counts.Failed > 0:
		return note, Problems{fmt.Sprintf("%d failed; what they printed stands above", counts.Failed)}
	case waitErr != nil:
		return note, fmt.Errorf("go test: %w\n%s", waitErr, stderr.String())
	case counts.Passed == 0:
		return note, errors.New("no test ran")
	}
	return note, nil
}

// Counts is what a run of go test came to. It is a value.
type Counts struct {
	Packages int
	Passed   int // tests and subtests
	Failed   int // also a package that does not build, or fails apart from its tests
	Skipped  int
}

// event is one line of go test -json.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// ReadTests reads go test -json and prints the line of each package as it ends,
// before it the whole output of each of its tests that failed or was skipped.
func ReadTests(r io.Reader, out io.Writer) (Counts, error) {
	var counts Counts
	printed := map[[2]string]*strings.Builder{} // package and test to what it printed
	failedIn := map[string]int{}                // package to its failed tests
	builds := map[string]*strings.Builder{}     // import path to what its build printed
	dec := jsontext.NewDecoder(r)
	for {
		var ev event
		if err := json.UnmarshalDecode(dec, &ev); errors.Is(err, io.EOF) {
			return counts, nil
		} else if err != nil {
			return counts, err
		}
		key := [2]string{ev.Package, ev.Test}
		switch ev.Action {
		case "output":
			keep(printed, key, ev.Output)
		case "build-output":
			keep(builds, ev.ImportPath, ev.Output)
		case "pass", "fail", "skip":
			text := take(printed, key)
			if ev.Test != "" {
				countTest(&counts, ev, text, failedIn, out)
				continue
			}
			counts.Packages++
			if ev.Action == "fail" && failedIn[ev.Package] == 0 {
				counts.Failed++
				fmt.Fprint(out, take(builds, ev.FailedBuild))
			}
			if ev.Action == "fail" {
				// A panic, a late race or a time-out is told here, and tests
				// that it cut short never got a verdict.
				fmt.Fprint(out, unfinished(printed, ev.Package), text)
			} else {
				fmt.Fprint(out, lastLine(text))
			}
		}
	}
}

func countTest(counts *Counts, ev event, text string, failedIn map[string]int, out io.Writer) {
	switch ev.Action {
	case "pass":
		counts.Passed++
	case "skip":
		counts.Skipped++
		fmt.Fprint(out, text)
	case "fail":
		counts.Failed++
		failedIn[ev.Package]++
		fmt.Fprint(out, text)
	}
}

func keep[K comparable](m map[K]*strings.Builder, key K, text string) {
	if m[key] == nil {
		m[key] = &strings.Builder{}
	}
	m[key].WriteString(text)
}

func take[K comparable](m map[K]*strings.Builder, key K) string {
	if m[key] == nil {
		return ""
	}
	text := m[key].String()
	delete(m, key)
	return text
}

// unfinished takes what tests of the package printed that never ended.
func unfinished(printed map[[2]string]*strings.Builder, pkg string) string {
	var names []string
	for key := range printed {
		if key[0] == pkg && key[1] != "" {
			names = append(names, key[1])
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(take(printed, [2]string{pkg, name}))
	}
	return b.String()
}

// lastLine is the summary go test gives a package, after what its tests printed.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:] + "\n"
}
