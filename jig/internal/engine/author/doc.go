// Package author reads what declarations say: the project, its Bindings and its
// grants (flow-author-api 2). A declaration came out of code that nobody has
// reviewed, so nothing in it is trusted: every shape is closed, every name, path
// and number is checked here again, and what comes out is normal: defaults of
// grants filled in, paths without "./", lists sorted by bytes.
//
// # Limits
//
// See the constants.
//
// # Errors
//
// [*Error] names the place in the declaration and says what is wrong there.
// [ErrFeature] is under it where the thing is well-formed and this host does not
// offer it.
//
// # Concurrency
//
// Everything parsed is immutable and safe for concurrent use.
package author

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of declarations.
const (
	MaxMembers       = 65_536 // of one source
	MaxProviders     = 256
	MaxSlots         = 256
	MaxAttachments   = 8
	MaxResourceSlots = 8 // of one Binding
	maxContractID    = 2048
)

// Error says what is wrong with a declaration.
type Error struct {
	Pointer string // JSON pointer into the declaration
	Reason  string
	cause   error
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Unwrap returns what is under the error, or nil.
func (e *Error) Unwrap() error { return e.cause }

// ErrFeature is a declaration of something that this host does not offer.
var ErrFeature = errors.New("not offered by this host")

// Source says where flows, bindings or grants come from: found below roots, or
// named one by one. A nil Source is one that was not given.
type Source struct {
	Discover bool     // Paths are roots; otherwise members
	Paths    []string // sorted by bytes
}

// Project is a normal jig.ts.
type Project struct {
	Flows            *Source
	Bindings         *Source
	Grants           *Source
	DefaultProviders map[string]Selector // by contract id
	Agents           []string            // codex, claude, pi; nil: not given
}

// Selector names a target.
type Selector struct {
	Kind string // flow or binding
	Name string // path of a package, or LocalName
}

func (s Selector) String() string { return s.Kind + ":" + s.Name }

// Binding is a normal bindings/<id>.ts.
type Binding struct {
	Package     string
	Settings    jsontext.Value // canonical, an object
	Slots       map[string]Slot
	Attachments map[string]string // name to project path; nil: none
}

// Slot is what fills a slot: a target, a named grant, or a grant in place.
type Slot struct {
	Target *Selector // flow or binding
	Grant  string    // name of grants/<name>.json
	Inline *Grant
}

// Grant is a normal grant. Exactly one of its fields is set.
type Grant struct {
	ACP  *ACP
	HTTP *HTTP
}

// Kind is acp or http.
func (g *Grant) Kind() string {
	if g.ACP != nil {
		return "acp"
	}
	return "http"
}

// ACP lends one native conversation. What was omitted stays omitted.
type ACP struct {
	Client         string
	Model          string // empty: omitted
	MaxTurns       int    // 0: omitted
	RetainSessions bool
}

// HTTP lends one exact request. Its numbers are filled in.
type HTTP struct {
	URL           string
	Method        string
	BearerEnv     string // empty: omitted
	RequestBytes  int
	ResponseBytes int
	TimeoutMS     int
	BodySchema    jsontext.Value // canonical; nil: omitted
}

// ParseProject reads the value of jig.ts, or the bytes of jig.json.
func ParseProject(raw []byte) (*Project, error) { return nil, errors.ErrUnsupported }

// ParseBinding reads the value of a Binding's file.
func ParseBinding(raw []byte) (*Binding, error) { return nil, errors.ErrUnsupported }

// ParseGrant reads one grant, such as the bytes of grants/<name>.json.
func ParseGrant(raw []byte) (*Grant, error) { return nil, errors.ErrUnsupported }

// MarshalJSON writes the normal form that enters identities.
func (g *Grant) MarshalJSON() ([]byte, error) { return nil, errors.ErrUnsupported }
