package acpprofile

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// whole reads everything that v holds.
func whole(t *testing.T, v value) any {
	t.Helper()
	switch {
	case v.isObject():
		all := map[string]any{}
		for name, member := range v.members {
			require.NotContains(t, all, string(name))
			all[string(name)] = whole(t, member)
			require.Equal(t, member, v.member(string(name)))
		}
		require.Equal(t, len(all) == 0, emptyObject(v))
		return all
	case v.isArray():
		all := []any{}
		for item := range v.items {
			all = append(all, whole(t, item))
		}
		require.Equal(t, len(all) == 0, emptyArray(v))
		return all
	case v.isString():
		text := string(v.text())
		require.Equal(t, len(text), v.textBytes())
		require.True(t, v.is(text))
		id, ok := v.identifier(len(text))
		require.Equal(t, identifier(text, len(text)), ok)
		require.Equal(t, text, string(id))
		return text
	case v.isNumber():
		f, err := strconv.ParseFloat(string(v), 64)
		require.NoError(t, err)
		require.Equal(t, f == 1, v.one())
		return f
	case v.isBool(true), v.isBool(false):
		require.False(t, v.isBool(true) && v.isBool(false))
		return v.isBool(true)
	}
	require.True(t, v.isNull(), string(v))
	require.True(t, v.exists())
	return nil
}

// sameReading holds the reader of checked documents to the one of json0, which
// knows nothing of it.
func sameReading(t *testing.T, doc []byte) {
	t.Helper()
	want, err := json0.Parse(doc)
	if err != nil {
		return
	}
	kept := string(doc)
	require.Equal(t, want, whole(t, rootOf(doc)), kept)
	require.Equal(t, kept, string(doc))
}

var documents = []string{
	`null`, ` true `, `false`, `1`, `-0`, `1.0`, `10e-1`, `-1`, `1e-400`, `""`, `{}`, `[]`, "\t{ }\r\n", ` [ ] `,
	`"\""`, `"\\"`, `"\\\""`, `"\\\\"`, `"a\\\"b\\"`, `["\\","\"",{"\\":"\\"}]`, `{"a\"}":"}]\"{[","b":1}`,
	`{"a":{"b":[1,{"c":"]}"},[]],"d":{}},"e":null}`, ` { "a" : [ 1 , "x" , true ] , "b" : -2.5e3 } `,
	`"\b\f\n\r\t\/\u0041\u00e9\u20ac\ud83d\ude00\uFFFF\u0000"`, `"é€😀\ud83d\ude00"`, `{"\u006dethod":1,"\ud83d\ude00":{"x":2}}`,
	`[0,[1,[2,[3,{"a":4}]]],5]`, `{"":""}`, "[1\n,2\r,3\t,4 ]",
}

func TestACheckedDocumentIsReadAsItIs(t *testing.T) {
	for _, doc := range documents {
		require.NoError(t, json0.Check([]byte(doc)), doc)
		sameReading(t, []byte(doc))
	}
	deep := strings.Repeat(`{"a":[`, 63) + strings.Repeat(`]}`, 63)
	require.NoError(t, json0.Check([]byte(deep)))
	sameReading(t, []byte(deep))
}

func TestAValueThatIsNotThereIsNothing(t *testing.T) {
	var v value
	require.False(t, v.exists() || v.isObject() || v.isArray() || v.isString() || v.isNull() || v.isNumber() || v.isBool(false) || v.one() || v.is(""))
	require.Empty(t, v.text())
	require.Nil(t, v.member("a").member("b"))
	_, ok := v.identifier(1)
	require.False(t, ok)
	_, ok = v.only()
	require.False(t, ok)
	for _, other := range []string{`"a"`, `1`, `[1]`, `null`} {
		require.Nil(t, value(other).member("a"))
		require.False(t, emptyObject(value(other)) || emptyArray(value(other)))
	}
}

func TestAnObjectOfOnlyTheseMembers(t *testing.T) {
	got, ok := value(`{"b":2,"\u0061":1}`).only("a", "b", "c")
	require.True(t, ok)
	require.Equal(t, []value{value("1"), value("2"), nil}, got)
	for _, doc := range []string{`{"a":1,"d":2}`, `{"A":1}`, `[]`, `null`} {
		_, ok = value(doc).only("a", "b", "c")
		require.False(t, ok, doc)
	}
}

func TestACursorFindsItsWayOutOfAnObject(t *testing.T) {
	in := cursor{doc: value(`{"a":{"x":{"y":"}"},"z":[1]} , "b":[{"x":0}],"c" : 3}`)}
	var read []string
	for name := range in.members {
		switch string(name) {
		case "a":
			for range in.members {
				for range in.members {
					break
				}
				break
			}
		case "b":
			for range in.members {
				require.Fail(t, "an array has no members")
			}
		case "c":
			read = append(read, string(in.value()))
		}
		read = append(read, string(name))
	}
	require.Equal(t, []string{"a", "b", "3", "c"}, read)
	require.Equal(t, len(in.doc), in.at)
}

// FuzzValue shows that reading by skipping gives what reading every byte gives,
// for all that the check lets through.
func FuzzValue(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(sameReading)
}
