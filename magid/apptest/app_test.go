package apptest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// app is an application: a connection that controls a session, and maybe an executor on it.
type app struct {
	*conn
	d          *daemon
	session    string
	token      string
	grant      int64
	executor   string
	generation int64
	secret     string
}

// application connects, makes a session and claims it.
func (d *daemon) application() *app {
	d.t.Helper()
	a := &app{conn: d.selected(), d: d}
	a.session = a.ok(request{method: "session.create", payload: object{"workspace": d.workspace}}).text("session_id")
	a.claim()
	return a
}

func (a *app) claim() object {
	a.t.Helper()
	reply := a.ok(request{method: "session.claim", session: a.session, payload: object{"takeover": true}})
	a.token, a.grant = reply.text("control_token"), reply.number("grant_generation")
	return reply.object("snapshot")
}

// in is a request of the session under its control.
func (a *app) in(method string, payload any) request {
	return request{method: method, session: a.session, token: a.token, payload: payload}
}

// attach creates and confirms an executor.
func (a *app) attach() {
	a.t.Helper()
	made := a.ok(request{method: "executor.create"})
	a.executor, a.generation, a.secret = made.text("executor_id"), made.number("executor_generation"), made.text("resume_secret")
	a.ok(request{method: "executor.confirm", payload: object{"executor_id": a.executor, "resume_secret": a.secret}})
}

// resumed is the application's executor on another connection.
func (a *app) resume(c *conn) object {
	a.t.Helper()
	reply := c.ok(request{method: "executor.resume", payload: object{"executor_id": a.executor, "resume_secret": a.secret}})
	a.generation = reply.number("executor_generation")
	return reply
}

// again is the application on a new connection, with the session taken over and the executor resumed.
func (a *app) again() (*app, object) {
	a.t.Helper()
	b := *a
	b.conn = a.d.selected()
	b.claim()
	return &b, b.resume(b.conn)
}

func fromFile(kind, name, path string) object {
	return object{"kind": kind, "name": name, "description": "The " + name + ".", "source": object{"kind": "workspace_file", "path": path}}
}

func inline(kind, name, content string) object {
	return object{"kind": kind, "name": name, "description": "The " + name + ".", "source": object{"kind": "inline", "content": content}}
}

// register registers a resource and gives its descriptor; expected is "" to create one.
func (a *app) register(resource object, expected string) object {
	a.t.Helper()
	return a.ok(a.in("session.resources.register", object{"expected_revision": null(expected), "resource": resource})).object("entry")
}

func (a *app) list() object {
	a.t.Helper()
	return a.ok(a.in("session.resources.list", nil))
}

// tuple is what names one accepted revision.
func tuple(o object) object { return o.members("resource_id", "revision_id", "revision_sha256") }

// selection selects everything that is registered.
func (a *app) selection() object {
	a.t.Helper()
	listed := a.list()
	authorizations := []object{}
	for _, e := range listed.list("entries") {
		if e["kind"] == "tool" {
			authorizations = append(authorizations, tuple(e))
		}
	}
	out := object{
		"expected_registry_revision": listed["registry_revision"], "executor_id": nil, "executor_generation": nil,
		"tool_authorizations": authorizations,
	}
	if len(authorizations) > 0 {
		out["executor_id"], out["executor_generation"] = a.executor, a.generation
	}
	return out
}

// start starts a turn with everything that is registered, and gives the reply.
func (a *app) start(prompt string) object {
	a.t.Helper()
	return a.ok(a.in("turn.start", object{"prompt": prompt, "application": a.selection()}))
}

// call waits for the next call event of an executor's connection and gives its payload.
func (c *conn) call() object {
	c.t.Helper()
	return c.event("turn.application_tool_call").object("payload")
}

func (a *app) evidence(turn string) object {
	a.t.Helper()
	return a.ok(a.in("turn.application_evidence", object{"turn_id": turn}))
}

// said is a successful outcome of the tools of these tests.
func said(text string) object { return object{"status": "success", "value": object{"said": text}} }

// result is the submission of an outcome for a call, at a generation.
func (a *app) result(call object, outcome object) request {
	payload := call.members("turn_id", "call_id", "executor_id", "resource_id", "revision_id", "revision_sha256")
	payload["executor_generation"], payload["outcome"] = a.generation, outcome
	return request{method: "turn.application_tool_result", session: a.session, payload: payload}
}

// report submits an outcome and expects that it is taken.
func (a *app) report(call object, outcome object) {
	a.t.Helper()
	reply := a.ok(a.result(call, outcome))
	require.Equal(a.t, object{"call_id": call["call_id"], "status": "accepted"}, reply)
}

// terminal waits for the end of a turn.
func (a *app) terminal() object {
	a.t.Helper()
	return a.event("turn.terminal").object("payload")
}

// contract is the source of a tool: some text in, {"said":text} out.
func contract(argument string) string {
	return fmt.Sprintf(`{"input_schema":{"type":"object","additionalProperties":false,"properties":{%q:{"type":"string","maxLength":4096}},"required":[%q]},`+
		` "output_schema":{"type":"object","additionalProperties":false,"properties":{"said":{"type":"string","maxLength":4096}},"required":["said"]}}`,
		argument, argument)
}

// contractWithin is a contract with a timeout.
func contractWithin(argument string, milliseconds int) string {
	return strings.TrimSuffix(contract(argument), "}") + fmt.Sprintf(`, "timeout_ms":%d}`, milliseconds)
}

func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

// revisionSum is the hash of a revision, as the profile defines it.
func revisionSum(kind, name, description, content string) string {
	h := sha256.New()
	h.Write([]byte("magi-application-resource-v1"))
	for _, part := range []string{kind, name, description, content} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}
