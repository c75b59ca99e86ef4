package acpframing_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// ready writes a record from its parts; "" leaves a member out.
func ready(parts map[string]string) string {
	members := map[string]string{
		"kind": `"ready"`, "protocolVersion": `1`, "cwd": `"/work"`, "maxTurns": `1`, "configuration": `[]`,
	}
	maps.Copy(members, parts)
	var list []string
	for name, value := range members {
		if value != "" {
			list = append(list, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func readyOK(t *testing.T, item string) acpframing.Ready {
	t.Helper()
	r, err := acpframing.ParseReady([]byte(item))
	require.NoError(t, err, "%.300s", item)
	again, err := r.Append(nil)
	require.NoError(t, err)
	same, err := json0.Equal(again, []byte(item))
	require.NoError(t, err)
	require.True(t, same, "%s is written as %s", item, again)
	canonical, err := json0.Canonical(again)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(again))
	return r
}

func readyBad(t *testing.T, item string) {
	t.Helper()
	_, err := acpframing.ParseReady([]byte(item))
	require.ErrorIs(t, err, acpframing.ErrReady, "%.300s", item)
	require.Regexp(t, `^[ -~]+$`, err.Error())
}

func TestReadyIsTheExampleOfTheSeed(t *testing.T) {
	r := readyOK(t, `{
		"kind": "ready", "protocolVersion": 1, "cwd": "/work",
		"maxTurns": 1,
		"configuration": [{ "configId": "model", "value": "reviewed-model" }],
		"modeId": "read-only"
	}`)
	require.Equal(t, acpframing.Ready{
		MaxTurns: 1, ModeID: "read-only",
		Configuration: []acpframing.Setting{{ConfigID: "model", Value: "reviewed-model"}},
	}, r)
	r = readyOK(t, ready(map[string]string{"restoreSessionId": `"native-1"`, "maxTurns": "8"}))
	require.Equal(t, acpframing.Ready{MaxTurns: 8, RestoreSessionID: "native-1"}, r)
}

// rule: F-026
func TestReadySettingsAreTextOrTypedBoolean(t *testing.T) {
	r := readyOK(t, ready(map[string]string{"configuration": `[{"configId":"a","value":"true"},` +
		`{"configId":"b","type":"boolean","value":true},{"configId":"c","type":"boolean","value":false}]`}))
	require.Equal(t, []acpframing.Setting{
		{ConfigID: "a", Value: "true"}, {ConfigID: "b", Boolean: true, On: true}, {ConfigID: "c", Boolean: true},
	}, r.Configuration)
	for _, setting := range []string{
		`{"configId":"a","type":"string","value":"x"}`, `{"configId":"a","type":"boolean","value":"x"}`,
		`{"configId":"a","type":null,"value":"x"}`, `{"configId":"a","type":null,"value":true}`,
		`{"configId":"a","value":true}`, `{"configId":"a","value":null}`, `{"configId":"a","value":1}`, `{"configId":"a"}`,
		`{"configId":"a","type":"Boolean","value":true}`, `{"configId":"a","type":"boolean"}`, `{"configId":"a","type":"boolean","value":1}`,
		`{"value":"x"}`, `{"configId":null,"value":"x"}`, `{"configId":1,"value":"x"}`,
		`{"configId":"a","value":"x","extra":1}`, `{"configId":"a","type":"boolean","value":true,"on":true}`, `null`, `[]`, `"a"`,
	} {
		readyBad(t, ready(map[string]string{"configuration": "[" + setting + "]"}))
	}
}

// rule: F-027
func TestReadyHasUpTo16SettingsWithDifferentIDsInOrder(t *testing.T) {
	settings := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"configId":"id%d","value":"v"}`, (i*7)%n)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for _, n := range []int{0, 1, 15, 16} {
		r := readyOK(t, ready(map[string]string{"configuration": settings(n)}))
		require.Len(t, r.Configuration, n)
		for i, s := range r.Configuration {
			require.Equal(t, fmt.Sprintf("id%d", (i*7)%n), s.ConfigID, "the order is kept")
		}
	}
	readyBad(t, ready(map[string]string{"configuration": settings(17)}))
	readyBad(t, ready(map[string]string{"configuration": `[{"configId":"a","value":"x"},{"configId":"b","value":"x"},{"configId":"a","value":"y"}]`}))
	readyBad(t, ready(map[string]string{"configuration": `[{"configId":"a","value":"x"},{"configId":"\u0061","type":"boolean","value":true}]`}))
	readyBad(t, ready(map[string]string{"configuration": `{}`}))
	readyBad(t, ready(map[string]string{"configuration": `null`}))
}

// rule: F-028
func TestReadyTextHas1To1024BytesWithoutNUL(t *testing.T) {
	places := map[string]func(text string) string{
		"configId": func(s string) string {
			return ready(map[string]string{"configuration": `[{"configId":"` + s + `","value":"v"}]`})
		},
		"value": func(s string) string {
			return ready(map[string]string{"configuration": `[{"configId":"c","value":"` + s + `"}]`})
		},
		"modeId":           func(s string) string { return ready(map[string]string{"modeId": `"` + s + `"`}) },
		"restoreSessionId": func(s string) string { return ready(map[string]string{"restoreSessionId": `"` + s + `"`}) },
	}
	for _, at := range places {
		for _, text := range []string{
			"x", strings.Repeat("x", 1023), strings.Repeat("x", 1024), strings.Repeat("é", 512), strings.Repeat("🐣", 256),
			`\ud83d\udc23`, `\u0001`, ` `, `\\`,
		} {
			readyOK(t, at(text))
		}
		for _, text := range []string{
			"", strings.Repeat("x", 1025), strings.Repeat("é", 512) + "x", strings.Repeat("🐣", 257),
			`\u0000`, `a\u0000b`, `\ud83d`, "\xff",
		} {
			readyBad(t, at(text))
		}
	}
	for _, name := range []string{"modeId", "restoreSessionId"} {
		for _, value := range []string{`null`, `1`, `true`, `{}`, `["x"]`} {
			readyBad(t, ready(map[string]string{name: value}))
		}
	}
}

// rule: F-032
func TestReadyFitsOneItem(t *testing.T) {
	item := ready(nil)
	pad := func(n int) string { return item + strings.Repeat(" ", n-len(item)) }
	for _, n := range []int{65_535, 65_536} {
		_, err := acpframing.ParseReady([]byte(pad(n)))
		require.NoError(t, err, "%d bytes", n)
	}
	readyBad(t, pad(65_537))

	// Escapes make a record of allowed texts longer than that.
	r := acpframing.Ready{MaxTurns: 1, ModeID: "m"}
	for i := range 16 {
		r.Configuration = append(r.Configuration, acpframing.Setting{ConfigID: fmt.Sprint(i), Value: strings.Repeat("\x01", 600)})
	}
	encoded, err := r.Append(nil)
	require.NoError(t, err)
	free := acpframing.MaxReadyBytes - len(encoded)
	for i := range r.Configuration { // 6 bytes for each more control character
		grow := min(free/6, 1024-600)
		r.Configuration[i].Value += strings.Repeat("\x01", grow)
		free -= 6 * grow
	}
	r.ModeID += strings.Repeat("m", free)
	encoded, err = r.Append(nil)
	require.NoError(t, err)
	require.Len(t, encoded, 65_536)
	_, err = acpframing.ParseReady(encoded)
	require.NoError(t, err)
	r.ModeID += "m"
	_, err = r.Append(nil)
	require.ErrorIs(t, err, acpframing.ErrReady)
}

// rule: F-033
func TestReadyIsClosed(t *testing.T) {
	for _, name := range []string{"credential", "executable", "endpoint", "authMethods", "_meta", "Kind", "maxturns", ""} {
		readyBad(t, ready(map[string]string{name: `"x"`}))
	}
	for name, values := range map[string][]string{
		"kind":            {"", `"data"`, `null`, `"Ready"`},
		"protocolVersion": {"", `2`, `0`, `"1"`, `null`, `1.5`},
		"cwd":             {"", `"/"`, `"/work/"`, `null`, `1`},
		"maxTurns":        {"", `0`, `9`, `-1`, `1.5`, `"1"`, `null`, `9007199254740993`},
		"configuration":   {""},
	} {
		for _, value := range values {
			readyBad(t, ready(map[string]string{name: value}))
		}
	}
	for _, item := range []string{``, `null`, `[]`, `"ready"`, ready(nil) + ready(nil), `{"kind":"ready","kind":"ready"}`} {
		readyBad(t, item)
	}
	for turns := 1; turns <= 8; turns++ {
		require.Equal(t, turns, readyOK(t, ready(map[string]string{"maxTurns": fmt.Sprint(turns)})).MaxTurns)
	}
	require.Equal(t, 2, readyOK(t, ready(map[string]string{"maxTurns": "2.0"})).MaxTurns, "numbers are equal by value")
}

func TestReadyRefusesToBeWrittenWrong(t *testing.T) {
	for _, r := range []acpframing.Ready{
		{}, {MaxTurns: 9}, {MaxTurns: -1}, {MaxTurns: 1, ModeID: "\x00"}, {MaxTurns: 1, RestoreSessionID: "\xff"},
		{MaxTurns: 1, Configuration: make([]acpframing.Setting, 1)},
		{MaxTurns: 1, Configuration: []acpframing.Setting{{ConfigID: "a"}}},
		{MaxTurns: 1, Configuration: []acpframing.Setting{{ConfigID: "a", Value: "x", Boolean: true}}},
		{MaxTurns: 1, Configuration: []acpframing.Setting{{ConfigID: "a", Value: "x", On: true}}},
		{MaxTurns: 1, Configuration: []acpframing.Setting{{ConfigID: "a", Value: "x"}, {ConfigID: "a", Value: "x"}}},
	} {
		dst, err := r.Append([]byte("kept"))
		require.ErrorIs(t, err, acpframing.ErrReady)
		require.Equal(t, "kept", string(dst))
	}
}

func FuzzParseReady(f *testing.F) {
	f.Add([]byte(ready(nil)))
	f.Add([]byte(ready(map[string]string{"modeId": `"m"`, "configuration": `[{"configId":"b","type":"boolean","value":true}]`})))
	f.Fuzz(func(t *testing.T, item []byte) {
		r, err := acpframing.ParseReady(item)
		if err != nil {
			require.ErrorIs(t, err, acpframing.ErrReady)
			return
		}
		again, err := r.Append(nil)
		require.NoError(t, err)
		same, err := json0.Equal(item, again)
		require.NoError(t, err)
		require.True(t, same)
	})
}
