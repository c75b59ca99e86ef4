package author

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// Binding is a normal bindings/<id>.ts.
type Binding struct {
	Package  string         // project path of the package
	Settings jsontext.Value // canonical, an object
	Slots    map[string]Slot
}

// Slot is what fills a slot. Exactly one of its fields is set.
type Slot struct {
	Target *Selector // flow or binding
	Grant  string    // name of grants/<name>.json
	Inline *Grant
}

// within bounds what is going to stand inside other documents.
var within = json0.Limits{Depth: MaxDepth, Nodes: MaxSettingsNodes}

// ParseBinding reads the value of a Binding's file.
func ParseBinding(raw []byte) (*Binding, error) {
	if err := limits.Check(raw); err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	members, err := object(raw, "", []string{"kind", "package"}, []string{"settings", "slots", "attachments"})
	if err != nil {
		return nil, err
	}
	if kind, err := text(members["kind"], "/kind"); err != nil || kind != "package" {
		return nil, refuse("/kind", "it has to be package; defineBinding puts it there")
	}
	b := &Binding{Settings: jsontext.Value("{}"), Slots: map[string]Slot{}}
	name, err := text(members["package"], "/package")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "npm:") {
		return nil, unavailable("/package", "npm: targets")
	}
	if b.Package, err = ProjectPath(name, "/package"); err != nil {
		return nil, err
	}
	if settings, there := members["settings"]; there {
		if settings.Kind() != '{' {
			return nil, refuse("/settings", "it has to be an object")
		}
		if within.Check(settings) != nil {
			return nil, refuse("/settings", "it has more than 100 levels or more than 65536 values")
		}
		if b.Settings, err = json0.Canonical(settings); err != nil {
			return nil, &Error{Pointer: "/settings", Reason: err.Error(), cause: err}
		}
	}
	if slots, there := members["slots"]; there {
		if b.Slots, err = readSlots(slots); err != nil {
			return nil, err
		}
	}
	if attachments, there := members["attachments"]; there {
		return b, noAttachments(attachments)
	}
	return b, nil
}

func readSlots(raw jsontext.Value) (map[string]Slot, error) {
	const at = "/slots"
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse(at, "it has to be an object")
	}
	if len(members) > MaxSlots {
		return nil, refuse(at, "it has more than 256 slots")
	}
	out, resources := make(map[string]Slot, len(members)), 0
	for _, name := range sorted(members) {
		pointer := member(at, name)
		if !contract.LocalName(name) {
			return nil, refuse(pointer, "a slot's name is lower-case words joined by single hyphens")
		}
		slot, err := readSlot(members[name], pointer)
		if err != nil {
			return nil, err
		}
		if slot.Target == nil {
			resources++
		}
		out[name] = slot
	}
	if resources > MaxResourceSlots {
		return nil, refuse(at, "more than 8 slots are filled by grants")
	}
	return out, nil
}

func readSlot(raw jsontext.Value, pointer string) (Slot, error) {
	if raw.Kind() == '{' {
		g, err := grant(raw, pointer)
		return Slot{Inline: g}, err
	}
	value, err := text(raw, pointer)
	if err != nil {
		return Slot{}, refuse(pointer, "a slot takes flow:<path>, binding:<name>, grant:<name> or a grant")
	}
	if name, ok := strings.CutPrefix(value, "grant:"); ok {
		if !contract.LocalName(name) {
			return Slot{}, refuse(pointer, "grant: takes the name of a grant")
		}
		return Slot{Grant: name}, nil
	}
	if kind, _, _ := strings.Cut(value, ":"); !contains([]string{"flow", "binding", "npm"}, kind) {
		return Slot{}, refuse(pointer, "a slot takes flow:<path>, binding:<name>, grant:<name> or a grant")
	}
	target, err := ParseSelector(value, pointer)
	if err != nil {
		return Slot{}, err
	}
	return Slot{Target: &target}, nil
}

// noAttachments reads attachments, which this host does not offer.
func noAttachments(raw jsontext.Value) error {
	const at = "/attachments"
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return refuse(at, "it has to be an object")
	}
	if len(members) > MaxAttachments {
		return refuse(at, "it has more than 8 entries")
	}
	for _, name := range sorted(members) {
		pointer := member(at, name)
		if !contract.LocalName(name) {
			return refuse(pointer, "an attachment's name is lower-case words joined by single hyphens")
		}
		p, err := text(members[name], pointer)
		if err != nil {
			return err
		}
		if _, err := ProjectPath(p, pointer); err != nil {
			return err
		}
	}
	if len(members) > 0 {
		return unavailable(at, "attachments")
	}
	return nil
}

// Acyclic refuses Bindings that refer to themselves, directly or through others.
// The error's pointer is a slot of the Binding named at, which is on the circle.
func Acyclic(bindings map[string]*Binding) (at string, err error) {
	done := map[string]bool{}
	var path []string
	var visit func(id string) error
	visit = func(id string) error {
		b := bindings[id]
		if b == nil || done[id] {
			return nil
		}
		path = append(path, id)
		for _, name := range sorted(b.Slots) {
			target := b.Slots[name].Target
			if target == nil || target.Kind != "binding" {
				continue
			}
			if from := slices.Index(path, target.Name); from >= 0 {
				at = id
				return refuse(member("/slots", name), "Bindings refer to themselves: "+strings.Join(append(path[from:], target.Name), " > "))
			}
			if err := visit(target.Name); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[id] = true
		return nil
	}
	for _, id := range sorted(bindings) {
		if err := visit(id); err != nil {
			return at, err
		}
	}
	return "", nil
}

func sortedCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
