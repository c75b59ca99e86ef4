package chat

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

const (
	// MaxCalls bounds the calls of one reply; their indices run from 0 to one less.
	MaxCalls = 64
	// MaxIDBytes bounds a call's id (seed: Callback bounds).
	MaxIDBytes = 128
	// MaxNameBytes bounds the name that a model calls. Names offered are shorter.
	MaxNameBytes = 128

	// wholeBytes bounds how far arguments are read to see whether they are whole:
	// far over what a call may have, and short enough to be read with each
	// fragment of a server that repeats the name.
	wholeBytes = 64 << 10
)

// calls is the calls of one reply while their fragments come.
type calls struct {
	list   []*call // in the order of their coming
	bytes  int
	old    bool // they come as function_call
	result []provider.Call
}

type call struct {
	index     int
	id, name  string
	arguments joined
}

// add takes one fragment.
func (cs *calls) add(d *toolCallDelta, limit int) error {
	switch {
	case cs.old:
		return failed("the provider mixed two ways to call", nil)
	case d.Index != nil && (*d.Index < 0 || *d.Index >= MaxCalls):
		return failed(fmt.Sprintf("the provider gave a call an index that is not 0 to %d", MaxCalls-1), nil)
	case d.Type != "" && d.Type != "function":
		return failed("the model called something that is no function", nil)
	}
	c := cs.find(d)
	if c == nil {
		if c = cs.open(d.Index); c == nil {
			return failed(fmt.Sprintf("the model made more than %d calls in one reply", MaxCalls), nil)
		}
	}
	return cs.put(c, d.ID, d.Function, limit)
}

// addOld takes one fragment of the single call that the format once had.
func (cs *calls) addOld(f *functionDelta, limit int) error {
	if !cs.old && len(cs.list) > 0 {
		return failed("the provider mixed two ways to call", nil)
	}
	cs.old = true
	if len(cs.list) == 0 {
		cs.list = append(cs.list, &call{})
	}
	if old := cs.list[0].name; old != "" && f.Name != "" && f.Name != old {
		return failed("the provider renamed a call", nil)
	}
	return cs.put(cs.list[0], "", *f, limit)
}

// find gives the call that a fragment continues, nil if it begins one.
func (cs *calls) find(d *toolCallDelta) *call {
	var last *call
	for _, c := range slices.Backward(cs.list) {
		if d.Index != nil && c.index != *d.Index {
			continue
		}
		if d.ID != "" && c.id == d.ID {
			return c
		}
		if last == nil {
			last = c
		}
	}
	switch name, text := d.Function.Name, d.Function.Arguments.raw; {
	case last == nil:
		return nil
	case d.ID != "" && last.id != "": // and it is another, or it had been found
		return nil
	case name == "" || last.name == "":
		return last
	case name != last.name:
		return nil
	case len(text) > len(`""`) && last.whole():
		return nil
	default: // some servers repeat the name with each fragment
		return last
	}
}

// open begins a call, nil where there are too many. A call without an index comes
// after those that have come.
func (cs *calls) open(index *int) *call {
	if len(cs.list) == MaxCalls {
		return nil
	}
	c := new(call)
	if index != nil {
		c.index = *index
	} else {
		for _, other := range cs.list {
			c.index = max(c.index, other.index)
		}
	}
	cs.list = append(cs.list, c)
	return c
}

func (cs *calls) put(c *call, id string, f functionDelta, limit int) error {
	if id != "" {
		c.id = id
	}
	if f.Name != "" {
		c.name = f.Name
	}
	if len(c.id) > MaxIDBytes {
		return failed(fmt.Sprintf("the provider gave a call an id longer than %d bytes", MaxIDBytes), nil)
	}
	if len(c.name) > MaxNameBytes {
		return failed(fmt.Sprintf("the model called a name longer than %d bytes", MaxNameBytes), nil)
	}
	before := len(c.arguments.b)
	if f.Arguments.raw != nil {
		if err := c.arguments.add(f.Arguments.raw); err != nil {
			return failed("the provider sent arguments that are not UTF-8", err)
		}
	}
	cs.bytes += len(id) + len(f.Name) + len(c.arguments.b) - before
	if cs.bytes > limit {
		return failed(fmt.Sprintf("the calls of one reply are longer than %d bytes", limit), nil)
	}
	return nil
}

// whole reports whether a call's arguments are a JSON object to its end.
func (c *call) whole() bool {
	b := c.arguments.b
	return len(b) > 0 && len(b) <= wholeBytes && b[len(b)-1] == '}' && jsontext.Value(b).IsValid()
}

// settle makes the result at the reply's end. Where the reason was not one for
// calls, arguments must be whole JSON: a call that a cut left unfinished would look
// the same.
func (cs *calls) settle(mustBeWhole bool) error {
	slices.SortStableFunc(cs.list, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
	result := make([]provider.Call, 0, len(cs.list))
	for _, c := range cs.list {
		arguments, err := c.arguments.all()
		switch {
		case err != nil:
			return failed("the provider sent arguments that are not UTF-8", err)
		case c.name == "":
			return failed("the model made a call without a name", nil)
		case mustBeWhole && !jsontext.Value(arguments).IsValid():
			return failed("the model stopped in the middle of a call", nil)
		}
		result = append(result, provider.Call{ID: c.id, Name: c.name, Arguments: arguments})
	}
	cs.result = result
	return nil
}
