package appresources

import (
	"sort"
	"strings"
)

// Tool is one tool of a snapshot.
type Tool struct {
	ResourceID     ID
	RevisionID     ID
	RevisionSHA256 string
	Name           string
	Description    string
	Contract       *Contract
}

// Tuple returns the tuple that dispatch carries and results must echo.
func (t Tool) Tuple() Tuple {
	return Tuple{ResourceID: t.ResourceID, RevisionID: t.RevisionID, RevisionSHA256: t.RevisionSHA256}
}

// Snapshot is a whole registry at one revision. It never changes, shares its
// contracts and texts with every other snapshot that contains the same
// revisions, and is safe for concurrent use. It can be read as long as the
// caller likes; it is charged as long as the registry or a [Hold] holds it.
type Snapshot struct {
	revision     ID
	resources    []*resource // by kind, then name
	tools        []Tool      // by name
	instructions string
	charge       int
	body         int // sum of the resources' charges
	manifestMax  int

	refs int // owned by the Set; the registry and every Hold count one
}

// newSnapshot takes over resources, which must be sorted.
func newSnapshot(revision ID, resources []*resource, manifestMax int) *Snapshot {
	s := &Snapshot{revision: revision, resources: resources, manifestMax: manifestMax}
	var text []string
	for _, r := range resources {
		s.body += r.charge
		if r.contract == nil {
			text = append(text, r.content)
			continue
		}
		s.tools = append(s.tools, Tool{
			ResourceID:     r.desc.ResourceID,
			RevisionID:     r.desc.RevisionID,
			RevisionSHA256: r.desc.RevisionSHA256,
			Name:           r.desc.Name,
			Description:    r.desc.Description,
			Contract:       r.contract,
		})
	}
	s.instructions = strings.Join(text, "\n")
	s.charge = s.body + len(s.instructions)
	return s
}

// RegistryRevision returns the revision that the snapshot shows.
func (s *Snapshot) RegistryRevision() ID { return s.revision }

// Len returns the number of resources.
func (s *Snapshot) Len() int { return len(s.resources) }

// Bytes returns the snapshot's charge: its resources' charges and the combined
// instructions once; 0 for an empty one.
func (s *Snapshot) Bytes() int { return s.charge }

// Instructions returns the text of all skills in name order, joined by one
// newline between two.
func (s *Snapshot) Instructions() string { return s.instructions }

// Descriptors returns a copy of the descriptors, by kind, then name.
func (s *Snapshot) Descriptors() []Descriptor {
	out := make([]Descriptor, len(s.resources))
	for i, r := range s.resources {
		out[i] = r.desc
	}
	return out
}

// Tools returns a copy of the list of tools, by name.
func (s *Snapshot) Tools() []Tool { return append([]Tool(nil), s.tools...) }

// Tool returns the tool of that name.
func (s *Snapshot) Tool(name string) (Tool, bool) {
	i := sort.Search(len(s.tools), func(i int) bool { return s.tools[i].Name >= name })
	if i < len(s.tools) && s.tools[i].Name == name {
		return s.tools[i], true
	}
	return Tool{}, false
}
