package coverage

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// List is one rules file. It is a value.
type List struct {
	Title string
	Rules []Rule
}

// Tally counts the rules of one issue. It is a value.
type Tally struct {
	Issue       string
	Rules       int
	Cited       int
	FirstUncite []string // the first few that no test cites
}

// Count tallies the lists by issue, in the order of the issues; "later" comes last.
func Count(lists []List, c *Citations) []Tally {
	by := map[string]*Tally{}
	for _, list := range lists {
		for _, r := range list.Rules {
			t := by[r.Issue]
			if t == nil {
				t = &Tally{Issue: r.Issue}
				by[r.Issue] = t
			}
			t.Rules++
			if len(c.Rules[r.ID]) > 0 {
				t.Cited++
			} else if len(t.FirstUncite) < 10 {
				t.FirstUncite = append(t.FirstUncite, r.ID)
			}
		}
	}
	var tallies []Tally
	for _, t := range by {
		tallies = append(tallies, *t)
	}
	slices.SortFunc(tallies, func(a, b Tally) int {
		if (a.Issue == "later") != (b.Issue == "later") {
			if a.Issue == "later" {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Issue, b.Issue)
	})
	return tallies
}

// Unknown returns a line for each citation of a rule that no list holds.
func Unknown(lists []List, c *Citations) []string {
	known := map[string]bool{}
	for _, list := range lists {
		for _, r := range list.Rules {
			known[r.ID] = true
		}
	}
	var lines []string
	for id, tests := range c.Rules {
		for _, t := range tests {
			if !known[id] {
				lines = append(lines, fmt.Sprintf("%s: %s cites %s, which no rules file holds", t.File, t, id))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

const header = `<!-- Written by "go run ./tools/cmd/check -write"; changes by hand are lost. -->
`

// ConformancePage shows for every rule the tests that would fail without it. It
// is written for the folder docs and depends on nothing but its arguments.
func ConformancePage(lists []List, c *Citations) string {
	var b strings.Builder
	b.WriteString("# Conformance\n\n" + header + `
Every testable rule of the specifications, and the tests that would fail without
it. A rule without a test is shown as open; a rule of a finished issue may not be
open.

`)
	b.WriteString("| issue | rules | with a test |\n| --- | ---: | ---: |\n")
	for _, t := range Count(lists, c) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", t.Issue, t.Rules, t.Cited)
	}
	for _, list := range lists {
		fmt.Fprintf(&b, "\n## %s\n\n| rule | source | issue | what must hold | tests |\n| --- | --- | --- | --- | --- |\n", list.Title)
		for _, r := range list.Rules {
			tests := "open"
			if cited := c.Rules[r.ID]; len(cited) > 0 {
				tests = links(cited)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.ID, cell(r.Source), r.Issue, cell(r.Text), tests)
		}
	}
	return b.String()
}

// ComplaintsPage shows the reported faults that have a test here.
func ComplaintsPage(c *Citations) string {
	var b strings.Builder
	b.WriteString("# Complaints\n\n" + header + `
Faults that users of comparable programs reported in public. Each has a test here
that would show the same fault in this repository.

| number | reported as | symptom | test |
| --- | --- | --- | --- |
`)
	for _, k := range c.Complaints {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", k.ID, cell(k.Reference), cell(k.Symptom), links([]Test{k.Test}))
	}
	return b.String()
}

func links(tests []Test) string {
	var all []string
	for _, t := range tests {
		all = append(all, fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(t.String(), path.Ext(t.String())), t.File))
	}
	return strings.Join(all, ", ")
}

// cell makes text safe for a table cell.
func cell(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "\n", " ", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}
