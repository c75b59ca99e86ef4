package client

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// claim makes a Session, with the daemon's part played.
func claim(t *testing.T, c *Client, d *daemon, generation int64) *Session {
	t.Helper()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		q := d.next()
		d.reply(q, wirev2.SessionClaimReply{ControlToken: "tok", GrantGeneration: generation})
		d.text(q.SessionID, generation, 1, "at once")
	}()
	s, err := c.Claim(bg, "", sessionA, true)
	require.NoError(t, err)
	<-sent
	return s
}

func TestClaimMissesNoEventOfItsGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		s := claim(t, c, d, 4)
		require.Equal(t, sessionA, s.ID())
		require.Equal(t, wirev2.Secret("tok"), s.Token())
		require.Equal(t, int64(4), s.Generation())
		require.Equal(t, wirev2.Snapshot{}, s.Claimed())
		require.Equal(t, "at once", next(t, s.Events()))

		d.event(wirev2.Event{
			Event: wirev2.EventSessionControlLost, SessionID: sessionA, GrantGeneration: 4, LiveSequence: 2,
			Body: wirev2.SessionControlLostEvent{Reason: wirev2.ControlLostTakeover},
		})
		e, err := s.Events().Next(bg)
		require.NoError(t, err)
		body, err := e.Decode()
		require.NoError(t, err)
		require.Equal(t, &wirev2.SessionControlLostEvent{Reason: wirev2.ControlLostTakeover}, body)

		again := claim(t, c, d, 6)
		require.Equal(t, "at once", next(t, again.Events()))
		release := make(chan error)
		go func() { release <- again.Release(bg, "") }()
		d.reply(d.next(), wirev2.SessionReleaseReply{})
		require.NoError(t, <-release)
		_, err = again.Events().Next(bg)
		require.Equal(t, ErrClosed, err)
		third := claim(t, c, d, 7)
		require.Equal(t, "at once", next(t, third.Events()))
	})
}

func TestAFailedClaimLeavesNoSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		go func() { d.reply(d.next(), wirev2.Errorf(wirev2.CodeSessionClaimed, "another connection has it")) }()
		_, err := c.Claim(bg, "", sessionA, false)
		require.ErrorContains(t, err, "session_claimed")
		require.Empty(t, c.subs)
	})
}

// Every helper sends the envelope that the method table asks for, and returns what the daemon answered.
func TestHelpersSendWhatTheMethodTableAsksFor(t *testing.T) {
	id, op := wirev2.NewID(), wirev2.NewID()
	text := "s"
	secret := wirev2.Secret("s")
	descriptor := wirev2.Descriptor{
		ResourceID: id, RevisionID: id, Kind: wirev2.KindTool, Name: "lamp",
		RegisteredBy: wirev2.Attribution{InstanceID: id, ConnectionID: id, OperationID: id, GrantGeneration: 1},
	}
	result := wirev2.TurnApplicationToolResultRequest{
		TurnID: id, CallID: id, ExecutorID: id, ExecutorGeneration: 1, ResourceID: id, RevisionID: id,
		Outcome: wirev2.Outcome{Status: wirev2.OutcomeError, Code: new(wirev2.ToolPermissionDenied), Message: &text},
	}
	resource := wirev2.SessionResourcesRegisterRequest{Resource: wirev2.Resource{
		Kind: wirev2.KindSkill, Name: "kind", Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &text}}}
	type helper struct {
		method wirev2.Method
		reply  any
		call   func(c *Client, s *Session) (any, error)
	}
	helpers := []helper{
		{wirev2.MethodDaemonStatus, wirev2.DaemonStatusReply{InstanceID: id, Sessions: 3},
			func(c *Client, _ *Session) (any, error) { return c.Status(bg) }},
		{wirev2.MethodSessionCreate, wirev2.SessionCreateReply{SessionID: id}, func(c *Client, _ *Session) (any, error) {
			got, err := c.CreateSession(bg, op, wirev2.SessionCreateRequest{Workspace: "/w"})
			return wirev2.SessionCreateReply{SessionID: got}, err
		}},
		{wirev2.MethodSessionList, wirev2.SessionListReply{Sessions: []wirev2.SessionInfo{}, NextCursor: &text},
			func(c *Client, _ *Session) (any, error) { return c.ListSessions(bg, wirev2.SessionListRequest{}) }},
		{wirev2.MethodOperationLookup, wirev2.OperationLookupReply{OperationID: id, State: wirev2.OperationPending, Result: []byte("null")},
			func(c *Client, _ *Session) (any, error) { return c.LookupOperation(bg, id) }},
		{wirev2.MethodOperationLookup, wirev2.OperationLookupReply{OperationID: id, State: wirev2.OperationAccepted, Result: []byte("{}")},
			func(_ *Client, s *Session) (any, error) { return s.LookupOperation(bg, id) }},
		{wirev2.MethodSessionSnapshot, wirev2.SessionSnapshotReply{Snapshot: wirev2.Snapshot{Turn: &wirev2.Turn{TurnID: id, OperationID: id}}},
			func(_ *Client, s *Session) (any, error) {
				got, err := s.Snapshot(bg)
				return wirev2.SessionSnapshotReply{Snapshot: got}, err
			}},
		{wirev2.MethodSessionHistory, wirev2.SessionHistoryReply{NextAfter: new(int64(3)), Records: nil},
			func(_ *Client, s *Session) (any, error) {
				got, err := s.History(bg, wirev2.SessionHistoryRequest{})
				got.Records = nil
				return got, err
			}},
		{wirev2.MethodTurnStart, wirev2.TurnStartReply{TurnID: id},
			func(_ *Client, s *Session) (any, error) {
				return s.StartTurn(bg, op, wirev2.TurnStartRequest{Prompt: "Hi"})
			}},
		{wirev2.MethodTurnStop, wirev2.TurnStopReply{TurnID: id, Status: wirev2.StopTerminal},
			func(_ *Client, s *Session) (any, error) {
				got, err := s.StopTurn(bg, op, id)
				return wirev2.TurnStopReply{TurnID: id, Status: got}, err
			}},
		{wirev2.MethodSessionResourcesList, wirev2.SessionResourcesListReply{RegistryRevision: id, Entries: []wirev2.Descriptor{descriptor}},
			func(_ *Client, s *Session) (any, error) { return s.ListResources(bg) }},
		{wirev2.MethodSessionResourcesRegister, wirev2.SessionResourcesRegisterReply{Entry: descriptor, RegistryRevision: id},
			func(_ *Client, s *Session) (any, error) { return s.RegisterResource(bg, op, resource) }},
		{wirev2.MethodSessionResourcesUnregister, wirev2.SessionResourcesUnregisterReply{ResourceID: id, RemovedRevision: id, RegistryRevision: id},
			func(_ *Client, s *Session) (any, error) {
				return s.UnregisterResource(bg, op, wirev2.SessionResourcesUnregisterRequest{ResourceID: id, ExpectedRevision: id})
			}},
		{wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearReply{RegistryRevision: id, RemovedCount: 2},
			func(_ *Client, s *Session) (any, error) { return s.ClearResources(bg, op, id) }},
		{wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceReply{TurnID: id, Calls: []wirev2.CallEvidence{}},
			func(_ *Client, s *Session) (any, error) { return s.Evidence(bg, id) }},
		{wirev2.MethodTurnApplicationToolResult, wirev2.TurnApplicationToolResultReply{CallID: id, Status: wirev2.ToolResultAccepted},
			func(c *Client, _ *Session) (any, error) { return c.SubmitResult(bg, op, sessionA, result) }},
		{wirev2.MethodExecutorCreate, wirev2.ExecutorCreateReply{ExecutorID: id, ExecutorGeneration: 1, ResumeSecret: secret},
			func(c *Client, _ *Session) (any, error) { return c.CreateExecutor(bg, op) }},
		{wirev2.MethodExecutorConfirm, wirev2.ExecutorConfirmReply{ExecutorID: id, ExecutorGeneration: 1},
			func(c *Client, _ *Session) (any, error) {
				return c.ConfirmExecutor(bg, op, wirev2.ExecutorConfirmRequest{ExecutorID: id, ResumeSecret: secret})
			}},
		{wirev2.MethodExecutorResume, wirev2.ExecutorResumeReply{ExecutorID: id, ExecutorGeneration: 2, PendingCalls: []wirev2.PendingCall{}},
			func(c *Client, _ *Session) (any, error) {
				return c.ResumeExecutor(bg, op, wirev2.ExecutorResumeRequest{ExecutorID: id, ResumeSecret: secret})
			}},
		{wirev2.MethodExecutorRotate, wirev2.ExecutorRotateReply{ExecutorID: id, ExecutorGeneration: 2, ResumeSecret: secret, Status: wirev2.RotationPending, PendingTimeoutMS: 60000},
			func(c *Client, _ *Session) (any, error) {
				return c.RotateExecutor(bg, op, wirev2.ExecutorRotateRequest{ExecutorID: id, ExecutorGeneration: 2})
			}},
		{wirev2.MethodExecutorRotateConfirm, wirev2.ExecutorRotateConfirmReply{ExecutorID: id, ExecutorGeneration: 2},
			func(c *Client, _ *Session) (any, error) {
				return c.ConfirmRotation(bg, op, wirev2.ExecutorRotateConfirmRequest{ExecutorID: id, ExecutorGeneration: 2, ResumeSecret: secret})
			}},
		{wirev2.MethodExecutorRelease, wirev2.ExecutorReleaseReply{ExecutorID: id},
			func(c *Client, _ *Session) (any, error) {
				return c.ReleaseExecutor(bg, op, wirev2.ExecutorReleaseRequest{ExecutorID: id, ExecutorGeneration: 2})
			}},
	}
	synctest.Test(t, func(t *testing.T) {
		options := plain
		options.Capabilities = []wirev2.Capability{wirev2.CapabilityApplicationResources}
		c, d := connect(t, options)
		s := claim(t, c, d, 1)
		for _, h := range helpers {
			type outcome struct {
				reply any
				err   error
			}
			done := make(chan outcome)
			go func() {
				reply, err := h.call(c, s)
				done <- outcome{reply, err}
			}()
			q := d.next()
			require.Equal(t, h.method, q.Method)
			info, ok := q.Method.Lookup()
			require.True(t, ok)
			if info.Session != wirev2.Either {
				require.Equal(t, info.Session == wirev2.Required, q.SessionID == sessionA, h.method)
				require.Equal(t, info.Control == wirev2.Required, q.ControlToken == "tok", h.method)
			}
			require.Equal(t, q.ControlToken != "", q.SessionID != "" && info.Control != wirev2.Null, h.method)
			require.Equal(t, info.Operation == wirev2.Required, q.OperationID == op, h.method)
			d.reply(q, h.reply)
			got := <-done
			require.NoError(t, got.err, h.method)
			require.Equal(t, h.reply, got.reply, h.method)
		}
	})
}
