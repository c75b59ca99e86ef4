package author_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
)

// outcome is what a table says of a declaration: "" for fine, "feature" for what
// this host does not offer, else the pointer of the refusal.
func outcome(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "fine"
	}
	if errors.Is(err, author.ErrFeature) {
		return "feature"
	}
	var e *author.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Reason)
	return e.Pointer
}

// rule: E-074, E-075, E-077, E-078, E-079, E-081, E-082, J-016, J-054, P-160, P-164
func TestProjects(t *testing.T) {
	members := func(p ...string) string {
		return `{"flows":{"kind":"members","paths":["` + strings.Join(p, `","`) + `"]}}`
	}
	for raw, want := range map[string]string{
		`{}`: "fine",
		`{"flows":{"kind":"discover","roots":["./flows"]},"bindings":{"kind":"members","paths":["b/a.ts"]},"grants":{"kind":"members","paths":["g/a.json"]}}`: "fine",
		`[]`: "", `null`: "",
		`{"more":1}`:                "/more",
		`{"flows":null}`:            "/flows",
		`{"entrypoint":"flow:x"}`:   "feature",
		`{"flows":["flows/hello"]}`: "/flows",
		`{"flows":{"roots":["a"]}}`: "/flows",
		`{"flows":{"kind":"discover","roots":["a"],"paths":["b"]}}`:   "/flows",
		`{"flows":{"kind":"discover","paths":["b"]}}`:                 "/flows",
		`{"flows":{"kind":"discover","roots":[]}}`:                    "/flows/roots",
		`{"flows":{"kind":"discover","roots":["a","a/b"]}}`:           "/flows/roots",
		`{"flows":{"kind":"other","roots":["a"]}}`:                    "/flows/kind",
		`{"bindings":{"kind":"members","paths":["a.js"]}}`:            "/bindings/paths/0",
		`{"bindings":{"kind":"members","paths":["Agent.ts"]}}`:        "/bindings/paths/0",
		`{"bindings":{"kind":"members","paths":["a/x.ts","b/x.ts"]}}`: "/bindings/paths/1",
		`{"grants":{"kind":"members","paths":["a.ts"]}}`:              "/grants/paths/0",
		members(): "/flows/paths/0",
		`{"flows":{"kind":"members","paths":[]}}`: "fine",
		members("npm:x"):                     "feature",
		members("a", "./a"):                  "/flows/paths",
		members("a", "A"):                    "/flows/paths",
		members("caf\u00e9"):                 "fine",
		members("cafe\u0301"):                "/flows/paths/0",
		members("stra\u00dfe", "STRASSE"):    "/flows/paths",
		members("a/b", "a"):                  "/flows/paths",
		members("A/b", "a"):                  "/flows/paths",
		members("a/b", "a-c"):                "fine",
		members("/a"):                        "/flows/paths/0",
		members("././a"):                     "/flows/paths/0",
		members("a/../b"):                    "/flows/paths/0",
		members("a//b"):                      "/flows/paths/0",
		members(`a\\b`):                      "/flows/paths/0",
		members(`a\u0000b`):                  "/flows/paths/0",
		members(".jig/x"):                    "/flows/paths/0",
		members("a/.JIG"):                    "/flows/paths/0",
		members("a*"):                        "fine",
		`{"defaultProviders":{"":"flow:a"}}`: "/defaultProviders/",
		`{"defaultProviders":{"` + strings.Repeat("é", 512) + `":"flow:a"}}`: "fine",
		`{"defaultProviders":{"https://jig.md/x":"flow:npm:x"}}`:             "/defaultProviders/https:~1~1jig.md~1x",
		`{"defaultProviders":{"x":"npm:y"}}`:                                 "feature",
		`{"defaultProviders":{"x":"binding:a-b"}}`:                           "fine",
		`{"defaultProviders":{"x":"binding:A"}}`:                             "/defaultProviders/x",
		`{"defaultProviders":{"x":"a"}}`:                                     "/defaultProviders/x",
		`{"defaultProviders":{"x":1}}`:                                       "/defaultProviders/x",
		`{"agents":["pi","codex","claude"]}`:                                 "fine",
		`{"agents":[]}`:                                                      "/agents",
		`{"agents":["pi","pi"]}`:                                             "/agents/1",
		`{"agents":["gemini"]}`:                                              "/agents/0",
		`{"agents":"pi"}`:                                                    "/agents",
	} {
		_, err := author.ParseProject([]byte(raw))
		require.Equal(t, want, outcome(t, err), raw)
	}
	for _, glob := range "*?[]{}" {
		_, err := author.ParseProject(fmt.Appendf(nil, `{"flows":{"kind":"discover","roots":["a%cb"]}}`, glob))
		require.Equal(t, "/flows/roots/0", outcome(t, err), string(glob))
	}
	long := `{"defaultProviders":{"` + strings.Repeat("é", 513) + `":"flow:a"}}`
	_, err := author.ParseProject([]byte(long))
	require.Error(t, err, "a name of 1,025 bytes is beyond JSON/0, whatever else allows 2,048 characters")
}

// rule: E-078, E-082, J-054
func TestAProjectComesOutNormal(t *testing.T) {
	p, err := author.ParseProject([]byte(`{"flows":{"kind":"members","paths":["./z","\uD83D\uDE00","\uFF21","b"]},"defaultProviders":{"c":"flow:./x/y"},"agents":["pi","codex"]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"b", "z", "\uff21", "😀"}, p.Flows.Paths, "by bytes, not by UTF-16 units")
	require.Equal(t, author.Selector{Kind: "flow", Name: "x/y"}, p.DefaultProviders["c"])
	require.Equal(t, []string{"codex", "pi"}, p.Agents)
	require.Nil(t, p.Bindings)
}

// rule: E-075, E-077, E-083, E-084, E-086, P-163
func TestBindings(t *testing.T) {
	slots := func(n int, value string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"s%d":%s`, i, value))
		}
		return `{"kind":"package","package":"a","slots":{` + strings.Join(all, ",") + `}}`
	}
	slot := func(value string) string { return slots(1, value) }
	for raw, want := range map[string]string{
		`{"kind":"package","package":"flows/a"}`:                          "fine",
		`{"package":"flows/a"}`:                                           "",
		`{"kind":"binding","package":"flows/a"}`:                          "/kind",
		`{"kind":"package"}`:                                              "",
		`{"kind":"package","package":""}`:                                 "/package",
		`{"kind":"package","package":"npm:x"}`:                            "feature",
		`{"kind":"package","package":"a","more":1}`:                       "/more",
		`{"kind":"package","package":"a","settings":null}`:                "/settings",
		`{"kind":"package","package":"a","settings":[]}`:                  "/settings",
		`{"kind":"package","package":"a","settings":{"x":null}}`:          "fine",
		`{"kind":"package","package":"a","slots":[]}`:                     "/slots",
		`{"kind":"package","package":"a","slots":{"A":"flow:x"}}`:         "/slots/A",
		`{"kind":"package","package":"a","attachments":{}}`:               "fine",
		`{"kind":"package","package":"a","attachments":{"x":"data"}}`:     "feature",
		`{"kind":"package","package":"a","attachments":{"x":"a/.Jig/b"}}`: "/attachments/x",
		`{"kind":"package","package":"a","attachments":{"X":"data"}}`:     "/attachments/X",
		`{"kind":"package","package":"a","attachments":{"x":1}}`:          "/attachments/x",
		`{"kind":"package","package":"a","attachments":[]}`:               "/attachments",
		slot(`"flow:./x"`):                                                "fine",
		slot(`"binding:x"`):                                               "fine",
		slot(`"grant:x"`):                                                 "fine",
		slot(`"grant:X"`):                                                 "/slots/s0",
		slot(`"npm:x"`):                                                   "feature",
		slot(`"flows/x"`):                                                 "/slots/s0",
		slot(`"flow:/x"`):                                                 "/slots/s0",
		slot(`1`):                                                         "/slots/s0",
		slot(`{"kind":"acp","client":"pi"}`):                              "fine",
		slot(`{"kind":"acp","client":"pi","x":1}`):                        "/slots/s0/x",
		slots(256, `"flow:x"`):                                            "fine",
		slots(257, `"flow:x"`):                                            "/slots",
		slots(8, `"grant:x"`):                                             "fine",
		slots(9, `"grant:x"`):                                             "/slots",
		slots(9, `{"kind":"acp","client":"pi"}`):                          "/slots",
	} {
		b, err := author.ParseBinding([]byte(raw))
		require.Equal(t, want, outcome(t, err), raw)
		if err == nil {
			require.NotNil(t, b.Slots)
			require.NotNil(t, b.Settings)
		}
	}
	attached := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"a%d":"x"`, i))
		}
		return `{"kind":"package","package":"a","attachments":{` + strings.Join(all, ",") + `}}`
	}
	_, err := author.ParseBinding([]byte(attached(8)))
	require.Equal(t, "feature", outcome(t, err))
	_, err = author.ParseBinding([]byte(attached(9)))
	require.Equal(t, "/attachments", outcome(t, err))
}

// A declaration that the host cannot carry is its author's to mend, not a fault of
// the host (jig.md 2).
//
// rule: R-039
func TestWhatStandsInsideOtherDocumentsIsNarrowerThanJSON0(t *testing.T) {
	lists := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	values := func(n int) string { return "[0" + strings.Repeat(",0", n-1) + "]" }
	for raw, want := range map[string]string{
		`{"v":` + lists(author.MaxDepth-2) + `}`:               "fine",
		`{"v":` + lists(author.MaxDepth-1) + `}`:               "fine",
		`{"v":` + lists(author.MaxDepth) + `}`:                 "/settings",
		`{"v":` + lists(125) + `}`:                             "/settings",
		`{"v":` + values(author.MaxSettingsNodes-3) + `}`:      "fine", // with itself and the list
		`{"v":` + values(author.MaxSettingsNodes-2) + `}`:      "fine",
		`{"v":` + values(author.MaxSettingsNodes-1) + `}`:      "/settings",
		`{"v":` + values(65_536) + `,"w":` + values(2) + `}`:   "/settings",
		`{"v":` + lists(2) + `,"` + lists(200) + `":"[[[[[["}`: "fine",
	} {
		settings := `{"kind":"package","package":"a","settings":` + raw + `}`
		_, err := author.ParseBinding([]byte(settings))
		require.Equal(t, want, outcome(t, err), raw[:min(len(raw), 300)])
		if err == nil { // in the frame that starts the Flow, and in what a review admits
			require.NoError(t, json0.Check([]byte(`{"jsonrpc":"2.0","id":"host:1","method":"flow/run","params":{"settings":`+raw+`}}`)))
			require.NoError(t, json0.Check([]byte(`{"meaning":{"targets":{"binding:b":{"settings":`+raw+`}}}}`)))
		}
		_, err = author.DefineBinding([]byte(strings.Replace(settings, `"kind":"package",`, "", 1)))
		require.Equal(t, want, outcome(t, err), raw[:min(len(raw), 300)])
	}
	for n, want := range map[int]string{author.MaxDepth - 2: "fine", author.MaxDepth - 1: "fine", author.MaxDepth: "/bodySchema", 120: "/bodySchema"} {
		grant := `{"kind":"http","url":"https://a.example/x","method":"POST","bodySchema":{"examples":` + lists(n) + `}}`
		_, err := author.ParseGrant([]byte(grant))
		require.Equal(t, want, outcome(t, err), n)
		_, err = author.ParseBinding([]byte(`{"kind":"package","package":"a","slots":{"s":` + grant + `}}`))
		require.Equal(t, strings.Replace(want, "/body", "/slots/s/body", 1), outcome(t, err), n)
	}
}

// rule: E-085
func TestBindingsDoNotReferToThemselves(t *testing.T) {
	graph := func(edges ...string) map[string]*author.Binding {
		out := map[string]*author.Binding{}
		for _, e := range edges {
			from, to, _ := strings.Cut(e, ">")
			if out[from] == nil {
				out[from] = &author.Binding{Slots: map[string]author.Slot{}}
			}
			out[from].Slots["to-"+to] = author.Slot{Target: &author.Selector{Kind: "binding", Name: to}}
		}
		return out
	}
	for _, fine := range [][]string{{"a>b", "a>c", "b>c"}, {"a>missing"}, {}} {
		_, err := author.Acyclic(graph(fine...))
		require.NoError(t, err)
	}
	at, err := author.Acyclic(graph("a>a"))
	require.ErrorContains(t, err, "a > a")
	require.Equal(t, "a", at)
	at, err = author.Acyclic(graph("z>a", "a>b", "b>c", "c>a"))
	require.ErrorContains(t, err, "a > b > c > a")
	require.Equal(t, "c", at)
	require.Equal(t, "/slots/to-a", outcome(t, err))
	_, err = author.Acyclic(map[string]*author.Binding{"a": {Slots: map[string]author.Slot{"x": {Target: &author.Selector{Kind: "flow", Name: "a"}}}}})
	require.NoError(t, err, "a Flow of the same name is another thing")
}

// rule: E-087, E-088, E-089, E-090, J-016, F-007, P-167
func TestGrants(t *testing.T) {
	get := func(more string) string {
		return `{"kind":"http","url":"https://a.example/x","method":"GET"` + more + `}`
	}
	post := func(more string) string {
		return `{"kind":"http","url":"https://a.example/x","method":"POST"` + more + `}`
	}
	at := func(url string) string { return fmt.Sprintf(`{"kind":"http","url":%q,"method":"GET"}`, url) }
	model := func(m string) string { return fmt.Sprintf(`{"kind":"acp","client":"codex","model":%q}`, m) }
	for raw, want := range map[string]string{
		`[]`: "", `{}`: "", `{"kind":"files"}`: "/kind", `{"kind":1}`: "/kind",
		`{"kind":"command","test":["x"]}`: "feature", `{"kind":"checkpoint"}`: "feature",
		`{"kind":"acp"}`:                                      "",
		`{"kind":"acp","client":"gemini"}`:                    "/client",
		`{"kind":"acp","client":null}`:                        "/client",
		`{"kind":"acp","client":"pi","url":"x"}`:              "/url",
		`{"kind":"acp","client":"pi","maxTurns":1}`:           "fine",
		`{"kind":"acp","client":"pi","maxTurns":8}`:           "fine",
		`{"kind":"acp","client":"pi","maxTurns":8.0}`:         "fine",
		`{"kind":"acp","client":"pi","maxTurns":0}`:           "/maxTurns",
		`{"kind":"acp","client":"pi","maxTurns":9}`:           "/maxTurns",
		`{"kind":"acp","client":"pi","maxTurns":1.5}`:         "/maxTurns",
		`{"kind":"acp","client":"pi","maxTurns":"1"}`:         "/maxTurns",
		`{"kind":"acp","client":"pi","retainSessions":true}`:  "fine",
		`{"kind":"acp","client":"pi","retainSessions":false}`: "/retainSessions",
		model("a"):                      "fine",
		model("openai/gpt:x-1.2+b_c"):   "fine",
		model(strings.Repeat("m", 256)): "fine",
		model(strings.Repeat("m", 257)): "/model",
		model("-a"):                     "/model",
		model(""):                       "/model",
		model(".a"):                     "/model",
		model("/a"):                     "/model",
		model("ä"):                      "/model",
		model("0"):                      "fine",
		model(strings.Repeat("m", 255)): "fine",
		model("a b"):                    "/model",
		model("a\n"):                    "/model",
		get(``):                         "fine",
		get(`,"retries":1`):             "/retries",
		`{"kind":"http","url":"https://a.example/x"}`:                "",
		`{"kind":"http","url":"https://a.example/x","method":"PUT"}`: "/method",
		`{"kind":"http","url":"https://a.example/x","method":"get"}`: "/method",
		at("https://a.example/" + strings.Repeat("x", 2048-18)):      "fine",
		at("https://a.example/" + strings.Repeat("x", 2049-18)):      "/url",
		at("http://a.example/"):                                      "/url",
		at("http://127.0.0.1:8080/x"):                                "fine",
		at("http://[::1]/x"):                                         "fine",
		at("http://localhost/x?y=1"):                                 "fine",
		at("https://u:p@a.example/"):                                 "/url",
		at("https://a.example/#x"):                                   "/url",
		at("https://a.example/#"):                                    "/url",
		at("https:///x"):                                             "/url",
		at("file:///etc/passwd"):                                     "/url",
		at("a.example"):                                              "/url",
		at("https://a.example/a b"):                                  "/url",
		at("https://a.example/ä"):                                    "/url",
		get(`,"bearerEnv":"A"`):                                      "fine",
		get(`,"bearerEnv":"A` + strings.Repeat("_", 127) + `"`):      "fine",
		get(`,"bearerEnv":"A` + strings.Repeat("_", 128) + `"`):      "/bearerEnv",
		get(`,"bearerEnv":"a"`):                                      "/bearerEnv",
		get(`,"bearerEnv":"_A"`):                                     "/bearerEnv",
		get(`,"requestBytes":8388608`):                               "fine",
		get(`,"requestBytes":8388609`):                               "/requestBytes",
		get(`,"requestBytes":0`):                                     "/requestBytes",
		get(`,"responseBytes":12582912`):                             "fine",
		get(`,"responseBytes":12582913`):                             "/responseBytes",
		get(`,"responseBytes":0.5`):                                  "/responseBytes",
		get(`,"timeoutMs":60000`):                                    "fine",
		get(`,"timeoutMs":60001`):                                    "/timeoutMs",
		get(`,"timeoutMs":null`):                                     "/timeoutMs",
		get(`,"bodySchema":true`):                                    "/bodySchema",
		post(`,"bodySchema":true`):                                   "fine",
		post(`,"bodySchema":{"type":"object"}`):                      "fine",
		post(`,"bodySchema":{"pattern":"x"}`):                        "/bodySchema/pattern",
		post(`,"bodySchema":{"description":"` + strings.Repeat("x", 16_384-18) + `"}`):  "fine",
		post(`,"bodySchema":{ "description":"` + strings.Repeat("x", 16_384-18) + `"}`): "fine",
		post(`,"bodySchema":{"description":"` + strings.Repeat("x", 16_384-17) + `"}`):  "/bodySchema",
	} {
		_, err := author.ParseGrant([]byte(raw))
		require.Equal(t, want, outcome(t, err), raw)
	}
	big := `{"kind":"acp","client":"pi"` + strings.Repeat(" ", author.MaxGrantBytes-28) + `}`
	require.Len(t, big, author.MaxGrantBytes)
	_, err := author.ParseGrant([]byte(big))
	require.NoError(t, err)
	_, err = author.ParseGrant([]byte(big + " "))
	require.Error(t, err)
}

// rule: E-088
func TestGrantsComeOutNormal(t *testing.T) {
	for raw, want := range map[string]string{
		`{"client":"codex","kind":"acp"}`:                                                 `{"client":"codex","kind":"acp"}`,
		`{"kind":"acp","client":"pi","retainSessions":true,"maxTurns":2.0,"model":"a/b"}`: `{"client":"pi","kind":"acp","maxTurns":2,"model":"a/b","retainSessions":true}`,
		`{"kind":"http","url":"https://a.example/","method":"GET"}`:                       `{"kind":"http","method":"GET","requestBytes":262144,"responseBytes":1048576,"timeoutMs":60000,"url":"https://a.example/"}`,
		`{"kind":"http","url":"https://a.example/","method":"POST","timeoutMs":5,"bearerEnv":"T","bodySchema":{"type":"object","minProperties":1.0}}`: `{"bearerEnv":"T","bodySchema":{"minProperties":1,"type":"object"},"kind":"http","method":"POST","requestBytes":262144,"responseBytes":1048576,"timeoutMs":5,"url":"https://a.example/"}`,
	} {
		g, err := author.ParseGrant([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, want, string(g.Canonical()))
		again, err := author.ParseGrant(g.Canonical())
		require.NoError(t, err)
		require.Equal(t, g, again)
	}
}

// rule: E-074, E-081, E-082, E-083
func TestDefinitions(t *testing.T) {
	for _, c := range []struct {
		define    func([]byte) (jsontext.Value, error)
		raw, want string
	}{
		{author.DefineJig, `{}`, `{}`},
		{author.DefineJig, `{"flows":[],"bindings":["./b/x.ts"]}`, `{"bindings":{"kind":"members","paths":["b/x.ts"]},"flows":{"kind":"members","paths":[]}}`},
		{author.DefineJig, `{"flows":{"kind":"discover","roots":["flows"]},"defaultProviders":{"c":"flow:./x"},"agents":["pi"]}`, `{"agents":["pi"],"defaultProviders":{"c":"flow:x"},"flows":{"kind":"discover","roots":["flows"]}}`},
		{author.DefineBinding, `{"package":"./flows/a","settings":{"😀":1,"\uff21":{"b":1,"a":[{"d":1,"c":2}]}}}`, `{"kind":"package","package":"flows/a","settings":{"\uff21":{"a":[{"c":2,"d":1}],"b":1},"😀":1},"slots":{}}`},
		{author.DefineBinding, `{"package":"a","slots":{"x":{"kind":"acp","client":"pi"},"y":"flow:./z","z":"grant:g"}}`, `{"kind":"package","package":"a","settings":{},"slots":{"x":{"client":"pi","kind":"acp"},"y":"flow:z","z":"grant:g"}}`},
		{author.Discover, `"./flows"`, `{"kind":"discover","roots":["flows"]}`},
		{author.Discover, `["b","./a"]`, `{"kind":"discover","roots":["a","b"]}`},
	} {
		got, err := c.define([]byte(c.raw))
		require.NoError(t, err, c.raw)
		require.Equal(t, strings.ReplaceAll(c.want, `\uff21`, "\uff21"), string(got))
	}
	for _, c := range []struct {
		define    func([]byte) (jsontext.Value, error)
		raw, want string
	}{
		{author.DefineJig, `[]`, ""},
		{author.DefineJig, `{"flows":{"kind":"members","paths":[]}}`, "/flows"},
		{author.DefineJig, `{"flows":"flows"}`, "/flows"},
		{author.DefineJig, `{"flows":null}`, "/flows"},
		{author.DefineJig, `{"flows":["npm:x"]}`, "feature"},
		{author.DefineBinding, `null`, ""},
		{author.DefineBinding, `{"kind":"package","package":"a"}`, "/kind"},
		{author.DefineBinding, `{}`, ""},
		{author.Discover, `[]`, "/roots"},
		{author.Discover, `["a*"]`, "/roots/0"},
		{author.Discover, `[1]`, "/roots/0"},
		{author.Discover, `{}`, "/roots"},
	} {
		_, err := c.define([]byte(c.raw))
		require.Equal(t, c.want, outcome(t, err), c.raw)
	}
}

// Whoever misspells a member or a slot is told what there is.
func TestARefusalSaysWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		define    func([]byte) (jsontext.Value, error)
		raw, want string
	}{
		{author.DefineJig, `{"flow":[]}`, "/flow: this member is not known here; it can be flows, bindings, grants, defaultProviders, agents"},
		{author.DefineBinding, `{"package":"a","slot":{}}`, "/slot: this member is not known here; it can be package, settings, slots"},
		{author.DefineBinding, `{"package":"a","slots":{"x":"docs"}}`, "/slots/x: a slot takes flow:<path>, binding:<name>, grant:<name> or a grant"},
		{author.DefineBinding, `{"package":"a","slots":{"x":{"kind":"acp","client":"pi","turns":1}}}`, "/slots/x/turns: this member is not known here; it can be kind, client, model, maxTurns, retainSessions"},
	} {
		_, err := c.define([]byte(c.raw))
		require.EqualError(t, err, c.want)
	}
	_, err := author.ParseGrant([]byte(`{"kind":"http","url":"https://a.example/x","method":"POST","bodySchema":{"properties":{"a":{"type":"strng"}}}}`))
	require.EqualError(t, err, "/bodySchema/properties/a/type: a type is one of null, boolean, number, integer, string, array, object (SCHEMA_INVALID)")
}

func FuzzDeclarations(f *testing.F) {
	for _, seed := range []string{
		`{"flows":{"kind":"discover","roots":["a"]},"agents":["pi"],"defaultProviders":{"x":"flow:y"}}`,
		`{"kind":"package","package":"a","settings":{"a":1},"slots":{"x":{"kind":"http","url":"https://a.example/","method":"POST","bodySchema":{}}}}`,
		`{"kind":"acp","client":"pi","model":"m"}`, `["a"]`, `{"package":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		// What a definition gives is normal: reading it back changes nothing.
		if v, err := author.DefineJig(raw); err == nil {
			_, err := author.ParseProject(v)
			require.NoError(t, err, "%s", v)
		}
		if v, err := author.DefineBinding(raw); err == nil {
			b, err := author.ParseBinding(v)
			require.NoError(t, err, "%s", v)
			require.NotEmpty(t, b.Package)
		}
		if g, err := author.ParseGrant(raw); err == nil {
			again, err := author.ParseGrant(g.Canonical())
			require.NoError(t, err)
			require.Equal(t, g, again)
		}
		author.ParseProject(raw)
	})
}
