package project

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// identity is the digest of the canonical form of v in a domain.
func identity(domain string, v any) (string, error) {
	b, err := json0.Marshal(v)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write([]byte{0})
	h.Write(b)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Request is what the identity of a request is made of (jig.md 4): what runs,
// with no name, selector or input.
type Request struct {
	Package  string                 `json:"package"`
	Contract *string                `json:"contract"` // digest; nil: the package has none
	Settings jsontext.Value         `json:"settings"`
	Slots    map[string]RequestSlot `json:"slots"`
}

// RequestSlot is what fills a slot, as far as identity goes. Request is set for a
// child, Provider and Grant for a resource, nothing but Kind for an empty slot.
type RequestSlot struct {
	Kind     string         `json:"kind"` // target, acp, http or none
	Request  string         `json:"request,omitzero"`
	Provider string         `json:"provider,omitzero"`
	Grant    jsontext.Value `json:"grant,omitzero"`
}

// Session is r as it counts for a session that is kept: without what only bounds
// the use of a grant. The same conversation may go on under a grant that allows
// more turns.
func (r Request) Session() (Request, error) {
	slots := map[string]RequestSlot{}
	for name, s := range r.Slots {
		if s.Kind == KindACP {
			members := map[string]jsontext.Value{}
			if err := json0.Decode(s.Grant, &members); err != nil {
				return r, err
			}
			delete(members, "maxTurns")
			delete(members, "retainSessions")
			var err error
			if s.Grant, err = json0.Marshal(members); err != nil {
				return r, err
			}
		}
		slots[name] = s
	}
	r.Slots = slots
	return r, nil
}

// Digest is the request digest.
func (r Request) Digest() (string, error) {
	if r.Slots == nil {
		r.Slots = map[string]RequestSlot{}
	}
	return identity("jig-request/0", r)
}

// Provider is what the identity of a provider is made of (jig.md 4): everything
// that makes a resource behave as it does, and no secret. What bounds its use,
// such as maxTurns, belongs to the grant.
type Provider struct {
	Kind          string              `json:"kind"`
	Contract      string              `json:"contract"`
	Client        *string             `json:"client"`
	Model         *string             `json:"model"`
	Mode          string              `json:"mode"`
	Endpoint      *string             `json:"endpoint"`
	Proxy         *string             `json:"proxy"`
	Adapter       *string             `json:"adapter"`
	Executable    *ProviderExecutable `json:"executable"`
	Helper        *ProviderExecutable `json:"helper"`
	Files         []ProviderFile      `json:"files"`
	Argv          []string            `json:"argv"`
	Env           map[string]string   `json:"env"`
	Configuration jsontext.Value      `json:"configuration"`
	ModeID        *string             `json:"modeId"`
	Startup       bool                `json:"startup"`
	NestedUserns  bool                `json:"nestedUserns"`
	CA            *string             `json:"ca"`
}

// ProviderExecutable is a program that was looked at, not run.
type ProviderExecutable struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// ProviderFile is a file beside the program.
type ProviderFile struct {
	Path   string `json:"path"`
	Role   string `json:"role"`
	Digest string `json:"digest"`
}

// Digest is the provider digest.
func (p Provider) Digest() (string, error) {
	if p.Files == nil {
		p.Files = []ProviderFile{}
	}
	if p.Argv == nil {
		p.Argv = []string{}
	}
	if p.Env == nil {
		p.Env = map[string]string{}
	}
	if p.Configuration == nil {
		p.Configuration = jsontext.Value("[]")
	}
	return identity("jig-provider/0", p)
}

type scopeEntry struct {
	Target  string `json:"target"`
	Request string `json:"request"`
}

// SessionScope is the digest of who may restore a session (jig.md 4): the same
// project, root target, callers, slot and provider. lineage has the root first
// and the caller last, and at least one entry.
func SessionScope(project string, lineage []tree.Ancestor, slot, provider string) (string, error) {
	ancestors := make([]scopeEntry, len(lineage))
	for i, a := range lineage {
		ancestors[i] = scopeEntry(a)
	}
	return identity("jig-session-scope/0", struct {
		Project   string       `json:"project"`
		Root      scopeEntry   `json:"root"`
		Ancestors []scopeEntry `json:"ancestors"`
		Slot      string       `json:"slot"`
		Provider  string       `json:"provider"`
	}{project, ancestors[0], ancestors[1:], slot, provider})
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
