package declare_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/engine/realm"
)

// project is a set of files with a scope that evaluates them.
type project struct {
	*testing.T
	files  map[string]string
	client *declare.Client
	asked  []string
}

func newProject(t *testing.T, files map[string]string) *project {
	p := &project{T: t, files: files}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := declare.Serve(inR, outW, realm.Limits{HeapBytes: 16 << 20, Slots: 1024})
		outW.CloseWithError(err)
		served <- err
	}()
	p.client = &declare.Client{In: inW, Out: outR, Source: func(path string) ([]byte, error) {
		p.asked = append(p.asked, path)
		text, there := p.files[path]
		if !there {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}}
	t.Cleanup(func() {
		inW.Close()
		require.NoError(t, <-served)
	})
	return p
}

func (p *project) value(path string) string {
	p.Helper()
	v, err := p.client.Evaluate(path)
	require.NoError(p, err)
	return string(v)
}

func (p *project) refused(path string) declare.Refusal {
	p.Helper()
	_, err := p.client.Evaluate(path)
	var e *declare.RefusedError
	require.True(p, errors.As(err, &e), "%v", err)
	require.NotContains(p, err.Error(), "\n")
	return e.Refusals[0]
}

// one evaluates a single jig.ts.
func one(t *testing.T, text string) *project { return newProject(t, map[string]string{"jig.ts": text}) }

func TestDeclarationsOfOneReviewShareAProcessAndNothingElse(t *testing.T) {
	// rule: J-046, J-049
	p := newProject(t, map[string]string{
		"jig.ts":           `import { defineJig, discover } from "@jigging/jig"; import { roots } from "./lib/roots.ts"; (globalThis as any).left = 1; export default defineJig({ flows: discover(roots) })`,
		"lib/roots.ts":     `export const roots: string[] = ["./flows", "more"]`,
		"bindings/x.ts":    `import { defineBinding } from "@jigging/jig"; export default defineBinding({ package: "./flows/x", settings: { left: typeof (globalThis as any).left } })`,
		"bindings/node.ts": `export default { b: 1, a: [true, null, "é"] }`,
	})
	require.JSONEq(t, `{"flows":{"kind":"discover","roots":["flows","more"]}}`, p.value("jig.ts"))
	require.JSONEq(t, `{"kind":"package","package":"flows/x","settings":{"left":"undefined"},"slots":{}}`, p.value("bindings/x.ts"))
	require.JSONEq(t, `{"a":[true,null,"é"],"b":1}`, p.value("bindings/node.ts"))
	require.Equal(t, []string{"jig.ts", "lib/roots.ts", "bindings/x.ts", "bindings/node.ts"}, p.asked, "each source crosses once")
}

func TestImportsAreJudgedOnTheSource(t *testing.T) {
	// rule: J-050, J-051, J-052, J-053, P-166
	for text, names := range map[string]string{
		`import fs from "node:fs"; export default 1`:                         "node:fs",
		`import "./data.json"; export default 1`:                             "./data.json",
		`import { x } from "left-pad"; export default 1`:                     "left-pad",
		`import { handle } from "@jigging/flow"; export default 1`:           "@jigging/flow",
		`import { x } from "../outside.ts"; export default 1`:                "../outside.ts",
		`import { x } from "/etc/passwd.ts"; export default 1`:               "/etc/passwd.ts",
		`const x = Object.keys({ a: 1 })[0]; export default await import(x)`: "computed",
		`import { x } from "./lib"; export default 1`:                        "./lib",
		`import { internal } from "jig:internal"; export default 1`:          "jig:internal",
		`const fs = require("fs"); export default fs`:                        "require",
		`import { x } from "./absent.ts"; export default x`:                  "absent.ts",
		`import { a } from "./a.ts"; export const b = 1; export default a`:   "circle",
		`export const a = 1`: "it has no default export",
	} {
		p := newProject(t, map[string]string{"jig.ts": text, "a.ts": `import { b } from "./jig.ts"; export const a = b`})
		r := p.refused("jig.ts")
		require.Contains(t, r.Message, names, text)
	}
	p := newProject(t, map[string]string{"jig.ts": "\n  import type { X } from \"./absent.ts\"\nimport { type Y } from \"@jigging/jig\"\nexport default 7 as unknown as X"})
	require.Equal(t, "7", p.value("jig.ts"))
	r := one(t, "\n\n  import x from \"node:fs\"\nexport default x").refused("jig.ts")
	require.Equal(t, 3, r.Line)
	require.NotZero(t, r.Column)
}

func TestDeclarationsHaveNoPower(t *testing.T) {
	// rule: J-048
	for _, expression := range []string{
		`Math.random()`, `new Date()`, `Date.now()`, `performance.now()`, `setTimeout(() => {}, 1)`, `fetch("https://example.org")`, `process.env`, `require("fs")`,
		`eval("1")`, `new Function("return 1")()`, `(() => {}).constructor("return 1")()`, `crypto.randomUUID()`, `queueMicrotask(() => {})`, `console.log(1)`, `new WebAssembly.Module()`,
		`new SharedArrayBuffer(1)`, `__host("part", "core")`, `__internal("json")`, `new WeakRef({})`, `new FinalizationRegistry(() => {})`,
	} {
		r := one(t, "export default "+expression).refused("jig.ts")
		require.NotEmpty(t, r.Message, expression)
	}
}

func TestOnlyPlainDataLeaves(t *testing.T) {
	// rule: E-076, J-049
	for _, expression := range []string{
		`undefined`, `() => 1`, `Symbol("x")`, `1n`, `NaN`, `Infinity`, `new Map()`, `[1,,2]`, `Object.assign([1], { x: 1 })`, `({ get x() { return 1 } })`, `({ [Symbol("x")]: 1 })`,
		`new (class A { x = 1 })()`, `(() => { const a: any = {}; a.a = a; return a })()`, `"\ud800"`, `9007199254740992`, `({ toJSON() { return 1 } })`, `Promise.resolve(1)`,
		`Object.defineProperty({}, "x", { value: 1, enumerable: false })`,
	} {
		r := one(t, "export default "+expression).refused("jig.ts")
		require.Contains(t, r.Message, "plain data", expression)
	}
	require.Contains(t, one(t, `export const x = 1`).refused("jig.ts").Message, "default")
	require.Contains(t, one(t, `await new Promise(() => {}); export default 1`).refused("jig.ts").Message, "waits for something that never happens")
	require.Equal(t, "1", one(t, `export default await Promise.resolve(1)`).value("jig.ts"))
}

func TestDefinitionsAreFrozenAndHaveNoPrototype(t *testing.T) {
	// rule: E-074, E-077
	p := one(t, `import { defineJig } from "@jigging/jig"
		const d: any = defineJig({ flows: ["b", "./a"], defaultProviders: { z: "flow:./x", a: "binding:b" } })
		let frozen = true
		const walk = (v: any) => { if (v !== null && typeof v === "object") { frozen &&= Object.isFrozen(v) && (Array.isArray(v) || Object.getPrototypeOf(v) === null); for (const k of Reflect.ownKeys(v)) walk(v[k]) } }
		walk(d)
		export default { frozen, keys: Object.keys(d), providers: Object.keys(d.defaultProviders), value: d.defaultProviders.z, paths: d.flows.paths }`)
	require.JSONEq(t, `{"frozen":true,"keys":["defaultProviders","flows"],"providers":["a","z"],"value":"flow:x","paths":["a","b"]}`, p.value("jig.ts"))
	for _, call := range []string{`defineJig({ flows: undefined })`, `defineJig({ flows: null })`, `defineJig({ other: 1 })`, `discover("*")`, `defineBinding({})`, `defineJig(new Map() as any)`} {
		r := one(t, "import { defineJig, defineBinding, discover } from \"@jigging/jig\"\nexport default [\n"+call+", defineJig, discover, defineBinding][0]").refused("jig.ts")
		require.Contains(t, r.Message, "TypeError", call)
		require.Equal(t, 3, r.Line, call)
	}
}

func TestLimitsOfTheRealmAreNamed(t *testing.T) {
	require.Contains(t, one(t, `const a: string[] = []; for (;;) a.push("x".repeat(1e6) + a.length); export default a`).refused("jig.ts").Message, "more memory")
	require.Contains(t, one(t, `const f = (): number => f() + 1; export default f()`).refused("jig.ts").Message, "too deep")
	// The process goes on with the next declaration.
	p := newProject(t, map[string]string{"jig.ts": `export default 1; throw new Error("no")`, "bindings/b.ts": `export default 1`})
	require.Contains(t, p.refused("jig.ts").Message, "Error: no")
	require.Equal(t, "1", p.value("bindings/b.ts"))
}

func TestLimitsOfSources(t *testing.T) {
	text := func(n int) string { return "export default 1;" + strings.Repeat(" ", n-17) }
	require.Equal(t, "1", one(t, text(declare.MaxSourceBytes)).value("jig.ts"))
	require.Contains(t, one(t, text(declare.MaxSourceBytes+1)).refused("jig.ts").Message, "larger than")
	require.Contains(t, one(t, "export default '\xff'").refused("jig.ts").Message, "UTF-8")
	require.Contains(t, newProject(t, nil).refused("jig.ts").Message, "no file of the project")
	value := func(n int) string { return fmt.Sprintf("export default 'x'.repeat(%d)", n-2) }
	require.Len(t, one(t, value(declare.MaxValueBytes)).value("jig.ts"), declare.MaxValueBytes)
	require.Contains(t, one(t, value(declare.MaxValueBytes+1)).refused("jig.ts").Message, "larger than")
	// rule: J-049
	deep := func(n int) string {
		return fmt.Sprintf("export default JSON.parse('['.repeat(%d) + ']'.repeat(%[1]d))", n)
	}
	for _, n := range []int{126, 127} {
		require.Len(t, one(t, deep(n)).value("jig.ts"), 2*n)
	}
	for _, n := range []int{128, 129} {
		r := one(t, deep(n)).refused("jig.ts")
		require.Equal(t, "jig.ts", r.Path)
		require.Contains(t, r.Message, map[int]string{128: "more than 127 levels", 129: "deeper than 128"}[n])
	}
	wide := func(n int) []byte { // with itself and its five rows
		row := func(n int) string { return "[0" + strings.Repeat(",0", n-1) + "]" }
		return []byte("[" + strings.Repeat(row(65_000)+",", 4) + row(n-6-4*65_000) + "]")
	}
	for _, n := range []int{262_142, 262_143} {
		require.NoError(t, declare.Carried(wide(n)), n)
		require.NoError(t, json0.Check([]byte(`{"value":`+string(wide(n))+`}`)), n)
	}
	require.ErrorContains(t, declare.Carried(wide(262_144)), "more than 262143 values")
	// The limits of JSON/0 count bytes (flow-author-api 2.2).
	name := func(n int) string {
		return fmt.Sprintf("export default { ['中'.repeat(341) + 'x'.repeat(%d)]: 1 }", n-1023)
	}
	for _, n := range []int{1023, 1024} {
		require.Len(t, one(t, name(n)).value("jig.ts"), n+6)
	}
	require.Contains(t, one(t, name(1025)).refused("jig.ts").Message, "a name of more than 1024 bytes")
}

func TestScopeThatAnswersNonsense(t *testing.T) {
	for _, line := range []string{"", "x\n", "{}\n", `{"missing":["jig.ts"]}` + "\n", `{"value":1,"other":2}` + "\n", `{"val`} {
		c := &declare.Client{In: io.Discard, Out: strings.NewReader(line), Source: func(string) ([]byte, error) { return []byte("export default 1"), nil }}
		_, err := c.Evaluate("jig.ts")
		require.Error(t, err, line)
		var refused *declare.RefusedError
		require.False(t, errors.As(err, &refused), line)
	}
	for _, line := range []string{"x\n", "{}\n", `{"entry":"jig.ts"}`} {
		err := declare.Serve(strings.NewReader(line), io.Discard, realm.Limits{HeapBytes: 32 << 20, Slots: 2048})
		if line != "{}\n" {
			require.Error(t, err, line)
		}
	}
}
