package component

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// Call begins run.call. raw is the author's argument, with the number of each
// endpoint in its channels; aborted says that the call's own signal already is.
// The value of a settled call is the callee's {outcome, output}.
func (c *Component) Call(raw jsontext.Value, aborted bool) int {
	params, ends, err := c.callParams(raw)
	if err != nil {
		return c.atOnce(nil, err)
	}
	for _, e := range ends {
		e.offered = true
	}
	if err := c.admit(aborted, 0); err != nil {
		return c.atOnce(nil, err)
	}
	n := c.waiter()
	r := &request{method: "flow/call", waiters: []int{n}, answer: c.callAnswer}
	if err := c.request(r, params); err != nil {
		c.settle(n, nil, err)
	}
	return n
}

func (c *Component) callAnswer(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
	if err != nil {
		return nil, err
	}
	members, ok := exactly(result, "outcome", "output")
	outcome, isText := stringOf(members["outcome"])
	if !ok || !isText || !contract.LocalName(outcome) {
		c.die(fault.ProtocolError, "the host's answer to a call is no {outcome, output}")
		return nil, nil
	}
	return result, nil
}

// callParams checks what the author gave and replaces the numbers of endpoints
// by the host's names.
func (c *Component) callParams(raw jsontext.Value) (jsontext.Value, []*endpoint, error) {
	var f struct {
		OperationID jsontext.Value `json:"operationId"`
		Slot        jsontext.Value `json:"slot"`
		Input       jsontext.Value `json:"input"`
		Intent      jsontext.Value `json:"intent,omitzero"`
		Channels    map[string]int `json:"channels"`
	}
	if json0.Decode(raw, &f) != nil {
		return nil, nil, &TypeError{"run.call takes {operationId, slot, input, intent?, channels?} of JSON values"}
	}
	if id, isText := stringOf(f.OperationID); !isText || !run0.WireID(id) {
		return nil, nil, &TypeError{"operationId has to be 1 to 128 of A-Z a-z 0-9 . _ : / -, the first a letter or digit"}
	}
	if slot, isText := stringOf(f.Slot); !isText || !contract.LocalName(slot) {
		return nil, nil, &TypeError{"slot has to be at most 64 of lower-case letters and digits, in words joined by single hyphens"}
	}
	if f.Input == nil {
		return nil, nil, &TypeError{"input is missing"}
	}
	if intent, isText := stringOf(f.Intent); f.Intent != nil && (!isText || intent == "" || utf8.RuneCountInString(intent) > 16_384) {
		return nil, nil, &TypeError{"intent has to be a text of 1 to 16384 characters"}
	}
	var ends []*endpoint
	var names map[string]string
	if f.Channels != nil {
		if len(f.Channels) > 256 {
			return nil, nil, &TypeError{"channels has more than 256 entries"}
		}
		names = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(f.Channels)) {
			if !contract.LocalName(name) {
				return nil, nil, &TypeError{"the name of a channel is at most 64 of lower-case letters and digits, in words joined by single hyphens"}
			}
			e := c.ends[f.Channels[name]]
			switch {
			case e == nil:
				return nil, nil, &TypeError{"channels holds something that is no endpoint of this Run"}
			case e.used || e.ending() || e.ended:
				return nil, nil, &TypeError{"channels holds an endpoint that was used or closed"}
			case slices.Contains(ends, e):
				return nil, nil, &TypeError{"channels holds one endpoint twice"}
			}
			ends = append(ends, e)
			names[name] = e.grant.Endpoint
		}
	}
	// The author's input goes as it was written.
	params := fmt.Appendf(nil, `{"operationId":%s,"slot":%s,"input":%s`, f.OperationID, f.Slot, f.Input)
	if f.Intent != nil {
		params = fmt.Appendf(params, `,"intent":%s`, f.Intent)
	}
	if names != nil {
		channels, err := json0.Marshal(names)
		if err != nil {
			return nil, nil, &TypeError{"the channels of a call cannot be written"}
		}
		params = fmt.Appendf(params, `,"channels":%s`, channels)
	}
	params = append(params, '}')
	return params, ends, nil
}
