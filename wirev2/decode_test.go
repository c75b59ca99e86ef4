package wirev2

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// spot is one member somewhere in a text.
type spot struct {
	path                      string
	nameAt, valueAt, valueEnd int
	objectEnd                 int // of the object that holds the member
}

// spots finds the members of text with jsontext, leaving out what lies under a path in opaque.
func spots(t *testing.T, text string, opaque []string) []spot {
	t.Helper()
	var found []spot
	var walk func(path string, base int)
	walk = func(path string, base int) {
		if slices.Contains(opaque, path) || text[base] != '{' && text[base] != '[' {
			return
		}
		dec := jsontext.NewDecoder(strings.NewReader(text[base:]))
		_, err := dec.ReadToken()
		require.NoError(t, err)
		var own []int // the members of this object in found
		for n := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
			child := fmt.Sprintf("%s[%d]", path, n)
			nameAt := 0
			if text[base] == '{' {
				name, err := dec.ReadToken()
				require.NoError(t, err)
				child = strings.TrimPrefix(path+"."+name.String(), ".")
				nameAt = base + int(dec.InputOffset()) - len(name.String()) - 2
			}
			value, err := dec.ReadValue()
			require.NoError(t, err)
			end := base + int(dec.InputOffset())
			if text[base] == '{' {
				own = append(own, len(found))
				found = append(found, spot{path: child, nameAt: nameAt, valueAt: end - len(value), valueEnd: end})
			}
			walk(child, end-len(value))
		}
		_, err = dec.ReadToken()
		require.NoError(t, err)
		for _, i := range own {
			found[i].objectEnd = base + int(dec.InputOffset())
		}
	}
	walk("", 0)
	return found
}

// without returns text less the member.
func without(text string, s spot) string {
	from, to := s.nameAt, s.valueEnd
	switch {
	case text[from-1] == ',':
		from--
	case text[to] == ',':
		to++
	}
	return text[:from] + text[to:]
}

func replaced(text string, s spot, value string) string {
	return text[:s.valueAt] + value + text[s.valueEnd:]
}

// rule: W-268, A-066, A-071
func TestDecodePayloadIsStrictAboutEveryMember(t *testing.T) {
	others := []string{`{}`, `[]`, `"x"`, `1`, `true`, `null`}
	kindOf := func(value string) string {
		switch value[0] {
		case '{', '[', '"':
			return value[:1]
		case 't', 'f':
			return "t"
		case 'n':
			return "n"
		}
		return "1"
	}
	for _, s := range allSamples() {
		optional, nullable := strings.Fields(s.optional), strings.Fields(s.nullable)
		opaque, choice := strings.Fields(s.opaque), strings.Fields(s.choice)
		reject := func(text, what string) {
			err := DecodePayload(jsontext.Value(text), s.fresh())
			var answer *Error
			require.ErrorAs(t, err, &answer, "%s %s: %s", s.name(), what, text)
			require.Equal(t, CodeInvalidPayload, answer.Code)
			require.NotContains(t, answer.Message, "\n")
		}
		accept := func(text, what string) {
			require.NoError(t, DecodePayload(jsontext.Value(text), s.fresh()), "%s %s: %s", s.name(), what, text)
		}
		for _, m := range spots(t, s.want, opaque) {
			value := s.want[m.valueAt:m.valueEnd]
			end := m.objectEnd - 1
			reject(s.want[:end]+`,"`+"surely_unknown"+`":1`+s.want[end:], "unknown beside "+m.path)
			reject(s.want[:end]+`,`+s.want[m.nameAt:m.valueEnd]+s.want[end:], "twice "+m.path)
			upper := s.want[:m.nameAt+1] + strings.ToUpper(s.want[m.nameAt+1:m.nameAt+2]) + s.want[m.nameAt+2:]
			reject(upper, "other case "+m.path)
			if slices.Contains(choice, m.path) {
				continue
			}
			if slices.Contains(optional, m.path) {
				accept(without(s.want, m), "without "+m.path)
			} else {
				reject(without(s.want, m), "without "+m.path)
			}
			if slices.Contains(opaque, m.path) {
				continue
			}
			for _, other := range others {
				if kindOf(other) == kindOf(value) {
					continue
				}
				switch {
				case other != "null" && kindOf(value) == "n":
					// the type of a member that is null in the sample shows in another sample
				case other == "null" && slices.Contains(nullable, m.path):
					accept(replaced(s.want, m, other), "null "+m.path)
				default:
					reject(replaced(s.want, m, other), "mistyped "+m.path)
				}
			}
			switch kindOf(value) {
			case "1":
				for _, bad := range []string{"1.0", "1e0", "-0", "1.5", "9223372036854775808", "-9223372036854775809"} {
					reject(replaced(s.want, m, bad), "no integer "+m.path)
				}
			case `"`:
				if _, err := ParseID(value[1 : len(value)-1]); err == nil {
					reject(replaced(s.want, m, strings.ToUpper(value)), "upper case "+m.path)
					reject(replaced(s.want, m, value[:len(value)-2]+`"`), "short "+m.path)
				}
			}
		}
		if s.want == "{}" {
			reject(`{"surely_unknown":1}`, "unknown")
		}
		for _, text := range []string{"", " ", "null", "[]", `"x"`, "1", s.want + s.want, s.want + " x", "\xef\xbb\xbf" + s.want} {
			reject(text, "not an object")
		}
		accept(" \t\r\n"+s.want+" \t\r\n", "white space")
		// Cut anywhere it is never taken for whole.
		for i := 0; i < len(s.want); i += 1 + len(s.want)/500 {
			reject(s.want[:i], "cut")
		}
	}
}

// complaint: 61 tidwall/gjson#393 - a member given twice, or in another case, was read differently by two parsers
func TestComplaint61Gjson393(t *testing.T) {
	var got TurnTextEvent
	id := `"turn_id":"` + idA + `"`
	require.NoError(t, DecodePayload(jsontext.Value(`{`+id+`,"text":"a"}`), &got))
	require.NoError(t, DecodePayload(jsontext.Value(`{`+id+`,"t\u0065xt":"a"}`), &got), "an escaped name is the same name")
	for _, members := range []string{
		`"text":"a","text":"b"`, `"text":"a","text":"a"`, `"Text":"a","text":"b"`, `"text":"a","TEXT":"b"`, `"Text":"a"`,
		`"text":"a","\u0074ext":"b"`, `"\u0074ext":"a","text":"b"`, `"text":"a","te\u0078t":"b"`,
	} {
		require.Error(t, DecodePayload(jsontext.Value(`{`+id+`,`+members+`}`), &got), members)
	}
	// And where no type says which members there are.
	for _, value := range []string{`{"a":1,"a":2}`, `{"x":[{"\u0061":1,"a":2}]}`} {
		_, err := readOne(t, strings.Replace(statusRequest, `{}`, value, 1))
		requireRecordError(t, err)
	}
	q, err := readOne(t, strings.Replace(statusRequest, `{}`, `{"Name":1,"name":2}`, 1))
	require.NoError(t, err, "two cases are two names")
	require.Equal(t, `{"Name":1,"name":2}`, string(q.Payload))
}

func TestDecodePayloadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                         "payload member prompt is missing",
		`{"prompt":1}`:               "payload member prompt is mistyped",
		`{"prompt":"x","no_such":1}`: "payload member no_such is not known",
		`{"prompt":"x","NoSuch":1}`:  "payload has a member that is not known",
		`{"prompt":"x","` + string(NewSecret()) + `":1}`:                                                                         "payload has a member that is not known",
		`{"prompt":"x","application":{"expected_registry_revision":"X"}}`:                                                        "payload member application.expected_registry_revision is not a canonical lowercase UUID",
		`{"prompt":"x","application":{"expected_registry_revision":"` + idA + `","executor_id":null,"executor_generation":1e3}}`: "payload member application.executor_generation is not an integer in plain digits",
		`{"prompt":"x","application":{"expected_registry_revision":"` + idA + `","executor_id":null,"executor_generation":null,` +
			`"tool_authorizations":[{"resource_id":"` + idA + `","revision_id":"` + idA + `","revision_sha256":"x"},{"y":1}]}}`: "payload member application.tool_authorizations[1].y is not known",
		`{"prompt":"x","prompt":"y"}`: "payload is not strict JSON: duplicate member at byte 14",
	} {
		err := DecodePayload(jsontext.Value(text), new(TurnStartRequest))
		require.EqualError(t, err, "invalid_payload: "+want, text)
	}
}

func TestDecodePayloadStartsAfreshAndKeepsNothing(t *testing.T) {
	raw := []byte(`{"turn_id":"` + idA + `","call_id":"` + idA + `","executor_id":"` + idA + `","executor_generation":1,` +
		`"resource_id":"` + idA + `","revision_id":"` + idA + `","revision_sha256":"","outcome":{"status":"success","value":[1]}}`)
	got := TurnApplicationToolResultRequest{Outcome: Outcome{Message: new("old")}}
	require.NoError(t, DecodePayload(raw, &got))
	require.Nil(t, got.Outcome.Message)
	clear(raw)
	require.Equal(t, ID(idA), got.TurnID)
	require.Equal(t, "[1]", string(got.Outcome.Value))

	require.Error(t, DecodePayload(jsontext.Value(`{"turn_id":"`+idA+`"}`), &got))
	require.Zero(t, got, "a failed decode leaves nothing half-read")
}

func TestDecodePayloadRefusesOtherTypes(t *testing.T) {
	var answer *Error
	for _, dst := range []any{nil, TurnTextEvent{}, (*TurnTextEvent)(nil), new(map[string]any), new(struct {
		A float64 `json:"a"`
	}),
		new(struct{ A int }), new(struct {
			A []chan int `json:"a"`
		})} {
		err := DecodePayload(jsontext.Value(`{}`), dst)
		require.Error(t, err)
		require.False(t, bytes.Contains([]byte(err.Error()), []byte("payload member")))
		require.NotErrorAs(t, err, &answer)
	}
	for _, v := range []any{nil, 1, (*TurnTextEvent)(nil), map[string]any{}, struct {
		A float64 `json:"a"`
	}{}} {
		_, err := EncodePayload(v)
		require.Error(t, err)
	}
}

func TestEncodePayloadRefusesWhatNoReaderTakes(t *testing.T) {
	for name, v := range map[string]any{
		"an empty ID":  TurnStopRequest{},
		"no ID":        TurnStopRequest{TurnID: "x"},
		"no UTF-8":     TurnTextEvent{TurnID: idA, Text: "a\xff"},
		"no JSON":      TurnApplicationToolCallEvent{TurnID: idA, CallID: idA, ExecutorID: idA, ResourceID: idA, RevisionID: idA, Arguments: jsontext.Value(`{`)},
		"a duplicate":  TurnApplicationToolCallEvent{TurnID: idA, CallID: idA, ExecutorID: idA, ResourceID: idA, RevisionID: idA, Arguments: jsontext.Value(`{"a":1,"a":2}`)},
		"in a list":    SessionHistoryReply{Records: []jsontext.Value{jsontext.Value(`x`)}},
		"in a pointer": Application{ExpectedRegistryRevision: idA, ExecutorID: new(ID(""))},
	} {
		dst := []byte("before")
		got, err := AppendPayload(dst, v)
		require.Error(t, err, name)
		require.Equal(t, "before", string(got), name)
	}
	got, err := EncodePayload(SessionHistoryReply{Records: []jsontext.Value{jsontext.Value(" { \"a\\u0062\" : [ 1 , \"\\/\" ] } ")}})
	require.NoError(t, err)
	require.Equal(t, `{"records":[{"ab":[1,"/"]}],"next_after":null}`, string(got))
	got, err = EncodePayload(OperationLookupReply{OperationID: idA})
	require.NoError(t, err)
	require.Equal(t, `{"operation_id":"`+idA+`","method":"","state":"","result":null,"error":null}`, string(got))
}
