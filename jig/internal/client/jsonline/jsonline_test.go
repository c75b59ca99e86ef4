package jsonline_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
)

func TestALineIsOneObjectThatCanBeReadInOneWay(t *testing.T) {
	for _, good := range []string{`{}`, ` {"a":[1.5e300,{"b":null}]} `, `{"a":"cut \ud83d"}`, "{\"a\":\"\u2028\"}", "{\"a\":1}\r"} {
		_, err := jsonline.Parse([]byte(good))
		require.NoError(t, err, "%q", good)
	}
	for _, bad := range []string{``, ` `, `[]`, `"a"`, `1`, `null`, `{`, `{}{}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{'a':1}`, "{\"a\":\"\xe4\"}", "{\"a\":\"\x00\"}", `{"a":01}`} {
		_, err := jsonline.Parse([]byte(bad))
		require.ErrorIs(t, err, jsonline.ErrLine, "%q", bad)
	}
}

func TestHalfASurrogateReadsAsTheReplacementCharacter(t *testing.T) {
	v, err := jsonline.Parse([]byte(`{"a":"x\ud83dy","b":"\ude00","c":"\ud83d\ude00"}`))
	require.NoError(t, err)
	require.Equal(t, "x\ufffdy", jsonline.Text(v.Get("a")))
	require.Equal(t, "\ufffd", jsonline.Text(v.Get("b")))
	require.Equal(t, "😀", jsonline.Text(v.Get("c")))
}

func TestWhatIsNoStringHasNoText(t *testing.T) {
	v, err := jsonline.Parse([]byte(`{"a":1,"b":{"c":"x"},"d":null}`))
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "d", "missing"} {
		require.Empty(t, jsonline.Text(v.Get(name)), name)
	}
}

func FuzzWhatIsReadIsText(f *testing.F) {
	f.Add([]byte(`{"a":"x\ud83dy"}`))
	f.Add([]byte("{\"a\":\"\xe4\"}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		v, err := jsonline.Parse(line)
		if err != nil {
			return
		}
		s := jsonline.Text(v.Get("a"))
		require.True(t, utf8.ValidString(s))
		back, err := jsonline.Parse(append(jsonline.Quote([]byte(`{"a":`), s), '}'))
		require.NoError(t, err)
		require.Equal(t, s, jsonline.Text(back.Get("a")))
	})
}
