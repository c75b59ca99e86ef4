package cli

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
)

// A record of a review has no code of its own: its refusal stands in its diagnostics,
// and does not stand there twice.
func TestARefusedReviewSaysEachThingOnce(t *testing.T) {
	login := project.Diagnostic{Code: "PROJECT_ACP_CODEX_LOGIN", Message: "codex cannot be used: …", Hint: "mend it"}
	broken := project.Diagnostic{Code: project.CodeDeclarationInvalid, Message: "…", Path: "jig.ts"}
	for name, c := range map[string]struct {
		err  *refusal
		want []project.Diagnostic
	}{
		"a client":      {declaredRefusal(&project.Refusal{Diagnostics: []project.Diagnostic{login}}), []project.Diagnostic{login}},
		"one of two":    {declaredRefusal(&project.Refusal{Diagnostics: []project.Diagnostic{broken, login}}), []project.Diagnostic{broken, login}},
		"a declaration": {declaredRefusal(&project.Refusal{Diagnostics: []project.Diagnostic{broken}}), []project.Diagnostic{{Code: codeCandidate, Message: "the project cannot be taken as it is"}, broken}},
		"nothing more":  {refuse(codeBusy, "busy"), []project.Diagnostic{{Code: codeBusy, Message: "busy"}}},
		"a hint":        {&refusal{code: login.Code, message: "m", hint: "h", diagnostics: []project.Diagnostic{login}}, []project.Diagnostic{{Code: login.Code, Message: "m", Hint: "h"}, login}},
	} {
		require.Equal(t, c.want, c.err.listed(), name)
	}
}

// What a grant asks for and its client cannot do is not shown as done.
func TestOnlyCodexIsShownToKeepSessions(t *testing.T) {
	require.Contains(t, grantLine(grantRecord{Client: "codex", RetainSessions: true}), "0 turns, may keep sessions")
	require.NotContains(t, grantLine(grantRecord{Client: "codex", RetainSessions: true}), "cannot")
	for _, client := range []string{"claude", "pi"} {
		require.Contains(t, grantLine(grantRecord{Client: client, RetainSessions: true}), "may keep sessions, which "+client+" cannot")
		require.NotContains(t, grantLine(grantRecord{Client: client}), "sessions")
	}
}

// A plan for a person is in words, and a quote inside an argument does not end it.
func TestAPlanIsInWords(t *testing.T) {
	lines := providerLines(project.Provider{Executable: &project.ProviderExecutable{}, Argv: []string{`model="m"`}})
	require.Contains(t, lines, `argument "model=\"m\""`)
	target := review.Change{Before: jsontext.Value(`{"package":"flows/a"}`), After: jsontext.Value(`{"notRunnable":true,"package":"flows/a"}`)}
	require.Equal(t, []string{"not runnable: yes"}, changeLines(style{ascii: true}, target, false))
	scope := review.Change{Before: jsontext.Value(`{"nestedUserns":true}`), After: jsontext.Value(`{"nestedUserns":false}`)}
	require.Equal(t, []string{"user namespaces of its own: yes -> no"}, changeLines(style{ascii: true}, scope, false))
	require.Equal(t, []string{`- {"nestedUserns":true}`, `+ {"nestedUserns":false}`}, changeLines(style{}, scope, true), "in detail as it is")
}
