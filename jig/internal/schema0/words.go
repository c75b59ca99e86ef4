package schema0

import (
	"strconv"
	"strings"
)

// onlyOne is wanted by oneOf where more than one of its schemas fits.
const onlyOne = "one"

// maxWanted bounds what of a schema stands in a message.
const maxWanted = 200

// Words say what is wrong with the value, and what the schema wants there as far as
// it can be said shortly. They hold nothing of the value but the names in it that
// the pointers have as well.
func (e *InvalidError) Words() string {
	switch e.Keyword {
	case "required", "dependentRequired":
		return "the member " + e.Missing + " is missing"
	case "false":
		if e.Wanted != "" {
			return "there is no such member; it can be " + e.Wanted
		}
		return "nothing is allowed there"
	case "type":
		return "it is of another type; wanted is " + e.Wanted
	case "enum", "const":
		return "it is another value; wanted is " + e.Wanted
	case "anyOf", "oneOf":
		if e.Wanted == onlyOne {
			return "it is more than one of what is possible, where one is wanted"
		}
		return "it is none of what is possible"
	case "not":
		return "it is what it must not be"
	case "contains":
		return "no item is what one has to be"
	}
	if unit, ok := units[e.Keyword]; ok {
		return unit + " " + e.Wanted
	}
	return ""
}

// units are keywords with a bound, before the bound.
var units = map[string]string{
	"minLength": "it has fewer characters than", "maxLength": "it has more characters than",
	"minItems": "it has fewer items than", "maxItems": "it has more items than",
	"minContains": "it has fewer fitting items than", "maxContains": "it has more fitting items than",
	"minProperties": "it has fewer members than", "maxProperties": "it has more members than",
	"minimum": "it is less than", "maximum": "it is more than",
	"exclusiveMinimum": "it is not more than", "exclusiveMaximum": "it is not less than",
}

// wanted is what the keyword of n asks for, as a schema writes it.
func (n *node) wanted(keyword string) string {
	switch keyword {
	case "type":
		return alternatives(n.types)
	case "enum":
		var list []string
		for _, v := range n.enum {
			list = append(list, v.scalar())
		}
		return alternatives(list)
	case "const":
		return bounded(n.constant.scalar())
	}
	if limit, ok := n.bound(keyword); ok {
		return strconv.FormatFloat(limit, 'g', -1, 64)
	}
	return ""
}

func alternatives(list []string) string {
	if len(list) < 2 {
		return bounded(strings.Join(list, ""))
	}
	last := len(list) - 1
	return bounded(strings.Join(list[:last], ", ") + " or " + list[last])
}

func bounded(s string) string {
	if len(s) > maxWanted {
		s = strings.ToValidUTF8(s[:maxWanted], "") + "…"
	}
	return s
}

func (v *value) scalar() string {
	switch v.kind {
	case kindString:
		return strconv.Quote(v.text)
	case kindNumber:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case kindBoolean:
		return strconv.FormatBool(v.truth)
	}
	return "null"
}

// known are the members that an object closed by additionalProperties may have.
func (n *node) known() string { return alternatives(n.propertyNames) }
