package appresources

import (
	"unicode"
	"unicode/utf8"
)

// Profile is the capability token of the profile that this package implements.
const Profile = "application_resources_v1"

// ID is an identity: a canonical lowercase UUID where this package issued it.
// The empty ID stands for null.
type ID string

// Kind is what a resource is.
type Kind string

// The kinds, in the order in which lists are sorted.
const (
	KindSkill Kind = "skill"
	KindTool  Kind = "tool"
)

// Attribution says which connection action registered a revision or started a
// turn. It identifies an action, not a verified person, and holds no proof.
type Attribution struct {
	InstanceID      ID
	ConnectionID    ID
	OperationID     ID
	GrantGeneration int64
}

// Descriptor is what a registry shows of one resource: no body, no path.
type Descriptor struct {
	ResourceID     ID
	RevisionID     ID
	Kind           Kind
	Name           string
	Description    string
	ContentSHA256  string // lowercase hex, over the captured bytes
	RevisionSHA256 string // lowercase hex, over domain, kind, name, description, captured bytes
	CapturedBytes  int
	RegisteredBy   Attribution
}

// Tuple names one revision of one resource exactly. Authorizations, call
// events and results carry it, and results must echo all three members; two
// tuples are the same if they are equal with ==.
type Tuple struct {
	ResourceID     ID
	RevisionID     ID
	RevisionSHA256 string
}

// Tuple returns the tuple of the descriptor's revision.
func (d Descriptor) Tuple() Tuple {
	return Tuple{ResourceID: d.ResourceID, RevisionID: d.RevisionID, RevisionSHA256: d.RevisionSHA256}
}

// CheckName reports whether name may be a resource's: 1 to 48 bytes of
// [a-z][a-z0-9_]* (seed: Callback bounds). The error is an [*Error].
func CheckName(name string) error {
	if len(name) == 0 || len(name) > MaxNameBytes {
		return invalid("name must have 1 to %d bytes", MaxNameBytes)
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '_')) {
			return invalid("name must match [a-z][a-z0-9_]*")
		}
	}
	return nil
}

// CheckDescription reports whether text may be a description: at most 512
// bytes of UTF-8, no control character but LF and TAB; it may be empty (magid:
// Shapes). Control characters are those of Unicode, U+0080–U+009F included.
func CheckDescription(text string) error {
	if len(text) > MaxDescriptionBytes {
		return invalid("description must have at most %d bytes", MaxDescriptionBytes)
	}
	if !utf8.ValidString(text) {
		return invalid("description must be UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return invalid("description must have no control character but LF and TAB")
		}
	}
	return nil
}

// CheckKind reports whether k is one of the two kinds.
func CheckKind(k Kind) error {
	if k != KindTool && k != KindSkill {
		return invalid("kind must be tool or skill")
	}
	return nil
}

// CheckSkill reports whether text may be a skill's instructions: plain UTF-8
// without NUL, taken as it is (seed: Captured sources). An inline skill keeps
// to the same rule as a captured file, so that one can stand for the other.
// Empty text is a skill.
func CheckSkill(text string) error {
	if !utf8.ValidString(text) {
		return invalid("skill text must be UTF-8")
	}
	for i := range len(text) {
		if text[i] == 0 {
			return invalid("skill text must not contain NUL")
		}
	}
	return nil
}

// resource is one revision, immutable once built and shared by every snapshot
// that contains it.
type resource struct {
	desc     Descriptor
	encoded  []byte // the descriptor as the wire shows it
	content  string // exact captured bytes
	contract *Contract
	charge   int
}

func newResource(d Descriptor, content string, contract *Contract) *resource {
	r := &resource{desc: d, content: content, contract: contract}
	r.encoded = appendDescriptor(nil, &d)
	r.charge = len(r.encoded) + len(content)
	if contract != nil {
		r.charge += len(contract.Input.encoded) + len(contract.Output.encoded)
	}
	return r
}

// before is the order of lists: kind, then name (seed: Registry methods).
func (r *resource) before(kind Kind, name string) bool {
	if r.desc.Kind != kind {
		return r.desc.Kind < kind
	}
	return r.desc.Name < name
}
