package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

var compilable = files("FLOW.ts", "import './a.ts'; import 'c'; const x: number = 1;\nexport {};", "a.ts", "export const a: string = import.meta.url;",
	"node_modules/c/index.js", "exports.one = 1; exports.two = require('./j.json');", "node_modules/c/j.json", "{}")

func TestACompiledPackageIsReadAsItWasWritten(t *testing.T) {
	p := source.NewPackage(compilable, "/package")
	c, found := p.Compile()
	require.Empty(t, found)
	again, found := source.NewPackage(compilable, "/package").Compile()
	require.Empty(t, found)
	require.Equal(t, c.Bytes(), again.Bytes(), "the same package gives the same bytes")

	read, err := source.ReadCompiled(c.Bytes())
	require.NoError(t, err)
	require.Equal(t, c.Bytes(), read.Bytes())
	used := source.NewPackage(files(), "/package") // nothing of it is read
	used.Use(read)
	problems, judged := used.Check("FLOW.ts")
	require.Empty(t, problems)
	require.Len(t, judged, 4)
	for _, file := range judged {
		want, no := p.Load(file, file == "FLOW.ts")
		require.Nil(t, no)
		got, no := used.Load(file, file == "FLOW.ts")
		require.Nil(t, no)
		require.Equal(t, want.Text, got.Text)
		require.Equal(t, want.CommonJS, got.CommonJS)
		require.Equal(t, want.CommonJS, used.IsCommonJS(file))
		require.ElementsMatch(t, want.Names, got.Names)
		line, column, ok := want.Map.Original(1, 1)
		gotLine, gotColumn, gotOK := got.Map.Original(1, 1)
		require.Equal(t, []any{line, column, ok}, []any{gotLine, gotColumn, gotOK})
	}
}

func TestWhatDoesNotCompile(t *testing.T) {
	for _, p := range [][]string{{"README.md", ""}, {"FLOW.ts", "import 'node:net';"}, {"FLOW.ts", "let let = 1;"}, {"FLOW.ts", "import './j.json';", "j.json", "{"}} {
		c, found := source.NewPackage(files(p...), "/package").Compile()
		require.Nil(t, c)
		require.NotEmpty(t, found, p)
	}
}

func FuzzReadCompiled(f *testing.F) {
	c, found := source.NewPackage(compilable, "/package").Compile()
	require.Empty(f, found)
	whole := c.Bytes()
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(whole[:len(whole):len(whole)], 0))
	f.Add([]byte("jig-compiled/1\n"))
	f.Add([]byte("jig-compiled/1\n\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("jig-compiled/1\n\xff\xff\xff\xff\xff\xff\xff\xff\x7fx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := source.ReadCompiled(b)
		if err != nil {
			require.Nil(t, c)
			return
		}
		again, err := source.ReadCompiled(c.Bytes())
		require.NoError(t, err)
		require.Equal(t, c.Bytes(), again.Bytes())
	})
}
