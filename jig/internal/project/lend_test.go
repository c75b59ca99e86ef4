package project

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

const agents = `"agents":["codex","claude"]`

// lent is a project with grants for several clients.
func lent(more string) map[string]string {
	jig := found
	if more != "" {
		jig = strings.TrimSuffix(found, "}") + "," + more + "}"
	}
	return with(join(base, resource("flows/agent", "native", contract.FiniteACP), hello), "jig.ts", jig,
		"bindings/a.ts", binding("flows/agent", `{"native":{"kind":"acp","client":"codex","model":"gpt-x","maxTurns":3,"retainSessions":true}}`),
		"bindings/b.ts", binding("flows/agent", `{"native":"grant:shared"}`),
		"grants/shared.json", `{"kind":"acp","client":"pi"}`,
		"grants/unused.json", `{"kind":"acp","client":"claude","model":"never"}`)
}

func chosen(t *testing.T, files map[string]string, agent string, o *opener) (*Candidate, error) {
	t.Helper()
	opts := options(t, write(t, files))
	opts.Opener, opts.Agent = o, agent
	return Load(t.Context(), opts)
}

// rule: J-078, P-132, F-003, F-006
func TestTheClientsThatGrantsNameAreOpenedAndNoOthers(t *testing.T) {
	o := &opener{}
	c, err := chosen(t, lent(""), "", o)
	require.NoError(t, err)
	slices.Sort(o.asked)
	require.Equal(t, []string{"codex gpt-x", "pi "}, o.asked, "the grant that no Binding uses is not looked at")
	require.True(t, c.Meaning.Targets["binding:a"].Ready)
	require.False(t, c.Meaning.Targets["flow:flows/agent"].Ready, "a slot by itself selects nothing")
	require.Contains(t, c.Meaning.Targets["flow:flows/agent"].Reason, "it needs a grant")
	require.Len(t, c.Meaning.Providers, 2)
	for _, b := range []string{"a", "b"} {
		s := c.Meaning.Targets["binding:"+b].Slots["native"]
		digest, err := c.Meaning.Providers[s.Provider].Digest()
		require.NoError(t, err)
		require.Equal(t, s.Provider, digest)
		require.Equal(t, s.Contract.Digest, c.Meaning.Providers[s.Provider].Contract)
		require.Nil(t, s.Declared)
	}
	// A failed client is tried once, and its neighbours still are.
	failing := &opener{err: &Refusal{[]Diagnostic{{Code: "PROJECT_ACP_PI_LOGIN", Message: "no login"}}}}
	_, err = chosen(t, with(lent(""), "bindings/c.ts", binding("flows/agent", `{"native":"grant:shared"}`)), "", failing)
	require.Len(t, lines(t, err), 2)
	slices.Sort(failing.asked)
	require.Equal(t, []string{"codex gpt-x", "pi "}, failing.asked)
}

// rule: J-083, J-084, J-086
func TestAnArgumentMakesTheEffectiveClientOfEveryGrant(t *testing.T) {
	o := &opener{}
	c, err := chosen(t, lent(agents), "claude", o)
	require.NoError(t, err)
	require.Equal(t, []string{"claude "}, o.asked)
	require.Equal(t, "claude", c.Agent)
	a, b := c.Meaning.Targets["binding:a"].Slots["native"], c.Meaning.Targets["binding:b"].Slots["native"]
	require.JSONEq(t, `{"kind":"acp","client":"claude","maxTurns":3,"retainSessions":true}`, string(a.Grant), "turns and sessions stay, the other client's model does not")
	require.JSONEq(t, `{"kind":"acp","client":"codex","model":"gpt-x","maxTurns":3,"retainSessions":true}`, string(a.Declared))
	require.JSONEq(t, `{"kind":"acp","client":"claude"}`, string(b.Grant))
	require.JSONEq(t, `{"kind":"acp","client":"pi"}`, string(b.Declared))
	require.Equal(t, []Diagnostic{{Code: CodeACPUnavailable, Path: "bindings/a.ts", Message: "slots.native: the model gpt-x was written for codex and is not used with claude"}}, c.Warnings)

	// The model is kept for the client that it was written for.
	o = &opener{}
	c, err = chosen(t, lent(agents), "codex", o)
	require.NoError(t, err)
	slices.Sort(o.asked)
	require.Equal(t, []string{"codex ", "codex gpt-x"}, o.asked)
	require.Empty(t, c.Warnings)
	require.Nil(t, c.Meaning.Targets["binding:a"].Slots["native"].Declared)
	require.JSONEq(t, `{"kind":"acp","client":"codex"}`, string(c.Meaning.Targets["binding:b"].Slots["native"].Grant))
}

// rule: J-087
func TestAReviewWithoutTheArgumentReturnsToTheProjectsClient(t *testing.T) {
	plain, err := chosen(t, lent(agents), "", &opener{})
	require.NoError(t, err)
	other, err := chosen(t, lent(agents), "claude", &opener{})
	require.NoError(t, err)
	again, err := chosen(t, lent(agents), "", &opener{})
	require.NoError(t, err)
	a, err := plain.Meaning.Canonical()
	require.NoError(t, err)
	b, err := again.Meaning.Canonical()
	require.NoError(t, err)
	require.Equal(t, string(a), string(b))
	require.NotEqual(t, plain.Meaning.Targets["binding:a"].Request, other.Meaning.Targets["binding:a"].Request)
	require.Equal(t, string(plain.Lock), string(other.Lock), "what the project chose is the same")
}

// rule: J-055
func TestAnArgumentChoosesAmongTheProjectsAgents(t *testing.T) {
	o := &opener{}
	_, err := chosen(t, lent(agents), "pi", o)
	var refused *AgentError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.Equal(t, "the project does not let a review choose pi; its agents are claude, codex", err.Error())
	require.Empty(t, o.asked)
	for _, agent := range []string{"codex", "claude"} {
		_, err := chosen(t, lent(agents), agent, &opener{})
		require.NoError(t, err)
	}
	// Without a list every client may be chosen.
	_, err = chosen(t, lent(""), "pi", &opener{})
	require.NoError(t, err)
}

// rule: P-132
func TestAWarningIsGivenOnce(t *testing.T) {
	o := &opener{warnings: []Diagnostic{{Code: CodeACPUnavailable, Message: "mind"}}}
	c, err := chosen(t, lent(""), "", o)
	require.NoError(t, err)
	require.Len(t, o.asked, 2)
	require.Len(t, c.Warnings, 1)
}

// broken cannot look at anything.
type broken struct{}

func (broken) Open(context.Context, ClientRequest) (*Client, error) {
	return nil, errors.New("the disk is gone")
}

func TestAFailureOfTheHostIsNoRefusalOfTheProject(t *testing.T) {
	opts := options(t, write(t, lent("")))
	opts.Opener = broken{}
	_, err := Load(t.Context(), opts)
	var refused *Refusal
	require.False(t, errors.As(err, &refused))
	require.ErrorContains(t, err, "the disk is gone")
}
