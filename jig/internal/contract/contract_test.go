package contract_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

const (
	invocationHead = `{"$schema":"` + contract.InvocationSchema + `"`
	channelHead    = `{"$schema":"` + contract.ChannelSchema + `"`
	channelFile    = channelHead + `,"id":"https://example.org/c","version":"1.0.0","semantics":"s","item":{"type":"number"}}`
)

func none(string) ([]byte, error) { return nil, os.ErrNotExist }

func parse(t *testing.T, raw string) *contract.Invocation {
	t.Helper()
	i, err := contract.ParseInvocation([]byte(raw), none)
	require.NoError(t, err, raw)
	return i
}

func refused(t *testing.T, raw string) error {
	t.Helper()
	_, err := contract.ParseInvocation([]byte(raw), func(string) ([]byte, error) { return []byte(channelFile), nil })
	var e *contract.Error
	require.True(t, errors.As(err, &e), raw)
	require.NotContains(t, err.Error(), "\n")
	return err
}

func TestIdentitiesOfTheSpecification(t *testing.T) {
	// rule: R-167
	require.Equal(t, "sha256:c17467eecf6c2ca4301cd08056bde8e829bbeaa9832b92754dc7b9bfec9d370e", parse(t, invocationHead+"}").Identity.Digest)
	reviewer := invocationHead + `,"id":"https://example.org/contracts/reviewer","version":"1.0.0"`
	require.Equal(t, "sha256:920325f71c5b03bbdd87f00361fec6b5cb4c3375c99a4d44e804c4f337d52c55", parse(t, reviewer+"}").Identity.Digest)
	require.Equal(t, "sha256:deb90aa6a7e461f13c1e5104ae877ea940d570ab142a60fbb7e95bb2bf117079", parse(t, reviewer+`,"features":{}}`).Identity.Digest)
}

func TestWhatChangesAnIdentity(t *testing.T) {
	// rule
	base := parse(t, invocationHead+`,"id":"https://example.org/a","version":"1.0.0","$defs":{"a":true},"input":{"title":"t"}}`)
	spaced := parse(t, "{ \"input\" : {\"title\":\"t\"},\r\n\"version\":\"1.0.0\", \"$defs\":{\"a\":true},\"id\":\"https://example.org/a\",\"$schema\":\""+contract.InvocationSchema+"\"}")
	require.Equal(t, base.Identity, spaced.Identity)
	for _, other := range []string{
		`,"id":"https://example.org/a","version":"1.0.0","$defs":{"a":true},"input":{"title":"u"}}`,
		`,"id":"https://example.org/a","version":"1.0.0","$defs":{"b":true},"input":{"title":"t"}}`,
		`,"id":"https://example.org/a","version":"1.0.0","$defs":{"a":true},"features":{"f":"x"},"input":{"title":"t"}}`,
	} {
		require.NotEqual(t, base.Identity.Digest, parse(t, invocationHead+other).Identity.Digest)
	}
	with := func(a, b string) string {
		files := map[string]string{"a.json": a, "b.json": b}
		i, err := contract.ParseInvocation([]byte(invocationHead+`,"channels":{"x":{"direction":"send","contract":"./a.json"},"y":{"direction":"send","required":false,"contract":"./b.json"}}}`),
			func(p string) ([]byte, error) { return []byte(files[p]), nil })
		require.NoError(t, err)
		return i.Identity.Digest
	}
	other := strings.Replace(channelFile, `"s"`, `"t"`, 1)
	require.NotEqual(t, with(channelFile, channelFile), with(channelFile, other), "an optional port counts")
	require.NotEqual(t, with(channelFile, other), with(other, channelFile), "paths count")
}

func TestContractFileIsClosed(t *testing.T) {
	// rule
	for _, rest := range []string{
		`}`, `,"unknown":1}`,
	} {
		refused(t, `{"input":true`+rest)
		refused(t, `{"$schema":"https://flow.jig.md/schemas/other.json"`+rest)
	}
	for _, rest := range []string{
		`,"unknown":1}`,
		`,"id":"https://example.org/a"}`,
		`,"version":"1.0.0"}`,
		`,"features":{"a":"x"}}`,
		`,"features":{}}`,
		`,"id":"https://example.org/a","version":"1.0.0","features":{"A":"x"}}`,
		`,"id":"https://example.org/a","version":"1.0.0","features":{"a":""}}`,
		`,"id":"https://example.org/a","version":"1.0.0","features":{"a":"` + strings.Repeat("x", 16_385) + `"}}`,
		`,"outcomes":{"done":"x"}}`, `,"outcomes":{"failed":"x"}}`, `,"outcomes":{"cancelled":"x"}}`, `,"outcomes":{"error":"x"}}`,
		`,"outcomes":{"a":1}}`,
		`,"input":null}`, `,"input":7}`, `,"input":{"pattern":"x"}}`,
		`,"$defs":{"1a":true}}`, `,"$defs":{"a-b":true}}`,
		`,"attachments":{"a":"write"}}`,
		`,"operations":{"a":{}},"input":true}`,
		`,"channels":{"a":{"direction":"send","schema":{"$ref":"#/$defs/a"}}},"$defs":{"a":true}}`,
		`,"channels":{"a":{"direction":"send","schema":{"items":{"$ref":"#/$defs/a"}}}},"$defs":{"a":true}}`,
	} {
		refused(t, invocationHead+rest)
	}
	refused(t, `[]`)
	refused(t, `{"a":1,"a":2}`)
	pad := func(n int) string {
		head := invocationHead + `}`
		return head + strings.Repeat(" ", n-len(head))
	}
	parse(t, pad(contract.MaxBytes))
	refused(t, pad(contract.MaxBytes+1))
	parse(t, invocationHead+`,"id":"https://example.org/a","version":"1.0.0","features":{"a":"`+strings.Repeat("é", 16_384)+`"}}`)
}

func TestOperationsAreRecognisedAndNotSupported(t *testing.T) {
	// rule: R-158
	err := refused(t, invocationHead+`,"operations":{"run":{}}}`)
	require.ErrorIs(t, err, contract.ErrUnsupported)
}

func TestContractIDs(t *testing.T) {
	// rule
	head := func(id string) string {
		return invocationHead + fmt.Sprintf(`,"id":%q,"version":"1.0.0"}`, id)
	}
	for _, id := range []string{
		"https://example.org/c", "https://123.456/c", "https://a.b/c/d.e/~f_g", "https://" + strings.Repeat("a", 63) + ".org/c",
	} {
		require.Equal(t, id, parse(t, head(id)).Identity.ID)
	}
	for _, id := range []string{
		"https://127.0.0.1/c", "https://example/c", "https://EXAMPLE.org/c", "https://example.org/C", "https://example.org/c/", "https://example.org/a/../b",
		"https://example.org/.", "https://example.org", "http://example.org/c", "https://user@example.org/c", "https://example.org:443/c",
		"https://example.org/c?q", "https://example.org/c#f", "https://example.org/%20", "https://-a.org/c", "https://" + strings.Repeat("a", 64) + ".org/c", "https://example.org/c\n", "",
	} {
		refused(t, head(id))
	}
}

func TestVersions(t *testing.T) {
	// rule: R-160
	head := func(v string) string {
		return invocationHead + fmt.Sprintf(`,"id":"https://example.org/c","version":%q}`, v)
	}
	for _, v := range []string{"0.0.0", "1.0.0", "10.20.30"} {
		require.Equal(t, v, parse(t, head(v)).Identity.Version)
	}
	for _, v := range []string{"01.0.0", "1.0", "1.0.0.0", "1.0.x", "1..0", "1.0.0-a", "v1.0.0", "", "1.0.0\n"} {
		refused(t, head(v))
	}
}

func TestPackageWithoutAContract(t *testing.T) {
	// rule: R-161
	var i contract.Invocation
	require.NoError(t, i.CheckInput([]byte(`{"anything":[1]}`)))
	r, err := i.CheckResult([]byte(`{"outcome":"done","output":null}`))
	require.NoError(t, err)
	require.Equal(t, "null", string(r.Output))
	for _, bad := range []string{`{"outcome":"blocked","output":1}`, `{"outcome":"done"}`, `{"output":1}`, `{"outcome":"done","output":1,"x":1}`, `null`, `{"outcome":"","output":1}`} {
		_, err = i.CheckResult([]byte(bad))
		require.ErrorIs(t, err, contract.ErrOutcome, bad)
	}
	require.Empty(t, i.Ports)
}

func TestResultsAreChecked(t *testing.T) {
	i := parse(t, invocationHead+`,"outcomes":{"blocked":"it could not"},"input":{"type":"string"},"result":{"properties":{"output":{"type":"number"}}}}`)
	require.NoError(t, i.CheckInput([]byte(`"x"`)))
	var invalid *schema0.InvalidError
	require.True(t, errors.As(i.CheckInput([]byte(`1`)), &invalid))
	_, err := i.CheckResult([]byte(`{"outcome":"blocked","output":1}`))
	require.NoError(t, err)
	_, err = i.CheckResult([]byte(`{"outcome":"done","output":"1"}`))
	require.True(t, errors.As(err, &invalid))
	_, err = i.CheckResult([]byte(`{"outcome":"other","output":1}`))
	require.ErrorIs(t, err, contract.ErrOutcome)
}

func TestPorts(t *testing.T) {
	// rule: R-162
	i, err := contract.ParseInvocation([]byte(invocationHead+`,"channels":{
		"plain":{"direction":"receive"},
		"typed":{"direction":"send","required":false,"delivery":"direct","schema":{"type":"string"}},
		"late":{"direction":"receive","start":"suffix","delivery":"broadcast","schema":true},
		"named":{"direction":"send","contract":"./sub/c.json"}}}`),
		func(p string) ([]byte, error) {
			require.Equal(t, "sub/c.json", p)
			return []byte(channelFile), nil
		})
	require.NoError(t, err)
	require.Equal(t, contract.Port{Direction: "receive", Required: true, Start: "beginning"}, i.Ports["plain"])
	typed := i.Ports["typed"]
	require.False(t, typed.Required)
	require.Error(t, typed.Item.Check([]byte(`1`)))
	require.NoError(t, typed.Item.Check([]byte(`"x"`)))
	require.Equal(t, contract.Port{Direction: "receive", Required: true, Start: "suffix", Delivery: "broadcast"}, i.Ports["late"])
	require.Equal(t, "https://example.org/c", i.Ports["named"].Contract.Identity.ID)
	require.Error(t, i.Ports["named"].Item.Check([]byte(`"x"`)))
	for _, port := range []string{
		`{}`, `{"direction":"both"}`, `{"direction":"send","start":"beginning"}`, `{"direction":"receive","start":"middle"}`,
		`{"direction":"send","delivery":"replay"}`, `{"direction":"send","schema":true,"contract":"./c.json"}`, `{"direction":"send","extra":1}`,
		`{"direction":"send","required":"yes"}`, `{"direction":"send","contract":"c.json"}`,
	} {
		refused(t, invocationHead+`,"channels":{"p":`+port+`}}`)
	}
	refused(t, invocationHead+`,"channels":{"P":{"direction":"send"}}}`)
	refused(t, invocationHead+`,"channels":[]}`)
}

func TestNullIsNoValueOfAPort(t *testing.T) {
	// rule: R-162
	for _, port := range []string{
		`{"direction":null}`, `{"direction":"receive","required":null}`, `{"direction":"receive","schema":null}`, `{"direction":"receive","contract":null}`,
		`{"direction":"receive","delivery":null}`, `{"direction":"receive","start":null}`, `{"direction":"send","schema":true,"contract":null}`,
	} {
		require.ErrorContains(t, refused(t, invocationHead+`,"channels":{"p":`+port+`}}`), "null is not allowed here", port)
	}
	require.ErrorContains(t, refused(t, invocationHead+`,"channels":{"p":null}}`), "at /channels/p: null")
	require.ErrorContains(t, refused(t, invocationHead+`,"channels":{"p":{"direction":"send","start":null}}}`), "at /channels/p/start: null")
	require.ErrorContains(t, refused(t, invocationHead+`,"channels":null}`), "at /channels: null")
	for _, member := range []string{`"features":{"a":null},"id":"https://example.org/a","version":"1.0.0"`, `"outcomes":{"a":null}`, `"attachments":{"a":null}`, `"$defs":{"a":null}`, `"result":null`} {
		refused(t, invocationHead+`,`+member+`}`)
	}
	// In a schema null is a value like others.
	parse(t, invocationHead+`,"input":{"const":null},"$defs":{"a":{"enum":[null]}},"channels":{"p":{"direction":"send","schema":{"const":null}}}}`)
}

func TestReferences(t *testing.T) {
	// rule: R-165
	long := "./" + strings.Repeat("a", contract.MaxReference-2)
	for _, r := range []string{"./a.json", "./a/b/c.json", "./A b.json", long} {
		require.True(t, contract.ValidReference(r), r)
	}
	for _, r := range []string{"a.json", "/a.json", "../a.json", "./../a.json", "./a/../b.json", "./a//b.json", "./a/./b.json", "./", "./a/", `./a\b`, "./a%20b", "./a#b", long + "a", "https://example.org/a"} {
		require.False(t, contract.ValidReference(r), r)
	}
}

func TestNumberOfChannelDescriptors(t *testing.T) {
	// rule: R-168
	build := func(n int) string {
		var ports []string
		for i := range n {
			ports = append(ports, fmt.Sprintf(`"p%d":{"direction":"send","contract":"./c%d.json"}`, i, i))
		}
		return invocationHead + `,"channels":{` + strings.Join(ports, ",") + `}}`
	}
	_, err := contract.ParseInvocation([]byte(build(contract.MaxChannels)), func(string) ([]byte, error) { return []byte(channelFile), nil })
	require.NoError(t, err)
	refused(t, build(contract.MaxChannels+1))
}

func TestBytesUnderAnIdentity(t *testing.T) {
	// rule: R-168
	require.Equal(t, 1_048_576, contract.MaxPreimage)
	const channels = 5
	descriptor := map[string]any{"$schema": contract.InvocationSchema, "channels": map[string]any{}}
	for i := range channels {
		descriptor["channels"].(map[string]any)[fmt.Sprintf("p%d", i)] = map[string]any{"direction": "send", "contract": fmt.Sprintf("./c%d.json", i)}
	}
	raw, err := json0.Marshal(descriptor)
	require.NoError(t, err)
	// The title of each item's schema is as long as it is told to be.
	preimage := func(titles [channels]int) (int, map[string][]byte) {
		files, contracts := map[string][]byte{}, map[string]jsontext.Value{}
		for i, n := range titles {
			name := fmt.Sprintf("c%d.json", i)
			files[name] = []byte(strings.Replace(channelFile, `{"type":"number"}`, `{"title":"`+strings.Repeat("x", n)+`"}`, 1))
			contracts[name] = files[name]
		}
		b, err := json0.Marshal(map[string]any{"descriptor": jsontext.Value(raw), "channelContracts": contracts})
		require.NoError(t, err)
		return len(b), files
	}
	empty, _ := preimage([channels]int{})
	for over := -1; over <= 1; over++ {
		n, files := preimage([channels]int{250_000, 250_000, 250_000, 250_000, contract.MaxPreimage - empty - 1_000_000 + over})
		require.Equal(t, contract.MaxPreimage+over, n)
		_, err := contract.ParseInvocation(raw, func(name string) ([]byte, error) { return files[name], nil })
		if over > 0 {
			require.ErrorContains(t, err, "above 1048576 bytes")
		} else {
			require.NoError(t, err, over)
		}
	}
}

func TestNumberOfDefinitions(t *testing.T) {
	// Of a contract (run-0 5.3) and, alike, of a channel descriptor (run-0 5.4).
	defs := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"d%d":true`, i))
		}
		return `,"$defs":{` + strings.Join(all, ",") + `}}`
	}
	for _, n := range []int{1023, 1024} {
		parse(t, invocationHead+defs(n))
		_, err := contract.ParseChannel([]byte(strings.TrimSuffix(channelFile, "}") + defs(n)))
		require.NoError(t, err, n)
	}
	require.ErrorContains(t, refused(t, invocationHead+defs(1025)), "at /$defs: more than 1024 definitions")
	_, err := contract.ParseChannel([]byte(strings.TrimSuffix(channelFile, "}") + defs(1025)))
	require.ErrorContains(t, err, "at /$defs: more than 1024 definitions")
}

func TestChannelDescriptor(t *testing.T) {
	// rule: R-164
	_, err := contract.ParseChannel([]byte(channelFile))
	require.NoError(t, err)
	semantics := func(s string) string { return strings.Replace(channelFile, `"s"`, `"`+s+`"`, 1) }
	_, err = contract.ParseChannel([]byte(semantics(strings.Repeat("é", 8192))))
	require.NoError(t, err)
	for _, bad := range []string{
		semantics(""), semantics(strings.Repeat("é", 8192) + "x"),
		strings.Replace(channelFile, `"item"`, `"items"`, 1),
		strings.Replace(channelFile, `,"item":{"type":"number"}`, ``, 1),
		strings.Replace(channelFile, `"1.0.0"`, `"1.0"`, 1),
		strings.Replace(channelFile, contract.ChannelSchema, contract.InvocationSchema, 1),
		strings.Replace(channelFile, `"id":"https://example.org/c",`, ``, 1),
		strings.Replace(channelFile, `{"type":"number"}`, `{"format":"x"}`, 1),
		strings.Replace(channelFile, `{"type":"number"}`, `null`, 1),
		channelFile + strings.Repeat(" ", contract.MaxBytes+1-len(channelFile)),
	} {
		_, err := contract.ParseChannel([]byte(bad))
		require.Error(t, err, bad[:min(len(bad), 200)])
	}
	_, err = contract.ParseChannel([]byte(channelFile + strings.Repeat(" ", contract.MaxBytes-len(channelFile))))
	require.NoError(t, err)
}

func TestChannelSchemasAreComparedWithTheirDefinitions(t *testing.T) {
	named, err := contract.ParseChannel([]byte(strings.Replace(channelFile, `"item":{"type":"number"}`, `"item":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"number"}}`, 1)))
	require.NoError(t, err)
	inline, err := contract.CompileItem([]byte(`{"$defs":{"n":{"type":"number"}},"$ref":"#/$defs/n"}`))
	require.NoError(t, err)
	require.True(t, named.Item.Same(inline))
	boolean, err := contract.ParseChannel([]byte(strings.Replace(channelFile, `"item":{"type":"number"}`, `"item":false,"$defs":{"n":true}`, 1)))
	require.NoError(t, err)
	inline, err = contract.CompileItem([]byte(`{"$defs":{"n":true},"allOf":[false]}`))
	require.NoError(t, err)
	require.True(t, boolean.Item.Same(inline))
	require.False(t, boolean.Item.Same(named.Item))
	trivial, err := contract.CompileItem([]byte(` true `))
	require.NoError(t, err)
	require.Nil(t, trivial)
}

func TestSatisfaction(t *testing.T) {
	// rule
	a := contract.Identity{ID: "https://example.org/a", Version: "1.0.0", Digest: "sha256:aa"}
	require.NoError(t, a.Satisfies(a))
	anonymous := contract.Identity{Digest: "sha256:aa"}
	require.ErrorIs(t, anonymous.Satisfies(a), contract.ErrMismatch)
	require.ErrorIs(t, anonymous.Satisfies(anonymous), contract.ErrMismatch)
	other := a
	other.Version = "1.0.1"
	require.ErrorIs(t, other.Satisfies(a), contract.ErrMismatch)
	other = a
	other.Digest = "sha256:bb"
	require.ErrorIs(t, other.Satisfies(a), contract.ErrEquivocation)
}

func TestResourcesAreKnownByTheirExactDigest(t *testing.T) {
	// rule: E-092, E-093, E-094, E-095
	public := contract.Identity{ID: string(contract.FiniteACP), Version: "0.1.0", Digest: "sha256:808fc2e06261843a86ca6d346e0e3385582b859868f796a6427cc319d57dfbb1"}
	id, known, err := contract.Resource(public)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, contract.FiniteACP, id)
	id, known, err = contract.Resource(contract.Identity{ID: string(contract.HTTPRequest), Version: "0.1.0", Digest: "sha256:184ac7ea457618337e5696d101e218fdfccfa99792c56790b00750bfe80f40f0"})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, contract.HTTPRequest, id)
	public.Digest = "sha256:" + strings.Repeat("0", 64)
	_, known, err = contract.Resource(public)
	require.True(t, known)
	require.ErrorIs(t, err, contract.ErrUnsupported)
	_, known, err = contract.Resource(contract.Identity{ID: "https://example.org/a", Version: "1.0.0", Digest: "x"})
	require.NoError(t, err)
	require.False(t, known)
	require.Equal(t, "sha256:161f08489ee386732996fa543c4753dba83063ca03d9dfed557c737dbb956bc0", contract.FiniteACPRequests)
	require.Equal(t, "sha256:a789ad3869499409752574e0f6991e3e000944aa5610190912960f0a0c1b2edb", contract.FiniteACPResponses)
	require.Equal(t, "sha256:0e5ed7e128a6b3094daf10a06f42aa4664778aa1b88b38c42ea29837442dd430", contract.AgentCommands)
	require.Equal(t, "sha256:8f523c76e684b9c0d056683dc9d68e3db0589849ea43fc685230686f9d281827", contract.AgentReplies)
}

func TestOwnBundles(t *testing.T) {
	for _, id := range []contract.ResourceID{contract.FiniteACP, contract.HTTPRequest} {
		i, err := contract.Bundle(id)
		require.NoError(t, err)
		got, known, err := contract.Resource(i.Identity)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, id, got)
	}
	acp, err := contract.Bundle(contract.FiniteACP)
	require.NoError(t, err)
	for value, ok := range map[string]bool{
		`null`: true, `{"session":{"retain":true}}`: true, `{"session":{"retain":true,"lifetime":"run"}}`: true,
		`{"session":{"restore":"00000000-0000-4000-8000-000000000000"}}`: true,
		`{}`: false, `{"session":{}}`: false, `{"session":{"retain":false}}`: false,
		`{"session":{"retain":true,"restore":"00000000-0000-4000-8000-000000000000"}}`: false, `{"session":{"restore":"x"}}`: false,
	} {
		require.Equal(t, ok, acp.CheckInput([]byte(value)) == nil, value)
	}
}
