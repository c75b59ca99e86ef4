package coordinator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// contract is the source of the tests' tools: text in, text out.
const contract = `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string","maxLength":4096}},` +
	`"required":["text"]},"output_schema":{"type":"object","additionalProperties":false,"properties":{"said":{"type":"string","maxLength":4096}},` +
	`"required":["said"]}%s}`

// contractWith is that source with a timeout.
func contractWith(timeoutMS int) string {
	return fmt.Sprintf(contract, fmt.Sprintf(`,"timeout_ms":%d`, timeoutMS))
}

// app is an application: a controller with an executor and resources.
type app struct {
	*held
	executor   wirev2.ID
	generation int64
	secret     wirev2.Secret
}

// application connects an application with a session, a confirmed executor and
// tools of these names.
func (r *rig) application(tools ...string) *app {
	r.t.Helper()
	a := &app{held: r.open(true)}
	a.executor, a.generation, a.secret = a.attach()
	for _, name := range tools {
		a.register(name, wirev2.KindTool, fmt.Sprintf(contract, ""), nil)
	}
	return a
}

// attach creates and confirms an executor.
func (p *peer) attach() (wirev2.ID, int64, wirev2.Secret) {
	p.r.t.Helper()
	var made wirev2.ExecutorCreateReply
	p.ok(request{method: wirev2.MethodExecutorCreate}, &made)
	var confirmed wirev2.ExecutorConfirmReply
	p.ok(request{method: wirev2.MethodExecutorConfirm, payload: wirev2.ExecutorConfirmRequest{
		ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret,
	}}, &confirmed)
	require.Equal(p.r.t, wirev2.ExecutorConfirmReply{ExecutorID: made.ExecutorID, ExecutorGeneration: 1}, confirmed)
	return made.ExecutorID, 1, made.ResumeSecret
}

func inline(name string, kind wirev2.ResourceKind, content string) wirev2.Resource {
	return wirev2.Resource{Kind: kind, Name: name, Description: "for tests", Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &content}}
}

// register registers a resource inline and gives its descriptor.
func (h *held) register(name string, kind wirev2.ResourceKind, content string, expected *wirev2.ID) wirev2.Descriptor {
	h.r.t.Helper()
	var reply wirev2.SessionResourcesRegisterReply
	h.ok(h.with(wirev2.MethodSessionResourcesRegister, wirev2.SessionResourcesRegisterRequest{
		ExpectedRevision: expected, Resource: inline(name, kind, content),
	}), &reply)
	return reply.Entry
}

func (h *held) resources() wirev2.SessionResourcesListReply {
	h.r.t.Helper()
	var reply wirev2.SessionResourcesListReply
	h.ok(h.with(wirev2.MethodSessionResourcesList, nil), &reply)
	return reply
}

// selection is what turn.start needs to select everything there is.
func (a *app) selection() *wirev2.Application {
	a.r.t.Helper()
	listed := a.resources()
	out := &wirev2.Application{ExpectedRegistryRevision: listed.RegistryRevision, ToolAuthorizations: []wirev2.Authorization{}}
	for _, d := range listed.Entries {
		if d.Kind == wirev2.KindTool {
			out.ToolAuthorizations = append(out.ToolAuthorizations, wirev2.Authorization{
				ResourceID: d.ResourceID, RevisionID: d.RevisionID, RevisionSHA256: d.RevisionSHA256,
			})
			out.ExecutorID, out.ExecutorGeneration = &a.executor, &a.generation
		}
	}
	return out
}

func (a *app) startRequest(prompt string) request {
	a.r.t.Helper()
	return a.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: prompt, Application: a.selection()})
}

// run starts a turn with everything the session has.
func (a *app) run(prompt string) wirev2.TurnStartReply {
	a.r.t.Helper()
	var reply wirev2.TurnStartReply
	a.ok(a.startRequest(prompt), &reply)
	return reply
}

// calls gives the call events that came to a peer.
func (p *peer) calls() []wirev2.TurnApplicationToolCallEvent {
	return named[wirev2.TurnApplicationToolCallEvent](p, wirev2.EventTurnApplicationToolCall)
}

func (p *peer) cancels() []wirev2.TurnApplicationToolCancelEvent {
	return named[wirev2.TurnApplicationToolCancelEvent](p, wirev2.EventTurnApplicationToolCancel)
}

// said is a successful outcome.
func said(text string) wirev2.Outcome {
	return wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: fmt.Appendf(nil, `{"said":%q}`, text)}
}

// result is a submission of a call's outcome.
func result(session wirev2.ID, call wirev2.TurnApplicationToolCallEvent, outcome wirev2.Outcome) request {
	return request{method: wirev2.MethodTurnApplicationToolResult, session: session, payload: wirev2.TurnApplicationToolResultRequest{
		TurnID: call.TurnID, CallID: call.CallID, ExecutorID: call.ExecutorID, ExecutorGeneration: call.ExecutorGeneration,
		ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256, Outcome: outcome,
	}}
}

// report submits a result and expects its acknowledgment.
func (p *peer) report(session wirev2.ID, call wirev2.TurnApplicationToolCallEvent, outcome wirev2.Outcome) {
	p.r.t.Helper()
	var reply wirev2.TurnApplicationToolResultReply
	p.ok(result(session, call, outcome), &reply)
	require.Equal(p.r.t, wirev2.TurnApplicationToolResultReply{CallID: call.CallID, Status: "accepted"}, reply)
}

// resume attaches the executor to another peer.
func (a *app) resume(p *peer) wirev2.ExecutorResumeReply {
	a.r.t.Helper()
	var reply wirev2.ExecutorResumeReply
	p.ok(request{method: wirev2.MethodExecutorResume, payload: wirev2.ExecutorResumeRequest{ExecutorID: a.executor, ResumeSecret: a.secret}}, &reply)
	a.generation = reply.ExecutorGeneration
	return reply
}

func (h *held) evidence(turn wirev2.ID) wirev2.TurnApplicationEvidenceReply {
	h.r.t.Helper()
	var reply wirev2.TurnApplicationEvidenceReply
	response := h.ok(h.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn}), &reply)
	require.LessOrEqual(h.r.t, len(response.Payload), maxEvidenceBytes)
	return reply
}

// asks is a reply of the model that calls a tool once for each text.
func asks(tool string, texts ...string) modelStep {
	var calls []provider.Call
	for _, text := range texts {
		calls = append(calls, provider.Call{ID: "call-" + text, Name: tool, Arguments: fmt.Sprintf(`{"text":%q}`, text)})
	}
	return says("", calls...)
}

// Short names for what a model's step is made of.
type (
	ctx   = context.Context
	reply = provider.Reply
)

// crash gives another daemon a copy of a session's folder as it is on the disk,
// which is what this one would leave if it died now.
func (r *rig) crash(session wirev2.ID) *rig {
	r.t.Helper()
	state := r.t.TempDir()
	folder := filepath.Join("sessions", string(session))
	require.NoError(r.t, os.MkdirAll(filepath.Join(state, "sessions"), 0o700))
	require.NoError(r.t, os.CopyFS(filepath.Join(state, folder), os.DirFS(filepath.Join(r.state, folder))))
	require.NoError(r.t, os.Chmod(filepath.Join(state, folder), 0o700))
	return newRig(r.t, state)
}

// after waits in virtual time and lets everything come to rest.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
