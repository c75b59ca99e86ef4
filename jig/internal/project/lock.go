package project

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// LockName is the file of a project's portable choices.
const LockName = "jig.lock"

type lockFile struct {
	Version   int                          `json:"version"`
	Packages  map[string]string            `json:"packages"`  // path to digest
	Bindings  map[string]lockBinding       `json:"bindings"`  // by id
	Contracts map[string]contract.Identity `json:"contracts"` // by target and slot
}

type lockBinding struct {
	Package  string                    `json:"package"`
	Settings jsontext.Value            `json:"settings"`
	Slots    map[string]jsontext.Value `json:"slots"` // what the Binding says: a selector, or a grant in its normal form
}

// lock is the text of jig.lock: what was chosen, and nothing of this machine.
func (l *loader) lock(m *Meaning) ([]byte, error) {
	f := lockFile{Packages: m.Packages, Bindings: map[string]lockBinding{}, Contracts: map[string]contract.Identity{}}
	for id, b := range l.bindings {
		out := lockBinding{Package: b.Package, Settings: b.Settings, Slots: map[string]jsontext.Value{}}
		for name, s := range b.Slots {
			switch {
			case s.Target != nil:
				quoted, err := json0.Marshal(s.Target.String())
				if err != nil {
					return nil, err
				}
				out.Slots[name] = quoted
			case s.Inline != nil:
				out.Slots[name] = s.Inline.Canonical()
			default:
				out.Slots[name] = l.grants[s.Grant].Canonical()
			}
		}
		f.Bindings[id] = out
	}
	for selector, t := range m.Targets {
		for name, s := range t.Slots {
			if s.Contract != nil {
				f.Contracts[selector+"#"+name] = *s.Contract
			}
		}
	}
	b, err := json0.Marshal(f)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
