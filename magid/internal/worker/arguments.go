package worker

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// object reads a model's arguments: exactly one strict JSON object that fits the
// limit as it was written and in its compact form, as those of an application's
// tool do. The text of an error goes to the model.
func object(written string) (jsontext.Value, error) {
	switch {
	case written == "":
		return nil, errors.New("the arguments are empty, not a JSON object")
	case len(written) > maxValueBytes:
		return nil, fmt.Errorf("the arguments have more than %d bytes", maxValueBytes)
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
