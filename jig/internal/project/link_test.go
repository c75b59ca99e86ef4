package project

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

var base = map[string]string{"jig.ts": found}

func binding(pkg, slots string) string {
	return `{"kind":"package","package":"` + pkg + `","slots":` + slots + `}`
}

// rule: P-169
func TestASlotIsFilledExplicitlyElseByDefaultElseByTheOnlyOne(t *testing.T) {
	files := join(base, caller("flows/call", "help"), provider("flows/one", "help"))

	m := meaning(t, files)
	s := m.Targets["flow:flows/call"].Slots["helper"]
	require.Equal(t, Slot{Kind: KindTarget, Origin: OriginOnly, Target: "flow:flows/one", Contract: s.Contract}, s)
	require.Equal(t, "https://example.org/help", s.Contract.ID)
	require.True(t, m.Targets["flow:flows/call"].Ready)

	two := join(files, provider("flows/two", "help"))
	m = meaning(t, two)
	call := m.Targets["flow:flows/call"]
	require.Equal(t, KindNone, call.Slots["helper"].Kind)
	require.False(t, call.Ready)
	require.Contains(t, call.Reason, "several targets fit (flow:flows/one, flow:flows/two)")

	m = meaning(t, with(two, "jig.ts", strings.TrimSuffix(found, "}")+`,"defaultProviders":{"https://example.org/help":"flow:flows/two"}}`))
	s = m.Targets["flow:flows/call"].Slots["helper"]
	require.Equal(t, "flow:flows/two", s.Target)
	require.Equal(t, OriginDefault, s.Origin)

	m = meaning(t, with(two, "bindings/b.ts", binding("flows/call", `{"helper":"flow:flows/one"}`),
		"jig.ts", strings.TrimSuffix(found, "}")+`,"defaultProviders":{"https://example.org/help":"flow:flows/two"}}`))
	s = m.Targets["binding:b"].Slots["helper"]
	require.Equal(t, "flow:flows/one", s.Target)
	require.Equal(t, OriginExplicit, s.Origin)
	require.Equal(t, "flow:flows/two", m.Targets["flow:flows/call"].Slots["helper"].Target)
}

// rule: J-069
func TestATargetWithAnEmptySlotIsListedAndFailsNoReview(t *testing.T) {
	m := meaning(t, join(base, caller("flows/call", "help"), hello))
	require.False(t, m.Targets["flow:flows/call"].Ready)
	require.Equal(t, "slot helper: no target provides https://example.org/help 1.0.0", m.Targets["flow:flows/call"].Reason)
	require.True(t, m.Targets["flow:flows/hello"].Ready)

	// Who leads to it is not runnable either.
	m = meaning(t, join(base, caller("flows/call", "help"), map[string]string{
		"flows/call/FLOW.contract.json": named("call", ""),
		"flows/top/FLOW.ts":             code,
		"flows/top/FLOW.meta.json":      `{"uses":{"next":{"contract":"./c.json"}}}`,
		"flows/top/c.json":              named("call", ""),
		"bindings/top.ts":               binding("flows/top", `{"next":"flow:flows/call"}`),
	}))
	require.False(t, m.Targets["binding:top"].Ready)
	require.Contains(t, m.Targets["binding:top"].Reason, "slot next: flow:flows/call is not runnable: slot helper: ")
}

func TestAnotherTextUnderOneIdAndVersionIsSaidToBeThat(t *testing.T) {
	other := map[string]string{"flows/liar/FLOW.ts": code, "flows/liar/FLOW.contract.json": named("help", `,"features":{}`)}
	m := meaning(t, join(base, caller("flows/call", "help"), other))
	require.Contains(t, m.Targets["flow:flows/call"].Reason, "flow:flows/liar claims the same id and version with another text")
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.helper: flow:flows/liar does not fit: it claims the same id and version with another text"},
		refused(t, with(join(base, caller("flows/call", "help"), other), "bindings/b.ts", binding("flows/call", `{"helper":"flow:flows/liar"}`))))
}

// rule: E-091
func TestASlotWithoutAContractNeedsAnExplicitValue(t *testing.T) {
	open := map[string]string{"flows/open/FLOW.ts": code, "flows/open/FLOW.meta.json": `{"uses":{"any":{}}}`}
	m := meaning(t, join(base, open, hello))
	require.Equal(t, "slot any: it has no contract, so a Binding has to say what fills it", m.Targets["flow:flows/open"].Reason)
	m = meaning(t, with(join(base, open, hello),
		"bindings/flow.ts", binding("flows/open", `{"any":"flow:flows/hello"}`),
		"bindings/web.ts", binding("flows/open", `{"any":`+web+`}`)))
	require.True(t, m.Targets["binding:flow"].Ready)
	require.True(t, m.Targets["binding:web"].Ready)
}

// rule: P-168, J-071
func TestAResourceContractTakesAGrantOfItsKindAndNothingElse(t *testing.T) {
	files := join(base, resource("flows/fetch", "web", contract.HTTPRequest), hello)
	m := meaning(t, files)
	require.Equal(t, "slot web: it needs a grant, which a Binding gives", m.Targets["flow:flows/fetch"].Reason)

	// Not even a Flow whose contract is that very text provides it.
	fake := map[string]string{"flows/fake/FLOW.ts": code}
	for name, b := range contract.BundleFiles(contract.HTTPRequest) {
		fake["flows/fake/"+map[bool]string{true: "FLOW.contract.json", false: name}[name == "contract.json"]] = string(b)
	}
	m = meaning(t, join(files, fake))
	require.False(t, m.Targets["flow:flows/fetch"].Ready)
	slot := func(v string) map[string]string {
		return with(join(files, fake), "bindings/b.ts", binding("flows/fetch", `{"web":`+v+`}`))
	}
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.web: it takes a grant, because https://jig.md/contracts/http-request is a contract of the host's own resources"},
		refused(t, slot(`"flow:flows/fake"`)))
	require.Equal(t, []string{"jig.ts PROJECT_DECLARATION_INVALID: defaultProviders: https://jig.md/contracts/http-request is a contract of the host's own resources; only a grant fills it"},
		refused(t, with(join(files, fake), "jig.ts", strings.TrimSuffix(found, "}")+`,"defaultProviders":{"https://jig.md/contracts/http-request":"flow:flows/fake"}}`)))
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.web: it asks for https://jig.md/contracts/http-request, which no acp grant provides"},
		refused(t, slot(`{"kind":"acp","client":"codex"}`)))

	m = meaning(t, slot(web))
	b := m.Targets["binding:b"]
	require.True(t, b.Ready, b.Reason)
	require.Equal(t, KindHTTP, b.Slots["web"].Kind)
	require.NotEmpty(t, b.Slots["web"].Provider)

	// A grant fills no ordinary contract.
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.helper: it asks for https://example.org/help, which no http grant provides"},
		refused(t, with(join(base, caller("flows/call", "help")), "bindings/b.ts", binding("flows/call", `{"helper":`+web+`}`))))
}

func TestAnotherRevisionOfAResourceIsNotTakenForOurs(t *testing.T) {
	files := join(base, resource("flows/fetch", "web", contract.HTTPRequest))
	path := "flows/fetch/contracts/web/contract.json"
	files[path] = strings.Replace(files[path], `"$schema"`, `"$defs":{"later":true},"$schema"`, 1)
	m := meaning(t, files)
	require.Contains(t, m.Targets["flow:flows/fetch"].Reason, "is not one that this host implements")
	said := refused(t, with(files, "bindings/b.ts", binding("flows/fetch", `{"web":`+web+`}`)))
	require.Len(t, said, 1)
	require.Contains(t, said[0], "slots.web: ")
}

// rule: P-163, E-084
func TestASlotValueIsASelectorOrAGrant(t *testing.T) {
	files := join(base, resource("flows/fetch", "web", contract.HTTPRequest), map[string]string{"grants/docs.json": web})
	for value, fine := range map[string]bool{
		`"grant:docs"`: true, web: true, `"flows/fetch"`: false, `"grant:none"`: false, `"grant:No"`: false, `"flow:flows/none"`: false, `"binding:none"`: false, `3`: false, `null`: false,
	} {
		_, err := load(t, with(files, "bindings/b.ts", binding("flows/fetch", `{"web":`+value+`}`)))
		require.Equal(t, fine, err == nil, "%s: %v", value, err)
	}
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.other: the package flows/fetch declares no such slot; it has web"},
		refused(t, with(files, "bindings/b.ts", binding("flows/fetch", `{"web":`+web+`,"other":`+web+`}`))))
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.web: there is no grant none; there are docs"},
		refused(t, with(files, "bindings/b.ts", binding("flows/fetch", `{"web":"grant:none"}`))))
	m := meaning(t, with(files, "bindings/a.ts", binding("flows/fetch", `{"web":"grant:docs"}`), "bindings/b.ts", binding("flows/fetch", `{"web":`+web+`}`)))
	require.Equal(t, "docs", m.Targets["binding:a"].Slots["web"].Name)
	require.Equal(t, m.Targets["binding:a"].Request, m.Targets["binding:b"].Request, "the same grant, wherever it stands")
}

// rule: E-085
func TestBindingsThatLeadToThemselvesAreRefused(t *testing.T) {
	open := map[string]string{"flows/open/FLOW.ts": code, "flows/open/FLOW.meta.json": `{"uses":{"any":{}}}`}
	said := refused(t, with(join(base, open), "bindings/a.ts", binding("flows/open", `{"any":"binding:a"}`)))
	require.Equal(t, []string{"bindings/a.ts PROJECT_DECLARATION_INVALID: /slots/any: Bindings refer to themselves: a > a"}, said)
	said = refused(t, with(join(base, open), "bindings/a.ts", binding("flows/open", `{"any":"binding:b"}`), "bindings/b.ts", binding("flows/open", `{"any":"binding:a"}`)))
	require.Len(t, said, 1)
	require.Contains(t, said[0], "Bindings refer to themselves")
}

func TestACircleThatDefaultsCloseLeavesItsTargetsNotRunnable(t *testing.T) {
	files := join(base, caller("flows/a", "b"), caller("flows/b", "a"), map[string]string{
		"flows/a/FLOW.contract.json": named("a", ""), "flows/b/FLOW.contract.json": named("b", ""),
	})
	m := meaning(t, files)
	require.False(t, m.Targets["flow:flows/a"].Ready)
	require.False(t, m.Targets["flow:flows/b"].Ready)
	require.Contains(t, m.Targets["flow:flows/b"].Reason, "needs this target itself")
}

// chain is levels of Flows, each with the next in its slot.
func chain(levels int) map[string]string {
	files := join(base)
	for i := range levels {
		dir := fmt.Sprintf("flows/l%d", i)
		files[dir+"/FLOW.ts"] = code
		files[dir+"/FLOW.contract.json"] = named(fmt.Sprintf("l%d", i), "")
		if i+1 < levels {
			files[dir+"/FLOW.meta.json"] = `{"uses":{"next":{"contract":"./next.json"}}}`
			files[dir+"/next.json"] = named(fmt.Sprintf("l%d", i+1), "")
		}
	}
	return files
}

func TestATargetLeadsToFiveLevelsAndNoMore(t *testing.T) {
	for levels, fine := range map[int]bool{5: true, 6: true, 7: false} {
		m := meaning(t, chain(levels))
		top := m.Targets["flow:flows/l0"]
		require.Equal(t, fine, top.Ready, "%d levels below: %s", levels-1, top.Reason)
		if !fine {
			require.Equal(t, "it leads to 6 levels of other targets; 5 is the most", top.Reason)
			require.True(t, m.Targets["flow:flows/l1"].Ready)
		}
	}
}

// rule: E-086
func TestABindingHasAtMostEightResourceSlots(t *testing.T) {
	for n, fine := range map[int]bool{7: true, 8: true, 9: false} {
		var uses, inline, mixed []string
		for i := range n {
			uses = append(uses, fmt.Sprintf(`"s%d":{}`, i))
			inline = append(inline, fmt.Sprintf(`"s%d":%s`, i, web))
			mixed = append(mixed, fmt.Sprintf(`"s%d":"grant:docs"`, i))
		}
		files := with(base, "flows/x/FLOW.ts", code, "flows/x/FLOW.meta.json", `{"uses":{`+strings.Join(uses, ",")+`}}`, "grants/docs.json", web)
		for _, slots := range [][]string{inline, mixed} {
			_, err := load(t, with(files, "bindings/b.ts", binding("flows/x", "{"+strings.Join(slots, ",")+"}")))
			require.Equal(t, fine, err == nil, "%d: %v", n, err)
		}
	}
}

// rule: J-063, J-064
func TestAPackageWithoutARuntimeIsListedAndSaysWhatIsSupported(t *testing.T) {
	m := meaning(t, join(base, map[string]string{"flows/py/FLOW.py": "pass\n", "flows/md/FLOW.md": "# x\n"}))
	for name, word := range map[string]string{"flow:flows/py": "FLOW.ts, FLOW.js and FLOW.mjs are supported", "flow:flows/md": "Markdown Flows are not supported"} {
		require.False(t, m.Targets[name].Ready)
		require.True(t, m.Targets[name].Unavailable)
		require.Contains(t, m.Targets[name].Reason, word)
	}
}

// rule: R-184
func TestSettingsAreCheckedAtReview(t *testing.T) {
	files := with(base, "flows/x/FLOW.ts", code, "flows/x/settings.schema.json",
		`{"$schema":"https://flow.jig.md/schemas/schema-0.json","type":"object","properties":{"limit":{"type":"integer"}},"required":["limit"]}`)
	m := meaning(t, with(files, "bindings/b.ts", `{"kind":"package","package":"flows/x","settings":{"limit":3}}`))
	require.True(t, m.Targets["binding:b"].Ready)
	require.False(t, m.Targets["flow:flows/x"].Ready)
	require.Contains(t, m.Targets["flow:flows/x"].Reason, "it needs settings")
	said := refused(t, with(files, "bindings/b.ts", `{"kind":"package","package":"flows/x","settings":{"limit":"3"}}`))
	require.Len(t, said, 1)
	require.Contains(t, said[0], "bindings/b.ts PROJECT_DECLARATION_INVALID: settings.limit: it is of another type; wanted is integer")
	require.Contains(t, said[0], "(INVALID_SETTINGS)")
	require.Len(t, refused(t, with(hello, "bindings/b.ts", `{"kind":"package","package":"flows/hello","settings":{"limit":3}}`)), 1, "without a schema only {} passes")
}

// rule: R-154
func TestAFeatureThatIsNotSupportedDoesNotFit(t *testing.T) {
	features := `,"features":{"events":"It tells."}`
	files := join(base, map[string]string{
		"flows/call/FLOW.ts": code, "flows/call/FLOW.meta.json": `{"uses":{"helper":{"contract":"./c.json","requires":["events"]}}}`, "flows/call/c.json": named("help", features),
		"flows/mute/FLOW.ts": code, "flows/mute/FLOW.contract.json": named("help", features),
	})
	require.False(t, meaning(t, files).Targets["flow:flows/call"].Ready)
	files = join(files, map[string]string{
		"flows/loud/FLOW.ts": code, "flows/loud/FLOW.contract.json": named("help", features), "flows/loud/FLOW.meta.json": `{"supports":["events"]}`,
	})
	require.Equal(t, "flow:flows/loud", meaning(t, files).Targets["flow:flows/call"].Slots["helper"].Target)
	require.Equal(t, []string{"bindings/b.ts PROJECT_DECLARATION_INVALID: slots.helper: flow:flows/mute does not fit: it does not support events"},
		refused(t, with(files, "bindings/b.ts", binding("flows/call", `{"helper":"flow:flows/mute"}`))))
}

// rule: P-161
func TestDefaultProvidersLeadToTargets(t *testing.T) {
	for n, fine := range map[int]bool{255: true, 256: true, 257: false} {
		var entries []string
		for i := range n {
			entries = append(entries, fmt.Sprintf(`"https://example.org/c%d":"flow:flows/hello"`, i))
		}
		_, err := load(t, with(hello, "jig.ts", strings.TrimSuffix(found, "}")+`,"defaultProviders":{`+strings.Join(entries, ",")+`}}`))
		require.Equal(t, fine, err == nil, "%d: %v", n, err)
	}
	require.Equal(t, []string{"jig.ts PROJECT_DECLARATION_INVALID: defaultProviders: there is no target flow:flows/none"},
		refused(t, with(hello, "jig.ts", strings.TrimSuffix(found, "}")+`,"defaultProviders":{"https://example.org/x":"flow:flows/none"}}`)))
}

// opener is a ClientOpener that knows what it was asked.
type opener struct {
	asked    []string
	err      error
	warnings []Diagnostic
}

func (o *opener) Open(_ context.Context, r ClientRequest) (*Client, error) {
	o.asked = append(o.asked, r.Client+" "+r.Model)
	if o.err != nil {
		return nil, o.err
	}
	from := ModelFromGrant
	if r.Model == "" {
		from = ModelFromClient
	}
	return &Client{
		Provider: Provider{Kind: KindACP, Client: &r.Client, Model: optional(r.Model), Mode: "subscription"}, Model: r.Model, ModelFrom: from,
		Authentication: "subscription", Executable: "/usr/bin/" + r.Client, Warnings: o.warnings,
	}, nil
}

func acp(t *testing.T, o *opener) (*Candidate, error) {
	t.Helper()
	files := with(join(base, resource("flows/agent", "native", contract.FiniteACP), hello),
		"bindings/a.ts", binding("flows/agent", `{"native":{"kind":"acp","client":"codex"}}`),
		"bindings/b.ts", binding("flows/agent", `{"native":{"kind":"acp","client":"codex","maxTurns":3}}`),
		"bindings/c.ts", binding("flows/agent", `{"native":{"kind":"acp","client":"codex","model":"m"}}`))
	opts := options(t, write(t, files))
	if o != nil {
		opts.Opener = o
	}
	return Load(t.Context(), opts)
}

func TestWithoutNativeClientsAnACPGrantIsReviewedAndNotRunnable(t *testing.T) {
	c, err := acp(t, nil)
	require.NoError(t, err)
	a := c.Meaning.Targets["binding:a"]
	require.False(t, a.Ready)
	require.Contains(t, a.Reason, "cannot start native clients")
	require.JSONEq(t, `{"kind":"acp","client":"codex"}`, string(a.Slots["native"].Grant))
	require.True(t, c.Meaning.Targets["flow:flows/hello"].Ready)
}

func TestAClientIsExaminedOnceForEachModel(t *testing.T) {
	o := &opener{}
	c, err := acp(t, o)
	require.NoError(t, err)
	require.Equal(t, []string{"codex ", "codex m"}, o.asked)
	a, b := c.Meaning.Targets["binding:a"].Slots["native"], c.Meaning.Targets["binding:b"].Slots["native"]
	require.Equal(t, a.Provider, b.Provider)
	require.NotEqual(t, c.Meaning.Targets["binding:a"].Request, c.Meaning.Targets["binding:b"].Request)
	require.Equal(t, &Shown{ModelFrom: ModelFromClient, Authentication: "subscription", Executable: "/usr/bin/codex"}, a.Shown)

	o = &opener{err: &Refusal{[]Diagnostic{{Code: "PROJECT_ACP_CODEX_LOGIN", Message: "no login"}}}}
	_, err = acp(t, o)
	require.Equal(t, []string{"PROJECT_ACP_CODEX_LOGIN: no login", "PROJECT_ACP_CODEX_LOGIN: no login"}, lines(t, err))
	require.Equal(t, []string{"codex ", "codex m"}, o.asked, "a client that failed is not asked again")
}

// rule: J-066
func TestATargetIsBuiltFromWhatWasAdmitted(t *testing.T) {
	files := with(join(base, caller("flows/call", "help"), provider("flows/one", "help")), "bindings/web.ts", binding("flows/open", `{"any":`+web+`}`),
		"flows/open/FLOW.ts", code, "flows/open/FLOW.meta.json", `{"uses":{"any":{}}}`)
	o := options(t, write(t, files))
	c, err := Load(t.Context(), o)
	require.NoError(t, err)
	built, err := Build(c.Meaning, "flow:flows/call", o.Store)
	require.NoError(t, err)
	require.Equal(t, []string{"flows/call", "flows/one"}, built.Paths)
	require.Equal(t, "flow:flows/one", built.Root.Slots["helper"].Target.Name)
	require.Equal(t, c.Meaning.Targets["flow:flows/one"].Request, built.Root.Slots["helper"].Target.Request)
	require.Equal(t, c.Meaning.Targets["flow:flows/call"].Request, built.Root.Request)
	built, err = Build(c.Meaning, "binding:web", o.Store)
	require.NoError(t, err)
	require.Len(t, built.Grants, 1)
	require.Equal(t, KindHTTP, built.Root.Slots["any"].Grant.Kind)

	// What does not lead to what was admitted is refused.
	target := c.Meaning.Targets["binding:web"]
	target.Settings = []byte(`{"x":1}`)
	c.Meaning.Targets["binding:web"] = target
	_, err = Build(c.Meaning, "binding:web", o.Store)
	require.ErrorIs(t, err, ErrChanged)
	c.Meaning.Packages["flows/one"] = "sha256:" + strings.Repeat("0", 64)
	_, err = Build(c.Meaning, "flow:flows/call", o.Store)
	require.ErrorIs(t, err, flowpkg.ErrChanged)
	_, err = Build(c.Meaning, "flow:flows/none", o.Store)
	require.ErrorIs(t, err, ErrChanged)
}

// rule: J-107
func TestMoreTurnsKeepTheProviderAndTheSessions(t *testing.T) {
	sessions := map[string]string{}
	providers := map[string]string{}
	for name, grant := range map[string]string{
		"plain": `{"kind":"acp","client":"codex"}`, "turns": `{"kind":"acp","client":"codex","maxTurns":8}`, "kept": `{"kind":"acp","client":"codex","retainSessions":true}`,
		"model": `{"kind":"acp","client":"codex","model":"m"}`,
	} {
		files := with(join(base, resource("flows/agent", "native", contract.FiniteACP), map[string]string{
			"flows/top/FLOW.ts": code, "flows/top/FLOW.meta.json": `{"uses":{"agent":{}}}`,
		}), "bindings/a.ts", binding("flows/agent", `{"native":`+grant+`}`), "bindings/top.ts", binding("flows/top", `{"agent":"binding:a"}`))
		o := options(t, write(t, files))
		o.Opener = &opener{}
		c, err := Load(t.Context(), o)
		require.NoError(t, err)
		built, err := Build(c.Meaning, "binding:top", o.Store)
		require.NoError(t, err)
		agent := built.Root.Slots["agent"].Target
		providers[name] = agent.Slots["native"].Grant.Provider
		sessions[name], err = SessionScope("project", []tree.Ancestor{{Target: "binding:top", Request: built.Root.Request}, {Target: "binding:a", Request: agent.Request}}, "native", providers[name])
		require.NoError(t, err)
	}
	require.Equal(t, providers["plain"], providers["turns"])
	require.Equal(t, sessions["plain"], sessions["turns"])
	require.Equal(t, sessions["plain"], sessions["kept"])
	require.NotEqual(t, sessions["plain"], sessions["model"])
}
