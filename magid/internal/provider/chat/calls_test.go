package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// fragment is one event with one fragment of a call, as these members.
func fragment(members string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[{` + members + `}]}}]}`
}

// called runs the fragments, ended by tool_calls.
func called(t *testing.T, fragments ...string) outcome {
	t.Helper()
	all := make([]string, 0, len(fragments)+1)
	for _, f := range fragments {
		all = append(all, fragment(f))
	}
	return once(t, events(append(all, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)...))
}

type joinTest struct {
	in   []string
	want []provider.Call
	fail string
}

func (tt joinTest) run(t *testing.T) {
	t.Helper()
	o := called(t, tt.in...)
	if tt.fail != "" {
		require.Equal(t, provider.CodeFailed, o.code(t))
		require.ErrorContains(t, o.err, tt.fail)
		require.Empty(t, o.reply.Calls)
		return
	}
	require.NoError(t, o.err)
	require.Equal(t, tt.want, o.reply.Calls)
}

// complaint: 39 apache/maka#1976, maximhq/bifrost#1829, huggingface/smolagents#1958 - two calls at index 0 were glued together
// rule: M-109
func TestComplaint39Maka1976CallsThatShareAnIndex(t *testing.T) {
	for name, tt := range map[string]joinTest{
		"whole, with ids": {
			in: []string{
				`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}`,
				`"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{"x":2}`}},
		},
		"in pieces without ids": {
			in: []string{
				`"index":0,"id":"a","function":{"name":"f","arguments":""}`, `"index":0,"function":{"arguments":"{\"x\":1}"}`,
				`"index":0,"id":"b","function":{"name":"f","arguments":""}`, `"index":0,"function":{"arguments":"{\"x\":2}"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{"x":2}`}},
		},
		"in turns, by id": {
			in: []string{
				`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`, `"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}`,
				`"index":0,"id":"a","function":{"arguments":":1}"}`, `"index":0,"id":"b","function":{"arguments":":2}"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{"y":2}`}},
		},
		"a new id in the middle of another": {
			in: []string{
				`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}`,
				`"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{"x":`}, {ID: "b", Name: "f", Arguments: `{"x":2}`}},
		},
		"without ids, the same name": {
			in: []string{
				`"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}`,
				`"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}`,
			},
			want: []provider.Call{{Name: "f", Arguments: `{"x":1}`}, {Name: "f", Arguments: `{"x":2}`}},
		},
		"without ids, another name": {
			in: []string{
				`"index":0,"function":{"name":"f","arguments":"{}"}`,
				`"index":0,"function":{"name":"g","arguments":""}`, `"index":0,"function":{"arguments":"{}"}`,
			},
			want: []provider.Call{{Name: "f", Arguments: `{}`}, {Name: "g", Arguments: `{}`}},
		},
		"another name in the middle of a call": {
			in: []string{
				`"index":0,"function":{"name":"f","arguments":"{\"x\":"}`,
				`"index":0,"function":{"name":"g","arguments":"{}"}`,
			},
			want: []provider.Call{{Name: "f", Arguments: `{"x":`}, {Name: "g", Arguments: `{}`}},
		},
		"a name that each piece repeats": {
			in: []string{
				`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`, `"index":0,"function":{"name":"f","arguments":":1"}`,
				`"index":0,"id":"a","function":{"name":"f","arguments":"}"}`, `"index":0,"id":"a","function":{"name":"f","arguments":""}`,
				`"index":0,"function":{"name":"f","arguments":""}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}},
		},
		"a new id without a name": {
			in:   []string{`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`, `"index":0,"id":"b","function":{"arguments":"{}"}`},
			fail: "a call without a name",
		},
	} {
		t.Run(name, tt.run)
	}
}

// complaint: 40 ollama/ollama#7881, langbot-app/LangBot#2262, vllm-project/vllm#18412, BerriAI/litellm#11262 - without an id or an index a call was dropped, and the turn hung
// rule: M-109
func TestComplaint40Ollama7881MissingIDsAndIndices(t *testing.T) {
	for name, tt := range map[string]joinTest{
		"no id": {
			in:   []string{`"index":0,"function":{"name":"f","arguments":"{}"}`, `"index":1,"function":{"name":"g","arguments":"{}"}`},
			want: []provider.Call{{Name: "f", Arguments: `{}`}, {Name: "g", Arguments: `{}`}},
		},
		"an empty id": {
			in:   []string{`"index":0,"id":"","function":{"name":"f","arguments":"{"}`, `"index":0,"id":"","function":{"arguments":"}"}`},
			want: []provider.Call{{Name: "f", Arguments: `{}`}},
		},
		"a null id": {
			in:   []string{`"index":0,"id":null,"type":null,"function":{"name":"f","arguments":"{"}`, `"index":0,"id":null,"function":{"name":null,"arguments":"}"}`},
			want: []provider.Call{{Name: "f", Arguments: `{}`}},
		},
		"an id with the last piece": {
			in: []string{
				`"index":0,"function":{"name":"f","arguments":"{"}`, `"index":0,"function":{"arguments":"}"}`,
				`"index":0,"id":"late","function":{"arguments":""}`,
			},
			want: []provider.Call{{ID: "late", Name: "f", Arguments: `{}`}},
		},
		"an id and the name with the last piece": {
			in:   []string{`"index":0,"function":{"name":"f","arguments":"{"}`, `"index":0,"id":"late","function":{"name":"f","arguments":"}"}`},
			want: []provider.Call{{ID: "late", Name: "f", Arguments: `{}`}},
		},
		"a name with the last piece": {
			in:   []string{`"index":0,"id":"a","function":{"arguments":"{}"}`, `"index":0,"id":"a","function":{"name":"f"}`},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{}`}},
		},
		"no index": {
			in: []string{
				`"id":"a","function":{"name":"f","arguments":"{"}`, `"function":{"arguments":"}"}`,
				`"id":"b","function":{"name":"f","arguments":"{}"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{}`}, {ID: "b", Name: "f", Arguments: `{}`}},
		},
		"no index, in turns by id": {
			in: []string{
				`"id":"a","function":{"name":"f","arguments":"{"}`, `"id":"b","function":{"name":"g","arguments":"["}`,
				`"id":"a","function":{"arguments":"}"}`, `"id":"b","function":{"arguments":"]"}`,
			},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{}`}, {ID: "b", Name: "g", Arguments: `[]`}},
		},
		"an index, then none": {
			in:   []string{`"index":3,"id":"a","function":{"name":"f","arguments":"{"}`, `"index":null,"function":{"arguments":"}"}`},
			want: []provider.Call{{ID: "a", Name: "f", Arguments: `{}`}},
		},
		"neither, and no arguments": {
			in:   []string{`"function":{"name":"f"}`, `"function":{"name":"g","arguments":null}`},
			want: []provider.Call{{Name: "f"}, {Name: "g"}},
		},
		"nothing but a place": {
			in:   []string{`"index":0`},
			fail: "a call without a name",
		},
		"a custom tool": {
			in:   []string{`"index":0,"id":"a","type":"custom","custom":{"name":"f","input":"x"}`},
			fail: "no function",
		},
	} {
		t.Run(name, tt.run)
	}
}

// The model's order is that of the indices, whatever order they come in.
//
// rule: M-109
func TestCallsAreInTheOrderOfTheirIndices(t *testing.T) {
	joinTest{
		in: []string{
			`"index":2,"id":"c","function":{"name":"f","arguments":"{}"}`, `"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`,
			`"id":"d","function":{"name":"f","arguments":"{}"}`, `"index":0,"id":"b","function":{"name":"f","arguments":"{}"}`,
		},
		want: []provider.Call{
			{ID: "a", Name: "f", Arguments: `{}`}, {ID: "b", Name: "f", Arguments: `{}`},
			{ID: "c", Name: "f", Arguments: `{}`}, {ID: "d", Name: "f", Arguments: `{}`},
		},
	}.run(t)
}

// complaint: 62 openai/openai-go - one sparse index could allocate a huge slice
// rule: M-110
func TestComplaint62OpenAIGoIndices(t *testing.T) {
	for index, ok := range map[string]bool{
		"0": true, "62": true, "63": true, "64": false, "65": false, "-1": false, "-64": false, "2147483647": false, "-2147483648": false,
		"9223372036854775807": false, "9223372036854775808": false, "1e2": false,
	} {
		o := called(t, `"index":`+index+`,"id":"a","function":{"name":"f","arguments":"{}"}`)
		if ok {
			require.NoError(t, o.err, index)
			require.Len(t, o.reply.Calls, 1)
			continue
		}
		require.Equal(t, provider.CodeFailed, o.code(t), index)
	}
}

func TestCallsAreCounted(t *testing.T) {
	for n, ok := range map[int]bool{63: true, 64: true, 65: false} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"index":0,"id":"%d","function":{"name":"f","arguments":"{}"}`, i))
		}
		o := called(t, all...)
		if ok {
			require.NoError(t, o.err)
			require.Len(t, o.reply.Calls, n)
			continue
		}
		require.Equal(t, provider.CodeFailed, o.code(t))
		require.ErrorContains(t, o.err, "more than 64 calls")
	}
}

// rule: A-175
func TestIDsAndNamesAreBounded(t *testing.T) {
	for n, ok := range map[int]bool{127: true, 128: true, 129: false} {
		long := strings.Repeat("x", n)
		for _, members := range []string{
			`"index":0,"id":"` + long + `","function":{"name":"f","arguments":"{}"}`,
			`"index":0,"id":"a","function":{"name":"` + long + `","arguments":"{}"}`,
		} {
			o := called(t, members)
			if ok {
				require.NoError(t, o.err)
				continue
			}
			require.Equal(t, provider.CodeFailed, o.code(t))
			require.ErrorContains(t, o.err, "longer than 128 bytes")
		}
	}
}

func TestTheBytesOfAllCallsAreBounded(t *testing.T) {
	const size = 1 << 20
	for total, ok := range map[int]bool{size - 1: true, size: true, size + 1: false} {
		// Two calls of one byte of name and id each, and their arguments.
		first := size / 2
		second := total - first - 4
		var s []scripted.Step
		for i, n := range []int{first, second} {
			s = append(s, scripted.ToolCall(scripted.Call{Index: i, ID: fmt.Sprint(i), Name: "f"}), scripted.Arguments(i, strings.Repeat("x", n)))
		}
		o := once(t, steps(append(s, scripted.Finish("tool_calls"))...))
		if ok {
			require.NoError(t, o.err)
			require.Len(t, o.reply.Calls[1].Arguments, second)
			continue
		}
		require.Equal(t, provider.CodeFailed, o.code(t))
		require.ErrorContains(t, o.err, "longer than 1048576 bytes")
	}
}

// Whether arguments are whole is looked at for what could be a call, and not
// again and again for a megabyte.
func TestArgumentsThatAreTooLongAreNotWhole(t *testing.T) {
	for n, calls := range map[int]int{wholeBytes: 2, wholeBytes + 1: 1} {
		long := `{\"x\":\"` + strings.Repeat("x", n-len(`{"x":""}`)) + `\"}`
		o := called(t, `"index":0,"function":{"name":"f","arguments":"`+long+`"}`, `"index":0,"function":{"name":"f","arguments":"{}"}`)
		require.NoError(t, o.err)
		require.Len(t, o.reply.Calls, calls)
	}
}

func TestTheOldSingleCall(t *testing.T) {
	old := func(members string) string {
		return `{"choices":[{"index":0,"delta":{"function_call":{` + members + `}}}]}`
	}
	end := `{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`
	o := once(t, events(old(`"name":"f","arguments":"{"`), old(`"arguments":"}"`), old(`"name":"f"`), end))
	require.NoError(t, o.err)
	require.Equal(t, []provider.Call{{Name: "f", Arguments: "{}"}}, o.reply.Calls)
	for says, in := range map[string][]string{
		"renamed a call":          {old(`"name":"f"`), old(`"name":"g"`), end},
		"a call without a name":   {old(`"arguments":"{}"`), end},
		"mixed two ways to call":  {old(`"name":"f"`), fragment(`"index":0,"function":{"name":"f"}`), end},
		"mixed two ways to call ": {fragment(`"index":0,"function":{"name":"f"}`), old(`"name":"f"`), end},
	} {
		o := once(t, events(in...))
		require.Equal(t, provider.CodeFailed, o.code(t))
		require.ErrorContains(t, o.err, strings.TrimSpace(says))
	}
}
