package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

type targetRecord struct {
	Target string `json:"target"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitzero"`
}

type grantRecord struct {
	Binding        string      `json:"binding"`
	Slot           string      `json:"slot"`
	Client         string      `json:"client"`
	Model          *string     `json:"model"`          // nil: the client's own choice
	Authentication *string     `json:"authentication"` // nil: not examined
	Executable     *string     `json:"executable"`     // nil: not examined
	MaxTurns       int         `json:"maxTurns"`
	RetainSessions bool        `json:"retainSessions"`
	Origin         grantOrigin `json:"origin"`

	declared *author.ACP // what the project has, where the argument made another of it
	endpoint string      // empty: the client's own
	provider project.Provider
}

type grantOrigin struct {
	Client string `json:"client"`
	Model  string `json:"model"`
}

// reviewEnding is the record of a review, and what a person reads.
func (a *app) reviewEnding(r *reviewed) ending {
	rec := record{
		"status": r.status, "format": project.Format, "changes": []review.Change{}, "targets": []targetRecord{}, "grants": []grantRecord{},
	}
	list := []project.Diagnostic{}
	if r.err != nil {
		list = append(list, r.err.listed()...)
	}
	if r.plan != nil {
		list = append(list, r.plan.Candidate.Warnings...)
		if r.plan.Changes != nil {
			rec["changes"] = r.plan.Changes
		}
		rec["targets"], rec["grants"] = targetRecords(r.plan.Candidate.Meaning), grantRecords(r.plan.Candidate)
		rec["digest"] = r.plan.Digest
		if r.plan.Base > 0 {
			rec["base"] = r.plan.Base
		}
	}
	if r.number > 0 {
		rec["generation"] = r.number
	}
	rec["diagnostics"] = list
	e := ending{record: rec, exit: r.exit()}
	if r.plan != nil && !r.shown {
		text := planText(a.outStyle, r)
		if a.json {
			text = planText(a.errStyle, r)
			fmt.Fprint(a.stderr, text)
		} else {
			e.human = text
		}
	}
	if r.err != nil {
		a.complain(r.err)
	}
	if r.plan != nil {
		for _, d := range r.plan.Candidate.Warnings {
			a.diagnose(d)
		}
	}
	switch {
	case r.status == statusApproved && a.json:
		a.say("approved as generation %d", r.number)
	case r.status == statusApproved:
		e.human += fmt.Sprintf("approved as generation %d\n", r.number)
	}
	return e
}

// listed are the diagnostics of a refusal in a record that has no code of its own: the
// refusal first, but where it is only the heading of one that has its code.
func (r *refusal) listed() []project.Diagnostic {
	heading := slices.ContainsFunc(r.diagnostics, func(d project.Diagnostic) bool { return d.Code == r.code })
	if heading && r.hint == "" {
		return r.diagnostics
	}
	return append([]project.Diagnostic{{Code: r.code, Message: r.message, Hint: r.hint}}, r.diagnostics...)
}

func targetRecords(m *project.Meaning) []targetRecord {
	list := []targetRecord{}
	for _, name := range slices.Sorted(maps.Keys(m.Targets)) {
		t := m.Targets[name]
		list = append(list, targetRecord{name, t.Ready, t.Reason})
	}
	return list
}

func grantRecords(c *project.Candidate) []grantRecord {
	list, m := []grantRecord{}, c.Meaning
	for _, name := range slices.Sorted(maps.Keys(m.Targets)) {
		id, binding := strings.CutPrefix(name, "binding:")
		if !binding {
			continue
		}
		for _, slot := range slices.Sorted(maps.Keys(m.Targets[name].Slots)) {
			s := m.Targets[name].Slots[slot]
			g, err := author.ParseGrant(s.Grant)
			if s.Kind != project.KindACP || err != nil {
				continue
			}
			list = append(list, grantOf(c, id, slot, s, g.ACP))
		}
	}
	return list
}

// grantOf says what a slot is lent, and who decided it.
func grantOf(c *project.Candidate, id, slot string, s project.Slot, g *author.ACP) grantRecord {
	r := grantRecord{
		Binding: id, Slot: slot, Client: g.Client, MaxTurns: max(g.MaxTurns, 1), RetainSessions: g.RetainSessions,
		Origin: grantOrigin{Client: originProject, Model: project.ModelFromClient},
	}
	if c.Agent != "" {
		r.Origin.Client = originArgument
	}
	if g.Model != "" {
		r.Model, r.Origin.Model = &g.Model, originProject
	}
	if s.Shown == nil {
		return r
	}
	r.Authentication, r.Executable, r.Origin.Model = &s.Shown.Authentication, &s.Shown.Executable, s.Shown.ModelFrom
	if s.Shown.Model != "" {
		r.Model = &s.Shown.Model
	}
	if declared, err := author.ParseGrant(s.Declared); s.Declared != nil && err == nil {
		r.declared = declared.ACP
	}
	r.provider = c.Meaning.Providers[s.Provider]
	if e := r.provider.Endpoint; e != nil {
		r.endpoint = *e
	}
	return r
}

// Origins of a grant's client and model, beside those of package project.
const (
	originProject  = project.ModelFromGrant
	originArgument = "argument"
)

var symbols = map[string]string{review.OpAdd: "+", review.OpChange: "~", review.OpRemove: "-"}
var opColors = map[string]string{review.OpAdd: green, review.OpChange: yellow, review.OpRemove: red}

// planText is the plan for a person: what changes, authority first, and which
// targets there are.
func planText(s style, r *reviewed) string {
	p := r.plan
	var b strings.Builder
	if p.Unchanged() {
		b.WriteString("nothing has changed since the last review\n")
	} else {
		b.WriteString(s.paint(bold, "Changes") + "\n")
	}
	for _, c := range p.Changes {
		mark := " "
		if c.Authority() {
			mark = s.paint(red, "!")
		}
		head := fmt.Sprintf("%-11s %s", c.Kind, escape(c.Subject))
		fmt.Fprintf(&b, "%s %s %s\n", mark, s.paint(opColors[c.Op], symbols[c.Op]), s.wrap(head, 4))
		for _, line := range changeLines(s, c, r.o.details) {
			fmt.Fprintf(&b, "      %s\n", s.wrap(line, 6))
		}
		for _, line := range r.shownFiles(c) {
			fmt.Fprintf(&b, "        %s\n", s.wrap(line, 10))
		}
	}
	if p.Authority() {
		b.WriteString(s.wrap("! changes what the project may do", 0) + "\n")
	}
	b.WriteString(s.paint(bold, "Targets") + "\n")
	for _, t := range targetRecords(p.Candidate.Meaning) {
		mark, text := s.paint(green, s.yes()), escape(t.Target)
		if !t.Ready {
			mark, text = s.paint(red, s.no()), text+" (not runnable: "+escape(t.Reason)+")"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, s.wrap(text, 4))
	}
	if len(p.Candidate.Meaning.Targets) == 0 {
		b.WriteString("  " + s.wrap("none; a Flow is a folder with a FLOW.ts in it, below a folder that flows of jig.ts or jig.json names", 2) + "\n")
	}
	for _, g := range grantRecords(p.Candidate) {
		fmt.Fprintf(&b, "  %s\n", s.wrap("binding:"+escape(g.Binding)+"#"+escape(g.Slot)+" is lent "+g.Client, 4))
		for _, line := range grantLines(g, r.o.details) {
			fmt.Fprintf(&b, "      %s\n", s.wrap(line, 8))
		}
	}
	fmt.Fprintf(&b, "plan %s\n", p.Digest)
	return b.String()
}

// grantLines say who is lent what, and from whom each part of it comes; whole, with
// everything that an examined client is started with.
func grantLines(g grantRecord, whole bool) []string {
	or := func(p *string, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return escape(*p)
	}
	from := g.Client + ", " + originText(g.Origin.Client)
	if g.declared != nil {
		from += "; the project has " + g.declared.Client
		if g.declared.Model != "" {
			from += " with model " + escape(g.declared.Model) + ", which is dropped"
		}
	}
	rows := []row{
		{"client", from}, {"model", or(g.Model, "not named") + ", " + originText(g.Origin.Model)},
		{"sign-in", or(g.Authentication, "not examined")},
	}
	examined := whole && g.provider.Executable != nil
	if !examined {
		rows = append(rows, row{"executable", or(g.Executable, "not examined")})
	}
	if g.endpoint != "" {
		rows = append(rows, row{"endpoint", escape(g.endpoint)})
	}
	rows = append(rows, row{"prompts", fmt.Sprintf("%d at most in a conversation", g.MaxTurns)})
	switch {
	case g.RetainSessions && g.Client == string(nativeinspect.Codex):
		rows = append(rows, row{"sessions", "may be kept"})
	case g.RetainSessions:
		rows = append(rows, row{"sessions", "may be kept, which " + g.Client + " cannot"})
	}
	if examined {
		rows = append(rows, startRows(g.provider)...)
	}
	return aligned(marked("", rows))
}

// originText says who decided a part of a grant.
func originText(origin string) string {
	switch origin {
	case originArgument:
		return "from --agent"
	case project.ModelFromOperator:
		return "from the operator's environment"
	case project.ModelFromClient:
		return "its own choice"
	}
	return "from the project"
}

// startRows are everything that an examined client is started with and that
// grantLines has not said: with it, what its identity is made of.
func startRows(p project.Provider) []row {
	b, err := json0.Marshal(p)
	if err != nil {
		return nil
	}
	m := members(b)
	for _, said := range []string{"kind", "contract", "client", "model", "mode", "endpoint"} {
		delete(m, said)
	}
	return providerRows(m)
}

// changeLines are the lines below a change, one item each: of what is new or gone,
// all; of what is another one, in short only what differs.
func changeLines(s style, c review.Change, whole bool) []string {
	before, after := rowsOf(c.Kind, c.Before), rowsOf(c.Kind, c.After)
	switch {
	case c.Before == nil || c.After == nil:
		return aligned(marked("", slices.Concat(before, after)))
	case whole:
		return aligned(slices.Concat(marked("- ", before), marked("+ ", after)))
	}
	was, is := byLabel(before), byLabel(after)
	var rows []markedRow
	seen := map[string]bool{}
	for _, r := range slices.Concat(before, after) {
		if !seen[r.label] {
			seen[r.label] = true
			rows = append(rows, differing(s, r.label, was[r.label], is[r.label])...)
		}
	}
	lines := aligned(rows)
	if c.Kind == review.KindSettings && len(lines) > plannedSettings {
		lines = append(lines[:plannedSettings], fmt.Sprintf("and %d more, with --details", len(lines)-plannedSettings))
	}
	return lines
}

// plannedSettings is how many settings a plan names where nobody asked for details.
const plannedSettings = 40

// byLabel are the values of each label, in their order.
func byLabel(rows []row) map[string][]string {
	all := map[string][]string{}
	for _, r := range rows {
		all[r.label] = append(all[r.label], r.value)
	}
	return all
}

// differing are the rows of one label that are not the same on both sides. Variables
// have no order; any other list has: what stands at its beginning and end on both
// sides is left out.
func differing(s style, label string, was, is []string) []markedRow {
	if label == labelVariable {
		was, is = lacking(was, is), lacking(is, was)
	}
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	switch {
	case len(was) == 1 && len(is) == 1:
		if text := was[0] + " " + s.arrow() + " " + is[0]; cells(text) <= maxArrow {
			return []markedRow{{"", row{label, text}}}
		}
	case len(is) > 1 && slices.Equal(was, []string{noItem}):
		was = nil
	case len(was) > 1 && slices.Equal(is, []string{noItem}):
		is = nil
	}
	var rows []markedRow
	for _, value := range was {
		rows = append(rows, markedRow{"- ", row{label, value}})
	}
	for _, value := range is {
		rows = append(rows, markedRow{"+ ", row{label, value}})
	}
	return rows
}

// maxArrow is how many columns two values on one line may take.
const maxArrow = 72

// lacking are the values that others does not have.
func lacking(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

func marked(mark string, rows []row) []markedRow {
	var all []markedRow
	for _, r := range rows {
		all = append(all, markedRow{mark, r})
	}
	return all
}

// maxLabel is how wide the labels of a list may make it.
const maxLabel = 32

// aligned puts the values of rows below each other, but those behind a long label.
func aligned(rows []markedRow) []string {
	width, marks := 0, 0
	for _, r := range rows {
		width, marks = max(width, min(cells(r.label), maxLabel)), max(marks, len(r.mark))
	}
	var lines []string
	for _, r := range rows {
		label := r.label
		if width > 0 {
			label += strings.Repeat(" ", max(width-cells(label), 0)+2)
		}
		lines = append(lines, fmt.Sprintf("%-*s", marks, r.mark)+label+r.value)
	}
	return lines
}

// plainly is a value in words.
func plainly(v jsontext.Value) string {
	switch string(v) {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return compact(v)
}

func members(v jsontext.Value) map[string]jsontext.Value {
	if v.Kind() != '{' {
		return nil
	}
	m := map[string]jsontext.Value{}
	if json0.Decode(v, &m) != nil {
		return nil
	}
	return m
}

// compact is a value as text: a string without its quotes, anything else as JSON.
func compact(v jsontext.Value) string {
	var text string
	if v.Kind() == '"' && json0.Decode(v, &text) == nil {
		return escape(text)
	}
	return escape(string(v))
}
