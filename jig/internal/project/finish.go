package project

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/httpres"
)

// finish decides whether d is ready and computes its identity, after everything
// it leads to.
func (k *linker) finish(d *draft) error {
	if d.state != untouched {
		return nil
	}
	d.state = visiting
	defer func() { d.state = finished }()
	r := Request{Package: d.pkg.Digest, Contract: optional(d.pkg.Contract.Identity.Digest), Settings: d.settings, Slots: map[string]RequestSlot{}}
	for _, name := range slices.Sorted(maps.Keys(d.slots)) {
		s := d.slots[name]
		if s.Kind == KindTarget {
			to := k.drafts[s.Target]
			if to.state == visiting {
				s = Slot{Kind: KindNone, Contract: s.Contract, Reason: "what would fill it, " + s.Target + ", needs this target itself"}
			} else {
				if err := k.finish(to); err != nil {
					return err
				}
				d.depth = max(d.depth, to.depth+1)
				if to.reason != "" {
					s.Reason = s.Target + " is not runnable: " + to.reason
				}
			}
		}
		d.slots[name] = s
		if s.Reason != "" && d.reason == "" {
			d.reason = "slot " + name + ": " + s.Reason
		}
		part := RequestSlot{Kind: s.Kind, Provider: s.Provider, Grant: s.Grant}
		if s.Kind == KindTarget {
			part.Request = k.drafts[s.Target].digest
		}
		r.Slots[name] = part
	}
	if d.depth > MaxChildLevels && d.reason == "" {
		d.reason = fmt.Sprintf("it leads to %d levels of other targets; %d is the most", d.depth, MaxChildLevels)
	}
	if len(d.reason) > maxReason {
		d.reason = d.reason[:maxReason] + "…"
	}
	var err error
	d.digest, err = r.Digest()
	return err
}

// maxReason bounds a reason that is made of others.
const maxReason = 1000

// otherGrants are those that there are, for whoever named another.
func (k *linker) otherGrants() string {
	if len(k.grants) == 0 {
		return "; a grant is a file such as grants/<name>.json that the grants of " + k.declaration() + " name"
	}
	return "; there are " + list(slices.Sorted(maps.Keys(k.grants)))
}

// grant fills a slot with a resource.
func (k *linker) grant(ctx context.Context, d *draft, name string, need *contract.Invocation, explicit author.Slot) (Slot, error) {
	none := Slot{Kind: KindNone}
	g := explicit.Inline
	if g == nil {
		if g = k.grants[explicit.Grant]; g == nil {
			k.problems.declaration(d.place, "slots.%s: there is no grant %s%s", name, explicit.Grant, k.otherGrants())
			return none, nil
		}
	}
	s := Slot{Kind: g.Kind(), Origin: OriginExplicit, Name: explicit.Grant, Grant: g.Canonical()}
	id, own := contract.HTTPRequest, KindHTTP
	if g.ACP != nil {
		id, own = contract.FiniteACP, KindACP
	}
	asked := contract.Identity{}
	if need != nil {
		needed, resource, err := contract.Resource(need.Identity)
		switch {
		case err != nil:
			k.problems.declaration(d.place, "slots.%s: %s", name, err.Error())
			return none, nil
		case !resource || needed != id:
			k.problems.declaration(d.place, "slots.%s: it asks for %s, which no %s grant provides", name, need.Identity.ID, own)
			return none, nil
		}
		asked = need.Identity
	} else {
		bundle, err := contract.Bundle(id)
		if err != nil {
			return none, err
		}
		asked = bundle.Identity
	}
	if k.reach == nil {
		reach, err := k.Reach()
		if err != nil {
			k.problems.add(Diagnostic{Code: CodeHTTPUnavailable, Message: err.Error(), Hint: "correct the variable or unset it, then review again"})
			return none, nil
		}
		k.reach = reach
	}
	if g.ACP != nil {
		return k.client(ctx, d, name, s, g.ACP, asked)
	}
	return k.http(d, s, g.HTTP, asked)
}

func (k *linker) http(d *draft, s Slot, g *author.HTTP, asked contract.Identity) (Slot, error) {
	resource, err := httpres.New(k.Environment.Lookup)
	if err != nil {
		return s, err
	}
	if err := resource.Ready(s.Grant); err != nil {
		k.problems.add(Diagnostic{Code: CodeHTTPUnavailable, Path: d.path + "/" + d.pkg.Entry, Message: err.Error(), Hint: "correct it and review again; no Flow was started"})
		return s, nil
	}
	mode := "none"
	if g.BearerEnv != "" {
		mode = "bearer"
	}
	facts := k.reach.Facts()
	s.Provider, err = Provider{
		Kind: KindHTTP, Contract: asked.Digest, Mode: mode, Endpoint: &g.URL, Proxy: facts.Proxy, CA: facts.CA,
	}.Digest()
	return s, err
}
