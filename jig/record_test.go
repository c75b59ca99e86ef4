package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// schemaFor is the published schema of what a command prints.
func schemaFor(args []string) string {
	words := []string{}
	receive := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			receive = receive || strings.HasPrefix(a, "--receive")
			continue
		}
		words = append(words, a)
	}
	switch {
	case len(words) == 0:
		return "refusal"
	case words[0] == "run" && receive:
		return "item"
	case (words[0] == "runs" || words[0] == "sessions") && len(words) > 1:
		return words[0] + "-" + words[1]
	case words[0] == "schema", words[0] == "help", words[0] == "completion", strings.HasPrefix(words[0], "__"):
		return ""
	}
	return words[0]
}

var (
	schemaLock sync.Mutex
	schemas    = map[string]*schema0.Schema{} // guarded by schemaLock
)

func schema(t testing.TB, name string) *schema0.Schema {
	t.Helper()
	schemaLock.Lock()
	defer schemaLock.Unlock()
	if s := schemas[name]; s != nil {
		return s
	}
	out, err := exec.Command(jig, "schema", name).Output()
	require.NoError(t, err, name)
	var members map[string]jsontext.Value
	require.NoError(t, json0.Decode(out, &members))
	require.Equal(t, `"https://json-schema.org/draft/2020-12/schema"`, string(members["$schema"]))
	delete(members, "$schema") // Schema/0 is a subset that an embedded schema does not name
	raw, err := json0.Marshal(members)
	require.NoError(t, err)
	s, err := schema0.Embedded(raw)
	require.NoError(t, err, name)
	schemas[name] = s
	return s
}

// validate holds what a command printed to its published schema. Every command
// that a test runs comes by here.
func validate(t testing.TB, args []string, stdout string) {
	t.Helper()
	name := schemaFor(args)
	if name == "" || len(stdout) > 1<<20 {
		return
	}
	for line := range strings.Lines(stdout) {
		use := name
		if name == "run" || name == "item" || name == "review" {
			use = name
		} else if strings.Contains(line, `"code":"JIG_USAGE"`) && strings.Contains(line, `"status":"failed"`) {
			use = "refusal"
		}
		require.NoError(t, schema(t, use).Validate([]byte(strings.TrimSuffix(line, "\n"))), "%v prints %s", args, line)
	}
}

// rule: J-043, J-039, J-040, J-041, J-027
func TestEveryRecordHasAPublishedSchema(t *testing.T) {
	p := reviewed(t, kinds)
	id := strings.Trim(string(p.jig("run", "flow:flows/hello").record()["runId"]), `"`)
	for _, args := range [][]string{
		{"review"}, {"review", "--plan"}, {"status"}, {"runs"}, {"runs", "show", id}, {"doctor"}, {"version"}, {"inspect", "pi"}, {"sessions"}, {"init", "new"},
		{"runs", "prune"}, {"run"}, {"nothing"}, {},
	} {
		o := p.jig(args...)
		require.NotEmpty(t, o.record(), args)
	}
	o := p.jig("run", "flow:flows/hello")
	runs := string(p.jig("runs").is(0).record()["runs"])
	require.Regexp(t, `"started":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`, runs)
	require.Regexp(t, `"elapsedMs":\d+`, runs)
	require.Equal(t, 0, o.exit)
	for _, bad := range []string{`{"status":"succeeded"}`, `{"status":"succeeded","diagnostics":[],"more":1}`, `{"status":"won","diagnostics":[]}`, `{"status":"failed","diagnostics":[{"code":"X"}]}`} {
		require.Error(t, schema(t, "run").Validate([]byte(bad)), "the schema would take anything")
	}
}
