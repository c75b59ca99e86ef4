package flows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/flows"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

const task = `{"instructions":"say hello"}`

func TestATaskIsDone(t *testing.T) {
	// rule: P-199, F-122, F-123
	w := newWorld(t)
	var asked []string
	g := w.ask(task, func(p *play) {
		require.Equal(t, "null", string(p.call.Input))
		p.open()
		id, text := p.prompt()
		require.Regexp(t, `^[A-Z][^/]`, text)
		require.Contains(t, text, `"instructions":"say hello"`)
		p.say("Hel")
		p.say("lo.")
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
		asked = p.asked
	})
	g.is("done", `{"text":"Hello."}`)
	require.Equal(t, []string{"initialize#1", "session/new#2", "session/set_config_option#3", "session/set_mode#4", "session/prompt#5"}, asked)
	require.Empty(t, g.stderr)
}

func TestThePackage(t *testing.T) {
	// rule: E-097, E-098, F-002
	w := newWorld(t)
	p := w.agent.Package
	require.Equal(t, "agent", p.Metadata.Name)
	require.Equal(t, []string{"events", "conversation", "sessions"}, p.Metadata.Supports)
	used := p.Uses["native"]
	require.NotNil(t, used)
	id, known, err := contract.Resource(used.Identity)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, contract.FiniteACP, id)
	for name, content := range contract.BundleFiles(contract.FiniteACP) {
		require.Equal(t, string(content), string(flows.Agent()["contracts/finite-acp/"+name]), "%s is the host's own", name)
	}
	c := p.Contract
	require.Equal(t, "https://jig.md/contracts/agent-run", c.Identity.ID)
	require.Equal(t, "0.1.0", c.Identity.Version)
	require.Len(t, c.Features, 3)
	for _, name := range p.Metadata.Supports {
		require.NotEmpty(t, c.Features[name])
	}
	require.Len(t, c.Outcomes, 2)
	require.NotEmpty(t, c.Outcomes["blocked"])
	require.NotEmpty(t, c.Outcomes["limit"])
	require.Len(t, c.Ports, 3)
	for name, direction := range map[string]string{"events": contract.Send, "commands": contract.Receive, "replies": contract.Send} {
		port := c.Ports[name]
		require.Equal(t, direction, port.Direction, name)
		require.False(t, port.Required, name)
		require.NotNil(t, port.Contract, name)
		if name != "events" {
			require.Equal(t, contract.Direct, port.Delivery, name)
		}
	}
}

func TestTheContractsTakeWhatIsSpecified(t *testing.T) {
	// rule: P-193, E-102, E-103, P-209
	c := newWorld(t).agent.Package.Contract
	reference := strings.Repeat("0", 36)
	for input, fine := range map[string]bool{
		task: true, `{"instructions":"x","guidance":[{"label":"l","text":""}],"skills":[{"name":"s","files":[{"path":"SKILL.md","text":""}]}],"responseSchema":{"type":"string"}}`: true,
		`{"instructions":"x","conversation":true}`: true, `{"instructions":"x","session":{"retain":true}}`: true, `{"instructions":"x","session":{"retain":true,"lifetime":"run"}}`: true,
		`{"instructions":"x","session":{"restore":"` + reference + `"}}`: true,
		`{}`: false, `"x"`: false, `{"instructions":"x","more":1}`: false, `{"instructions":"x","conversation":false}`: false,
		`{"instructions":"x","session":{}}`: false, `{"instructions":"x","session":{"retain":false}}`: false, `{"instructions":"x","session":{"retain":true,"lifetime":"project"}}`: false,
		`{"instructions":"x","session":{"retain":true,"restore":"` + reference + `"}}`: false, `{"instructions":"x","session":{"restore":"short"}}`: false,
		`{"instructions":"x","responseSchema":true}`: false, `{"instructions":"x","guidance":[{"label":"","text":""}]}`: false,
	} {
		require.Equal(t, fine, c.CheckInput([]byte(input)) == nil, input)
	}
	items := func(port string, all map[string]bool) {
		t.Helper()
		for item, fine := range all {
			require.Equal(t, fine, c.Ports[port].Item.Check([]byte(item)) == nil, "%s: %s", port, item)
		}
	}
	items("events", map[string]bool{
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`:                           true,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"m","turn":7}`:  true,
		`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"in_progress"}],"turn":0}`: true,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"turn":8}`:                  false,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","text":"x"}}`:                          false,
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"x"}}`:                           false,
		`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"urgent","status":"pending"}]}`:            false,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"_meta":{}}`:                false,
		`{"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}`:                   false,
	})
	items("commands", map[string]bool{
		`{"type":"prompt","turn":1,"input":{"instructions":"x","guidance":[{"label":"l","text":""}],"responseSchema":{}}}`: true,
		`{"type":"interrupt","turn":0}`: true, `{"type":"close","turn":7}`: true,
		`{"type":"prompt","turn":1,"input":{"instructions":"x","skills":[]}}`:               false,
		`{"type":"prompt","turn":1,"input":{"instructions":"x","session":{"retain":true}}}`: false,
		`{"type":"prompt","turn":1}`: false, `{"type":"prompt","turn":8,"input":{"instructions":"x"}}`: false,
		`{"type":"close","turn":-1}`: false, `{"type":"steer","turn":0}`: false, `{"type":"close","turn":0,"input":{}}`: false,
	})
	items("replies", map[string]bool{
		`{"type":"accepted","command":"close","turn":7}`: true, `{"type":"rejected","command":"prompt","turn":1000,"code":"TURN_LIMIT"}`: true,
		`{"type":"result","turn":0,"result":{"outcome":"blocked","output":{"text":"x","structured":[1]}}}`: true,
		`{"type":"cancelled","turn":0}`: true, `{"type":"error","turn":0,"code":"INVALID_RESULT","message":"x"}`: true,
		`{"type":"rejected","command":"prompt","turn":0,"code":"OTHER"}`: false, `{"type":"error","turn":0,"code":"CANCELLED","message":"x"}`: false,
		`{"type":"result","turn":0,"result":{"outcome":"done","output":{"text":"x","session":{"status":"unavailable","reason":"capacity"}}}}`: false,
		`{"type":"accepted","command":"close","turn":8}`: false,
	})
	for result, fine := range map[string]bool{
		`{"outcome":"done","output":{"text":"x","structured":1,"session":{"status":"retained","reference":"` + reference + `"}}}`: true,
		`{"outcome":"limit","output":{"text":""}}`: true, `{"outcome":"done","output":{"turns":8,"session":{"status":"unavailable","reason":"capacity"}}}`: true,
		`{"outcome":"blocked","output":{"turns":1}}`: false, `{"outcome":"done","output":{"turns":9}}`: false, `{"outcome":"done","output":{"turns":0}}`: false,
		`{"outcome":"done","output":{"text":"x","turns":1}}`: false, `{"outcome":"done","output":{"text":"x","session":{"status":"unavailable","reason":"other"}}}`: false,
	} {
		_, err := c.CheckResult([]byte(result))
		require.Equal(t, fine, err == nil, result)
	}
}

func TestStopReasons(t *testing.T) {
	// rule: P-201
	w := newWorld(t)
	for reason, outcome := range map[string]string{"end_turn": "done", "refusal": "blocked", "max_tokens": "limit", "max_turn_requests": "limit"} {
		w.ask(task, one("x", reason)).is(outcome, `{"text":"x"}`)
	}
	w.ask(task, one("x", "cancelled")).fails("CANCELLED", "interrupted")
	for _, reason := range []string{"later", "toString", ""} {
		w.ask(task, one("x", reason)).fails("INVALID_RESULT", "unknown reason")
	}
	w.ask(task, one("", "end_turn")).is("done", `{"text":""}`)
}

func TestInputsAreRefusedBeforeAnyDispatch(t *testing.T) {
	// rule: P-193, E-101, E-099
	w := newWorld(t)
	for name, c := range map[string]struct {
		input, code string
		change      func(*tree.Options)
	}{
		"no instructions":              {input: `{"instructions":""}`, code: "INVALID_INPUT"},
		"a label twice":                {input: `{"instructions":"x","guidance":[{"label":"a","text":""},{"label":"a","text":""}]}`, code: "INVALID_INPUT"},
		"a skill without SKILL.md":     {input: `{"instructions":"x","skills":[{"name":"a","files":[]}]}`, code: "INVALID_INPUT"},
		"a schema outside the profile": {input: `{"instructions":"x","responseSchema":{"type":"number"}}`, code: "INVALID_INPUT"},
		"a prompt too large":           {input: `{"instructions":"` + strings.Repeat("x", 1<<20) + `"}`, code: "RESOURCE_EXHAUSTED"},
		"a conversation without ends":  {input: `{"instructions":"x","conversation":true}`, code: "INVALID_INPUT"},
	} {
		r := &native{t: t, script: func(p *play) { p.wrong("%s: a dispatch", name) }}
		g := w.ask(c.input, nil, func(o *tree.Options) { o.Resources = map[string]tree.Resource{"acp": r} })
		require.NotNil(t, g.err, name)
		require.Equal(t, c.code, string(g.err.Code), "%s: %s", name, g.err.Message)
		require.Zero(t, r.calls.Load(), name)
	}
	settings := *w.agent
	settings.Settings = []byte(`{"limit":1}`)
	w.run(t.Context(), &settings, task, nil).fails("INVALID_INPUT", "no settings")
}

func TestStructuredAnswers(t *testing.T) {
	// rule: P-202, P-203
	w := newWorld(t)
	input := `{"instructions":"x","responseSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}`
	w.ask(input, one(`{"n":1}`, "end_turn")).is("done", `{"structured":{"n":1},"text":"{\"n\":1}"}`)
	w.ask(input, one("```json\n{\"n\":2}\n```\n", "end_turn")).is("done", `{"structured":{"n":2},"text":"`+"```json\\n{\\\"n\\\":2}\\n```\\n"+`"}`)
	w.ask(input, one("I will not", "refusal")).is("blocked", `{"text":"I will not"}`)
	w.ask(input, one("so far", "end_turn")).fails("INVALID_RESULT", "not one JSON value")
	w.ask(input, one(`{"n":"1"}`, "max_tokens")).fails("INVALID_RESULT", "does not match")
}

func TestTheRenderedPrompt(t *testing.T) {
	// rule: F-199, P-194
	w := newWorld(t)
	input := `{"instructions":"do it","guidance":[{"label":"b","text":"t"}],"skills":[{"name":"a","files":[{"path":"SKILL.md","text":"how"},{"path":"A","text":"more"}]}],"responseSchema":{"type":"string"}}`
	g := w.ask(input, func(p *play) {
		p.open()
		id, text := p.prompt()
		lines := strings.Split(text, "\n")
		require.Len(t, lines, 7)
		require.Equal(t, `{"guidance":[{"label":"b","text":"t"}],"instructions":"do it","skills":[{"files":[{"content":"more","path":"A"},{"content":"how","path":"SKILL.md"}],"name":"a"}]}`, lines[3])
		require.Equal(t, `{"type":"string"}`, lines[6])
		p.say(`"y"`)
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	})
	g.is("done", `{"structured":"y","text":"\"y\""}`)
}

func TestTextKeepsItsCharactersAcrossFragments(t *testing.T) {
	// rule: P-199
	w := newWorld(t)
	// Characters of every width meet every place at which a fragment could be cut,
	// and one that a decoder would drop at a beginning.
	odd := strings.Repeat("x", 6500) + strings.Repeat("\ufeff", 1000) + strings.Repeat("ä€😀", 3000)
	g := w.ask(`{"instructions":"`+odd+`"}`, func(p *play) {
		p.open()
		id, text := p.prompt()
		require.Contains(t, text, odd)
		p.say(odd)
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	})
	require.Nil(t, g.err)
	require.Contains(t, g.result, odd)
}

func TestTheLargestPromptAndAnswer(t *testing.T) {
	// rule: P-200, F-060
	w := newWorld(t)
	const most = 8 << 20
	frame := 0
	w.ask(task, func(p *play) {
		p.open()
		id, text := p.prompt()
		frame = len(text) - len("say hello")
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	}).is("done", `{"text":""}`)
	input := `{"instructions":"` + strings.Repeat("y", 1<<20-frame) + `"}`
	if *long {
		g := w.ask(input, func(p *play) {
			p.open()
			id, _ := p.prompt()
			for range most / 8000 {
				p.say(strings.Repeat("x", 8000))
			}
			p.say(strings.Repeat("x", most%8000))
			p.reply(id, `{"stopReason":"end_turn"}`)
			p.end()
		})
		require.Nil(t, g.err, "%v\n%s", g.err, g.stderr)
		require.Len(t, g.result, len(`done {"text":""}`)+most)
	}
	w.ask(input, func(p *play) {
		defer p.abandoned()
		p.open()
		_, text := p.prompt()
		require.Len(t, text, 1<<20)
		for range most / 8000 {
			p.say(strings.Repeat("x", 8000))
		}
		p.say(strings.Repeat("x", most%8000))
		p.say("x") // all the others came through
	}).fails("RESOURCE_EXHAUSTED", "8 MiB")
}
