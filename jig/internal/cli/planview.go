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
		b.WriteString("  none\n")
	}
	for _, g := range grantRecords(p.Candidate) {
		fmt.Fprintf(&b, "  %s\n", s.wrap(grantLine(g), 4))
		if !r.o.details {
			continue
		}
		for _, line := range providerLines(g.provider) {
			fmt.Fprintf(&b, "      %s\n", s.wrap(line, 8))
		}
	}
	fmt.Fprintf(&b, "plan %s\n", p.Digest)
	return b.String()
}

func grantLine(g grantRecord) string {
	or := func(p *string, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return escape(*p)
	}
	from := g.Client + " (from " + g.Origin.Client + ")"
	if g.declared != nil {
		from = fmt.Sprintf("%s (from %s; the project has %s", g.Client, g.Origin.Client, g.declared.Client)
		if g.declared.Model != "" {
			from += " with model " + escape(g.declared.Model) + ", which is dropped"
		}
		from += ")"
	}
	line := fmt.Sprintf("binding:%s#%s is lent %s, model %s (from %s), authentication %s, executable %s",
		escape(g.Binding), escape(g.Slot), from, or(g.Model, "of the client"), g.Origin.Model, or(g.Authentication, "not examined"), or(g.Executable, "not examined"))
	if g.endpoint != "" {
		line += ", endpoint " + escape(g.endpoint)
	}
	line += fmt.Sprintf(", %d turns", g.MaxTurns)
	if g.MaxTurns == 1 {
		line = strings.TrimSuffix(line, "s")
	}
	switch {
	case g.RetainSessions && g.Client == string(nativeinspect.Codex):
		line += ", may keep sessions"
	case g.RetainSessions:
		line += ", may keep sessions, which " + g.Client + " cannot"
	}
	return line
}

// providerLines are everything that an examined client is started with: what its
// identity is made of.
func providerLines(p project.Provider) []string {
	if p.Executable == nil {
		return nil
	}
	program := func(role string, e *project.ProviderExecutable) string {
		return fmt.Sprintf("%s %s %s", role, escape(e.Path), e.Digest)
	}
	lines := []string{program("executable", p.Executable)}
	if p.Helper != nil {
		lines = append(lines, program("helper", p.Helper))
	}
	for _, f := range p.Files {
		lines = append(lines, fmt.Sprintf("%s %s %s", f.Role, escape(f.Path), f.Digest))
	}
	if p.Adapter != nil {
		lines = append(lines, "adapter "+*p.Adapter)
	}
	for _, a := range p.Argv {
		lines = append(lines, `argument "`+strings.ReplaceAll(escape(a), `"`, `\"`)+`"`)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		lines = append(lines, "variable "+escape(name+"="+p.Env[name]))
	}
	return lines
}

// changeLines are the lines below a change: what it was and what it is. In short
// only what differs is shown, of an object member by member.
func changeLines(s style, c review.Change, whole bool) []string {
	if whole {
		var lines []string
		if c.Before != nil {
			lines = append(lines, "- "+compact(c.Before))
		}
		if c.After != nil {
			lines = append(lines, "+ "+compact(c.After))
		}
		return lines
	}
	before, after := members(c.Before), members(c.After)
	if before == nil && after == nil {
		switch {
		case c.Before == nil:
			return []string{compact(c.After)}
		case c.After == nil:
			return []string{compact(c.Before)}
		}
		return []string{compact(c.Before) + " " + s.arrow() + " " + compact(c.After)}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(merge(before, after))) {
		was, is := before[name], after[name]
		switch {
		case string(was) == string(is):
		case was == nil:
			lines = append(lines, plain(name)+" "+plainly(is))
		case is == nil:
			lines = append(lines, plain(name)+" "+plainly(was))
		default:
			lines = append(lines, plain(name)+" "+plainly(was)+" "+s.arrow()+" "+plainly(is))
		}
	}
	return lines
}

// plainWords are the members of a change that are no words by themselves.
var plainWords = map[string]string{"notRunnable": "not runnable:", "nestedUserns": "user namespaces of its own:", "maxTurns": "turns", "retainSessions": "may keep sessions:"}

func plain(name string) string {
	if words, ok := plainWords[name]; ok {
		return words
	}
	return escape(name)
}

// plainly is a value of such a member.
func plainly(v jsontext.Value) string {
	switch string(v) {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return compact(v)
}

func merge(a, b map[string]jsontext.Value) map[string]jsontext.Value {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]jsontext.Value{}
	}
	maps.Copy(all, b)
	return all
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
