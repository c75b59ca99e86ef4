package contract

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// shape is the form of one part of a file. It is checked before the file is
// decoded, so that a refusal names the part and what is expected of it.
type shape struct {
	kind    jsontext.Kind    // 0: any value
	words   string           // what is expected
	members map[string]shape // of a closed object; nil: any member
	each    *shape           // of every member or item; nil: any value
}

var (
	aText   = shape{kind: '"', words: "a string is needed"}
	aTruth  = shape{kind: 'f', words: "true or false is needed"}
	anyPart = shape{}
)

func aList(words string) shape { return shape{kind: '[', words: words, each: &aText} }

func someTexts(words string) shape { return shape{kind: '{', words: words, each: &aText} }

var metadataShape = shape{kind: '{', words: "an object is needed", members: map[string]shape{
	"name": aText, "description": aText, "license": aText, "compatibility": aText, "allowed-tools": aText,
	"supports": aList(`a list of features is needed, such as ["events"]`),
	"metadata": someTexts("an object of strings is needed"),
	"uses": {kind: '{', words: `an object with a member for each slot is needed, such as {"helper": {}}`, each: &shape{
		kind: '{', words: `an object is needed, such as {} or {"contract": "./contract.json"}`, members: map[string]shape{
			"contract": aText, "requires": aList(`a list of features is needed, such as ["events"]`),
		},
	}},
}}

var portShape = shape{kind: '{', words: `an object is needed, such as {"direction": "send"}`, members: map[string]shape{
	"direction": aText, "required": aTruth, "schema": anyPart, "contract": aText, "delivery": aText, "start": aText,
}}

var invocationShape = shape{kind: '{', words: "an object is needed", members: map[string]shape{
	"$schema": aText, "id": aText, "version": aText, "input": anyPart, "result": anyPart,
	"$defs":       {kind: '{', words: "an object of schemas is needed"},
	"features":    someTexts(`an object from a feature's name to its meaning is needed, such as {"events": "It sends events."}`),
	"outcomes":    someTexts(`an object from an outcome's name to its meaning is needed, such as {"blocked": "It could not go on."}`),
	"attachments": someTexts("an object from an attachment's name to read or read-write is needed"),
	"channels":    {kind: '{', words: `an object with a member for each channel is needed, such as {"events": {"direction": "send"}}`, each: &portShape},
	"operations":  {kind: '{', words: "an object is needed"},
}}

var channelShape = shape{kind: '{', words: "an object is needed", members: map[string]shape{
	"$schema": aText, "id": aText, "version": aText, "semantics": aText, "item": anyPart,
	"$defs": {kind: '{', words: "an object of schemas is needed"},
}}

// check refuses the first part of v that has another form than s; v stands at the
// pointer at.
func (s shape) check(v jsontext.Value, at jsontext.Pointer) error {
	kind := v.Kind()
	if kind == 't' {
		kind = 'f'
	}
	switch {
	case s.kind == 0:
		return nil
	case kind == 'n':
		return wrong(string(at), "null is not allowed here; leave it out")
	case s.kind != kind:
		return wrong(string(at), s.words+", not "+kindWords[kind])
	case kind == '[' && s.each != nil:
		var items []jsontext.Value
		if err := json0.Decode(v, &items); err != nil {
			return because(string(at), err)
		}
		for i, item := range items {
			if err := s.each.check(item, at.AppendToken(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case kind == '{':
		return s.object(v, at)
	}
	return nil
}

func (s shape) object(v jsontext.Value, at jsontext.Pointer) error {
	members := map[string]jsontext.Value{}
	if err := json0.Decode(v, &members); err != nil {
		return because(string(at), err)
	}
	for _, name := range sortedKeys(members) {
		member, known := s.members[name]
		switch {
		case s.members == nil && s.each != nil:
			member = *s.each
		case s.members != nil && !known:
			return wrong(string(at.AppendToken(name)), "this member is not known here; it can be "+strings.Join(sortedKeys(s.members), ", "))
		}
		if err := member.check(members[name], at.AppendToken(name)); err != nil {
			return err
		}
	}
	return nil
}

var kindWords = map[jsontext.Kind]string{
	'f': "a Boolean", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

// withoutPlace is what is wrong in a document, for a message beside which the line
// and the column stand.
func withoutPlace(err error) string {
	var j *json0.Error
	if !errors.As(err, &j) {
		return err.Error()
	}
	return j.Unwrap().Error() + ": " + j.Detail
}
