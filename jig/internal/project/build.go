package project

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// ErrChanged is an admitted meaning that does not lead to what it says.
var ErrChanged = errors.New("what was admitted is not what is stored")

// Closure is what one target needs to run.
type Closure struct {
	Root     *tree.Target
	Packages []string // digests, sorted
	Paths    []string // of those packages in the project, sorted
	Grants   []Slot   // every resource slot below the root
}

// Build makes a target of an admitted meaning ready to run, out of captured
// packages whose bytes it checks. Every request digest has to come out as it was
// admitted. The targets carry the digests of sessions, see [Request.Session].
func Build(m *Meaning, selector string, packages *flowpkg.Store) (*Closure, error) {
	b := &builder{m: m, packages: packages, made: map[string]*tree.Target{}, captured: map[string]*flowpkg.Package{}, paths: map[string]bool{}}
	root, err := b.target(selector, 0)
	if err != nil {
		return nil, err
	}
	return &Closure{
		Root: root, Packages: slices.Sorted(maps.Keys(b.captured)), Paths: slices.Sorted(maps.Keys(b.paths)), Grants: b.grants,
	}, nil
}

type builder struct {
	m        *Meaning
	packages *flowpkg.Store
	made     map[string]*tree.Target
	captured map[string]*flowpkg.Package // by digest
	paths    map[string]bool
	grants   []Slot
}

func (b *builder) target(selector string, depth int) (*tree.Target, error) {
	if made := b.made[selector]; made != nil {
		return made, nil
	}
	t, ok := b.m.Targets[selector]
	if !ok || !t.Ready || depth > MaxChildLevels {
		return nil, fmt.Errorf("%w: target %s", ErrChanged, selector)
	}
	digest := b.m.Packages[t.Package]
	p := b.captured[digest]
	if p == nil {
		var err error
		if p, err = b.packages.Get(digest); err != nil {
			return nil, err
		}
		b.captured[digest] = p
	}
	b.paths[t.Package] = true
	made := &tree.Target{Name: selector, Package: p, Settings: t.Settings, Slots: map[string]tree.Slot{}}
	r := Request{Package: digest, Contract: optional(p.Contract.Identity.Digest), Settings: t.Settings, Slots: map[string]RequestSlot{}}
	kept := r // as it counts for a session
	kept.Slots = map[string]RequestSlot{}
	for _, name := range slices.Sorted(maps.Keys(t.Slots)) {
		s := t.Slots[name]
		part := RequestSlot{Kind: s.Kind, Provider: s.Provider, Grant: s.Grant}
		if s.Kind == KindTarget {
			child, err := b.target(s.Target, depth+1)
			if err != nil {
				return nil, err
			}
			made.Slots[name] = tree.Slot{Target: child}
			part.Request = child.Request
			kept.Slots[name] = part
			part.Request = b.m.Targets[s.Target].Request
		} else {
			kept.Slots[name] = part
			b.grants = append(b.grants, s)
			made.Slots[name] = tree.Slot{Grant: &tree.Grant{Kind: s.Kind, Policy: s.Grant, Provider: s.Provider}}
		}
		r.Slots[name] = part
	}
	if computed, err := r.Digest(); err != nil || computed != t.Request {
		return nil, fmt.Errorf("%w: the identity of %s", ErrChanged, selector)
	}
	kept, err := kept.Session()
	if err != nil {
		return nil, err
	}
	if made.Request, err = kept.Digest(); err != nil {
		return nil, err
	}
	b.made[selector] = made
	return made, nil
}
