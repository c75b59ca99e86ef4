// Package author reads what declarations say: the project, its Bindings and its
// grants (flow-author-api 2). A declaration came out of code that nobody has
// reviewed, so nothing in it is trusted: every shape is closed, every name, path
// and number is checked here again, and what comes out is normal: defaults of
// grants filled in, paths without "./", lists sorted by bytes.
//
// # Limits
//
// See the constants. Settings and the schemas of bodies are narrower than JSON/0
// because they are not written alone: plans, records, jig.lock and the frame that
// starts a Flow have the limits of JSON/0 as well, and levels and values of their
// own around them.
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
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// Limits of declarations.
const (
	MaxBytes         = 1 << 20  // of one declaration
	MaxGrantBytes    = 32 << 10 // of one grant in a file of its own
	MaxMembers       = 65_536   // of one source
	MaxProviders     = 256      // default providers
	MaxSlots         = 256      // of one Binding
	MaxResourceSlots = 8        // of one Binding: slots filled by grants
	MaxAttachments   = 8        // of one Binding
	MaxDepth         = 100      // of settings and of a body's schema, their root is 1
	MaxSettingsNodes = 65_536   // values of one Binding's settings

	maxContractID = 2048 // scalars
	maxURL        = 2048 // scalars
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

func refuse(pointer, reason string) error { return &Error{Pointer: pointer, Reason: reason} }

func unavailable(pointer, what string) error {
	return &Error{Pointer: pointer, Reason: what + " are not offered by this host", cause: ErrFeature}
}

// object reads a closed object: only the members in known, and those in need.
func object(raw jsontext.Value, pointer string, need, optional []string) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse(pointer, "it has to be an object")
	}
	for _, name := range sorted(members) {
		if !contains(need, name) && !contains(optional, name) {
			return nil, refuse(member(pointer, name), "this member is not known here; it can be "+strings.Join(offered(need, optional), ", "))
		}
		if members[name].Kind() == 'n' {
			return nil, refuse(member(pointer, name), "null is no value here; leave the member out")
		}
	}
	for _, name := range need {
		if _, ok := members[name]; !ok {
			return nil, refuse(pointer, strconv.Quote(name)+" is missing")
		}
	}
	return members, nil
}

// offered are the members that an author writes: not what defineBinding adds, and
// not what is read only to be refused.
func offered(need, optional []string) []string {
	return slices.DeleteFunc(slices.Concat(need, optional), func(name string) bool {
		return name == "attachments" || name == "entrypoint" || name == "kind" && contains(need, "package")
	})
}

// text reads a string.
func text(raw jsontext.Value, pointer string) (string, error) {
	var s string
	if raw.Kind() != '"' || json0.Decode(raw, &s) != nil {
		return "", refuse(pointer, "it has to be a string")
	}
	return s, nil
}

func member(pointer, name string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
