package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

func TestMetadata(t *testing.T) {
	m, err := contract.ParseMetadata([]byte(`{"name":"triage","description":"d","uses":{"agent":{"contract":"./c/agent.json","requires":["events"]},"free":{}},
		"supports":["events"],"license":"x","compatibility":"y","metadata":{"k":"v"},"x-note":{"any":1}}`))
	require.NoError(t, err)
	require.Equal(t, &contract.Metadata{
		Name: "triage", Description: "d", Supports: []string{"events"},
		Uses: map[string]contract.Use{"agent": {Contract: "./c/agent.json", Requires: []string{"events"}}, "free": {}},
	}, m)
}

func TestMetadataLimits(t *testing.T) {
	// rule: R-151
	pad := func(n int) []byte { return []byte(`{}` + strings.Repeat(" ", n-2)) }
	_, err := contract.ParseMetadata(pad(contract.MaxBytes))
	require.NoError(t, err)
	_, err = contract.ParseMetadata(pad(contract.MaxBytes + 1))
	require.Error(t, err)
	deep := func(n int) []byte {
		return []byte(`{"x-a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`)
	}
	_, err = contract.ParseMetadata(deep(16))
	require.NoError(t, err)
	_, err = contract.ParseMetadata(deep(17))
	require.Error(t, err)
	wide := func(n int) []byte { return []byte(`{"x-a":[0` + strings.Repeat(",0", n-1) + `]}`) }
	_, err = contract.ParseMetadata(wide(256))
	require.NoError(t, err)
	_, err = contract.ParseMetadata(wide(257))
	require.Error(t, err)
	// 1 root, 1 outer list, rows of one list and 255 numbers, the last row shorter.
	nodes := func(n int) []byte {
		left := n - 2
		var rows []string
		for left > 0 {
			k := min(left, 256)
			rows = append(rows, `[`+strings.TrimSuffix(strings.Repeat("0,", k-1), ",")+`]`)
			left -= k
		}
		return []byte(`{"x-a":[` + strings.Join(rows, ",") + `]}`)
	}
	_, err = contract.ParseMetadata(nodes(4096))
	require.NoError(t, err)
	_, err = contract.ParseMetadata(nodes(4097))
	require.Error(t, err)
}

func TestMalformedMetadataIsRefusedAndUnknownIsNot(t *testing.T) {
	// rule: R-152, R-153, R-155
	for _, bad := range []string{
		`[]`, `{"name":"A"}`, `{"name":1}`, `{"name":null}`, `{"description":""}`, `{"supports":["a","a"]}`, `{"supports":"a"}`,
		`{"uses":{"A":{}}}`, `{"uses":{"a":1}}`, `{"uses":{"a":{"contract":"x.json"}}}`, `{"uses":{"a":{"contract":"./../x.json"}}}`,
		`{"uses":{"a":{"requires":["b"]}}}`, `{"uses":{"a":{"contract":"./x.json","requires":["b","b"]}}}`, `{"uses":{"a":{"other":1}}}`,
		`{"metadata":{"a":1}}`, `{"license":1}`, `{"allowed-tools":[]}`, `{"name":"a","name":"a"}`,
		`{"description":"` + strings.Repeat("x", 16_385) + `"}`,
	} {
		_, err := contract.ParseMetadata([]byte(bad))
		require.Error(t, err, bad[:min(len(bad), 80)])
	}
	m, err := contract.ParseMetadata([]byte(`{"future":1,"x-Bad":1,"x-good":1}`))
	require.NoError(t, err)
	require.Equal(t, []string{"future", "x-Bad"}, m.Unknown)
	m, err = contract.ParseMetadata([]byte(`{"allowed-tools":"none"}`))
	require.NoError(t, err)
	require.True(t, m.AllowedTools)
}

func TestNullIsNoValueOfKnownMetadata(t *testing.T) {
	// rule: R-152
	for raw, at := range map[string]string{
		`{"uses":null}`: "/uses", `{"uses":{"a":null}}`: "/uses/a", `{"uses":{"a":{"contract":null}}}`: "/uses/a/contract",
		`{"uses":{"a":{"contract":null,"requires":["b"]}}}`: "/uses/a/contract", `{"uses":{"a":{"contract":"./x.json","requires":null}}}`: "/uses/a/requires",
		`{"metadata":null}`: "/metadata", `{"metadata":{"k":null}}`: "/metadata/k", `{"metadata":{"a/b":null}}`: "/metadata/a~1b",
		`{"name":null}`: "/name", `{"description":null}`: "/description", `{"supports":null}`: "/supports", `{"license":null}`: "/license",
		`{"compatibility":null}`: "/compatibility", `{"allowed-tools":null}`: "/allowed-tools",
	} {
		_, err := contract.ParseMetadata([]byte(raw))
		var e *contract.Error
		require.ErrorAs(t, err, &e, raw)
		require.Equal(t, at, e.Pointer, raw)
	}
	for _, raw := range []string{`{"supports":[null]}`, `{"uses":{"a":{"contract":"./x.json","requires":[null]}}}`} {
		_, err := contract.ParseMetadata([]byte(raw))
		require.Error(t, err, raw)
	}
	m, err := contract.ParseMetadata([]byte(`{"x-a":null,"x-b":{"c":null},"future":null}`))
	require.NoError(t, err, "what is inert or unknown may hold anything")
	require.Equal(t, []string{"future"}, m.Unknown)
}

func TestFeaturesHaveToBeDeclared(t *testing.T) {
	// rule: R-153
	i := parse(t, invocationHead+`,"id":"https://example.org/a","version":"1.0.0","features":{"events":"it tells"}}`)
	require.NoError(t, i.CheckFeatures([]string{"events"}, "/supports"))
	require.ErrorContains(t, i.CheckFeatures([]string{"events", "sessions"}, "/supports"), "sessions")
	require.Error(t, (*contract.Invocation)(nil).CheckFeatures([]string{"events"}, "/supports"))
	require.NoError(t, (*contract.Invocation)(nil).CheckFeatures(nil, "/supports"))
}

func FuzzDescriptors(f *testing.F) {
	f.Add([]byte(channelFile))
	f.Add([]byte(invocationHead + `,"channels":{"a":{"direction":"send","contract":"./c.json"}},"input":{"type":"null"}}`))
	f.Add([]byte(`{"name":"a","uses":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := contract.ParseChannel(raw); err == nil {
			again, err := contract.ParseChannel(append([]byte(" "), raw...))
			if err == nil {
				require.Equal(t, c.Identity, again.Identity)
			}
		}
		contract.ParseInvocation(raw, func(string) ([]byte, error) { return []byte(channelFile), nil })
		contract.ParseMetadata(raw)
	})
}

func ExampleLocalName() {
	fmt.Println(contract.LocalName("house-style"), contract.LocalName("house--style"), contract.LocalName("worker\n"))
	// Output: true false false
}
