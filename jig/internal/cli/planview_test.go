package cli

import (
	"fmt"
	"strings"
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
	lines := grantLines(grantRecord{Client: "codex", RetainSessions: true}, false)
	require.Equal(t, "sessions    may be kept", lines[len(lines)-1])
	for _, client := range []string{"claude", "pi"} {
		lines := grantLines(grantRecord{Client: client, RetainSessions: true}, false)
		require.Equal(t, "sessions    may be kept, which "+client+" cannot", lines[len(lines)-1])
		require.NotContains(t, strings.Join(grantLines(grantRecord{Client: client}, false), ""), "sessions")
	}
}

const shortDigest = "sha256:00"

// clientPart is what a changed provider shows of a client.
func clientPart(argv, env, files string) jsontext.Value {
	return jsontext.Value(`{"executable":{"path":"/opt/codex","digest":"` + shortDigest + `"},"argv":` + argv + `,"env":` + env + `,"files":` + files + `,"nestedUserns":true,"endpoint":null}`)
}

// A client that is another one is read item by item: no JSON, each on its line, and
// only what differs.
func TestAChangedClientIsReadItemByItem(t *testing.T) {
	s := style{ascii: true}
	c := review.Change{
		Kind: review.KindProvider, Op: review.OpChange,
		Before: clientPart(`["app-server","-c","model=\"m\""]`, `{"HOME":"/home/agent","LANG":"C"}`, `[]`),
		After:  clientPart(`["app-server","-c","model=\"n\"","--new"]`, `{"HOME":"/codex","LANG":"C","X":"1\u001b"}`, `[{"path":"/opt/lib.so","role":"library","digest":"sha256:01"}]`),
	}
	require.Equal(t, []string{
		`  file      none -> library /opt/lib.so sha256:01`,
		`- argument  "model=\"m\""`,
		`+ argument  "model=\"n\""`,
		`+ argument  "--new"`,
		`- variable  HOME=/home/agent`,
		`+ variable  HOME=/codex`,
		`+ variable  X=1\u{1b}`,
	}, changeLines(s, c, false))
	whole := changeLines(s, c, true)
	require.Contains(t, whole, `- own namespaces  yes`)
	require.Contains(t, whole, `+ executable      /opt/codex sha256:00`)
	require.Contains(t, whole, `+ endpoint        the client's own`)
	for _, line := range whole {
		require.NotContains(t, line, "{\"")
		require.NotContains(t, line, "null")
	}
}

// What a grant allows is in words, for each kind of it.
func TestAGrantIsInWords(t *testing.T) {
	lines := func(contract, policy string) []string {
		after := jsontext.Value(`{"package":"flows/a","contract":` + contract + `,"policy":` + policy + `}`)
		return changeLines(style{}, review.Change{Kind: review.KindGrant, Op: review.OpAdd, After: after}, false)
	}
	require.Equal(t, []string{
		"package   flows/a",
		"contract  none is asked for",
		"client    codex",
		"model     none is named",
		"prompts   3 at most in a conversation",
		"sessions  may be kept",
	}, lines("null", `{"kind":"acp","client":"codex","maxTurns":3,"retainSessions":true}`))
	require.Equal(t, []string{
		"package        flows/a",
		"contract       https://example.org/a 1.0.0",
		"request        POST https://example.org/x",
		"bearer token   the content of the variable TOKEN",
		"sent           5 bytes at most",
		"received       1048576 bytes at most",
		"time           60000 ms at most",
		`body.required  empty`,
		`body.type      "object"`,
	}, lines(`{"id":"https://example.org/a","version":"1.0.0","digest":"sha256:00"}`,
		`{"kind":"http","url":"https://example.org/x","method":"POST","bearerEnv":"TOKEN","requestBytes":5,"bodySchema":{"type":"object","required":[]}}`))
}

// A plan for a person is in words, and a quote inside an argument does not end it.
func TestAPlanIsInWords(t *testing.T) {
	s := style{ascii: true}
	lines := grantLines(grantRecord{Client: "codex", provider: project.Provider{Executable: &project.ProviderExecutable{Path: "/opt/codex", Digest: shortDigest}, Argv: []string{`model="m"`}}}, true)
	require.Contains(t, lines, `argument            "model=\"m\""`)
	require.Contains(t, lines, "executable          /opt/codex sha256:00")
	change := func(kind, before, after string) []string {
		c := review.Change{Kind: kind, Op: review.OpChange}
		if before != "" {
			c.Before = jsontext.Value(before)
		}
		if after != "" {
			c.After = jsontext.Value(after)
		}
		return changeLines(s, c, false)
	}
	require.Equal(t, []string{"+ state  it cannot be run; the reason stands under Targets"}, change(review.KindTarget, `{"package":"flows/a"}`, `{"notRunnable":true,"package":"flows/a"}`))
	require.Equal(t, []string{"own namespaces  yes -> no"}, change(review.KindProvider, `{"nestedUserns":true}`, `{"nestedUserns":false}`))
	require.Equal(t, []string{"filled by  nothing yet; the reason stands under Targets"}, change(review.KindSlot, "", `{"kind":"none"}`))
	require.Equal(t, []string{"filled by  flow:flows/a", "chosen by  the Binding"}, change(review.KindSlot, "", `{"kind":"target","origin":"explicit","target":"flow:flows/a"}`))
	require.Equal(t, []string{"  limit.max  3 -> 4", `+ name       "x"`}, change(review.KindSettings, `{"limit":{"max":3},"same":1}`, `{"limit":{"max":4},"name":"x","same":1}`))
	require.Equal(t, []string{"+ client  claude"}, change(review.KindAgents, `["pi","codex"]`, `["pi","claude","codex"]`))
	require.Equal(t, []string{`+ argument  "a"`, `+ argument  "b"`}, change(review.KindProvider, `{"argv":[]}`, `{"argv":["a","b"]}`))
	require.Equal(t, []string{`- argument  "a"`, `- argument  "b"`}, change(review.KindProvider, `{"argv":["a","b"]}`, `{"argv":[]}`))
	require.Equal(t, []string{"setting  model=m -> none"}, change(review.KindProvider, `{"configuration":[{"configId":"model","value":"m"}]}`, `{"configuration":[]}`))
	long := "sha256:" + strings.Repeat("0", 64)
	require.Equal(t, []string{"- " + long, "+ " + long + "1"}, change(review.KindPackage, `"`+long+`"`, `"`+long+`1"`))
	require.Equal(t, []string{"sha256:1 -> sha256:2"}, change(review.KindPackage, `"sha256:1"`, `"sha256:2"`))
	require.Equal(t, []string{"- sha256:1", "+ sha256:2"}, changeLines(s, review.Change{Kind: review.KindPackage, Before: jsontext.Value(`"sha256:1"`), After: jsontext.Value(`"sha256:2"`)}, true))
}

// Settings may have tens of thousands of values: a plan stays short.
func TestAPlanOfManySettingsStaysShort(t *testing.T) {
	settings := func(value string) jsontext.Value {
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, `,"n%d":%s`, i, value)
		}
		return jsontext.Value("{" + b.String()[1:] + "}")
	}
	c := review.Change{Kind: review.KindSettings, Op: review.OpChange, Before: settings("1"), After: settings("2")}
	lines := changeLines(style{}, c, false)
	require.Len(t, lines, plannedSettings+1)
	require.Equal(t, "and 19960 more, with --details", lines[plannedSettings])
	require.Len(t, changeLines(style{}, c, true), 40_000)
}

// No names of an author make a plan much larger than what it shows.
func TestALongNameStandsOnceInAPlan(t *testing.T) {
	const levels = 90
	name := `{"` + strings.Repeat("ä", 500) + `":`
	var items strings.Builder
	for range 60_000 {
		items.WriteString(",1")
	}
	settings := jsontext.Value(`{"deep":` + strings.Repeat(name, levels) + "[" + items.String()[1:] + "]" + strings.Repeat("}", levels) + `,"short":2}`)
	lines := changeLines(style{}, review.Change{Kind: review.KindSettings, Op: review.OpAdd, After: settings}, true)
	require.Len(t, lines, 60_001)
	total := 0
	for _, line := range lines {
		total += len(line)
	}
	require.Less(t, total, 60_001*300)
	require.Equal(t, "short"+strings.Repeat(" ", maxLabel-5+2)+"2", lines[60_000])
}
