package contract

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// InvocationSchema is the $schema of an invocation contract.
const InvocationSchema = "https://flow.jig.md/schemas/invocation-contract-0.schema.json"

// Done is the outcome that every invocation has.
const Done = "done"

// Directions, deliveries and starts of a port, from the callee's view.
const (
	Send      = "send"
	Receive   = "receive"
	Direct    = "direct"
	Broadcast = "broadcast"
	Beginning = "beginning"
	Suffix    = "suffix"
)

// Port is a channel that an invocation takes.
type Port struct {
	Direction string
	Required  bool
	Delivery  string      // empty: either
	Start     string      // of a receive port: beginning or suffix; else empty
	Item      *ItemSchema // of an inline schema or of the contract; nil takes any
	Contract  *Channel    // nil for a port without a named agreement
	Reference string      // descriptor-relative path of Contract; empty without one
}

// Invocation is an invocation contract. The zero value is that of a package
// without a contract file: any input, only done, any output, no ports.
type Invocation struct {
	Identity    Identity          // Named() is false for an anonymous contract
	Features    map[string]string // name to text
	Outcomes    map[string]string // beside done
	Ports       map[string]Port
	Attachments map[string]string // name to "read" or "read-write"

	input  *schema0.Schema
	result *schema0.Schema
}

type invocationFile struct {
	Schema      *string                   `json:"$schema"`
	ID          *string                   `json:"id"`
	Version     *string                   `json:"version"`
	Features    map[string]string         `json:"features"`
	Defs        map[string]jsontext.Value `json:"$defs"`
	Input       jsontext.Value            `json:"input"`
	Result      jsontext.Value            `json:"result"`
	Outcomes    map[string]string         `json:"outcomes"`
	Channels    jsontext.Value            `json:"channels"`
	Attachments map[string]string         `json:"attachments"`
	Operations  map[string]jsontext.Value `json:"operations"`
}

type portFile struct {
	Direction *string        `json:"direction"`
	Required  *bool          `json:"required"`
	Schema    jsontext.Value `json:"schema"`
	Contract  *string        `json:"contract"`
	Delivery  *string        `json:"delivery"`
	Start     *string        `json:"start"`
}

// ParseInvocation reads an invocation contract. load returns the bytes of the
// file at a path relative to the contract's folder; it is asked for the channel
// descriptors only.
func ParseInvocation(raw []byte, load func(path string) ([]byte, error)) (*Invocation, error) {
	canonical, err := canonicalFile(raw)
	if err != nil {
		return nil, err
	}
	if err := noNull(canonical, "", 1); err != nil {
		return nil, err
	}
	if err := invocationShape.check(canonical, ""); err != nil {
		return nil, err
	}
	var f invocationFile
	if err := json0.Decode(canonical, &f); err != nil {
		return nil, because("", err)
	}
	if f.Schema == nil || *f.Schema != InvocationSchema {
		return nil, wrong("/$schema", "this member has to be there, as "+InvocationSchema)
	}
	if f.Operations != nil {
		if f.Input != nil || f.Result != nil || f.Outcomes != nil || f.Channels != nil || f.Attachments != nil || f.Features != nil {
			return nil, wrong("/operations", "operations stand without the members of a single operation")
		}
		return nil, &Error{Pointer: "/operations", Reason: "contracts with named operations are not supported", cause: ErrUnsupported}
	}
	i := &Invocation{Features: f.Features, Outcomes: f.Outcomes, Attachments: f.Attachments, Ports: map[string]Port{}}
	if err := i.header(&f); err != nil {
		return nil, err
	}
	set, err := definitions(canonical, f.Defs)
	if err != nil {
		return nil, err
	}
	if f.Input != nil {
		if i.input, err = set.Compile(f.Input, "/input"); err != nil {
			return nil, because("/input", err)
		}
	}
	if f.Result != nil {
		if i.result, err = set.Compile(f.Result, "/result"); err != nil {
			return nil, because("/result", err)
		}
	}
	descriptors, err := i.ports(&f, set, load)
	if err != nil {
		return nil, err
	}
	if err := set.Seal(); err != nil {
		return nil, because("", err)
	}
	preimage, err := json0.Marshal(map[string]any{"descriptor": jsontext.Value(canonical), "channelContracts": descriptors})
	if err != nil {
		return nil, because("", err)
	}
	if len(preimage) > MaxPreimage {
		return nil, wrong("", fmt.Sprintf("the contract and its channels are above %d bytes", MaxPreimage))
	}
	i.Identity.Digest = digest("FLOW-Invocation-Contract/0", preimage)
	return i, nil
}

// noNull refuses a member that is null where no member may be: json decodes null
// like an absent one, and presence matters here. It looks into as many levels of
// objects; object itself stands at the pointer at.
func noNull(object jsontext.Value, at jsontext.Pointer, levels int) error {
	members := map[string]jsontext.Value{}
	if levels == 0 || object.Kind() != '{' || json0.Decode(object, &members) != nil {
		return nil
	}
	for _, name := range sortedKeys(members) {
		to := at.AppendToken(name)
		if members[name].Kind() == 'n' {
			return wrong(string(to), "null is not allowed here")
		}
		if err := noNull(members[name], to, levels-1); err != nil {
			return err
		}
	}
	return nil
}

func (i *Invocation) header(f *invocationFile) error {
	switch {
	case (f.ID == nil) != (f.Version == nil):
		return wrong("/id", "id and version stand together or not at all")
	case f.ID != nil && !validID(*f.ID):
		return wrong("/id", idWords)
	case f.Version != nil && !validVersion(*f.Version):
		return wrong("/version", versionWords)
	case f.ID == nil && f.Features != nil:
		return wrong("/features", "only a named contract has features")
	}
	if f.ID != nil {
		i.Identity.ID, i.Identity.Version = *f.ID, *f.Version
	}
	for _, texts := range []struct {
		name string
		m    map[string]string
	}{{"features", f.Features}, {"outcomes", f.Outcomes}} {
		if len(texts.m) > maxEntries {
			return wrong("/"+texts.name, fmt.Sprintf("more than %d entries", maxEntries))
		}
		for _, name := range sortedKeys(texts.m) {
			if !LocalName(name) {
				return wrong(string(jsontext.Pointer("/"+texts.name).AppendToken(name)), "a name is lower-case words joined by single hyphens")
			}
			if !textScalars(texts.m[name], maxText) {
				return wrong("/"+texts.name+"/"+name, fmt.Sprintf("a text of 1 to %d characters is needed", maxText))
			}
		}
	}
	for _, reserved := range []string{Done, "failed", "cancelled", "error"} {
		if _, declared := f.Outcomes[reserved]; declared {
			return wrong("/outcomes/"+reserved, "this outcome cannot be declared")
		}
	}
	if len(f.Attachments) > maxEntries {
		return wrong("/attachments", fmt.Sprintf("more than %d entries", maxEntries))
	}
	for _, name := range sortedKeys(f.Attachments) {
		if access := f.Attachments[name]; !LocalName(name) || access != "read" && access != "read-write" {
			return wrong(string(jsontext.Pointer("/attachments").AppendToken(name)), "an attachment has a lower-case name and is read or read-write")
		}
	}
	return nil
}

// ports reads the channels and returns the descriptors that the identity covers.
func (i *Invocation) ports(f *invocationFile, set *schema0.Set, load func(string) ([]byte, error)) (map[string]jsontext.Value, error) {
	descriptors, files := map[string]jsontext.Value{}, map[string]portFile{}
	if f.Channels != nil {
		if err := noNull(f.Channels, "/channels", 2); err != nil {
			return nil, err
		}
		if err := json0.Decode(f.Channels, &files); err != nil {
			return nil, because("/channels", err)
		}
	}
	if len(files) > maxEntries {
		return nil, wrong("/channels", fmt.Sprintf("more than %d channels", maxEntries))
	}
	for _, name := range sortedKeys(files) {
		at := "/channels/" + name
		if !LocalName(name) {
			return nil, wrong(string(jsontext.Pointer("/channels").AppendToken(name)), "a channel's name is lower-case words joined by single hyphens")
		}
		file := files[name]
		p, err := port(file, at)
		if err != nil {
			return nil, err
		}
		if file.Schema != nil {
			if hasReference(file.Schema) {
				return nil, wrong(at+"/schema", "an inline schema holds no $ref and no $defs")
			}
			compiled, err := set.Compile(file.Schema, at+"/schema")
			if err != nil {
				return nil, because(at+"/schema", err)
			}
			canonical, err := json0.Canonical(file.Schema)
			if err != nil {
				return nil, because(at+"/schema", err)
			}
			p.Item = item(compiled, canonical)
		}
		if file.Contract != nil {
			p.Reference = strings.TrimPrefix(*file.Contract, "./")
			if p.Contract, err = channelAt(p.Reference, load); err != nil {
				return nil, inDescriptor(at+"/contract", p.Reference, err)
			}
			p.Item = p.Contract.Item
			if descriptors[p.Reference] = p.Contract.canonical; len(descriptors) > MaxChannels {
				return nil, wrong("/channels", fmt.Sprintf("more than %d channel descriptors", MaxChannels))
			}
		}
		i.Ports[name] = p
	}
	return descriptors, nil
}

func port(file portFile, at string) (Port, error) {
	p := Port{Required: file.Required == nil || *file.Required}
	if file.Direction == nil || *file.Direction != Send && *file.Direction != Receive {
		return p, wrong(at+"/direction", "send or receive is needed")
	}
	p.Direction = *file.Direction
	if file.Schema != nil && file.Contract != nil {
		return p, wrong(at, "a channel has a schema or a contract, not both")
	}
	if file.Contract != nil && !ValidReference(*file.Contract) {
		return p, wrong(at+"/contract", referenceWords)
	}
	if file.Delivery != nil {
		if p.Delivery = *file.Delivery; p.Delivery != Direct && p.Delivery != Broadcast {
			return p, wrong(at+"/delivery", "direct or broadcast is needed")
		}
	}
	if p.Direction == Receive {
		p.Start = Beginning
	}
	if file.Start != nil {
		if p.Start = *file.Start; p.Direction != Receive || p.Start != Beginning && p.Start != Suffix {
			return p, wrong(at+"/start", "a receive channel starts at its beginning or with a suffix")
		}
	}
	return p, nil
}

func channelAt(reference string, load func(string) ([]byte, error)) (*Channel, error) {
	if load == nil {
		return nil, errors.New("no descriptor can be read here")
	}
	raw, err := load(path.Clean(reference))
	if err != nil {
		return nil, fmt.Errorf("the channel descriptor ./%s cannot be read: %w", reference, err)
	}
	return ParseChannel(raw)
}

// inDescriptor is a refusal of the channel descriptor that a contract refers to at
// pointer: in the descriptor itself where it could be read.
func inDescriptor(pointer, reference string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return because(pointer, err)
	}
	inside := *e
	inside.File = reference
	return &inside
}

// hasReference looks for $ref or $defs as a member name anywhere below. A
// property that is called so is refused too: a schema for it is too rare to
// make the rule longer.
func hasReference(schema jsontext.Value) bool {
	v, err := json0.Parse(schema)
	return err != nil || refers(v)
}

func refers(v any) bool {
	switch v := v.(type) {
	case []any:
		if slices.ContainsFunc(v, refers) {
			return true
		}
	case map[string]any:
		for name, member := range v {
			if name == "$ref" || name == "$defs" || refers(member) {
				return true
			}
		}
	}
	return false
}
