package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// lent is what an application saw until its daemon died.
type lent struct {
	session  wirev2.ID
	proof    wirev2.ExecutorCreateReply
	turn     wirev2.ID
	events   map[wirev2.ID]int    // call events, by call
	values   map[wirev2.ID]string // of the results that were handed in
	reported map[wirev2.ID]bool   // calls whose end was told by an event, which follows the disk
	terminal *wirev2.Terminal
}

// lendingReplies are a turn with two calls at once, and one that has to wait for its executor.
func lendingReplies() []scripted.Reply {
	return []scripted.Reply{
		scripted.CallReply(
			scripted.Call{Index: 0, ID: "c1", Name: "add_note", Arguments: `{"text":"one"}`},
			scripted.Call{Index: 1, ID: "c2", Name: "add_note", Arguments: `{"text":"two"}`},
		),
		{Steps: []scripted.Step{
			scripted.Head(), scripted.Hold("nobody is there"),
			scripted.ToolCall(scripted.Call{ID: "c3", Name: "add_note", Arguments: `{"text":"three"}`}),
			scripted.Finish("tool_calls"), scripted.Done(),
		}},
		scripted.TextReply("All are noted."),
	}
}

func (p *place) selected() (*client.Client, error) {
	return client.Dial(p.t.Context(), p.socket, client.Options{
		Name: "test", Version: "1", Capabilities: []wirev2.Capability{wirev2.CapabilityApplicationResources},
	})
}

// lend lives through everything that application calls do to the disk, until the daemon dies under it. That it dies
// is no error: what was seen until then is what is returned.
func lend(p *place, model *scripted.Server) *lent {
	l := &lent{events: make(map[wirev2.ID]int), values: make(map[wirev2.ID]string), reported: make(map[wirev2.ID]bool)}
	_ = l.live(p, model)
	return l
}

func (l *lent) live(p *place, model *scripted.Server) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	c, err := p.selected()
	if err != nil {
		return err
	}
	defer c.Close()
	if l.session, err = c.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: p.workspace}); err != nil {
		return err
	}
	s, err := c.Claim(ctx, "", l.session, false)
	if err != nil {
		return err
	}
	contract := noteContract
	registered, err := s.RegisterResource(ctx, "", wirev2.SessionResourcesRegisterRequest{Resource: wirev2.Resource{
		Kind: wirev2.KindTool, Name: "add_note", Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &contract},
	}})
	if err != nil {
		return err
	}
	if l.proof, err = c.CreateExecutor(ctx, ""); err != nil {
		return err
	}
	q := wirev2.ExecutorConfirmRequest{ExecutorID: l.proof.ExecutorID, ResumeSecret: l.proof.ResumeSecret}
	if _, err = c.ConfirmExecutor(ctx, "", q); err != nil {
		return err
	}
	e := registered.Entry
	started, err := s.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: crashPrompt, Application: &wirev2.Application{
		ExpectedRegistryRevision: registered.RegistryRevision,
		ExecutorID:               &l.proof.ExecutorID, ExecutorGeneration: &l.proof.ExecutorGeneration,
		ToolAuthorizations: []wirev2.Authorization{{ResourceID: e.ResourceID, RevisionID: e.RevisionID, RevisionSHA256: e.RevisionSHA256}},
	}})
	if err != nil {
		return err
	}
	l.turn = started.TurnID
	// The executor works on a connection of its own, the first time for two calls, the second for one.
	if err := l.execute(ctx, p, 2); err != nil {
		return err
	}
	select {
	case <-model.Held("nobody is there"):
	case <-c.Done():
		return c.Err()
	}
	model.Release("nobody is there")
	for waiting := false; !waiting; {
		evidence, err := s.Evidence(ctx, l.turn)
		if err != nil {
			return err
		}
		waiting = len(evidence.Calls) == 3
	}
	if err := l.execute(ctx, p, 1); err != nil {
		return err
	}
	for l.terminal == nil {
		event, err := s.Events().Next(ctx)
		if err != nil {
			return err
		}
		body, err := event.Decode()
		if err != nil {
			return err
		}
		switch body := body.(type) {
		case *wirev2.TurnToolEvent:
			l.reported[body.CallID] = l.reported[body.CallID] || body.Phase == wirev2.ToolSucceeded
		case *wirev2.Terminal:
			l.terminal = body
		}
	}
	return nil
}

// execute resumes the executor, answers so many calls, and leaves without a word.
func (l *lent) execute(ctx context.Context, p *place, calls int) error {
	c, err := p.selected()
	if err != nil {
		return err
	}
	defer c.Close()
	events := c.Subscribe(client.ForExecutor)
	resumed, err := c.ResumeExecutor(ctx, "", wirev2.ExecutorResumeRequest{ExecutorID: l.proof.ExecutorID, ResumeSecret: l.proof.ResumeSecret})
	if err != nil {
		return err
	}
	// Those that were sent to the connection before this one are told of here, and not sent again.
	var open []wirev2.PendingCall
	for _, call := range resumed.PendingCalls {
		if call.Status == wirev2.CallPending {
			open = append(open, call)
			l.events[call.CallID]++
		}
	}
	for len(open) < calls {
		event, err := events.Next(ctx)
		if err != nil {
			return err
		}
		var call wirev2.TurnApplicationToolCallEvent
		if err := wirev2.DecodePayload(event.Payload, &call); err != nil {
			return err
		}
		l.events[call.CallID]++
		open = append(open, wirev2.PendingCall{
			TurnID: call.TurnID, CallID: call.CallID, ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256,
		})
	}
	for i, call := range open {
		value := fmt.Sprintf(`{"lines":%d}`, 10*resumed.ExecutorGeneration+int64(i))
		l.values[call.CallID] = value
		_, err := c.SubmitResult(ctx, "", l.session, wirev2.TurnApplicationToolResultRequest{
			TurnID: call.TurnID, CallID: call.CallID, ExecutorID: l.proof.ExecutorID, ExecutorGeneration: resumed.ExecutorGeneration,
			ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256,
			Outcome: wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(value)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// complaint: 11 microsoft/agent-framework#3938 - a retry from a checkpoint repeated what had been done already
// rule: W-290, W-295, W-296, W-297, W-298, A-058, A-092, A-155
func TestComplaint11AgentFramework3938KilledAtEachDurableStepOfApplicationCalls(t *testing.T) {
	t.Parallel()
	var effects []string
	steps := 0
	for step := 1; lendingDiesAt(t, step, &effects); step++ {
		steps++
	}
	require.GreaterOrEqual(t, steps, 16, "two replies with calls, three results, a mark and its end")
	require.Contains(t, effects, "uncertain", "some deaths leave a call that was sent and not answered")
	require.Contains(t, effects, "not_dispatched", "and some one that waited")
	require.Contains(t, effects, "reported", "and some a result that had been handed in")
}

// lendingDiesAt lives with a daemon that dies at a step, and looks at what the next one makes of it. It reports whether
// the daemon died at all.
func lendingDiesAt(t *testing.T, step int, effects *[]string) bool {
	t.Helper()
	at := fmt.Sprint("step ", step)
	p := newPlace(t)
	model := p.model(lendingReplies()...)
	mortal := p.mortal(fmt.Sprint(step))
	l := &lent{}
	if p.answersOrDies(mortal) {
		l = lend(p, model)
		if l.terminal != nil && alive(mortal.Process.Pid) {
			mortal.kill()
			return false
		}
	}
	require.Equal(t, -1, mortal.ends(), at)
	if l.session == "" {
		return true
	}
	asked := len(model.Requests())
	second := p.serve()
	defer second.kill()
	c, err := p.selected()
	require.NoError(t, err)
	defer c.Close()
	s := p.claimed(c, l.session)
	calls, results := map[wirev2.ID]wirev2.ID{}, map[wirev2.ID]*wirev2.ToolResultRecord{}
	ended := 0
	for _, record := range history(t, s) {
		switch r := record.(type) {
		case *wirev2.ToolCallRecord:
			calls[r.CallID] = r.TurnID
		case *wirev2.ToolResultRecord:
			require.NotContains(t, results, r.CallID, at)
			results[r.CallID] = r
		case *wirev2.TerminalRecord:
			ended++
			if l.terminal != nil {
				require.Equal(t, l.terminal.Status, r.Status, at)
			}
		}
	}
	if l.turn != "" {
		require.Equal(t, 1, ended, "%s: the turn has its end", at)
	}
	require.Len(t, results, len(calls), "%s: every call has its result", at)
	for id, times := range l.events {
		require.Equal(t, 1, times, "%s: a call was sent twice", at)
		require.Contains(t, calls, id, "%s: a call was sent before it was durable", at)
	}
	for id, r := range results {
		*effects = append(*effects, string(r.ExternalEffects))
		switch {
		case !r.Synthetic:
			require.Equal(t, l.values[id], string(r.Value), at)
			require.Equal(t, wirev2.EffectsReported, r.ExternalEffects, at)
		case l.events[id] > 0:
			require.False(t, l.reported[id], "%s: what was told is durable", at)
			require.Equal(t, wirev2.EffectsUncertain, r.ExternalEffects, "%s: it was sent", at)
			require.Equal(t, wirev2.ToolCancelled, *r.Code, at)
		default:
			require.NotEqual(t, wirev2.EffectsReported, r.ExternalEffects, at)
		}
	}
	// The executor, the registry and the evidence were memory.
	if l.proof.ExecutorID != "" {
		_, err := c.ResumeExecutor(t.Context(), "", wirev2.ExecutorResumeRequest{ExecutorID: l.proof.ExecutorID, ResumeSecret: l.proof.ResumeSecret})
		var refused *wirev2.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, wirev2.CodeExecutorRejected, refused.Code)
		listed, err := s.ListResources(t.Context())
		require.NoError(t, err)
		require.Empty(t, listed.Entries)
	}
	require.Len(t, model.Requests(), asked, "%s: nothing is asked again", at)

	// And the next turn's request has a result for each call.
	model.Release("nobody is there")
	drain(model, lendingReplies(), asked)
	model.Add(scripted.TextReply("again"))
	_, err = s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "again"})
	require.NoError(t, err, at)
	_, terminal := end(t, s)
	require.Equal(t, wirev2.TerminalCompleted, terminal.Status, "%s: %v", at, terminal.Error)
	return true
}
