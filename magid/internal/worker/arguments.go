package worker

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// object reads a model's arguments: exactly one strict JSON object, whose
// compact form fits the limit. The text of an error goes to the model.
func object(written string) (jsontext.Value, error) {
	if written == "" {
		return nil, errors.New("the arguments are empty, not a JSON object")
	}
	value := jsontext.Value(written)
	// The defaults of this package refuse duplicate members, invalid UTF-8, lone
	// surrogates and anything after the value.
	if !value.IsValid() {
		return nil, errors.New("the arguments are not valid JSON")
	}
	if value.Kind() != '{' {
		return nil, errors.New("the arguments are not a JSON object")
	}
	value = value.Clone()
	if err := value.Compact(); err != nil {
		return nil, errors.New("the arguments are not valid JSON")
	}
	if len(value) > maxValueBytes {
		return nil, fmt.Errorf("the arguments have more than %d bytes", maxValueBytes)
	}
	return value, nil
}
