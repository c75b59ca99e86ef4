package project

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// Format names the form of a Meaning.
const Format = "jig-plan/1"

// Meaning is what a review reviews and a run runs: everything that a project's
// declarations and packages say, linked, and what of the operator's machine goes
// into it. It holds no comment, no order of declarations and no secret. Two
// projects that mean the same have the same canonical bytes.
type Meaning struct {
	Format           string            `json:"format"`
	Agents           []string          `json:"agents"`
	DefaultProviders map[string]string `json:"defaultProviders"`
	Environment      Surroundings      `json:"environment"`
	Packages         map[string]string `json:"packages"` // path to digest
	Targets          map[string]Target `json:"targets"`  // by selector
	// Providers are what the identities of examined clients are made of, by digest.
	Providers map[string]Provider `json:"providers,omitzero"`
}

// Surroundings are the parts of the operator's machine that everything of a
// project depends on.
type Surroundings struct {
	Bwrap string `json:"bwrap"` // path of the sandbox program
	// How resources reach other machines; nil without a grant.
	Reach *ReachFacts `json:"reach"`
}

// ReachFacts are the reviewed facts of a Reach.
type ReachFacts struct {
	Proxy   *string `json:"proxy"`
	NoProxy *string `json:"noProxy"`
	CA      *string `json:"ca"` // digest; nil: the system's
}

// Facts are what of r is reviewed.
func (r *Reach) Facts() ReachFacts {
	return ReachFacts{optional(r.Proxy), optional(r.NoProxy), optional(r.CA)}
}

// Target is one thing that can be run.
type Target struct {
	Package  string             `json:"package"` // path
	Entry    string             `json:"entry"`   // FLOW.<ext>
	Settings jsontext.Value     `json:"settings"`
	Contract *contract.Identity `json:"contract"` // nil: the package has none, or an anonymous one
	Slots    map[string]Slot    `json:"slots"`
	Request  string             `json:"request"`
	Ready    bool               `json:"ready"`
	Reason   string             `json:"reason,omitzero"` // why it is not ready
	// Unavailable is true where it is the host that cannot run the package.
	Unavailable bool `json:"unavailable,omitzero"`
}

// Kinds of slots.
const (
	KindTarget = "target"
	KindACP    = "acp"
	KindHTTP   = "http"
	KindNone   = "none"
)

// Origins of what fills a slot.
const (
	OriginExplicit = "explicit" // the Binding says so
	OriginDefault  = "default"  // defaultProviders
	OriginOnly     = "only"     // the one target that fits
)

// Slot is one slot of a target and what fills it.
type Slot struct {
	Kind     string             `json:"kind"`
	Contract *contract.Identity `json:"contract"` // asked for; nil: none
	Origin   string             `json:"origin,omitzero"`
	Target   string             `json:"target,omitzero"` // selector
	Name     string             `json:"name,omitzero"`   // of grants/<name>.json; empty: in place
	Grant    jsontext.Value     `json:"grant,omitzero"`  // normal
	// Declared is an acp grant as the project has it, where a review's --agent made
	// another one of it.
	Declared jsontext.Value `json:"declared,omitzero"`
	Provider string         `json:"provider,omitzero"`
	Shown    *Shown         `json:"shown,omitzero"`  // of an acp grant whose client was examined
	Reason   string         `json:"reason,omitzero"` // why nothing fills it, or what does is not ready
}

// Shown is what a person sees of an examined client.
type Shown struct {
	Model          string `json:"model"`
	ModelFrom      string `json:"modelFrom,omitzero"` // one of ModelFromGrant and its like
	Authentication string `json:"authentication"`
	Executable     string `json:"executable"`
}

// Canonical is the canonical form of m.
func (m *Meaning) Canonical() (jsontext.Value, error) { return json0.Marshal(m) }

// bounded refuses what is too large to be compared, recorded and shown: a review
// puts two meanings into one document.
func (m *Meaning) bounded() error {
	b, err := m.Canonical()
	if err == nil {
		err = json0.Limits{Bytes: MaxMeaningBytes, Nodes: MaxMeaningValues}.Check(b)
	}
	if !errors.Is(err, json0.ErrLimit) {
		return err
	}
	return &Refusal{[]Diagnostic{{
		Code:    CodeDeclarationInvalid,
		Message: fmt.Sprintf("the declarations are too large together: at most %d MiB and %d values", MaxMeaningBytes>>20, MaxMeaningValues),
		Hint:    "keep large settings in the files of the packages that read them",
	}}}
}

// Empty is the meaning of a project of which nothing was admitted.
func Empty() *Meaning {
	return &Meaning{
		Format: Format, Agents: []string{}, DefaultProviders: map[string]string{},
		Packages: map[string]string{}, Targets: map[string]Target{},
	}
}
