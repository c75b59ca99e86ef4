package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// draft is a target that is being linked.
type draft struct {
	selector string
	place    string // where it is declared
	path     string // of the package
	pkg      *flowpkg.Package
	settings jsontext.Value
	explicit map[string]author.Slot

	slots  map[string]Slot
	reason string // why it is not ready
	state  int
	depth  int // levels below it
	digest string
}

const (
	untouched = iota
	visiting
	finished
)

type linker struct {
	*loader
	drafts map[string]*draft
	reach  *Reach
	opened map[[2]string]*Client
	failed map[[2]string]bool

	providers map[string]Provider // of examined clients, by digest
}

// link works out what every target is.
func (l *loader) link(ctx context.Context) (*Meaning, error) {
	k := &linker{loader: l, drafts: map[string]*draft{}, opened: map[[2]string]*Client{}, failed: map[[2]string]bool{}, providers: map[string]Provider{}}
	for _, p := range l.flowList {
		k.drafts["flow:"+p] = &draft{selector: "flow:" + p, place: p, path: p, pkg: l.packages[p], settings: jsontext.Value("{}")}
	}
	for id, b := range l.bindings {
		k.drafts["binding:"+id] = &draft{
			selector: "binding:" + id, place: l.places["binding:"+id], path: b.Package, pkg: l.packages[b.Package], settings: b.Settings, explicit: b.Slots,
		}
	}
	k.checkDefaults()
	order := slices.Sorted(maps.Keys(k.drafts))
	for _, name := range order {
		if err := k.fill(ctx, k.drafts[name]); err != nil {
			return nil, err
		}
	}
	m := Empty()
	m.Environment.Bwrap = l.Bwrap
	if len(k.providers) > 0 {
		m.Providers = k.providers
	}
	if k.reach != nil {
		facts := k.reach.Facts()
		m.Environment.Reach = &facts
	}
	if l.project.Agents != nil {
		m.Agents = l.project.Agents
	}
	for id, s := range l.project.DefaultProviders {
		m.DefaultProviders[id] = s.String()
	}
	for p, captured := range l.packages {
		m.Packages[p] = captured.Digest
	}
	for _, name := range order {
		d := k.drafts[name]
		if err := k.finish(d); err != nil {
			return nil, err
		}
		m.Targets[name] = d.target()
	}
	return m, nil
}

func (d *draft) target() Target {
	_, runtime := d.pkg.Runtime()
	t := Target{
		Package: d.path, Entry: d.pkg.Entry, Settings: d.settings, Slots: d.slots, Request: d.digest,
		Ready: d.reason == "", Reason: d.reason, Unavailable: runtime != nil,
	}
	if d.pkg.Contract.Identity.Named() {
		identity := d.pkg.Contract.Identity
		t.Contract = &identity
	}
	return t
}

// checkDefaults refuses default providers that could never provide.
func (k *linker) checkDefaults() {
	for _, id := range slices.Sorted(maps.Keys(k.project.DefaultProviders)) {
		s := k.project.DefaultProviders[id]
		if _, resource, _ := contract.Resource(contract.Identity{ID: id}); resource {
			k.problems.declaration(k.declaration(), "defaultProviders: %s is a contract of the host's own resources; only a grant fills it", id)
		} else if k.drafts[s.String()] == nil {
			k.problems.declaration(k.declaration(), "defaultProviders: there is no target %s", s)
		}
	}
}

// fill decides what fills each slot of d, looking at no other slot.
func (k *linker) fill(ctx context.Context, d *draft) error {
	d.slots = map[string]Slot{}
	if err := d.pkg.CheckSettings(d.settings); err != nil {
		if d.explicit != nil {
			k.problems.declaration(d.place, "settings%s (INVALID_SETTINGS)", misfit(err))
		}
		d.reason = "it needs settings, which a Binding gives" + misfit(err)
	}
	if len(d.pkg.Contract.Attachments) > 0 {
		d.reason = "its contract has attachments, which this host does not offer"
	}
	if _, err := d.pkg.Runtime(); err != nil {
		var refused *flowpkg.Error
		d.reason = err.Error()
		if errors.As(err, &refused) {
			d.reason = refused.Path + ": " + refused.Reason
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.explicit)) {
		if _, declared := d.pkg.Uses[name]; !declared {
			k.problems.declaration(d.place, "slots.%s: the package %s declares no such slot%s", name, d.path, slotsOf(d.pkg))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.pkg.Uses)) {
		need := d.pkg.Uses[name]
		explicit, given := d.explicit[name]
		var s Slot
		var err error
		switch {
		case given && explicit.Target != nil:
			s = k.explicitTarget(d, name, need, *explicit.Target)
		case given:
			s, err = k.grant(ctx, d, name, need, explicit)
		default:
			s = k.unsaid(d, name, need)
		}
		if err != nil {
			return err
		}
		if need != nil {
			identity := need.Identity
			s.Contract = &identity
		}
		d.slots[name] = s
	}
	return nil
}

// misfit says where settings are wrong, and how.
func misfit(err error) string {
	var invalid *schema0.InvalidError
	if errors.As(err, &invalid) {
		return strings.ReplaceAll(invalid.InstancePointer, "/", ".") + ": " + invalid.Words()
	}
	return ": " + err.Error()
}

// slotsOf are the slots of a package, for whoever named another.
func slotsOf(p *flowpkg.Package) string {
	if len(p.Uses) == 0 {
		return `; its FLOW.meta.json has none under "uses"`
	}
	return "; it has " + list(slices.Sorted(maps.Keys(p.Uses)))
}

// list is a few names.
func list(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

const maxListed = 8

func (k *linker) explicitTarget(d *draft, name string, need *contract.Invocation, target author.Selector) Slot {
	to := k.drafts[target.String()]
	if to == nil {
		k.problems.declaration(d.place, "slots.%s: there is no target %s", name, target)
		return Slot{Kind: KindNone}
	}
	if need != nil {
		if _, resource, _ := contract.Resource(need.Identity); resource {
			k.problems.declaration(d.place, "slots.%s: it takes a grant, because %s is a contract of the host's own resources", name, need.Identity.ID)
			return Slot{Kind: KindNone}
		}
		if reason := unfit(to.pkg, need, d.pkg.Metadata.Uses[name].Requires); reason != "" {
			k.problems.declaration(d.place, "slots.%s: %s does not fit: %s", name, target, reason)
			return Slot{Kind: KindNone}
		}
	}
	return Slot{Kind: KindTarget, Origin: OriginExplicit, Target: target.String()}
}

// unsaid fills a slot that the Binding says nothing about, or that has none.
func (k *linker) unsaid(d *draft, name string, need *contract.Invocation) Slot {
	empty := func(format string, args ...any) Slot {
		return Slot{Kind: KindNone, Reason: fmt.Sprintf(format, args...)}
	}
	if need == nil {
		return empty("it has no contract, so a Binding has to say what fills it")
	}
	if _, resource, err := contract.Resource(need.Identity); err != nil {
		return empty("%s", err.Error())
	} else if resource {
		return empty("it needs a grant, which a Binding gives")
	}
	requires := d.pkg.Metadata.Uses[name].Requires
	if s, ok := k.project.DefaultProviders[need.Identity.ID]; ok {
		to := k.drafts[s.String()]
		if to == nil {
			return Slot{Kind: KindNone} // reported already
		}
		if reason := unfit(to.pkg, need, requires); reason != "" {
			return empty("the default provider %s does not fit: %s", s, reason)
		}
		return Slot{Kind: KindTarget, Origin: OriginDefault, Target: s.String()}
	}
	var able, near []string
	for _, selector := range slices.Sorted(maps.Keys(k.drafts)) {
		to := k.drafts[selector]
		err := to.pkg.Contract.Identity.Satisfies(need.Identity)
		switch {
		case errors.Is(err, contract.ErrEquivocation):
			near = append(near, selector+" claims the same id and version with another text")
		case err != nil || selector == d.selector:
		case !k.able(to, requires):
			near = append(near, selector+" fits and lacks something itself")
		default:
			able = append(able, selector)
		}
	}
	switch {
	case len(able) == 1:
		return Slot{Kind: KindTarget, Origin: OriginOnly, Target: able[0]}
	case len(able) > 1:
		return empty("several targets fit (%s); name one in the Binding or in defaultProviders", strings.Join(able, ", "))
	case len(near) > 0:
		return empty("no target provides %s %s: %s", need.Identity.ID, need.Identity.Version, strings.Join(near, "; "))
	}
	return empty("no target provides %s %s", need.Identity.ID, need.Identity.Version)
}

// unfit says why a package cannot fill a slot, or "".
func unfit(p *flowpkg.Package, need *contract.Invocation, requires []string) string {
	if err := p.Contract.Identity.Satisfies(need.Identity); errors.Is(err, contract.ErrEquivocation) {
		return "it claims the same id and version with another text"
	} else if err != nil {
		return fmt.Sprintf("it does not provide %s %s", need.Identity.ID, need.Identity.Version)
	}
	for _, feature := range requires {
		if !slices.Contains(p.Metadata.Supports, feature) {
			return "it does not support " + feature
		}
	}
	return ""
}

// able says whether a target could be used as far as it can be seen without
// linking others: it has a runtime, the features, its settings, and a value for
// each slot that needs one.
func (k *linker) able(d *draft, requires []string) bool {
	if _, err := d.pkg.Runtime(); err != nil || d.pkg.CheckSettings(d.settings) != nil || len(d.pkg.Contract.Attachments) > 0 {
		return false
	}
	for _, feature := range requires {
		if !slices.Contains(d.pkg.Metadata.Supports, feature) {
			return false
		}
	}
	for name, need := range d.pkg.Uses {
		if _, given := d.explicit[name]; given {
			continue
		}
		if need == nil {
			return false
		}
		if _, resource, _ := contract.Resource(need.Identity); resource {
			return false
		}
	}
	return true
}
