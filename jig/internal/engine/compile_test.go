package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A compiled package differs from its source in nothing but the time it takes.
func TestACompiledPackageRunsAsItsSourceDoes(t *testing.T) {
	for name, f := range map[string]flow{
		"modules": {files: map[string]string{
			"FLOW.ts":  `import { handle } from "@jigging/flow"; import one, { two } from "./lib/a"; import data from "./data.json"; import common from "common"; await handle(async () => ({ outcome: "done", output: [one, two, data, common, import.meta.main, (await import("./lazy.js")).meta] }));`,
			"lib/a.ts": `export default 1 as number; export const two: string = "two";`, "data.json": `{"x":[1,"é"]}`, "lazy.js": `export const meta = [import.meta.main, import.meta.url];`,
			"node_modules/common/package.json": `{"main":"index.js"}`, "node_modules/common/index.js": `exports.n = require("./m.cjs"); exports.j = require("./j.json"); exports.f = __filename;`,
			"node_modules/common/m.cjs": `module.exports = { nested: typeof require("@jigging/flow").OperationError };`, "node_modules/common/j.json": `[1]`,
		}},
		"a CommonJS entry": {files: map[string]string{"FLOW.js": `const { handle } = require("@jigging/flow"); handle(() => ({ outcome: "done", output: require("./b.cjs") }));`, "b.cjs": `module.exports = typeof require.main;`}},
		"a throw":          {files: body("\n\nconst x: number = 1;\n  throw new Error(`at ${x}`);")},
		"a throw in another file": {files: map[string]string{
			"FLOW.ts": `import { handle } from "@jigging/flow"; import { fail } from "./fail.ts"; await handle(() => fail());`,
			"fail.ts": "type A = 1\n\nexport function fail(): never {\n    throw new Error('here');\n}",
		}},
		"a file that is reached late": {files: map[string]string{
			"FLOW.ts": `import { handle } from "@jigging/flow"; const name = "./late"; await handle(async () => ({ outcome: "done", output: (await import(name + ".ts")).late }));`,
			"late.ts": `export const late: number = 5;`,
		}},
		"a refusal that is reached late": {files: body(`const n = "node:n"; try { await import(n + "et"); } catch (e) { return { outcome: "done", output: e.message }; }`)},
		"what does not compile":          {files: map[string]string{"FLOW.ts": "import \"node:net\";\nlet let = 1;"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := run(t, f)
			f.compiled = true
			compiled := run(t, f)
			for _, e := range []*ended{source, compiled} {
				e.t, e.scratch, e.wire = nil, "", ""
			}
			require.Equal(t, source, compiled)
			if source.err == nil {
				require.NotEmpty(t, source.result)
			}
		})
	}
}
