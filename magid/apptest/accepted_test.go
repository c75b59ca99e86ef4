package apptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The original sources of the story, spaced so that their exact bytes can be looked for, and what replaces them.
const (
	firstSkill  = "Speak like the first.\n\tAnd keep to it.\n"
	secondSkill = "Speak like the second.\n"
)

var (
	firstAlpha  = strings.Replace(contractWithin("first_text", 30000), `, "timeout_ms"`, ` ,  "timeout_ms"`, 1)
	firstBeta   = contract("first_line")
	secondAlpha = contractWithin("second_text", 45000)
	secondBeta  = contract("second_line")
)

// story is the verification of the seed: an application whose files and registry change while its turn runs.
type story struct {
	*app
	alpha, beta, tone object // descriptors as they were accepted
	accepted          object // the manifest
	acceptedRaw       string
	turn              string
}

// begin captures two contracts and instructions from files, and starts a turn whose first answer is held.
func begin(t *testing.T, d *daemon, free <-chan struct{}) *story {
	t.Helper()
	d.write("tools/alpha.json", firstAlpha)
	d.write("tools/beta.json", firstBeta)
	d.write("tone.md", firstSkill)
	s := &story{app: d.application()}
	s.attach()
	s.alpha = s.register(fromFile("tool", "alpha", "tools/alpha.json"), "")
	s.beta = s.register(fromFile("tool", "beta", "tools/beta.json"), "")
	s.tone = s.register(fromFile("skill", "tone", "tone.md"), "")
	d.model.will(
		held(free, "", toolCall{"p1", "alpha", `{"first_text":"to alpha"}`}, toolCall{"p2", "beta", `{"first_line":"to beta"}`}),
		text("The first turn is over."),
	)
	reply := parse(t, s.answer(s.post(s.in("turn.start", object{"prompt": "Go.", "application": s.selection()}))))
	require.Nil(t, reply["error"])
	s.turn = reply.object("payload").text("turn_id")
	s.accepted = reply.object("payload").object("application_manifest")
	<-d.model.arrived // the provider has been asked, and is held
	return s
}

// change changes everything that was captured: the files, the registry, the executor's proof.
func (s *story) change() (alpha, beta, tone object) {
	s.t.Helper()
	d := s.d
	d.write("tools/alpha.json", secondAlpha)
	d.write("tone.md", secondSkill)
	require.NoError(s.t, os.Remove(filepath.Join(d.workspace, "tools", "beta.json")))
	d.write("tools/other.json", secondBeta)

	gone := s.ok(s.in("session.resources.unregister", object{"resource_id": s.alpha["resource_id"], "expected_revision": s.alpha["revision_id"]}))
	require.Equal(s.t, s.alpha["resource_id"], gone["resource_id"])
	require.Equal(s.t, s.alpha["revision_id"], gone["removed_revision"])
	alpha = s.register(fromFile("tool", "alpha", "tools/alpha.json"), "")
	require.NotEqual(s.t, s.alpha["resource_id"], alpha["resource_id"], "what is made again is another resource")
	beta = s.register(fromFile("tool", "beta", "tools/other.json"), s.beta.text("revision_id"))
	require.Equal(s.t, s.beta["resource_id"], beta["resource_id"], "what is replaced is the same resource")
	require.NotEqual(s.t, s.beta["revision_id"], beta["revision_id"])
	tone = s.register(fromFile("skill", "tone", "tone.md"), s.tone.text("revision_id"))
	return alpha, beta, tone
}

// rule, W-255, W-242, A-013, A-014, A-018
func TestAcceptedResourcesOutliveTheirFilesAndTheirRegistry(t *testing.T) {
	t.Parallel()
	d := start(t)
	free := make(chan struct{})
	s := begin(t, d, free)
	alpha, beta, tone := s.change()
	held := s.ok(request{method: "daemon.status"}).object("retained")
	require.EqualValues(t, 2, held.number("snapshots"), "the accepted one and the registry's")
	close(free)

	// Both callbacks come under what was accepted, and nothing else answers them.
	first, second := s.call(), s.call()
	if first["name"] == "beta" {
		first, second = second, first
	}
	for _, c := range []struct {
		call, original, replacement object
		arguments                   object
		timeout                     int64
	}{
		{first, s.alpha, alpha, object{"first_text": "to alpha"}, 30000},
		{second, s.beta, beta, object{"first_line": "to beta"}, 120000},
	} {
		require.Equal(t, tuple(c.original), tuple(c.call))
		require.Equal(t, c.arguments, object(c.call.object("arguments")))
		require.Equal(t, c.timeout, c.call.number("timeout_ms"))
		require.Equal(t, s.executor, c.call["executor_id"])
		for name := range tuple(c.original) {
			wrong := c.call.with(object{name: c.replacement[name]})
			if name == "resource_id" && c.replacement[name] == c.original[name] {
				wrong[name] = s.tone[name]
			}
			code, _ := s.refused(s.result(wrong, said("wrong")))
			require.Equal(t, "invalid_payload", code, name)
		}
		code, _ := s.refused(s.result(c.call.with(tuple(c.replacement)), said("wrong")))
		require.Equal(t, "invalid_payload", code)
	}
	code, _ := s.refused(s.result(first.with(tuple(second)), said("wrong")))
	require.Equal(t, "invalid_payload", code, "the other call's tuple")
	for _, call := range s.evidence(s.turn).list("calls") {
		require.Equal(t, "pending", call["status"], "a refused result settles nothing")
	}
	s.report(second, said("beta did it"))
	s.report(first, said("alpha did it"))
	terminal := s.terminal()
	require.Equal(t, "completed", terminal["status"])
	require.Equal(t, "The first turn is over.", terminal["text"])

	// The provider's continuation has the original instructions and definitions, and the results in the model's order.
	asked := d.model.asked()
	require.Len(t, asked, 2)
	for _, request := range asked {
		require.True(t, strings.HasSuffix(messages(request, "system")[0], "\n\n"+firstSkill), "the instructions follow the system prompt")
		tools := offered(request)
		require.Len(t, tools, 2)
		require.Equal(t, "The alpha.", tools["alpha"]["description"])
		require.Contains(t, encode(tools["alpha"]["parameters"]), "first_text")
		require.Contains(t, encode(tools["beta"]["parameters"]), "first_line")
	}
	require.Equal(t, []string{`{"said":"alpha did it"}`, `{"said":"beta did it"}`}, messages(asked[1], "tool"))
	for n := range asked {
		for _, hidden := range []string{"registered_by", "grant_generation", s.executor, s.session, s.alpha.text("revision_id"), s.alpha.text("revision_sha256")} {
			require.NotContains(t, d.model.body(n), hidden, "the model sees instructions, schemas, arguments and results")
		}
	}

	// Every place that shows the manifest shows the one that was accepted.
	evidence := s.evidence(s.turn)
	require.Equal(t, s.accepted, object(evidence.object("application_manifest")))
	require.Equal(t, s.accepted, object(terminal.object("application_manifest")))
	require.Equal(t, s.accepted, object(s.claim().object("terminal").object("application_manifest")))
	require.Equal(t, s.accepted, object(ofType(d.journal(s.session), "user")[0].object("application_manifest")))
	lookup := s.ok(s.in("operation.lookup", object{"operation_id": s.accepted.object("accepted_controller")["operation_id"]}))
	require.Equal(t, s.accepted, object(lookup.object("result").object("application_manifest")))
	for i, original := range []object{s.alpha, s.beta} {
		require.Equal(t, tuple(original), tuple(evidence.list("calls")[i]))
		require.Equal(t, "reported", evidence.list("calls")[i]["external_effects"])
	}
	held = s.ok(request{method: "daemon.status"}).object("retained")
	require.EqualValues(t, 1, held.number("snapshots"), "the accepted one went with its worker")

	// Later turns see the replacements, and no longer take the originals.
	stale := s.selection().with(object{"tool_authorizations": []object{tuple(alpha), tuple(s.beta)}})
	code, _ = s.refused(s.in("turn.start", object{"prompt": "Again.", "application": stale}))
	require.Equal(t, "conflict", code)
	d.model.will(calls(toolCall{"p3", "alpha", `{"second_text":"x"}`}), text("The second turn is over."))
	s.start("Again.")
	later := s.call()
	require.Equal(t, tuple(alpha), tuple(later))
	require.EqualValues(t, 45000, later.number("timeout_ms"))
	s.report(later, said("done"))
	require.Equal(t, "completed", s.terminal()["status"])
	last := d.model.asked()[3]
	require.True(t, strings.HasSuffix(messages(last, "system")[0], "\n\n"+secondSkill))
	require.Contains(t, encode(offered(last)["beta"]["parameters"]), "second_line")
	require.NotContains(t, d.model.body(3), "registered_by")

	// Each turn's contracts are in the journal, before the calls that need them.
	contracts := ofType(d.journal(s.session), "tool_contract")
	require.Len(t, contracts, 3)
	require.Equal(t, tuple(s.alpha), tuple(contracts[0]))
	require.Equal(t, tuple(alpha), tuple(contracts[2]))
	require.NotEqual(t, tone["revision_id"], s.tone["revision_id"])
}

// rule, M-078, M-077, M-079
func TestDescriptorsAndManifestsSayWhatWasCapturedAndByWhomAndNoMore(t *testing.T) {
	t.Parallel()
	d := start(t)
	free := make(chan struct{})
	s := begin(t, d, free)
	for _, c := range []struct {
		entry               object
		kind, name, content string
	}{
		{s.alpha, "tool", "alpha", firstAlpha}, {s.beta, "tool", "beta", firstBeta}, {s.tone, "skill", "tone", firstSkill},
	} {
		require.Equal(t, c.kind, c.entry["kind"])
		require.Equal(t, c.name, c.entry["name"])
		require.Equal(t, "The "+c.name+".", c.entry["description"])
		require.Equal(t, sum(c.content), c.entry["content_sha256"])
		require.Equal(t, revisionSum(c.kind, c.name, "The "+c.name+".", c.content), c.entry["revision_sha256"])
		require.EqualValues(t, len(c.content), c.entry.number("captured_bytes"))
		by := c.entry.object("registered_by")
		require.Len(t, by, 4)
		require.EqualValues(t, s.grant, by.number("grant_generation"))
		require.Equal(t, "completed", s.ok(s.in("operation.lookup", object{"operation_id": by["operation_id"]}))["state"])
	}
	// A description changes the revision's hash, not the content's; the resource stays.
	renamed := fromFile("skill", "tone", "tone.md").with(object{"description": "Another."})
	entry := s.register(renamed, s.tone.text("revision_id"))
	require.Equal(t, s.tone["resource_id"], entry["resource_id"])
	require.Equal(t, s.tone["content_sha256"], entry["content_sha256"])
	require.Equal(t, revisionSum("skill", "tone", "Another.", firstSkill), entry["revision_sha256"])

	// Members stand in the order of the specification.
	raw := s.answer(s.post(s.in("session.resources.list", nil)))
	require.Equal(t, []string{
		"resource_id", "revision_id", "kind", "name", "description", "content_sha256", "revision_sha256", "captured_bytes", "registered_by",
	}, names(t, at(t, raw, "payload", "entries", 0)))
	evidence := s.answer(s.post(s.in("turn.application_evidence", object{"turn_id": s.turn})))
	manifest := at(t, evidence, "payload", "application_manifest")
	require.Equal(t, []string{"profile", "registry_revision", "resources", "tools", "accepted_controller", "accepted_executor"}, names(t, manifest))
	require.Equal(t, []string{"resource_id", "revision_id", "revision_sha256", "name", "timeout_ms"}, names(t, at(t, manifest, "tools", 0)))
	var kinds strings.Builder
	for _, r := range s.accepted.list("resources") {
		kinds.WriteString(r.text("kind") + " " + r.text("name") + ",")
	}
	require.Equal(t, "skill tone,tool alpha,tool beta,", kinds.String())
	controller := s.accepted.object("accepted_controller")
	require.EqualValues(t, s.grant, controller.number("grant_generation"))
	require.Equal(t, "accepted", s.ok(s.in("operation.lookup", object{"operation_id": controller["operation_id"]}))["state"])
	require.Equal(t, s.executor, s.accepted.object("accepted_executor")["executor_id"])
	require.EqualValues(t, 1, s.accepted.object("accepted_executor").number("executor_generation"))
	close(free)
	s.report(s.call(), said("a"))
	s.report(s.call(), said("b"))
	s.terminal()

	// No record of the wire has a source path, a body, a proof or a token but where it is due.
	for _, line := range s.records() {
		for _, hidden := range []string{"tools/alpha.json", "tools/beta.json", "tone.md", "Speak like the first", "first_line"} {
			if strings.Contains(line, "turn.application_tool_call") && hidden == "first_line" {
				continue // the argument's name, in the call itself
			}
			require.NotContains(t, line, hidden)
		}
	}
	require.Equal(t, 1, containing(s.records(), s.secret), "in the answer that discloses it, and nowhere else")
	require.Equal(t, 1, containing(s.records(), s.token))
	// Nothing on the disk has what was captured as it was captured.
	for path, content := range files(t, d.state) {
		for _, hidden := range []string{firstAlpha, firstBeta, strings.TrimSpace(firstSkill), "Speak like", "tools/alpha.json", "tone.md", s.secret, s.token} {
			require.NotContains(t, content, hidden, path)
		}
	}
	require.NotContains(t, d.log.String(), "Speak like")
	require.NotContains(t, d.log.String(), "tools/alpha.json")
}

func containing(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// files reads everything below a folder.
func files(t testing.TB, root string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	require.NoError(t, filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		out[path] = string(content)
		return err
	}))
	require.NotEmpty(t, out, fmt.Sprint(root))
	return out
}

// rule, W-155
func TestRegistryAndControlMayPassToAnotherAndTheCallStaysWithItsExecutor(t *testing.T) {
	t.Parallel()
	d := start(t)
	free := make(chan struct{})
	s := begin(t, d, free)
	other := &app{conn: d.selected(), d: d, session: s.session}
	other.claim()
	other.attach()
	other.register(fromFile("tool", "alpha", "tools/alpha.json"), s.alpha.text("revision_id"))
	// Whoever has the executor alone can neither read nor change a registry, nor read evidence.
	for _, q := range []request{
		s.in("session.resources.list", nil),
		s.in("session.resources.register", object{"expected_revision": nil, "resource": inline("skill", "more", "x")}),
		s.in("session.resources.clear", object{"expected_registry_revision": other.list()["registry_revision"]}),
		s.in("turn.application_evidence", object{"turn_id": s.turn}),
	} {
		code, _ := s.refused(q)
		require.Equal(t, "stale_connection", code, q.method)
		q.token = ""
		code, _ = s.refused(q)
		require.Equal(t, "control_required", code, q.method)
	}
	close(free)
	calls := []object{s.call(), s.call()}
	for _, call := range calls {
		require.Equal(t, s.executor, call["executor_id"])
		wrong := call.with(object{"executor_id": other.executor})
		code, _ := other.refused(other.result(wrong, said("not mine")))
		require.Equal(t, "stale_connection", code)
	}
	// The proof is rotated and the executor resumed elsewhere: what was accepted does not change.
	candidate := s.ok(request{method: "executor.rotate", payload: object{"executor_id": s.executor, "executor_generation": s.generation}})
	s.secret = candidate.text("resume_secret")
	third := d.selected()
	require.Len(t, s.resume(third).list("pending_calls"), 2)
	require.EqualValues(t, 2, s.generation)
	for _, call := range calls {
		third.ok(s.result(call, said("mine")))
	}
	require.Equal(t, "completed", other.terminal()["status"])
	evidence := other.evidence(s.turn)
	require.Equal(t, s.accepted, object(evidence.object("application_manifest")))
	for _, call := range evidence.list("calls") {
		require.EqualValues(t, 1, call.number("executor_generation"), "as accepted")
	}
	require.Zero(t, other.came("turn.application_tool_call"))

	// An ordinary connection that takes the session over sees no manifest.
	plain := &app{conn: d.ordinary(), d: d, session: s.session}
	require.NotContains(t, plain.claim().object("terminal"), "application_manifest")
}
