package acpframing_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

func Example() {
	splitter, err := acpframing.NewSplitter(acpframing.Requests, acpframing.Limits{})
	if err != nil {
		panic(err)
	}
	joiner, err := acpframing.NewJoiner(acpframing.Requests, acpframing.Limits{})
	if err != nil {
		panic(err)
	}

	frame := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + strings.Repeat("s", 8200) + `"}}`
	if err := splitter.Begin([]byte(frame)); err != nil {
		panic(err)
	}
	var item []byte
	for splitter.More() {
		item, err = splitter.Next(item[:0])
		if err != nil {
			panic(err)
		}
		fmt.Printf("%.40s… %d bytes\n", item, len(item))

		joined, err := joiner.Add(item) // at the other end
		if err != nil {
			panic(err)
		}
		if joined != nil {
			fmt.Println(joined.Len() == len(frame), json0.Check(joined.Bytes()))
		}
	}
	fmt.Println(splitter.Finish(), joiner.Finish())
	// Output:
	// {"end":false,"kind":"data","text":"{\"js… 8242 bytes
	// {"end":true,"kind":"data","text":"ssssss… 114 bytes
	// true <nil>
	// <nil> <nil>
}

func ExampleJoiner_poisoned() {
	joiner, err := acpframing.NewJoiner(acpframing.Requests, acpframing.Limits{})
	if err != nil {
		panic(err)
	}
	for _, item := range []string{
		`{"kind":"data","text":"{","end":false}`,
		`{"kind":"data","text":"","end":true}`,
		`{"kind":"data","text":"}","end":true}`,
	} {
		_, err := joiner.Add([]byte(item))
		fmt.Println(err, errors.Is(err, acpframing.ErrViolation))
	}
	// Output:
	// <nil> false
	// framing violation of requests: a fragment has no text true
	// framing violation of requests: a fragment has no text true
}

func ExampleReady() {
	ready := acpframing.Ready{
		MaxTurns:      1,
		Configuration: []acpframing.Setting{{ConfigID: "model", Value: "reviewed-model"}},
		ModeID:        "read-only",
	}
	item, err := ready.Append(nil)
	fmt.Println(string(item), err)
	again, err := acpframing.ParseReady(item)
	fmt.Println(again.Configuration[0].Value, err)
	// Output:
	// {"configuration":[{"configId":"model","value":"reviewed-model"}],"cwd":"/work","kind":"ready","maxTurns":1,"modeId":"read-only","protocolVersion":1} <nil>
	// reviewed-model <nil>
}
