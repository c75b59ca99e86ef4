package review

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Ops of changes.
const (
	OpAdd    = "add"
	OpChange = "change"
	OpRemove = "remove"
)

// Kinds of changes, in the order in which they are shown: authority first.
const (
	KindGrant       = "grant"
	KindProvider    = "provider"
	KindEnvironment = "environment"
	KindAgents      = "agents"
	KindTarget      = "target"
	KindPackage     = "package"
	KindSettings    = "settings"
	KindSlot        = "slot"
	KindContract    = "contract"
	KindDefault     = "default"
	KindLock        = "lock"
)

var kindOrder = []string{
	KindGrant, KindProvider, KindEnvironment, KindAgents, KindTarget, KindPackage, KindSettings, KindSlot, KindContract, KindDefault, KindLock,
}

// Change is one difference between what was admitted and what would be.
type Change struct {
	Kind    string         `json:"kind"`
	Op      string         `json:"op"`
	Subject string         `json:"subject"`
	Before  jsontext.Value `json:"before,omitzero"`
	After   jsontext.Value `json:"after,omitzero"`
}

// Authority says whether c gives somebody a power that was not approved.
func (c Change) Authority() bool {
	switch c.Kind {
	case KindGrant, KindProvider:
		return c.Op != OpRemove
	case KindEnvironment:
		return c.Op == OpChange && c.Subject != subjectBwrap
	}
	return false
}

const (
	subjectBwrap   = "bwrap"
	subjectProxy   = "proxy"
	subjectNoProxy = "no-proxy"
	subjectCA      = "ca"
)

// Continuity is what makes a grant the same grant (finite-acp 7b); the Binding
// and the slot are the change's subject.
type continuity struct {
	Package  string             `json:"package"`
	Contract *contract.Identity `json:"contract"`
	Policy   jsontext.Value     `json:"policy"`
}

// differ collects changes.
type differ struct{ changes []Change }

// value compares one value, where nil is one that is not there.
func (d *differ) value(kind, subject string, before, after any) error {
	var c Change
	var err error
	if c.Before, err = marshal(before); err != nil {
		return err
	}
	if c.After, err = marshal(after); err != nil {
		return err
	}
	switch {
	case c.Before == nil && c.After == nil || bytes.Equal(c.Before, c.After):
		return nil
	case c.Before == nil:
		c.Op = OpAdd
	case c.After == nil:
		c.Op = OpRemove
	default:
		c.Op = OpChange
	}
	c.Kind, c.Subject = kind, subject
	d.changes = append(d.changes, c)
	return nil
}

func marshal(v any) (jsontext.Value, error) {
	if v == nil {
		return nil, nil
	}
	return json0.Marshal(v)
}

// Diff lists what of after is not as in before.
func Diff(before, after *project.Meaning) ([]Change, error) {
	d := &differ{}
	for _, compare := range []func(a, b *project.Meaning) error{d.environment, d.targets, d.rest} {
		if err := compare(before, after); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(d.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)), cmp.Compare(a.Subject, b.Subject))
	})
	return d.changes, nil
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (d *differ) environment(a, b *project.Meaning) error {
	if err := d.value(KindEnvironment, subjectBwrap, text(a.Environment.Bwrap), text(b.Environment.Bwrap)); err != nil {
		return err
	}
	was, is := a.Environment.Reach, b.Environment.Reach
	if is == nil {
		is = &project.ReachFacts{} // nothing reaches out any more
	}
	if was == nil {
		was = &project.ReachFacts{}
	}
	for _, f := range []struct {
		subject       string
		before, after *string
	}{{subjectProxy, was.Proxy, is.Proxy}, {subjectNoProxy, was.NoProxy, is.NoProxy}, {subjectCA, was.CA, is.CA}} {
		if err := d.pointer(f.subject, f.before, f.after, a.Environment.Reach != nil && b.Environment.Reach != nil); err != nil {
			return err
		}
	}
	return nil
}

// pointer compares one fact of how grants reach out. Where there were grants
// before and there are now, even a fact that appears changes what was approved.
func (d *differ) pointer(subject string, before, after *string, change bool) error {
	none := any(nil)
	if change {
		none = "none"
	}
	of := func(s *string) any {
		if s == nil {
			return none
		}
		return *s
	}
	return d.value(KindEnvironment, subject, of(before), of(after))
}

func (d *differ) targets(a, b *project.Meaning) error {
	for _, name := range union(a.Targets, b.Targets) {
		was, had := a.Targets[name]
		is, has := b.Targets[name]
		if err := d.value(KindTarget, name, shown(was, had), shown(is, has)); err != nil {
			return err
		}
		for _, slot := range union(was.Slots, is.Slots) {
			if err := d.slot(name+"#"+slot, a, b, was, is, slot); err != nil {
				return err
			}
		}
		if !had || !has {
			continue // what a new target has, it has with it
		}
		if err := d.value(KindSettings, name, was.Settings, is.Settings); err != nil {
			return err
		}
		if err := d.value(KindContract, name, identity(was.Contract), identity(is.Contract)); err != nil {
			return err
		}
	}
	return nil
}

// shown is what of a target is a change of the target itself.
func shown(t project.Target, there bool) any {
	if !there {
		return nil
	}
	return struct {
		Package     string `json:"package"`
		NotRunnable bool   `json:"notRunnable,omitzero"`
	}{t.Package, !t.Ready}
}

func identity(i *contract.Identity) any {
	if i == nil {
		return nil
	}
	return i
}

func (d *differ) slot(subject string, a, b *project.Meaning, was, is project.Target, name string) error {
	before, had := was.Slots[name]
	after, has := is.Slots[name]
	if err := d.value(KindGrant, subject, granted(was, before), granted(is, after)); err != nil {
		return err
	}
	if before.Grant != nil && after.Grant != nil && before.Provider != after.Provider {
		if err := d.provider(subject, a.Providers, b.Providers, before, after); err != nil {
			return err
		}
	}
	return d.value(KindSlot, subject, filled(before, had), filled(after, has))
}

func granted(t project.Target, s project.Slot) any {
	if s.Grant == nil {
		return nil
	}
	return continuity{t.Package, s.Contract, s.Grant}
}

func filled(s project.Slot, there bool) any {
	if !there || s.Kind != project.KindTarget && s.Kind != project.KindNone {
		return nil
	}
	return struct {
		Kind   string `json:"kind"`
		Origin string `json:"origin,omitzero"`
		Target string `json:"target,omitzero"`
	}{s.Kind, s.Origin, s.Target}
}

func (d *differ) rest(a, b *project.Meaning) error {
	for _, p := range union(a.Packages, b.Packages) {
		if err := d.value(KindPackage, p, text(a.Packages[p]), text(b.Packages[p])); err != nil {
			return err
		}
	}
	for _, id := range union(a.DefaultProviders, b.DefaultProviders) {
		if err := d.value(KindDefault, id, text(a.DefaultProviders[id]), text(b.DefaultProviders[id])); err != nil {
			return err
		}
	}
	agents := func(m *project.Meaning) any {
		if len(m.Agents) == 0 {
			return nil
		}
		return m.Agents
	}
	return d.value(KindAgents, "agents", agents(a), agents(b))
}

func union[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
