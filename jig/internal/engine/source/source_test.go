package source_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// files is a package written down as path, text, path, text, ...
func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func check(pairs ...string) []string {
	var out []string
	found, _ := source.NewPackage(files(pairs...), "/package").Check(pairs[0])
	for _, p := range found {
		out = append(out, p.Error())
	}
	return out
}

// rule: E-070, E-071, E-073
func TestSpecifiersAreRefusedByName(t *testing.T) {
	names := strings.FieldsSeq(`node:child_process node:cluster node:worker_threads node:net node:tls node:http node:https node:http2 node:dgram node:dns
		node:vm node:inspector node:repl node:module node:sqlite node:test node:wasi child_process net http vm worker_threads node:stream node:nothing
		bun bun:sqlite bun:ffi ./addon.node npm:left-pad https://a.example/x.js data:text/javascript,1 left-pad @scope/name ./none ../outside /etc/passwd
		file:///etc/passwd #private @jigging/jig ./module.wasm ./view.tsx ./notes.txt @scope .x ./`)
	for name := range names {
		for i, form := range []string{"import %q;", "import x from %q; x();", "export * from %q;", "await import(%q);", "import(%q).catch(() => 0);"} {
			text := "\n  " + fmt.Sprintf(form, name)
			got := check("FLOW.ts", text, "addon.node", "", "module.wasm", "", "view.tsx", "", "notes.txt", "")
			require.Len(t, got, 1, text)
			require.True(t, strings.HasPrefix(got[0], "FLOW.ts:2:"), got[0])
			require.Contains(t, got[0], fmt.Sprintf("%q is refused: ", name))
			if i == 0 {
				require.True(t, strings.HasPrefix(got[0], "FLOW.ts:2:10: "), got[0])
			}
		}
	}
}

// rule: E-073
func TestSpecifiersThatResolve(t *testing.T) {
	all := files("FLOW.ts", "", "lib/a.ts", "", "lib/index.ts", "", "lib/data.json", "{}", "lib/b.mjs", "", "über.ts", "",
		"package.json", `{"name":"self","exports":{"./inner":"./lib/a.ts"},"imports":{"#a":"./lib/a.ts","#dep":"plain","#x/*":{"import":"./lib/*.ts"}}}`,
		"node_modules/plain/package.json", `{"main":"./main"}`, "node_modules/plain/main.js", "", "node_modules/plain/sub/deep.js", "",
		"node_modules/@s/mapped/package.json", `{"exports":{".":{"node":"./node.js","require":"./r.cjs","import":"./i.js"},"./f/*":"./files/*.js","./f/hidden/*":null,"./up":"../../x.js","./list":["./none-here",{"default":"./i.js"}]}}`,
		"node_modules/@s/mapped/i.js", "", "node_modules/@s/mapped/r.cjs", "", "node_modules/@s/mapped/node.js", "", "node_modules/@s/mapped/files/x.js", "",
		"node_modules/sugar/package.json", `{"exports":"./only.js"}`, "node_modules/sugar/only.js", "",
		"node_modules/esm/package.json", `{"module":"m.js","main":"c.js"}`, "node_modules/esm/m.js", "", "node_modules/esm/c.js", "",
		"node_modules/bare.js", "", "node_modules/plain/node_modules/inner/index.js", "", "node_modules/fs/index.js", "", "node_modules/sqlite/index.js", "",
		"node_modules/wild/package.json", `{"main":"../../FLOW.ts"}`)
	p := source.NewPackage(all, "/package")
	for _, c := range []struct {
		from, specifier string
		require         bool
		want            string
	}{
		{"FLOW.ts", "@jigging/flow", false, "@jigging/flow"},
		{"FLOW.ts", "@jigging/agent-method", false, "@jigging/agent-method"},
		{"FLOW.ts", "node:fs/promises", false, "node:fs/promises"},
		{"FLOW.ts", "path", false, "node:path"},
		{"FLOW.ts", "fs", false, "node:fs"},
		{"FLOW.ts", "sqlite", false, "node_modules/sqlite/index.js"},
		{"FLOW.ts", "./lib/a.ts", false, "lib/a.ts"},
		{"FLOW.ts", "./lib/a.js", false, "lib/a.ts"},
		{"FLOW.ts", "./lib/a", false, "lib/a.ts"},
		{"FLOW.ts", "./lib", false, "lib/index.ts"},
		{"FLOW.ts", "./lib/", false, "lib/index.ts"},
		{"FLOW.ts", "./lib/b", false, "lib/b.mjs"},
		{"FLOW.ts", "./lib/data.json", false, "lib/data.json"},
		{"FLOW.ts", "./über.ts", false, "über.ts"},
		{"FLOW.ts", "/package/lib/a.ts", false, "lib/a.ts"},
		{"FLOW.ts", "file:///package/lib/a.ts", false, "lib/a.ts"},
		{"lib/a.ts", "../FLOW.ts", false, "FLOW.ts"},
		{"lib/a.ts", "..", false, "refused"},
		{"FLOW.ts", "self/inner", false, "lib/a.ts"},
		{"FLOW.ts", "self/other", false, "refused"},
		{"FLOW.ts", "#a", false, "lib/a.ts"},
		{"FLOW.ts", "#dep", false, "node_modules/plain/main.js"},
		{"FLOW.ts", "#x/a", false, "lib/a.ts"},
		{"FLOW.ts", "#none", false, "refused"},
		{"FLOW.ts", "plain", false, "node_modules/plain/main.js"},
		{"FLOW.ts", "plain/sub/deep", false, "node_modules/plain/sub/deep.js"},
		{"lib/a.ts", "plain", false, "node_modules/plain/main.js"},
		{"node_modules/plain/main.js", "inner", false, "node_modules/plain/node_modules/inner/index.js"},
		{"node_modules/plain/main.js", "esm", false, "node_modules/esm/m.js"},
		{"node_modules/plain/main.js", "esm", true, "node_modules/esm/c.js"},
		{"FLOW.ts", "@s/mapped", false, "node_modules/@s/mapped/i.js"},
		{"FLOW.ts", "@s/mapped", true, "node_modules/@s/mapped/r.cjs"},
		{"FLOW.ts", "@s/mapped/f/x", false, "node_modules/@s/mapped/files/x.js"},
		{"FLOW.ts", "@s/mapped/f/hidden/x", false, "refused"},
		{"FLOW.ts", "@s/mapped/i.js", false, "refused"},
		{"FLOW.ts", "@s/mapped/up", false, "refused"},
		{"FLOW.ts", "@s/mapped/list", false, "refused"},
		{"FLOW.ts", "sugar", false, "node_modules/sugar/only.js"},
		{"FLOW.ts", "sugar/only.js", false, "refused"},
		{"FLOW.ts", "bare", false, "node_modules/bare.js"},
		{"FLOW.ts", "wild", false, "refused"},
	} {
		m, no := p.Resolve(c.from, c.specifier, c.require)
		got := m.File + m.Builtin
		if no != nil {
			got = "refused"
		}
		require.Equal(t, c.want, got, "%s from %s", c.specifier, c.from)
	}
	vendored := source.NewPackage(files("FLOW.ts", "", "node_modules/@jigging/agent-method/index.js", "", "node_modules/@jigging/flow/index.js", ""), "/package")
	m, no := vendored.Resolve("FLOW.ts", source.AgentMethod, false)
	require.Nil(t, no)
	require.Equal(t, "node_modules/@jigging/agent-method/index.js", m.File, "the copy that its author tested")
	m, no = vendored.Resolve("FLOW.ts", source.Flow, false)
	require.Nil(t, no)
	require.Equal(t, source.Flow, m.Builtin, "there is one OperationError")
}

// rule: E-070, E-073, E-113
func TestAWholePackageIsJudgedBeforeItRuns(t *testing.T) {
	require.Empty(t, check("FLOW.ts", `import { handle } from "@jigging/flow"; import type { Socket } from "node:net"; import { Unused } from "node:net"; handle(async () => { const { x } = await import("./app.ts"); return x; });`,
		"app.ts", `import data from "./d.json"; import fs from "node:fs"; export const x = [data, fs];`, "d.json", `{"a":1}`), "types are no imports")
	require.Equal(t, []string{`app.ts:3:8: "node:net" is refused: a Flow has no network; powers come through slots`},
		check("FLOW.ts", `await import("./app.ts")`, "app.ts", "\n\nimport \"node:net\";"), "also behind an import()")
	got := check("FLOW.ts", "const ä = 1;\nlet x: = 2;")
	require.Len(t, got, 1)
	require.Equal(t, `FLOW.ts:2:8: Unexpected "="`, got[0])
	got = check("FLOW.ts", "import \"./a.ts\";\nlet x = 1;", "a.ts", "function f() {\n  f(")
	require.Equal(t, []string{"a.ts:2:5: Unexpected end of file"}, got, "not behind the end of the file, where something was added")
	got = check("FLOW.ts", `const ä = 1; import "node:net";`)
	require.True(t, strings.HasPrefix(got[0], "FLOW.ts:1:21: "), "columns count characters: %s", got[0])
	require.Empty(t, check("FLOW.ts", `import "dep";`, "node_modules/dep/index.js", `try { require("net") } catch {} ; import("node:http").catch(() => {})`), "optional dependencies of a dependency are judged when they are asked for")
	require.Len(t, check("FLOW.ts", `import "dep";`, "node_modules/dep/index.js", `import "net";`), 1)
	require.Equal(t, []string{`FLOW.ts:1:20: "node:fs" is refused: an ES module has no require`}, check("FLOW.ts", `const fs = require("node:fs"); export {};`))
	require.Empty(t, check("FLOW.js", `const fs = require("node:fs"); module.exports = fs;`))
	var many strings.Builder
	for i := range source.MaxProblems + 1 {
		fmt.Fprintf(&many, "import 'none%d';\n", i)
	}
	require.Len(t, check("FLOW.ts", many.String()), source.MaxProblems)
	long := check("FLOW.ts", `import "`+strings.Repeat("x", 100_000)+`";`)
	require.Len(t, long, 1)
	require.Less(t, len(long[0]), 1000)
}

func TestTheEntry(t *testing.T) {
	for _, name := range []string{"FLOW.ts", "FLOW.js", "FLOW.mjs"} {
		got, err := source.NewPackage(files(name, ""), "/package").Entry()
		require.NoError(t, err)
		require.Equal(t, name, got)
	}
	_, err := source.NewPackage(files("FLOW.md", ""), "/package").Entry()
	require.Error(t, err)
}

// rule: E-069, E-106, E-113
func TestLoad(t *testing.T) {
	p := source.NewPackage(files(
		"FLOW.ts", "#!/usr/bin/env bun\nimport type { X } from './x';\nclass A { constructor(private readonly n: number) {} override: X = 1 as X; get m() { return this.n satisfies number; } }\nexport default await Promise.resolve(new A(1).m); throw new Error('x')\n",
		"lib/meta.ts", "export const m = import.meta.url;",
		"bad.ts", "let x =\n  ;", "d.json", `{"a":"`+"\u2028"+`"}`, "bad.json", "{\n \"a\": }", "dup.json", `{"a":1,"a":2}`,
		"c.cjs", "exports.a = 1; exports['b'] = 2; Object.defineProperty(exports, 'c', {value: 3}); exports.default = 4; exports.class = 5;",
		"d.cjs", "module.exports = { x, y: 1, z() {} };",
		"e.js", "module.exports = 1", "f.js", "import './x.js'; module.exports = 1", "esm/package.json", `{"type":"module"}`, "esm/g.js", "require('x')",
	), "/package")
	code, no := p.Load("FLOW.ts", true)
	require.Nil(t, no)
	require.NotContains(t, code.Text, "private")
	require.NotContains(t, code.Text, "import.meta")
	for i, line := range strings.Split(code.Text, "\n") {
		if at := strings.Index(line, "new Error"); at >= 0 {
			l, c, ok := code.Map.Original(i+1, at+1)
			require.True(t, ok)
			require.Equal(t, [2]int{4, 57}, [2]int{l, c})
		}
	}
	code, no = p.Load("lib/meta.ts", false)
	require.Nil(t, no)
	require.Contains(t, code.Text, `import.meta.url="file:///package/lib/meta.ts";import.meta.filename="/package/lib/meta.ts";import.meta.dirname="/package/lib";import.meta.main=false;`)
	_, no = p.Load("bad.ts", false)
	require.EqualError(t, no, `bad.ts:2:3: Unexpected ";"`)
	require.True(t, no.Syntax)
	_, no = p.Load("none.ts", false)
	require.Error(t, no)
	code, no = p.Load("d.json", false)
	require.Nil(t, no)
	require.Equal(t, "export default JSON.parse(\"{\\\"a\\\":\\\"\\u2028\\\"}\");\n", code.Text)
	_, no = p.Load("bad.json", false)
	require.Equal(t, [2]int{2, 7}, [2]int{no.Line, no.Column})
	_, no = p.Load("dup.json", false)
	require.Error(t, no)
	for file, names := range map[string][]string{"c.cjs": {"a", "b", "c"}, "d.cjs": {"x", "y", "z"}, "e.js": nil} {
		code, no = p.Load(file, false)
		require.Nil(t, no)
		require.True(t, code.CommonJS, file)
		require.ElementsMatch(t, names, code.Names, file)
	}
	for _, file := range []string{"f.js", "esm/g.js"} {
		code, no = p.Load(file, false)
		require.Nil(t, no)
		require.False(t, code.CommonJS, file)
	}
	require.Equal(t, "file:///package/a%20%C3%A9%23.ts", source.FileURL("/package/a é#.ts"))
}

// rule: J-050, J-051, J-052, J-053, P-166
func TestImportsOfDeclarations(t *testing.T) {
	check := func(pairs ...string) (missing []string, found []string) {
		p := source.NewProject()
		for i := 0; i < len(pairs); i += 2 {
			p.Add(pairs[i], []byte(pairs[i+1]))
		}
		missing, problems := p.Check(pairs[0])
		for _, x := range problems {
			require.False(t, x.Syntax)
			found = append(found, x.Error())
		}
		return missing, found
	}
	missing, found := check("jig.ts", "import { defineJig } from '@jigging/jig';\nimport type { A } from 'nowhere';\nimport type B from './none.ts';\nexport type { C } from 'other';\nimport { x } from './lib/x.ts';\nexport default defineJig({});", "lib/x.ts", "export const x: number = 1;")
	require.Empty(t, missing)
	require.Empty(t, found)
	missing, _ = check("jig.ts", "import { x } from './lib/x.ts';\nimport './y.ts'")
	require.Equal(t, []string{"lib/x.ts", "y.ts"}, missing)
	for text, want := range map[string]string{
		"import x from 'node:fs'; ":          `jig.ts:1:15: "node:fs" is refused`,
		"import { Unused } from 'left-pad';": `jig.ts:1:24: "left-pad" is refused`,
		"import { type X } from 'left-pad';": `jig.ts:1:24: "left-pad" is refused`,
		"import '@jigging/flow';":            `"@jigging/flow" is refused`,
		"export * from './x.js';":            `"./x.js" is refused`,
		"import './x';":                      `"./x" is refused`,
		"import './x.d.ts';":                 `"./x.d.ts" is refused`,
		"import '../up.ts';":                 `"../up.ts" is refused: it leaves the project`,
		"import './a/../../up.ts';":          `it leaves the project`,
		"import '/abs.ts';":                  `"/abs.ts" is refused`,
		"await import('node:fs');":           `"node:fs" is refused`,
		"const n = './x.ts'; import(n);":     `jig.ts:1:21: an import() whose specifier is computed is refused`,
		"import x = require('./x.ts'); x;":   `a declaration has no require`,
		"const x = require('./x.ts');":       `a declaration has no require`,
	} {
		missing, found := check("jig.ts", text)
		require.Empty(t, missing, text)
		require.Len(t, found, 1, text)
		require.Contains(t, found[0], want)
	}
	_, found = check("jig.ts", "import './a.ts';", "a.ts", "import './b.ts';", "b.ts", "\nimport './a.ts';\nimport './c.ts'", "c.ts", "import './c.ts'")
	require.Equal(t, []string{
		`b.ts:2:8: "./a.ts" is refused: declarations that import one another in a circle cannot be evaluated`,
		`c.ts:1:8: "./c.ts" is refused: declarations that import one another in a circle cannot be evaluated`,
	}, found)
	_, found = check("jig.ts", "import './a.ts'; import './b.ts'", "a.ts", "import './b.ts'", "b.ts", "")
	require.Empty(t, found, "two ways to one file are no circle")
}
