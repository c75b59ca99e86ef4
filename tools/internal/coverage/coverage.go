// Package coverage reads the lists of testable rules, the comments by which
// tests cite them, and writes the pages that show which test holds which rule.
//
// A test cites rules in a comment above or inside its function, or in the
// heading of a txtar script:
//
//	// rule: W-017, A-044
//
// A test that repeats a fault which users of comparable programs reported is
// called TestComplaint, the fault's number and a name, and says so above:
//
//	// complaint: 16 owner/project#1 - the symptom in one line
//
// A citation that cannot be read, names no known rule or hangs on no test is
// refused: a rule is either held by a test that can be named, or it is not.
//
// # Limits
//
// None; the input is the repository.
//
// # Errors
//
// Faults in tests are returned as lines that begin with file and line.
//
// # Concurrency
//
// Functions only; they keep nothing.
package coverage

import (
	"fmt"
	"regexp"
	"strings"
)

// Rule is one line of a rules file. It is a value.
type Rule struct {
	ID     string
	Source string // the page and section that it comes from
	Issue  string // the title number of the issue that it belongs to, or "later"
	Text   string
}

var (
	ruleID      = regexp.MustCompile(`^[A-Z]-[0-9]{3}$`)
	ruleIssue   = regexp.MustCompile(`^(?:[1-9][0-9]*|later)$`)
	complaintID = regexp.MustCompile(`^(?:[1-9][0-9]*|B[1-9]\.[1-9][0-9]*)$`)
)

// ParseRules reads a rules file: ID, source, issue and text separated by tabs.
func ParseRules(file, text string) ([]Rule, error) {
	var list []Rule
	seen := map[string]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(line, "\t")
		if len(field) != 4 {
			return nil, fmt.Errorf("%s:%d: want 4 fields separated by tabs, have %d", file, n, len(field))
		}
		r := Rule{ID: field[0], Source: field[1], Issue: field[2], Text: field[3]}
		switch {
		case !ruleID.MatchString(r.ID):
			return nil, fmt.Errorf("%s:%d: %q is no rule ID; one looks like W-017", file, n, r.ID)
		case !ruleIssue.MatchString(r.Issue):
			return nil, fmt.Errorf("%s:%d: %q is no issue; want a number or later", file, n, r.Issue)
		case r.Text == "":
			return nil, fmt.Errorf("%s:%d: %s has no text", file, n, r.ID)
		case seen[r.ID] != 0:
			return nil, fmt.Errorf("%s:%d: %s already stands in line %d", file, n, r.ID, seen[r.ID])
		}
		seen[r.ID] = n
		list = append(list, r)
	}
	return list, nil
}

// ParseFinished reads the list of finished issues, one title number a line.
func ParseFinished(file, text string) (map[string]bool, error) {
	done := map[string]bool{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !ruleIssue.MatchString(line) || line == "later" {
			return nil, fmt.Errorf("%s:%d: %q is no issue number", file, n, line)
		}
		done[line] = true
	}
	return done, nil
}

// ParseComplaints reads the list of complaints that issues promise tests for:
// number and issue separated by a tab.
func ParseComplaints(file, text string) (map[string]string, error) {
	issues := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, issue, ok := strings.Cut(line, "\t")
		if !ok || !complaintID.MatchString(id) || !ruleIssue.MatchString(issue) {
			return nil, fmt.Errorf("%s:%d: want a complaint's number and its issue separated by a tab", file, n)
		}
		if issues[id] != "" {
			return nil, fmt.Errorf("%s:%d: complaint %s stands here twice", file, n, id)
		}
		issues[id] = issue
	}
	return issues, nil
}
