package appresources

import "strconv"

// Executor names an executor as a turn accepted it.
type Executor struct {
	ExecutorID         ID
	ExecutorGeneration int64
}

// ToolManifest is what a manifest shows of one tool.
type ToolManifest struct {
	ResourceID     ID
	RevisionID     ID
	RevisionSHA256 string
	Name           string
	TimeoutMS      int64
}

// Manifest is what a turn was accepted with, in the very bytes that every
// place must show: acceptance, durable record, snapshots, terminals, lookup
// and evidence. It never changes and is safe for concurrent use.
type Manifest struct {
	snapshot   *manifestParts
	controller Attribution
	executor   *Executor
	encoded    []byte
}

// manifestParts keeps what a manifest shows without keeping bodies alive.
type manifestParts struct {
	revision  ID
	resources []Descriptor
	tools     []ToolManifest
}

const manifestField = `{"application_manifest":`

// Manifest stamps the snapshot with the turn.start that accepts it and with
// its executor, which is nil for a snapshot without tools. The caller makes it
// when authority has been checked for admission (seed: Accept the complete
// snapshot). A manifest over [Limits.MaxManifestBytes] is refused; its size
// depends on the snapshot and on the length of the members given, so one made
// for a check beforehand tells whether the later one will fit.
func (s *Snapshot) Manifest(controller Attribution, executor *Executor) (*Manifest, error) {
	m := &Manifest{controller: controller}
	if executor != nil {
		e := *executor
		m.executor = &e
	}
	size := 512 + 160*len(s.tools)
	for _, r := range s.resources {
		size += len(r.encoded) + 1
	}
	b := append(make([]byte, 0, size), manifestField...)
	b = appendMember(b, `{"profile":`, Profile)
	b = appendMember(b, `,"registry_revision":`, string(s.revision))
	b = append(b, `,"resources":[`...)
	for i, r := range s.resources {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r.encoded...)
	}
	b = append(b, `],"tools":[`...)
	for i := range s.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendToolManifest(b, &s.tools[i])
	}
	b = append(b, `],"accepted_controller":`...)
	b = appendAttribution(b, &controller)
	b = append(b, `,"accepted_executor":`...)
	if executor == nil {
		b = append(b, `null`...)
	} else {
		b = appendMember(b, `{"executor_id":`, string(executor.ExecutorID))
		b = append(b, `,"executor_generation":`...)
		b = strconv.AppendInt(b, executor.ExecutorGeneration, 10)
		b = append(b, '}')
	}
	b = append(b, `}}`...)
	if len(b) > s.manifestMax {
		return nil, exceeded(BudgetManifest, s.manifestMax)
	}
	m.encoded = b
	m.snapshot = s.parts()
	return m, nil
}

func (s *Snapshot) parts() *manifestParts {
	p := &manifestParts{revision: s.revision, resources: s.Descriptors(), tools: make([]ToolManifest, len(s.tools))}
	for i, t := range s.tools {
		p.tools[i] = ToolManifest{
			ResourceID:     t.ResourceID,
			RevisionID:     t.RevisionID,
			RevisionSHA256: t.RevisionSHA256,
			Name:           t.Name,
			TimeoutMS:      t.Contract.Timeout.Milliseconds(),
		}
	}
	return p
}

// FieldBytes returns the length of the encoded {"application_manifest":…}, the
// number that is bounded and that a turn's text budget loses.
func (m *Manifest) FieldBytes() int { return len(m.encoded) }

// Encoded returns a copy of the manifest's compact JSON.
func (m *Manifest) Encoded() []byte {
	return append([]byte(nil), m.encoded[len(manifestField):len(m.encoded)-1]...)
}

// RegistryRevision returns the revision of the accepted registry.
func (m *Manifest) RegistryRevision() ID { return m.snapshot.revision }

// Resources returns a copy of the descriptors, by kind, then name.
func (m *Manifest) Resources() []Descriptor {
	return append([]Descriptor(nil), m.snapshot.resources...)
}

// Tools returns a copy of the tool manifests, by name.
func (m *Manifest) Tools() []ToolManifest { return append([]ToolManifest(nil), m.snapshot.tools...) }

// AcceptedController returns the turn.start that accepted the turn.
func (m *Manifest) AcceptedController() Attribution { return m.controller }

// AcceptedExecutor returns the executor of the turn, and false where it has
// none.
func (m *Manifest) AcceptedExecutor() (Executor, bool) {
	if m.executor == nil {
		return Executor{}, false
	}
	return *m.executor, true
}
