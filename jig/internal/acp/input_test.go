package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

func admit(t *testing.T, keeper acp.SessionKeeper, grant, input string) *fault.Error {
	r := newRig(t)
	r.grant, r.input = grant, input
	o := acp.Options{Starter: r, Prepare: nobody, Sessions: keeper}
	resource, err := acp.New(o)
	require.NoError(t, err)
	return resource.Admit(r.call())
}

func TestInputsThatAreTaken(t *testing.T) {
	// rule: F-012, F-013, F-014, F-015
	for _, input := range []string{
		`null`, `{"session":{"retain":true}}`, `{"session":{"retain":true,"lifetime":"run"}}`, `{"session":{"restore":"` + given + `"}}`,
	} {
		require.Nil(t, admit(t, &keeper{}, keeps, input), input)
		require.NoError(t, finite(t).CheckInput([]byte(input)), input)
	}
}

func TestInputsThatAreNot(t *testing.T) {
	// rule: F-012, F-014, F-015, F-016
	for _, input := range []string{
		`{}`, `{"session":{}}`, `{"session":null}`, `{"session":{"retain":false}}`, `{"session":{"retain":true,"restore":"` + given + `"}}`,
		`{"session":{"restore":"` + given + `","lifetime":"run"}}`, `{"session":{"lifetime":"run"}}`, `{"session":{"retain":true,"lifetime":"day"}}`,
		`{"session":{"retain":true,"lifetime":null}}`, `{"session":{"retain":true,"more":1}}`, `{"session":{"retain":true},"more":1}`, `true`, `[]`, `"retain"`, `0`,
		`{"session":{"restore":"3F2504E0-4F89-41D3-9A0C-0305E82C3301"}}`, `{"session":{"restore":"{3f2504e0-4f89-41d3-9a0c-0305e82c3301}"}}`,
		`{"session":{"restore":"3f2504e04f8941d39a0c0305e82c3301"}}`, `{"session":{"restore":"3f2504e0-4f89-41d3-9a0c-0305e82c330"}}`,
		`{"session":{"restore":"3f2504e0-4f89-41d3-9a0c-0305e82c33012"}}`, `{"session":{"restore":"urn:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301"}}`,
		`{"session":{"restore":"zf2504e0-4f89-41d3-9a0c-0305e82c3301"}}`, `{"session":{"restore":1}}`,
	} {
		f := admit(t, &keeper{}, keeps, input)
		require.NotNil(t, f, input)
		require.Equal(t, fault.InvalidInput, f.Code, input)
	}
}

func TestASessionNeedsAGrantAClientAndAStore(t *testing.T) {
	// rule: F-017, F-125, J-085, J-196, P-071
	retain := `{"session":{"retain":true}}`
	const nothing = "the slot has no grant of a native conversation"
	for _, c := range []struct {
		keeper acp.SessionKeeper
		grant  string
		says   string
	}{
		{&keeper{}, codex, "the grant retains no sessions: it has no retainSessions: true"},
		{&keeper{}, `{"kind":"acp","client":"claude","retainSessions":true}`, "sessions of this client are not retained; only those of codex are"},
		{&keeper{}, `{"kind":"acp","client":"pi","retainSessions":true}`, "sessions of this client are not retained; only those of codex are"},
		{nil, keeps, "this host retains no sessions"},
		{&keeper{}, `{"kind":"http"}`, nothing}, {&keeper{}, `{}`, nothing}, {&keeper{}, ``, nothing},
	} {
		f := admit(t, c.keeper, c.grant, retain)
		require.NotNil(t, f, c.grant)
		require.Equal(t, fault.Unavailable, f.Code, c.grant)
		require.Equal(t, c.says, f.Message, c.grant)
		f = admit(t, c.keeper, c.grant, `{"session":{"restore":"`+given+`"}}`)
		require.Equal(t, fault.Unavailable, f.Code, "a reference does not replace the grant")
	}
	require.Nil(t, admit(t, nil, codex, `null`))
	r := newRig(t)
	resource, err := acp.New(acp.Options{Starter: r, Prepare: nobody})
	require.NoError(t, err)
	require.Equal(t, fault.Unavailable, resource.Admit(tree.ResourceCall{}).Code)
}

func TestAResourceNeedsItsParts(t *testing.T) {
	for _, o := range []acp.Options{
		{}, {Starter: newRig(t)}, {Prepare: nobody}, {Starter: newRig(t), Prepare: nobody, Limits: acp.Limits{Lines: -1}},
		{Starter: newRig(t), Prepare: nobody, Limits: acp.Limits{Cancel: -1}},
	} {
		_, err := acp.New(o)
		require.Error(t, err)
	}
}
