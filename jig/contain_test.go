package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// rule: J-056, J-058
func TestEachKindOfFlowFileRunsOnTheEmbeddedEngine(t *testing.T) {
	p := reviewed(t, map[string]string{
		"flows/ts/FLOW.ts": hello, "flows/js/FLOW.js": hello, "flows/mjs/FLOW.mjs": hello,
		"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"],
	})
	for _, name := range []string{"ts", "js", "mjs"} {
		p.jig("run", "flow:flows/"+name).is(0, "output", `"Hello, world!"`)
	}
	r := p.start(p.command("run", "flow:flows/wait"))
	r.says("| waiting")
	require.Len(t, descendants(r.cmd.Process.Pid, "/jig/jig\x00__flow\x00"), 1)
	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.wait()
}

// rule: J-057
func TestAFlowHasItsPackageToReadAndItsScratchToWrite(t *testing.T) {
	p := reviewed(t, map[string]string{
		"flows/look/data.txt": "mine",
		"flows/look/FLOW.ts": `import { handle } from "@jigging/flow"
import fs from "node:fs"
import process from "node:process"
await handle(async (run) => {
  const attempt = (what) => { try { return what() } catch (e) { return e.code ?? e.name } }
  fs.writeFileSync(run.scratch + "/note", "kept")
  return { outcome: "done", output: {
    cwd: process.cwd(),
    scratch: run.scratch,
    data: fs.readFileSync("./data.txt", "utf8"),
    note: fs.readFileSync("/scratch/note", "utf8"),
    write: attempt(() => fs.writeFileSync("/package/data.txt", "x")),
    passwd: attempt(() => fs.readFileSync("/etc/passwd", "utf8")),
    jig: attempt(() => fs.writeFileSync("/jig/jig", "x")),
    init: attempt(() => fs.readFileSync("/proc/1/environ", "utf8")),
    secret: process.env.SECRET ?? "none",
  } }
})
`,
	})
	p.env = append(p.env, "SECRET=of the operator")
	o := p.jig("run", "flow:flows/look").is(0)
	var saw map[string]string
	require.NoError(t, json.Unmarshal(o.record()["output"], &saw))
	require.Equal(t, "/package", saw["cwd"])
	require.Equal(t, "/scratch", saw["scratch"])
	require.Equal(t, "mine", saw["data"])
	require.Equal(t, "kept", saw["note"])
	require.Equal(t, "none", saw["secret"])
	for _, refused := range []string{"write", "passwd", "jig", "init"} {
		require.Regexp(t, `^E[A-Z]+$`, saw[refused], refused)
	}
	// Nothing of a scratch is left for the next run.
	p.jig("run", "flow:flows/look").is(0)
}

// rule: F-206, F-207
func TestADeadlineIsThatOfTheWholeRun(t *testing.T) {
	p := reviewed(t, map[string]string{
		"flows/top/FLOW.ts": flow(`
			const left = run.deadlineUnixMs - Date.now()
			const below = await run.call({ operationId: "a", slot: "helper", input: null })
			return { outcome: "done", output: [left > 5000, left <= 30000, below.output === run.deadlineUnixMs] }`),
		"flows/top/FLOW.meta.json": `{"uses":{"helper":{"contract":"./greet.json"}}}`, "flows/top/greet.json": greet,
		"flows/greet/FLOW.ts": flow(`return { outcome: "done", output: run.deadlineUnixMs }`), "flows/greet/FLOW.contract.json": greet,
	})
	p.jig("run", "flow:flows/top").is(0, "output", "[true,true,true]")

	p = reviewed(t, map[string]string{
		"flows/top/FLOW.ts":        flow(`await run.call({ operationId: "a", slot: "helper", input: null }); return { outcome: "done", output: 1 }`),
		"flows/top/FLOW.meta.json": `{"uses":{"helper":{"contract":"./greet.json"}}}`, "flows/top/greet.json": greet,
		"flows/greet/FLOW.ts": kinds["flows/deaf/FLOW.ts"], "flows/greet/FLOW.contract.json": greet,
	})
	p.jig("run", "flow:flows/top", "--timeout", "1s").is(1, "code", `"DEADLINE_EXCEEDED"`)
}

// A root that may not make mounts cannot build a stage, and there is no weaker
// way into a scope.
//
// rule: J-150, J-155
func TestARootWithoutMountsRunsNothingAndIsToldWhy(t *testing.T) {
	if os.Geteuid() != 0 {
		// An ordinary user needs no stage; what it needs is user namespaces, and a
		// bubblewrap that cannot make them is as final.
		p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
		broken := filepath.Join(t.TempDir(), "bwrap")
		b, err := os.ReadFile("/bin/false")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(broken, b, 0o755))
		p.env = append(p.env, "JIG_BWRAP_PATH="+broken)
		o := p.jig("review")
		require.Equal(t, 2, o.exit, o)
		p.jig("doctor").is(2)
		return
	}
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello, "bindings/x.ts": "import { defineBinding } from \"@jigging/jig\"\nexport default defineBinding({ package: \"flows/hello\" })\n"})
	without := func(args ...string) outcome {
		cmd := exec.Command("setpriv", append([]string{"--bounding-set=-sys_admin", "--inh-caps=-sys_admin", jig}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		r := p.start(cmd)
		err := cmd.Wait()
		r.ended = true
		require.Error(t, err)
		return outcome{t: t, stdout: r.stdout.String(), stderr: r.stderr.String(), exit: cmd.ProcessState.ExitCode()}
	}
	o := without("run", "flow:flows/hello")
	require.Contains(t, o.stdout, `"code":"UNAVAILABLE"`)
	o = without("review", "--yes")
	require.Equal(t, 2, o.exit)
	require.Contains(t, o.stdout, `"code":"UNAVAILABLE"`)
	o = without("doctor")
	require.Equal(t, 2, o.exit)
	require.Contains(t, o.stderr, "operation not permitted")
	require.Contains(t, o.stderr, "→ ")
}
