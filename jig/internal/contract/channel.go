package contract

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// ChannelSchema is the $schema of a channel descriptor.
const ChannelSchema = "https://flow.jig.md/schemas/channel-contract-0.schema.json"

// ItemSchema is what a channel's items have to be. A nil one takes any.
type ItemSchema struct {
	compiled *schema0.Schema
	compare  []byte // canonical, for equality
}

// CompileItem compiles a schema given by itself, as channel/create takes it.
// The schema true takes anything and gives nil.
func CompileItem(raw []byte) (*ItemSchema, error) {
	compiled, err := schema0.Embedded(raw)
	if err != nil {
		return nil, err
	}
	canonical, err := json0.Canonical(raw)
	if err != nil {
		return nil, err
	}
	return item(compiled, canonical), nil
}

func item(compiled *schema0.Schema, canonical []byte) *ItemSchema {
	if s := string(canonical); s == "true" {
		return nil
	}
	return &ItemSchema{compiled, canonical}
}

// Check applies the schema to one item.
func (s *ItemSchema) Check(value []byte) error {
	if s == nil {
		return nil
	}
	return s.compiled.Validate(value)
}

// Same says whether two schemas are canonically equal. Nil is only the same as
// nil; who may be joined with whom is for the broker to decide.
func (s *ItemSchema) Same(other *ItemSchema) bool {
	if s == nil || other == nil {
		return s == other
	}
	return bytes.Equal(s.compare, other.compare)
}

// Channel is a channel descriptor.
type Channel struct {
	Identity  Identity
	Semantics string
	Item      *ItemSchema

	canonical []byte
}

type channelFile struct {
	Schema    *string                   `json:"$schema"`
	ID        *string                   `json:"id"`
	Version   *string                   `json:"version"`
	Semantics *string                   `json:"semantics"`
	Item      jsontext.Value            `json:"item"`
	Defs      map[string]jsontext.Value `json:"$defs"`
}

// ParseChannel reads a channel descriptor.
func ParseChannel(raw []byte) (*Channel, error) {
	canonical, err := canonicalFile(raw)
	if err != nil {
		return nil, err
	}
	if err := noNull(canonical, "", 1); err != nil {
		return nil, err
	}
	if err := channelShape.check(canonical, ""); err != nil {
		return nil, err
	}
	var f channelFile
	if err := json0.Decode(canonical, &f); err != nil {
		return nil, because("", err)
	}
	switch {
	case f.Schema == nil || *f.Schema != ChannelSchema:
		return nil, wrong("/$schema", "this member has to be there, as "+ChannelSchema)
	case f.ID == nil || !validID(*f.ID):
		return nil, wrong("/id", idWords)
	case f.Version == nil || !validVersion(*f.Version):
		return nil, wrong("/version", versionWords)
	case f.Semantics == nil || *f.Semantics == "" || len(*f.Semantics) > maxText:
		return nil, wrong("/semantics", fmt.Sprintf("a text of 1 to %d bytes is needed", maxText))
	case f.Item == nil:
		return nil, wrong("/item", "an item schema is needed")
	}
	set, err := definitions(canonical, f.Defs)
	if err != nil {
		return nil, err
	}
	compiled, err := set.Compile(f.Item, "/item")
	if err == nil {
		err = set.Seal()
	}
	if err != nil {
		return nil, because("/item", err)
	}
	compare, err := comparison(f.Item, f.Defs)
	if err != nil {
		return nil, because("/item", err)
	}
	return &Channel{
		Identity:  Identity{*f.ID, *f.Version, digest("FLOW-Channel-Contract/0", canonical)},
		Semantics: *f.Semantics,
		Item:      item(compiled, compare),
		canonical: canonical,
	}, nil
}

// comparison is the canonical schema that a named contract's items are compared
// by: item merged with its definitions (run-0 4.5).
func comparison(item jsontext.Value, defs map[string]jsontext.Value) ([]byte, error) {
	if len(defs) == 0 {
		return json0.Canonical(item)
	}
	if item[0] != '{' {
		return json0.Marshal(map[string]any{"$defs": defs, "allOf": []jsontext.Value{item}})
	}
	merged := map[string]jsontext.Value{}
	if err := json0.Decode(item, &merged); err != nil {
		return nil, err
	}
	d, err := json0.Marshal(defs)
	if err != nil {
		return nil, err
	}
	merged["$defs"] = d
	return json0.Marshal(merged)
}

// definitions begins the schema set of a descriptor. canonical is the whole
// descriptor, from which the raw $defs are taken.
func definitions(canonical []byte, defs map[string]jsontext.Value) (*schema0.Set, error) {
	if len(defs) > maxDefs {
		return nil, wrong("/$defs", fmt.Sprintf("more than %d definitions", maxDefs))
	}
	for name := range defs {
		if !validDef(name) {
			return nil, wrong("/$defs", "a definition's name is a letter and up to 63 letters and digits")
		}
	}
	if defs == nil {
		set, err := schema0.NewSet(nil, "")
		return set, err
	}
	raw, err := json0.Marshal(defs)
	if err != nil {
		return nil, because("/$defs", err)
	}
	set, err := schema0.NewSet(raw, "/$defs")
	if err != nil {
		return nil, because("/$defs", err)
	}
	return set, nil
}

// canonicalFile checks a descriptor file and returns its canonical bytes.
func canonicalFile(raw []byte) ([]byte, error) {
	if len(raw) > MaxBytes {
		return nil, wrong("", fmt.Sprintf("a file of %d bytes is above %d", len(raw), MaxBytes))
	}
	canonical, err := json0.Canonical(raw)
	if err != nil {
		return nil, because("", err)
	}
	if canonical[0] != '{' {
		return nil, wrong("", "an object is needed")
	}
	return canonical, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
