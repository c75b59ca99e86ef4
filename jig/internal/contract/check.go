package contract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// ErrOutcome is a result that is no {outcome, output} or has an outcome that the
// contract does not declare.
var ErrOutcome = errors.New("the result has no outcome that the contract declares")

// Result is what an invocation gives.
type Result struct {
	Outcome string         `json:"outcome"`
	Output  jsontext.Value `json:"output"`
}

// CheckInput applies the contract to an input.
func (i *Invocation) CheckInput(value []byte) error {
	if i == nil || i.input == nil {
		return nil
	}
	return i.input.Validate(value)
}

// CheckResult reads a result and applies the contract to it.
func (i *Invocation) CheckResult(value []byte) (Result, error) {
	var r struct {
		Outcome *string        `json:"outcome"`
		Output  jsontext.Value `json:"output"`
	}
	if err := json0.Decode(value, &r); err != nil || r.Outcome == nil || r.Output == nil || !LocalName(*r.Outcome) {
		return Result{}, ErrOutcome
	}
	if *r.Outcome != Done {
		if i == nil {
			return Result{}, ErrOutcome
		}
		if _, declared := i.Outcomes[*r.Outcome]; !declared {
			return Result{}, fmt.Errorf("%w: %s", ErrOutcome, strings.Join(append([]string{Done}, sortedKeys(i.Outcomes)...), ", "))
		}
	}
	if i != nil && i.result != nil {
		if err := i.result.Validate(value); err != nil {
			return Result{}, err
		}
	}
	return Result{*r.Outcome, r.Output}, nil
}
