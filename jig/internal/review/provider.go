package review

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// provider reports a resource that is another one: what differs of it, member by
// member, and of its files only those that do. The digest itself says nothing to a
// person, so it stands only where nothing is known of what it is made of.
func (d *differ) provider(subject string, was, is map[string]project.Provider, before, after project.Slot) error {
	old, knownBefore := was[before.Provider]
	new, knownAfter := is[after.Provider]
	if !knownBefore || !knownAfter {
		of := func(s project.Slot) any {
			return struct {
				Identity string `json:"identity"`
			}{s.Provider}
		}
		return d.value(KindProvider, subject, of(before), of(after))
	}
	old.Files, new.Files = without(old.Files, new.Files), without(new.Files, old.Files)
	a, err := parts(old)
	if err != nil {
		return err
	}
	b, err := parts(new)
	if err != nil {
		return err
	}
	for name := range maps.Clone(a) {
		if bytes.Equal(a[name], b[name]) {
			delete(a, name)
			delete(b, name)
		}
	}
	return d.value(KindProvider, subject, a, b)
}

// without are the files that others does not have.
func without(files, others []project.ProviderFile) []project.ProviderFile {
	return slices.DeleteFunc(slices.Clone(files), func(f project.ProviderFile) bool { return slices.Contains(others, f) })
}

func parts(p project.Provider) (map[string]jsontext.Value, error) {
	if p.Files == nil {
		p.Files = []project.ProviderFile{}
	}
	b, err := json0.Marshal(p)
	if err != nil {
		return nil, err
	}
	members := map[string]jsontext.Value{}
	return members, json0.Decode(b, &members)
}
