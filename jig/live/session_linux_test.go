package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: B7.58 google-gemini/gemini-cli#27913 - a session was taken up, and nothing of it was remembered
// rule: F-013, F-014, F-015, F-018, F-030, F-067, F-129, F-134, F-135, F-138, F-140, F-143, J-187, J-219, N-017, J-221
func TestComplaintB7_58GeminiCLI27913CodexRemembersWhatWasRetained(t *testing.T) {
	p := newPlace(t, codex, ", retainSessions: true")
	reference := func(o outcome) string {
		t.Helper()
		o.ends(0, "succeeded")
		require.Equal(t, `"retained"`, o.member("output", "result", "session", "status"), "%s", o)
		return strings.Trim(o.member("output", "result", "session", "reference"), `"`)
	}
	first := reference(p.probe(`{"session":{"retain":true},"prompts":[{"text":"ECHO the word is heron"}]}`))
	restore := func(reference string) outcome {
		return p.probe(fmt.Sprintf(`{"session":{"restore":%q},"prompts":[{"text":"HELLO"}]}`, reference))
	}
	o := restore(first)
	second := reference(o)
	require.NotEqual(t, first, second)
	posts := p.model.posts()
	require.Len(t, posts, 2)
	require.Contains(t, posts[1].Body, "the word is heron")
	require.NotEmpty(t, o.member("output", "ready", "restoreSessionId"))

	refused := restore(first).ends(1, "failed")
	require.Equal(t, `"UNAVAILABLE"`, refused.member("code"), "%s", refused)
	unknown := restore("3f2504e0-4f89-41d3-9a0c-0305e82c3301").ends(1, "failed")
	require.Equal(t, refused.member("message"), unknown.member("message"))
	require.Len(t, p.model.posts(), 2, "a refused reference started a conversation")

	tied := reference(p.probe(`{"session":{"retain":true,"lifetime":"run"},"prompts":[{"text":"HELLO"}]}`))
	foreign := restore(tied).ends(1, "failed")
	require.Equal(t, refused.member("message"), foreign.member("message"))

	// A conversation that ended with an error of the client's leaves nothing.
	o = p.probe(`{"session":{"retain":true},"prompts":[{"text":"FAIL400"}]}`).ends(0, "succeeded")
	require.JSONEq(t, `{"status":"unavailable","reason":"not-cleanly-closed"}`, o.member("output", "result", "session"))
}

// rule: F-017, F-125, J-196
func TestASessionThatWasNotLentIsUnavailable(t *testing.T) {
	for _, client := range some() {
		t.Run(client, func(t *testing.T) {
			more := ", retainSessions: true"
			if client == codex {
				more = ""
			}
			p := newPlace(t, client, more)
			o := p.probe(`{"session":{"retain":true},"prompts":[{"text":"HELLO"}]}`).ends(1, "failed")
			require.Equal(t, `"UNAVAILABLE"`, o.member("code"), "%s", o)
			require.Empty(t, p.model.requests())
		})
	}
}

const boss = `import { handle } from "@jigging/flow"
await handle(async (run) => {
  const ask = (operationId: string, instructions: string, session: any) => run.call({ operationId, slot: "agent", input: { instructions, session } })
  const first: any = await ask("first", "ECHO the word is heron", { retain: true, lifetime: "run" })
  const second: any = await ask("second", "Say HELLO", { restore: first.output.session.reference })
  const again = await ask("third", "Say HELLO", { restore: first.output.session.reference }).then(() => "taken", (error: any) => error.code)
  return { outcome: "done", output: { first: first.output, second: second.output, again } }
})
`

// rule: F-124, F-134, F-138, F-143, F-144, F-145
func TestTwoAgentsOfOneRunShareASessionThatEndsWithIt(t *testing.T) {
	p := newPlace(t, codex, ", retainSessions: true")
	for name, text := range map[string]string{
		"flows/boss/FLOW.ts": boss, "flows/boss/FLOW.meta.json": `{"name":"boss","uses":{"agent":{}}}`,
		"bindings/boss.ts": "import { defineBinding } from \"@jigging/jig\"\nexport default defineBinding({ package: \"flows/boss\", slots: { agent: \"binding:agent\" } })\n",
	} {
		path := filepath.Join(p.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	o := p.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(t, 0, o.exit, "%s", o)
	o = p.jig("run", "binding:boss", "--timeout", "60s").ends(0, "succeeded")
	require.Contains(t, o.member("output", "first", "text"), "the word is heron")
	require.Equal(t, `"Hello from a script."`, o.member("output", "second", "text"))
	require.Equal(t, `"retained"`, o.member("output", "second", "session", "status"))
	require.Equal(t, `"UNAVAILABLE"`, o.member("output", "again"))
	posts := p.model.posts()
	require.Len(t, posts, 2)
	require.Contains(t, posts[1].Body, "the word is heron")
	require.NotContains(t, o.stdout, "restoreSessionId")
	// With the run its sessions have ended: nobody can take them up any more.
	left := p.jig("sessions")
	require.Equal(t, 0, left.exit, "%s", left)
	require.Equal(t, "[]", left.member("sessions"), "%s", left)
	reference := o.member("output", "second", "session", "reference")
	o = p.probe(fmt.Sprintf(`{"session":{"restore":%s},"prompts":[{"text":"HELLO"}]}`, reference)).ends(1, "failed")
	require.Equal(t, `"UNAVAILABLE"`, o.member("code"))
}
