package wirev2_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/wirev2"
)

// A daemon's side: three outcomes are told apart, and an answer is written.
func ExampleReader() {
	const null = `"session_id":null,"control_token":null,"operation_id":null`
	input := strings.Join([]string{
		`{"v":2,"kind":"request","request_id":"r1","method":"turn.stop",` + null + `,"payload":{"turn":"x"}}`,
		`{"v":2,"kind":"request","request_id":"r2","method":"daemon.status",` + null + `,"payload":[]}`,
		`{"v":2,"v":2}`,
	}, "\n") + "\n"
	reader, err := wirev2.NewReader(strings.NewReader(input), wirev2.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		request, err := reader.ReadRequest()
		var bad *wirev2.RequestError
		switch {
		case errors.As(err, &bad):
			fmt.Println(bad.Request.RequestID, "answer invalid_request:", bad.Reason)
		case err != nil:
			fmt.Println("answer and close:", err)
			return
		default:
			var payload wirev2.TurnStopRequest
			fmt.Println(request.RequestID, "answer", wirev2.DecodePayload(request.Payload, &payload))
		}
	}
	// Output:
	// r1 answer invalid_payload: payload member turn is not known
	// r2 answer invalid_request: payload is malformed
	// answer and close: invalid record: is not strict JSON: duplicate member at byte 7
}

func ExampleAppendEvent() {
	record, err := wirev2.AppendEvent(nil, &wirev2.Event{
		Event:           wirev2.EventTurnText,
		InstanceID:      "2f1c3a52-6d1e-4c39-9a52-0d6a6f6b1c01",
		ConnectionID:    "2f1c3a52-6d1e-4c39-9a52-0d6a6f6b1c02",
		SessionID:       "2f1c3a52-6d1e-4c39-9a52-0d6a6f6b1c03",
		GrantGeneration: 1,
		LiveSequence:    7,
		Body:            wirev2.TurnTextEvent{TurnID: "2f1c3a52-6d1e-4c39-9a52-0d6a6f6b1c04", Text: "one\nline"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, payload, _ := strings.Cut(string(record), `"live_sequence"`)
	fmt.Print(payload)
	// Output:
	// :7,"payload":{"turn_id":"2f1c3a52-6d1e-4c39-9a52-0d6a6f6b1c04","text":"one\nline"}}
}

func ExampleEncodedStringLen() {
	fmt.Println(wirev2.EncodedStringLen("plain"), wirev2.EncodedStringLen("\n"), wirev2.EncodedStringLen("\u2028"), wirev2.EncodedStringLen("é"))
	// Output:
	// 5 2 6 2
}
