package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/coverage"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Where the lists of rules and the pages written from them stand.
const (
	rulesFolder     = "tools/rules"
	conformancePage = "docs/conformance.md"
	complaintsPage  = "docs/complaints.md"
)

func citations(e *Env) (*coverage.Citations, error) {
	files, err := workspace.Files(e.Work.Root)
	if err != nil {
		return nil, err
	}
	return coverage.Read(files, func(file string) ([]byte, error) { return workspace.Read(e.Work.Root, file) })
}

func readList[T any](e *Env, name string, parse func(file, text string) (T, error)) (T, error) {
	file := rulesFolder + "/" + name
	data, err := workspace.Read(e.Work.Root, file)
	if err != nil {
		var none T
		return none, err
	}
	return parse(file, string(data))
}

func ruleLists(e *Env) ([]coverage.List, error) {
	var lists []coverage.List
	for _, program := range []string{"magid", "jig"} {
		list, err := readList(e, "rules-"+program+".tsv", coverage.ParseRules)
		if err != nil {
			return nil, err
		}
		lists = append(lists, coverage.List{Title: program, Rules: list})
	}
	return lists, nil
}

// rules holds the citations against the lists, and the page against both.
func rules(_ context.Context, e *Env) (string, error) {
	lists, err := ruleLists(e)
	if err != nil {
		return "", err
	}
	finished, err := readList(e, "finished", coverage.ParseFinished)
	if err != nil {
		return "", err
	}
	cited, err := citations(e)
	if err != nil {
		return "", err
	}
	p := Problems(slices.DeleteFunc(slices.Clone(cited.Problems), aboutComplaint))
	p = append(p, coverage.Unknown(lists, cited)...)
	var notes []string
	for _, t := range coverage.Count(lists, cited) {
		note := fmt.Sprintf("issue %s: %d of %d", t.Issue, t.Cited, t.Rules)
		notes = append(notes, note)
		if finished[t.Issue] && t.Cited < t.Rules {
			p.add("%s/finished: %s rules have a test; open are %s, …", rulesFolder, note, strings.Join(t.FirstUncite, ", "))
		}
	}
	p = append(p, page(e, conformancePage, coverage.ConformancePage(lists, cited))...)
	return strings.Join(notes, ", "), p.Err()
}

// complaints holds the complaint tests against what the issues promise.
func complaints(_ context.Context, e *Env) (string, error) {
	promised, err := readList(e, "complaints.tsv", coverage.ParseComplaints)
	if err != nil {
		return "", err
	}
	finished, err := readList(e, "finished", coverage.ParseFinished)
	if err != nil {
		return "", err
	}
	cited, err := citations(e)
	if err != nil {
		return "", err
	}
	p := Problems(slices.DeleteFunc(slices.Clone(cited.Problems), func(s string) bool { return !aboutComplaint(s) }))
	tested := map[string]bool{}
	for _, k := range cited.Complaints {
		tested[k.ID] = true
	}
	for id, issue := range promised {
		if finished[issue] && !tested[id] {
			p.add("%s/complaints.tsv: issue %s is finished and complaint %s has no test", rulesFolder, issue, id)
		}
	}
	slices.Sort(p)
	p = append(p, page(e, complaintsPage, coverage.ComplaintsPage(cited))...)
	return fmt.Sprintf("%d with a test, %d promised", len(tested), len(promised)), p.Err()
}

func aboutComplaint(problem string) bool { return strings.Contains(problem, "omplaint") }

// page compares a generated page with the one in the tree, or writes it.
func page(e *Env, file, want string) Problems {
	have, err := workspace.Read(e.Work.Root, file)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Problems{err.Error()}
	case string(have) == want:
		return nil
	case !e.Write:
		return Problems{file + ": older than the tests; go run ./tools/cmd/check -run rules,complaints -write"}
	}
	name := filepath.Join(e.Work.Root, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return Problems{err.Error()}
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		return Problems{err.Error()}
	}
	return nil
}
