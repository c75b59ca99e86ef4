package apptest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// canary is a text that is secret or private, and where alone it may be seen.
type canary struct {
	name, text string
	wire       []string // kinds of records of the wire; "*" is any
	journal    []string // members of journal records
	model      bool     // in requests to the provider
}

// kindOf names a record of the wire: the method that it answers, or the event.
func (c *conn) kindOf(record object) string {
	if record["kind"] == "event" {
		return record.text("event")
	}
	return c.methods[record.text("request_id")]
}

// paths gives the members of an object in which a text is, as type.member.member.
func paths(prefix string, v any, text string) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if strings.Contains(name, text) {
				out = append(out, prefix)
			}
			out = append(out, paths(prefix+"."+name, member, text)...)
		}
	case []any:
		for _, element := range v {
			out = append(out, paths(prefix, element, text)...)
		}
	case string:
		if strings.Contains(v, text) {
			out = append(out, prefix)
		}
	}
	return out
}

// complaint: 50 vllm-project/semantic-router#2132 - keys and proofs were shown by logs, status and dumps
// rule, W-110, W-207, W-223, W-273, M-088
func TestComplaint50SemanticRouter2132NothingPrivateIsSeenWhereItIsNotMeantToBe(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	key := filepath.Join(d.dir, "key-file")
	require.NoError(t, os.WriteFile(key, []byte("sk-canary-key-0123456789\n"), 0o600))
	d.env = append(d.env, "MAGI_API_KEY_FILE="+key)
	require.NoError(t, os.MkdirAll(filepath.Join(d.dir, "canary-outside"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(d.dir, "canary-outside"), filepath.Join(d.workspace, "link")))
	d.serve()
	a := d.application()
	a.attach()
	first := a.secret

	const tool = "notes/canary-source-path.json"
	d.write(tool, strings.Replace(contract("canary_argument_name"), ` "output_schema"`, "   \"output_schema\"", 1))
	d.write("notes/skill.md", "canary-instructions: be brief.")
	entry := a.register(fromFile("tool", "alpha", tool).with(object{"description": "canary-description"}), "")
	a.register(fromFile("skill", "tone", "notes/skill.md"), "")
	a.refuses("invalid_payload", a.registering(fromFile("skill", "other", "link/canary-refused-path.md")), "a link")
	a.refuses("invalid_payload", a.registering(inline("tool", "other", `{"canary-refused-body":1}`)), "a contract that is none")
	a.refuses("invalid_payload", a.registering(inline("skill", "other", "canary-refused-body\x00")), "a NUL")

	d.model.will(
		calls(
			toolCall{"p1", "alpha", `{"canary_argument_name":"canary-argument"}`},
			toolCall{"p2", "alpha", `{"canary_argument_name":"canary-argument"}`},
			toolCall{"p3", "alpha", `{"canary-invalid-argument":1}`},
		),
		text("canary-answer"),
		refuses(401, "no such key: sk-canary-key-0123456789"),
	)
	turn := a.start("canary-prompt").text("turn_id")
	one, two := a.call(), a.call()
	for _, wrong := range []object{
		{"status": "success", "value": object{"canary-refused-result": 1}},
		{"status": "error", "code": "canary-refused-result", "message": "x"},
		{"status": "error", "code": "execution_failed", "message": strings.Repeat("canary-refused-result", 30)},
	} {
		code, message := a.refused(a.result(one, wrong))
		require.Equal(t, "invalid_payload", code)
		require.NotContains(t, message, "canary")
	}
	rotated := a.ok(request{method: "executor.rotate", payload: object{"executor_id": a.executor, "executor_generation": 1}}).text("resume_secret")
	b, resumed := a.again()
	require.Len(t, resumed.list("pending_calls"), 2)
	b.report(one, said("canary-result"))
	b.report(two, object{"status": "error", "code": "execution_failed", "message": "canary-failure"})
	require.Equal(t, "completed", b.terminal()["status"])
	token := b.token
	evidence := b.evidence(turn)
	require.Len(t, evidence.list("calls"), 2)
	for _, c := range []*conn{b.conn, d.ordinary()} {
		c.ok(request{method: "daemon.status"})
		c.ok(request{method: "session.list"})
	}
	// Every operation there was, looked up.
	for _, operation := range operationsOf(a.conn, b.conn) {
		b.ask(b.in("operation.lookup", object{"operation_id": operation}))
		b.ask(request{method: "operation.lookup", payload: object{"operation_id": operation}})
	}
	b.ok(b.in("session.snapshot", nil))
	b.ok(b.in("session.history", nil))
	b.start("canary-prompt")
	failed := b.terminal()
	require.Equal(t, "provider_error", failed.object("error")["code"])
	require.Contains(t, failed.object("error").text("message"), "[redacted]")

	canaries := []canary{
		{"the provider's key", "sk-canary-key-0123456789", nil, nil, false},
		{"the first proof", first, []string{"executor.create"}, nil, false},
		{"the second proof", rotated, []string{"executor.rotate"}, nil, false},
		{"a token", a.token, []string{"session.claim"}, nil, false},
		{"another", token, []string{"session.claim"}, nil, false},
		{"a source path", "canary-source-path", nil, nil, false},
		{"a refused path", "canary-refused-path", nil, nil, false},
		{"a path outside the workspace", "canary-outside", nil, nil, false},
		{"the key's file", "key-file", nil, nil, false},
		{"instructions", "canary-instructions", nil, nil, true},
		{"refused bodies", "canary-refused-body", nil, nil, false},
		{"refused results", "canary-refused-result", nil, nil, false},
		{
			"a schema", "canary_argument_name", []string{"turn.application_tool_call", "session.history"},
			[]string{"tool_contract.input_schema", "tool_contract.input_schema.required", "tool_contract.input_schema.properties", "tool_call.arguments"}, true,
		},
		{"arguments", "canary-argument", []string{"turn.application_tool_call", "session.history"}, []string{"tool_call.arguments.canary_argument_name"}, true},
		{
			"invalid arguments", "canary-invalid-argument", []string{"session.history"},
			[]string{"tool_call.arguments_text", "tool_result.message"}, true, // the model is told what it wrote
		},
		{"a result", "canary-result", []string{"session.history"}, []string{"tool_result.value.said"}, true},
		{"a reported failure", "canary-failure", []string{"session.history"}, []string{"tool_result.message"}, true},
		{"a prompt", "canary-prompt", []string{"session.history"}, []string{"user.prompt"}, true},
		{
			"a description", "canary-description",
			[]string{"session.resources.register", "session.resources.list", "operation.lookup", "turn.start", "turn.application_evidence", "session.snapshot", "session.claim", "session.history", "turn.terminal"},
			[]string{"tool_contract.description", "user.application_manifest.resources.description"}, true,
		},
		{"the answer", "canary-answer", []string{"*"}, []string{"assistant.text", "terminal.text"}, true},
	}
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(d.cmd.Process.Pid) + "/environ")
	require.NoError(t, err)
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(d.cmd.Process.Pid) + "/cmdline")
	require.NoError(t, err)
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(d.cmd.Process.Pid) + "/limits")
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`Max core file size +0 +0 `), string(limits), "no core, whatever kills it")
	// What a crash would print: every goroutine's stack.
	d.dumped = true
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGQUIT))
	<-d.done
	require.Contains(t, d.log.String(), "goroutine ")
	require.NoError(t, err)
	for _, where := range []string{"/", d.dir, d.workspace, d.state} {
		cores, err := filepath.Glob(filepath.Join(where, "core*"))
		require.NoError(t, err)
		require.Empty(t, cores)
	}
	seen := make(map[string]int)
	for _, c := range canaries {
		for _, on := range []*conn{a.conn, b.conn} {
			for _, line := range on.records() {
				kind := on.kindOf(parse(t, line))
				if strings.Contains(line, c.text) {
					require.True(t, contains(c.wire, kind) || contains(c.wire, "*"), "%s in %s: %s", c.name, kind, line)
					seen[c.name]++
				}
			}
		}
		require.NotContains(t, d.log.String(), c.text, "%s in the log", c.name)
		require.NotContains(t, string(arguments), c.text, c.name)
		if c.name != "the key's file" { // that is named there, and not a secret
			require.NotContains(t, string(environment), c.text, "%s in the environment", c.name)
		}
		records := d.journal(a.session)
		for _, record := range records {
			for _, path := range paths(record.text("type"), map[string]any(record), c.text) {
				require.True(t, contains(c.journal, path), "%s in %s", c.name, path)
				seen[c.name]++
			}
		}
		for path, content := range files(t, d.state) {
			if !strings.HasSuffix(path, "journal.jsonl") {
				require.NotContains(t, content, c.text, "%s in %s", c.name, path)
			}
		}
		for n := range d.model.asked() {
			if strings.Contains(d.model.body(n), c.text) {
				require.True(t, c.model, "%s in a request to the model", c.name)
				seen[c.name]++
			}
		}
		if len(c.wire)+len(c.journal) > 0 || c.model {
			require.NotZero(t, seen[c.name], "%s was seen where it may be, so the search works", c.name)
		}
	}
	require.NotEmpty(t, entry)
	require.Equal(t, 1, containing(a.records(), first), "shown once")
	require.Equal(t, 1, containing(a.records(), rotated), "shown once")
}

func contains(all []string, one string) bool {
	return slices.Contains(all, one)
}

var operationMember = regexp.MustCompile(`"operation_id":"([0-9a-f-]{36})"`)

// operationsOf gives every operation that any record named.
func operationsOf(conns ...*conn) (out []string) {
	known := make(map[string]bool)
	for _, c := range conns {
		for _, line := range c.records() {
			for _, m := range operationMember.FindAllStringSubmatch(line, -1) {
				if !known[m[1]] {
					known[m[1]] = true
					out = append(out, m[1])
				}
			}
		}
	}
	if len(out) == 0 {
		panic(fmt.Sprint("no operations"))
	}
	return out
}
