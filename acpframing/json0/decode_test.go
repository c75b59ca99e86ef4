package json0_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

type request struct {
	JSONRPC string  `json:"jsonrpc"`
	ID      *string `json:"id"`
	Count   int     `json:"count,omitzero"`
	Params  struct {
		Value any `json:"value"`
	} `json:"params"`
}

func TestDecodeIsStrict(t *testing.T) {
	var r request
	require.NoError(t, json0.Decode([]byte(`{"jsonrpc":"2.0","params":{"value":[1,"x",null]}}`), &r))
	require.Equal(t, "2.0", r.JSONRPC)
	require.Nil(t, r.ID, "absence can be told")
	require.Equal(t, []any{1.0, "x", nil}, r.Params.Value)

	for _, c := range []struct {
		doc    string
		class  error
		offset int
	}{
		{`{"jsonrpc":"2.0","extra":1}`, json0.ErrShape, 17},
		{`{"params":{"other":1}}`, json0.ErrShape, 11},
		{`{"jsonrpc":2}`, json0.ErrShape, 11},
		{`{"count":1.5}`, json0.ErrShape, 9},
		{`{"count":1.0,"extra":1}`, json0.ErrShape, -1}, // rewritten, so the place is not known
		{`{"params":{"value":1e-7},"extra":1}`, json0.ErrShape, 25},
		{`{"count":"1"}`, json0.ErrShape, 9},
		{`[]`, json0.ErrShape, 0},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0"}`, json0.ErrDuplicate, 17},
		{`{"jsonrpc":"2.0"}x`, json0.ErrSyntax, 17},
	} {
		var e *json0.Error
		err := json0.Decode([]byte(c.doc), new(request))
		require.ErrorAs(t, err, &e, c.doc)
		require.ErrorIs(t, err, c.class, c.doc)
		require.Equal(t, c.offset, e.Offset, c.doc)
		require.Regexp(t, `^[ -~]+$`, err.Error())
	}
}

// rule: R-048
func TestMemberNamesMatchExactly(t *testing.T) {
	for _, doc := range []string{`{"JSONRPC":"2.0"}`, `{"Jsonrpc":"2.0"}`, `{"Params":{}}`, `{"json_rpc":"2.0"}`} {
		require.ErrorIs(t, json0.Decode([]byte(doc), new(request)), json0.ErrShape, doc)
	}
	var r request
	require.NoError(t, json0.Decode([]byte(`{"\u006asonrpc":"2.0"}`), &r))
	require.Equal(t, "2.0", r.JSONRPC, "an escaped name is the same name")
}

// rule: R-045
func TestNumbersDecodeByValue(t *testing.T) {
	for _, doc := range []string{`{"count":1}`, `{"count":1.0}`, `{"count":1e0}`, `{"count":10e-1}`, `{"count":0.1e1}`} {
		var r request
		require.NoError(t, json0.Decode([]byte(doc), &r), doc)
		require.Equal(t, 1, r.Count)
	}
	var r request
	require.NoError(t, json0.Decode([]byte(`{"count":-0.0,"params":{"value":"1.0"}}`), &r))
	require.Equal(t, 0, r.Count)
	require.Equal(t, "1.0", r.Params.Value, "text is not touched")
	for _, doc := range []string{`{"count":1.5}`, `{"count":1e-400}`} {
		err := json0.Decode([]byte(doc), &r)
		if doc == `{"count":1.5}` {
			require.ErrorIs(t, err, json0.ErrShape)
		} else {
			require.NoError(t, err)
			require.Zero(t, r.Count)
		}
	}
}

func TestParseBuildsPlainValues(t *testing.T) {
	v, err := json0.Parse([]byte(`{"a":[1,2.5,-0,1e2],"b":{"c":null,"d":true},"e":"\ud83d\udc23"}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"a": []any{1.0, 2.5, 0.0, 100.0},
		"b": map[string]any{"c": nil, "d": true},
		"e": "🐣",
	}, v)
	_, err = json0.Parse([]byte(`{"a":1,"a":1}`))
	require.ErrorIs(t, err, json0.ErrDuplicate)
}
