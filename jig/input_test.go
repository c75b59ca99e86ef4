package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: R-039, P-181
func TestAnInputMustFitTheFrameThatCarriesIt(t *testing.T) {
	take := flow(`return { outcome: "done", output: null }`)
	p := reviewed(t, map[string]string{
		"flows/take/FLOW.ts": take, "flows/echo/FLOW.ts": flow(`return { outcome: "done", output: run.input }`),
		"flows/news/FLOW.ts": take, "flows/news/FLOW.contract.json": `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json","channels":{"news":{"direction":"send"}}}`,
	})
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	// n values in arrays of at most 65,536 items.
	wide := func(n int) string {
		var b strings.Builder
		b.WriteString("[")
		for n--; n > 0; {
			items := min(n-1, 65_536)
			b.WriteString("[" + strings.TrimSuffix(strings.Repeat("0,", items), ",") + "]")
			if n -= items + 1; n > 0 {
				b.WriteString(",")
			}
		}
		b.WriteString("]")
		return b.String()
	}
	// Two levels and eleven values are taken by flow/run itself.
	p.jig("run", "flow:flows/echo", "--input", nested(125)).is(0, "output", nested(125))
	p.jig("run", "flow:flows/echo", "--input", nested(126)).is(0, "output", nested(126))
	for _, n := range []int{127, 128, 129} {
		o := p.jig("run", "flow:flows/echo", "--input", nested(n)).is(1, "code", `"JIG_RUN_INPUT_INVALID"`)
		require.Contains(t, o.stderr, "nested too deep")
		require.NotContains(t, o.record(), "runId")
	}
	for n, fits := range map[int]bool{262_132: true, 262_133: true, 262_134: false} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "in.json"), []byte(wide(n)), 0o644))
		if o := p.jig("run", "flow:flows/take", "--input", "@in.json"); fits {
			o.is(0, "output", "null")
		} else {
			require.Contains(t, o.is(1, "code", `"JIG_RUN_INPUT_INVALID"`).stderr, "too many values")
		}
	}
	// So do the channels that are received: a grant is four values.
	for n, fits := range map[int]bool{262_128: true, 262_129: true, 262_130: false} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "in.json"), []byte(wide(n)), 0o644))
		if o := p.jig("run", "flow:flows/news", "--input", "@in.json", "--receive", "news"); fits {
			require.Contains(t, o.stdout, `"status":"succeeded"`, "%s", o)
		} else {
			require.Contains(t, o.stdout, `"code":"JIG_RUN_INPUT_INVALID"`, "%s", o)
		}
	}
	require.Equal(t, 6, strings.Count(p.jig("runs").is(0).stdout, `"id":`), "only what fitted is recorded")
}
