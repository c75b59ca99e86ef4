package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// metadataLimits are those of FLOW.meta.json (run-0 5.2).
var metadataLimits = json0.Limits{Bytes: MaxBytes, Depth: 16, Nodes: 4096, Entries: maxEntries}

// Use is one slot that a package declares.
type Use struct {
	Contract string   // "./" reference to a named contract; empty for an uncontracted slot
	Requires []string // features of that contract that the provider has to support
}

// Metadata is what a package says of itself.
type Metadata struct {
	Name        string
	Description string
	Uses        map[string]Use
	Supports    []string
	// Unknown are top-level members that this host does not know. A package
	// with any can be inspected and is not executed.
	Unknown []string
	// AllowedTools is true where the package asks for a restriction of tools,
	// which only a Markdown package may and nobody here enforces.
	AllowedTools bool
}

type metadataFile struct {
	Name          *string            `json:"name"`
	Description   *string            `json:"description"`
	Uses          map[string]useFile `json:"uses"`
	Supports      []string           `json:"supports"`
	License       *string            `json:"license"`
	Compatibility *string            `json:"compatibility"`
	Metadata      map[string]string  `json:"metadata"`
	AllowedTools  *string            `json:"allowed-tools"`
}

type useFile struct {
	Contract *string  `json:"contract"`
	Requires []string `json:"requires"`
}

var metadataMembers = []string{"name", "description", "uses", "supports", "license", "compatibility", "metadata", "allowed-tools"}

// ParseMetadata reads FLOW.meta.json.
func ParseMetadata(raw []byte) (*Metadata, error) {
	members := map[string]jsontext.Value{}
	if err := metadataLimits.Check(raw); err != nil {
		return nil, because("", err)
	}
	if err := json0.Decode(raw, &members); err != nil {
		return nil, metadataShape.check(raw, "")
	}
	m := &Metadata{Uses: map[string]Use{}}
	known := map[string]jsontext.Value{}
	for _, name := range sortedKeys(members) {
		extension, inert := strings.CutPrefix(name, "x-")
		switch {
		case slices.Contains(metadataMembers, name):
			known[name] = members[name]
		case inert && LocalName(extension):
		default:
			m.Unknown = append(m.Unknown, name)
		}
	}
	b, err := json0.Marshal(known)
	if err != nil {
		return nil, because("", err)
	}
	// uses is an object of objects; nothing that is known goes deeper.
	if err := noNull(b, "", 3); err != nil {
		return nil, err
	}
	if err := metadataShape.check(b, ""); err != nil {
		return nil, err
	}
	var f metadataFile
	if err := json0.Decode(b, &f); err != nil {
		return nil, because("", err)
	}
	if f.Name != nil {
		if m.Name = *f.Name; !LocalName(m.Name) {
			return nil, wrong("/name", "a name is lower-case words joined by single hyphens")
		}
	}
	if f.Description != nil {
		if m.Description = *f.Description; !textScalars(m.Description, maxText) {
			return nil, wrong("/description", fmt.Sprintf("a text of 1 to %d characters is needed", maxText))
		}
	}
	if m.Supports, err = featureNames(f.Supports, "/supports"); err != nil {
		return nil, err
	}
	m.AllowedTools = f.AllowedTools != nil
	for _, slot := range sortedKeys(f.Uses) {
		if m.Uses[slot], err = use(slot, f.Uses[slot]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func use(slot string, f useFile) (u Use, err error) {
	at := "/uses/" + slot
	if !LocalName(slot) {
		return u, wrong(string(jsontext.Pointer("/uses").AppendToken(slot)), "a slot's name is lower-case words joined by single hyphens")
	}
	if f.Contract == nil {
		if f.Requires != nil {
			return u, wrong(at+"/requires", "features are required of a contract")
		}
		return u, nil
	}
	if u.Contract = *f.Contract; !ValidReference(u.Contract) {
		return u, wrong(at+"/contract", referenceWords)
	}
	u.Requires, err = featureNames(f.Requires, at+"/requires")
	return u, err
}

func featureNames(names []string, at string) ([]string, error) {
	if len(names) > maxEntries {
		return nil, wrong(at, fmt.Sprintf("more than %d features", maxEntries))
	}
	for i, name := range names {
		if !LocalName(name) || slices.Contains(names[:i], name) {
			return nil, wrong(at, "features are lower-case words joined by hyphens and stand once")
		}
	}
	return names, nil
}

// CheckFeatures says whether every name is a feature that i declares.
func (i *Invocation) CheckFeatures(names []string, at string) error {
	for _, name := range names {
		if i == nil || i.Features[name] == "" {
			return wrong(at, "the contract declares no feature "+name+" under its features")
		}
	}
	return nil
}
