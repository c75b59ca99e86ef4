package json0_test

import (
	"errors"
	"fmt"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

func ExampleCheck() {
	for _, doc := range []string{
		`{"a":1,"b":[1e2]}`,
		`{"a":1,"\u0061":2}`,
		`9007199254740993`,
		`"\ud83d"`,
	} {
		fmt.Println(json0.Check([]byte(doc)))
	}
	// Output:
	// <nil>
	// duplicate member name at byte 7: this member was there before
	// number out of range at byte 0: an integer beyond 2^53-1
	// surrogate escape without its other half at byte 1: a string holds Unicode scalars only
}

func ExampleDecode() {
	var settings struct {
		Name  *string `json:"name"`
		Turns int     `json:"turns"`
	}
	err := json0.Decode([]byte(`{"name":"x","turns":2.0}`), &settings)
	fmt.Println(*settings.Name, settings.Turns, err)

	doc := []byte("{\n  \"Name\": \"x\"\n}")
	err = json0.Decode(doc, &settings)
	var e *json0.Error
	if errors.As(err, &e) {
		line, _ := e.Position(doc)
		fmt.Println("line", line, e)
	}
	// Output:
	// x 2 <nil>
	// line 2 unexpected shape at byte 4: a member that is not expected
}

func ExampleCanonical() {
	c, err := json0.Canonical([]byte(` { "b": 1.0, "a": [1e-7, "\u00e9"] } `))
	fmt.Println(string(c), err)
	// Output: {"a":[1e-7,"é"],"b":1} <nil>
}
