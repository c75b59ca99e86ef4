package appresources_test

import (
	"fmt"
	"time"

	"github.com/magi-jig/magi-jig/appresources"
)

const lookup = `{
	"input_schema": {"type": "object", "additionalProperties": false,
		"properties": {"order": {"type": "string", "maxLength": 32}}, "required": ["order"]},
	"output_schema": {"type": "object", "additionalProperties": false,
		"properties": {"found": {"type": "boolean"}}, "required": ["found"]},
	"timeout_ms": 5000
}`

// An application lends a tool and a skill to one turn, then takes them back.
// The turn keeps what it was accepted with.
func ExampleSet() {
	set, err := appresources.New(appresources.Options{})
	if err != nil {
		panic(err)
	}
	const session = appresources.ID("8c0de0b1-6c4f-4a4e-9d47-6d6b2f0d8a11")
	now := time.Duration(0)
	set.Claim(session, now)
	tool, err := set.Register(session, appresources.Registration{
		Kind: appresources.KindTool, Name: "lookup_order", Description: "Find one order.",
	}, lookup, now)
	if err != nil {
		panic(err)
	}
	last, err := set.Register(session, appresources.Registration{Kind: appresources.KindSkill, Name: "style"}, "Be brief.", now)
	if err != nil {
		panic(err)
	}

	turn, err := set.Select(session, appresources.Selection{
		ExpectedRegistryRevision: last.RegistryRevision,
		Authorizations:           []appresources.Tuple{tool.Entry.Tuple()},
	}, now)
	if err != nil {
		panic(err)
	}
	if _, err := set.Clear(session, last.RegistryRevision, now); err != nil {
		panic(err)
	}
	accepted, _ := turn.Snapshot().Tool("lookup_order")
	fmt.Println(turn.Snapshot().Instructions(), accepted.Contract.Timeout)
	fmt.Println(accepted.Contract.Input.Check([]byte(`{"order":"A-17"}`)))
	fmt.Println(accepted.Contract.Input.Check([]byte(`{"order":17}`)))
	fmt.Println(set.Usage().Entries)
	set.Release(turn, now)
	fmt.Println(set.Usage().Entries)
	// Output:
	// Be brief. 5s
	// <nil>
	// member order must be a string
	// 2
	// 0
}

// A change made against an old revision is refused and changes nothing.
func ExampleCodeOf() {
	set, err := appresources.New(appresources.Options{})
	if err != nil {
		panic(err)
	}
	set.Claim("s", 0)
	style := appresources.Registration{Kind: appresources.KindSkill, Name: "style"}
	first, _ := set.Register("s", style, "Be brief.", 0)
	style.ExpectedRevision = first.Entry.RevisionID
	_, err = set.Register("s", style, "Be kind.", 0)
	fmt.Println(err)
	_, err = set.Register("s", style, "Be late.", 0)
	fmt.Println(appresources.CodeOf(err), "-", err)
	// Output:
	// <nil>
	// conflict - expected_revision is not the resource's current revision
}

// A source that lies in a file takes the one slot while it is captured.
func ExampleSet_Reserve() {
	set, err := appresources.New(appresources.Options{})
	if err != nil {
		panic(err)
	}
	set.Claim("s", 0)
	staged, err := set.Reserve("s", appresources.Registration{Kind: appresources.KindSkill, Name: "style"}, 0)
	if err != nil {
		panic(err)
	}
	_, err = set.Register("s", appresources.Registration{Kind: appresources.KindSkill, Name: "tone"}, "Calm.", 0)
	fmt.Println(appresources.CodeOf(err))
	published, err := set.Publish(staged, "Be brief.", 0)
	fmt.Println(published.Entry.Name, published.Entry.CapturedBytes, err)
	// Output:
	// configuration_busy
	// style 9 <nil>
}
