package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
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
