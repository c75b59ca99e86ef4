package appresources

import (
	"sort"
	"time"
)

// Registration asks for one revision of one resource.
type Registration struct {
	Kind        Kind
	Name        string
	Description string
	// ExpectedRevision is empty to create, else the current revision to
	// replace.
	ExpectedRevision ID
	// Reserved reports whether the loaded catalog keeps a name for itself.
	// Optional; nil means no name is.
	Reserved func(name string) bool
	By       Attribution
}

// Registered is the outcome of a registration.
type Registered struct {
	Entry            Descriptor
	RegistryRevision ID
}

// CheckForm reports whether kind, name and description are well formed. It
// looks at no registry: a caller answers it before every check of state.
func (r *Registration) CheckForm() error {
	if err := CheckKind(r.Kind); err != nil {
		return err
	}
	if err := CheckName(r.Name); err != nil {
		return err
	}
	return CheckDescription(r.Description)
}

// Register creates or replaces a resource from content given inline. Checks
// answer in this order: form, name, revision and kind, capacity and content,
// slot. While a source is being captured every registration is refused with
// CodeBusy, but inline ones never take the slot (magid: Shapes).
func (s *Set) Register(session ID, r Registration, content string, now time.Duration) (Registered, error) {
	e, err := s.admit(session, &r, now)
	if err != nil {
		return Registered{}, err
	}
	next, entry, err := s.plan(e, &r, content)
	if err != nil {
		return Registered{}, err
	}
	if s.slot != nil {
		return Registered{}, busy()
	}
	return s.commit(e, next, entry), nil
}

func busy() *Error {
	return &Error{Code: CodeBusy, Message: "another source is being captured"}
}

// admit makes every check that needs no content.
func (s *Set) admit(session ID, r *Registration, now time.Duration) (*session, error) {
	s.tick(now)
	e, err := s.claimedSession(session)
	if err != nil {
		return nil, err
	}
	if err := r.CheckForm(); err != nil {
		return nil, err
	}
	if r.Reserved != nil && r.Reserved(r.Name) {
		return nil, conflict("the name is reserved by the daemon's catalog")
	}
	previous, err := e.expected(r)
	if err != nil {
		return nil, err
	}
	return e, s.room(e, r, previous)
}

// find returns the resource of that name, of either kind: the namespace is
// one.
func (e *session) find(name string) *resource {
	if e.registry == nil {
		return nil
	}
	for _, r := range e.registry.snapshot.resources {
		if r.desc.Name == name {
			return r
		}
	}
	return nil
}

// expected compares revision and kind with the resource that has the name now.
func (e *session) expected(r *Registration) (*resource, error) {
	previous := e.find(r.Name)
	switch {
	case previous == nil && r.ExpectedRevision != "":
		return nil, conflict("no resource has this name; create it with a null expected_revision")
	case previous == nil:
		return nil, nil
	case previous.desc.Kind != r.Kind:
		return nil, conflict("the name belongs to a resource of the other kind")
	case r.ExpectedRevision == "":
		return nil, conflict("a resource has this name; replace it with its current revision")
	case previous.desc.RevisionID != r.ExpectedRevision:
		return nil, conflict("expected_revision is not the resource's current revision")
	}
	return previous, nil
}

// room checks the budgets that do not depend on the content.
func (s *Set) room(e *session, r *Registration, previous *resource) error {
	if e.registry == nil {
		if err := s.roomForRegistry(); err != nil {
			return err
		}
		return s.fits(nil, 1, 0, false)
	}
	current := e.registry.snapshot
	if previous != nil {
		return s.fits(current, current.Len(), 0, true)
	}
	tools := len(current.tools)
	skills := current.Len() - tools
	switch {
	case r.Kind == KindTool && tools >= s.limits.MaxTools:
		return exceeded(BudgetTools, s.limits.MaxTools)
	case r.Kind == KindSkill && skills >= s.limits.MaxSkills:
		return exceeded(BudgetSkills, s.limits.MaxSkills)
	}
	return s.fits(current, current.Len()+1, 0, false)
}

// plan reads the content and builds the next snapshot, charging nothing.
func (s *Set) plan(e *session, r *Registration, content string) (*Snapshot, Descriptor, error) {
	if limit, budget := s.limits.sourceBytes(r.Kind); len(content) > limit {
		return nil, Descriptor{}, exceeded(budget, limit)
	}
	var contract *Contract
	var err error
	if r.Kind == KindTool {
		contract, err = ParseContract([]byte(content))
	} else {
		err = CheckSkill(content)
	}
	if err != nil {
		return nil, Descriptor{}, err
	}
	previous := e.find(r.Name)
	d := Descriptor{
		RevisionID:     s.newID(),
		Kind:           r.Kind,
		Name:           r.Name,
		Description:    r.Description,
		ContentSHA256:  ContentSHA256(content),
		RevisionSHA256: RevisionSHA256(r.Kind, r.Name, r.Description, content),
		CapturedBytes:  len(content),
		RegisteredBy:   r.By,
	}
	if previous != nil {
		d.ResourceID = previous.desc.ResourceID
	} else {
		d.ResourceID = s.newID()
	}
	var current *Snapshot
	var old []*resource
	if e.registry != nil {
		current = e.registry.snapshot
		old = current.resources
	}
	next := newSnapshot(s.newID(), with(old, newResource(d, content, contract)), s.limits.MaxManifestBytes)
	switch {
	case next.body > s.limits.MaxRegistryBytes:
		return nil, Descriptor{}, exceeded(BudgetRegistryBytes, s.limits.MaxRegistryBytes)
	case len(next.instructions) > s.limits.MaxSkillTextBytes:
		return nil, Descriptor{}, exceeded(BudgetSkillText, s.limits.MaxSkillTextBytes)
	}
	return next, d, s.fits(current, next.Len(), next.charge, previous != nil)
}

// commit makes a planned snapshot the registry's. Nothing can fail any more.
func (s *Set) commit(e *session, next *Snapshot, entry Descriptor) Registered {
	if e.registry == nil {
		s.open(e)
	}
	s.publish(e, next)
	return Registered{Entry: entry, RegistryRevision: next.revision}
}

// with returns a copy of sorted resources with r added, or put in the place of
// the one with its name.
func with(old []*resource, r *resource) []*resource {
	at := sort.Search(len(old), func(i int) bool { return !old[i].before(r.desc.Kind, r.desc.Name) })
	next := make([]*resource, 0, len(old)+1)
	next = append(next, old[:at]...)
	next = append(next, r)
	if at < len(old) && old[at].desc.Name == r.desc.Name && old[at].desc.Kind == r.desc.Kind {
		at++
	}
	return append(next, old[at:]...)
}
