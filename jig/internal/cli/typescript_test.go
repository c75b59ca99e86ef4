package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// compile runs the TypeScript compiler over a project of jig init in which files
// have been replaced, and returns what it says.
func compile(t *testing.T, files map[string]string) (said string, fine bool) {
	t.Helper()
	dir := t.TempDir()
	all, err := starter("codex")
	require.NoError(t, err)
	for name, text := range files {
		all[name] = []byte(text)
	}
	for name, text := range all {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, text, 0o644))
	}
	installed := os.Getenv("JIG_TEST_NATIVE")
	if installed == "" {
		installed = "../../../tools/native/installed"
	}
	tsc, err := filepath.Abs(filepath.Join(installed, "../node_modules/.bin/tsc"))
	require.NoError(t, err)
	require.FileExists(t, tsc, "tools/setup installs the compiler")
	cmd := exec.Command(tsc, "--project", ".", "--pretty", "false")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &failed), "%v", err)
	}
	return string(out), err == nil
}

func TestAnEditorAcceptsTheFirstProject(t *testing.T) {
	said, fine := compile(t, nil)
	require.True(t, fine, said)
	said, fine = compile(t, map[string]string{
		"jig.ts": `import { defineJig, discover } from "@jigging/jig"
export default defineJig({
  flows: ["flows/hello"], bindings: discover(["./bindings"]), agents: ["codex", "pi"],
  defaultProviders: { "https://jig.md/contracts/agent-run": "binding:agent" },
})
`,
		"bindings/agent.ts": `import { defineBinding } from "@jigging/jig"
export default defineBinding({
  package: "./flows/hello", settings: { limit: 3 },
  slots: {
    native: { kind: "acp", client: "codex", model: "m", maxTurns: 3, retainSessions: true },
    page: { kind: "http", url: "https://example.org/", method: "GET" },
    other: "flow:flows/hello", named: "grant:docs",
  },
})
`,
		"flows/more/FLOW.ts": `import { handle, OperationError, type JsonValue } from "@jigging/flow"
await handle(async (run) => {
  const { send, receive } = await run.channel({ schema: { type: "string" } })
  await send.send("x")
  await send.close()
  const seen: JsonValue[] = []
  for await (const item of receive) seen.push(item)
  try {
    await run.call({ operationId: "a", slot: "native", input: null })
  } catch (error) {
    if (error instanceof OperationError) console.log(error.code)
  }
  return { outcome: "done", output: seen }
})
`,
	})
	require.True(t, fine, said)
}

// A value that has a member in one branch and not in another is what a Flow often
// gives away.
func TestAnEditorAcceptsMembersThatSomeBranchesLeaveOut(t *testing.T) {
	said, fine := compile(t, map[string]string{"flows/hello/FLOW.ts": `import { handle, OperationError } from "@jigging/flow"
await handle(async (run) => {
  const many = run.settings.many === true
  const given = many ? { a: 1, more: [{ b: 2 }, { b: 2, c: null }] } : { a: 1 }
  const { send, receive } = await run.channel()
  await send.send(given)
  await send.close()
  await receive.close()
  if (run.input === null) throw new OperationError("UNAVAILABLE", "none", given)
  if (run.input === "deep") return { outcome: "done", output: { list: [given], found: { a: 1 } } }
  if (run.input === "call") return await run.call({ operationId: "a", slot: "native", input: given })
  if (run.input === "x") return { outcome: "none", output: { a: 1 } }
  return { outcome: "done", output: { a: 1, b: "x" } }
})
`})
	require.True(t, fine, said)
}

func TestAnEditorRefusesWhatJigWouldRefuse(t *testing.T) {
	jig := func(text string) map[string]string {
		return map[string]string{"jig.ts": "import { defineJig, discover } from \"@jigging/jig\"\nexport default " + text + "\n"}
	}
	binding := func(text string) map[string]string {
		return map[string]string{"bindings/b.ts": "import { defineBinding } from \"@jigging/jig\"\nexport default defineBinding(" + text + ")\n"}
	}
	flow := func(body string) map[string]string {
		return map[string]string{"flows/hello/FLOW.ts": "import { handle } from \"@jigging/flow\"\nawait handle(async (run) => { " + body + " })\n"}
	}
	for name, files := range map[string]map[string]string{
		"a number for flows":              jig(`defineJig({ flows: 3 })`),
		"an unknown member":               jig(`defineJig({ flow: discover("./flows") })`),
		"an unknown client":               jig(`defineJig({ agents: ["gpt"] })`),
		"a Binding without a package":     binding(`{}`),
		"a number for a slot":             binding(`{ package: "./flows/hello", slots: { a: 3 } }`),
		"an acp grant without a client":   binding(`{ package: "./flows/hello", slots: { a: { kind: "acp" } } }`),
		"an http grant with PUT":          binding(`{ package: "./flows/hello", slots: { a: { kind: "http", url: "https://example.org/", method: "PUT" } } }`),
		"an outcome that is a number":     flow(`return { outcome: 3, output: null }`),
		"an output that is a date":        flow(`return { outcome: "done", output: new Date() }`),
		"an output that may be undefined": flow(`const b = [1].at(0); return { outcome: "done", output: b }`),
		"a list with undefined in it":     flow(`return { outcome: "done", output: [undefined] }`),
		"a function in an output":         flow(`return { outcome: "done", output: { f: () => 1 } }`),
		"a member that a run has not":     flow(`run.fetch("https://example.org/"); return { outcome: "done", output: null }`),
		"a call without an operation id":  flow(`return await run.call({ slot: "a", input: null })`),
		"a module that does not exist":    {"flows/hello/FLOW.ts": "import { handle } from \"@jigging/flows\"\nawait handle(async () => ({ outcome: \"done\", output: null }))\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, fine := compile(t, files)
			require.False(t, fine, "the compiler found nothing")
			for p := range files {
				require.Contains(t, said, p+"(")
			}
		})
	}
}
