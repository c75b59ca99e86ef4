package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-163, A-072, W-172
func TestApplicationIsRequiredWhereThereAreResources(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		plain := `{"prompt":"x"}`
		a.refused(a.with(wirev2.MethodTurnStart, plain), wirev2.CodeUnsupportedCapability)
		ordinary := r.connect(false).claim(a.session, true)
		ordinary.refused(ordinary.with(wirev2.MethodTurnStart, plain), wirev2.CodeUnsupportedCapability)
		a.held = a.claim(a.session, true)
		a.ok(a.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{
			ExpectedRegistryRevision: a.resources().RegistryRevision,
		}), &wirev2.SessionResourcesClearReply{})
		r.model.then(says("1"), says("2"))
		require.Nil(t, a.call(a.with(wirev2.MethodTurnStart, plain)).Error, "an empty registry asks for none")
		ordinary = r.connect(false).claim(a.session, true)
		require.Nil(t, ordinary.call(ordinary.with(wirev2.MethodTurnStart, plain)).Error)
	})
}

// rule: W-164, W-165, W-166, W-167, W-168, W-169, W-305, W-172, A-066, A-067, A-068, A-069, A-070, A-071, M-080, M-083, M-093, A-001
func TestSelectionIsCheckedInItsOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say", "think")
		good := a.selection()
		start := func(change func(q *wirev2.Application)) request {
			q := *good
			q.ToolAuthorizations = append([]wirev2.Authorization(nil), good.ToolAuthorizations...)
			change(&q)
			return a.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "x", Application: &q})
		}
		all := func(changes ...func(q *wirev2.Application)) func(q *wirev2.Application) {
			return func(q *wirev2.Application) {
				for _, change := range changes {
					change(q)
				}
			}
		}
		other, stale := wirev2.NewID(), int64(7)
		revision := func(q *wirev2.Application) { q.ExpectedRegistryRevision = wirev2.NewID() }
		missing := func(q *wirev2.Application) { q.ToolAuthorizations = q.ToolAuthorizations[:1] }
		twice := func(q *wirev2.Application) { q.ToolAuthorizations[1] = q.ToolAuthorizations[0] }
		extra := func(q *wirev2.Application) {
			q.ToolAuthorizations = append(q.ToolAuthorizations, q.ToolAuthorizations[0])
		}
		old := func(q *wirev2.Application) { q.ToolAuthorizations[0].RevisionID = wirev2.NewID() }
		hash := func(q *wirev2.Application) { q.ToolAuthorizations[0].RevisionSHA256 = strings.Repeat("0", 64) }
		unknown := func(q *wirev2.Application) { q.ExecutorID = &other }
		generation := func(q *wirev2.Application) { q.ExecutorGeneration = &stale }
		null := func(q *wirev2.Application) { q.ExecutorID, q.ExecutorGeneration = nil, nil }
		swapped := func(q *wirev2.Application) {
			q.ToolAuthorizations[0], q.ToolAuthorizations[1] = q.ToolAuthorizations[1], q.ToolAuthorizations[0]
		}
		for _, c := range []struct {
			change func(q *wirev2.Application)
			code   wirev2.Code
		}{
			{revision, wirev2.CodeConflict},
			{all(revision, missing, unknown), wirev2.CodeConflict},
			{missing, wirev2.CodeInvalidPayload},
			{all(missing, unknown), wirev2.CodeInvalidPayload},
			{twice, wirev2.CodeInvalidPayload},
			{extra, wirev2.CodeInvalidPayload},
			{old, wirev2.CodeConflict},
			{hash, wirev2.CodeConflict},
			{all(old, unknown), wirev2.CodeConflict},
			{unknown, wirev2.CodeExecutorRejected},
			{generation, wirev2.CodeStaleConnection},
			{null, wirev2.CodeInvalidPayload},
		} {
			a.refused(start(c.change), c.code)
		}
		// The prompt's budget comes after the executor.
		long := start(unknown)
		payload := long.payload.(wirev2.TurnStartRequest)
		payload.Prompt = strings.Repeat("p", maxPromptBytes+1)
		long.payload = payload
		a.refused(long, wirev2.CodeExecutorRejected)
		payload.Application = good
		long.payload = payload
		a.refused(long, wirev2.CodeLimitExceeded)

		for _, application := range []string{
			`{}`, `{"tool":{},"skill":{}}`,
			`{"expected_registry_revision":"` + string(good.ExpectedRegistryRevision) + `","tool_authorizations":[]}`,
			`{"expected_registry_revision":"` + string(good.ExpectedRegistryRevision) + `","executor_id":null,"executor_generation":null}`,
			`{"expected_registry_revision":"` + string(good.ExpectedRegistryRevision) + `","executor_id":null,"executor_generation":null,"tool_authorizations":[{}]}`,
		} {
			a.refused(a.with(wirev2.MethodTurnStart, `{"prompt":"x","application":`+application+`}`), wirev2.CodeInvalidPayload)
		}
		usage := r.c.core.resources.Usage()
		require.Equal(t, 1, usage.Snapshots, "a refused turn holds nothing")
		require.Nil(t, a.view().Turn)
		r.model.then(says("ok"))
		require.Nil(t, a.call(start(swapped)).Error, "authorizations are a set")
	})
	inBubble(t, func(t *testing.T, r *rig) { // a snapshot without tools
		a := r.application()
		none := a.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "x", Application: &wirev2.Application{
			ExpectedRegistryRevision: wirev2.NewID(), ToolAuthorizations: []wirev2.Authorization{},
		}})
		a.refused(none, wirev2.CodeConflict) // no registry yet
		a.register("how", wirev2.KindSkill, "text", nil)
		q := a.selection()
		require.Nil(t, q.ExecutorID)
		given := *q
		given.ExecutorID, given.ExecutorGeneration = &a.executor, &a.generation
		a.refused(a.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: "x", Application: &given}), wirev2.CodeInvalidPayload)
		r.model.then(says("ok"))
		a.run("go")
	})
	inBubble(t, func(t *testing.T, r *rig) { // a provisional executor is not enough
		a := &app{held: r.open(true)}
		a.register("say", wirev2.KindTool, fmt.Sprintf(contract, ""), nil)
		var made wirev2.ExecutorCreateReply
		a.ok(request{method: wirev2.MethodExecutorCreate}, &made)
		a.executor, a.generation = made.ExecutorID, 1
		a.refused(a.startRequest("x"), wirev2.CodeStaleConnection)
	})
}

// rule: W-127, W-154, W-155, W-209, W-281, A-002, A-077, A-078, A-083, A-084, A-085, A-086, A-087, A-089
func TestManifestIsTheSameEverywhereAndOnlyForSelectedConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		a.register("how", wirev2.KindSkill, "text", nil)
		feed := make(line)
		r.model.then(feed.step)
		q := a.startRequest("go")
		q.operation = wirev2.NewID()
		response := a.call(q)
		var started wirev2.TurnStartReply
		r.decode(response, &started)
		m := started.ApplicationManifest.Manifest
		require.Equal(t, wirev2.Attribution{
			InstanceID: response.InstanceID, ConnectionID: a.id, OperationID: q.operation, GrantGeneration: a.generation,
		}, m.AcceptedController)
		require.Equal(t, &wirev2.ExecutorTarget{ExecutorID: a.executor, ExecutorGeneration: 1}, m.AcceptedExecutor)
		require.Equal(t, a.resources().Entries, m.Resources)
		require.Equal(t, a.resources().RegistryRevision, m.RegistryRevision)
		require.Len(t, m.Tools, 1)
		require.Equal(t, "say", m.Tools[0].Name)
		encoded, err := wirev2.EncodePayload(struct {
			ApplicationManifest *wirev2.Manifest `json:"application_manifest"`
		}{m})
		require.NoError(t, err)
		require.Len(t, encoded, r.c.core.turns[started.TurnID].app.manifest.FieldBytes(), "the size that is bounded is the size on the wire")
		inner := string(encoded)[len(`{"application_manifest":`) : len(encoded)-1]
		has := func(what string, raw jsontext.Value, shown bool) {
			t.Helper()
			require.Equal(t, shown, strings.Contains(string(raw), inner), "%s: %s", what, raw)
			require.Equal(t, shown, strings.Contains(string(raw), "application_manifest"), what)
		}
		has("reply", response.Payload, true)
		looked := func(h *held) jsontext.Value {
			return h.call(h.with(wirev2.MethodOperationLookup, wirev2.OperationLookupRequest{OperationID: q.operation})).Payload
		}
		shown := func(h *held) jsontext.Value { return h.call(h.with(wirev2.MethodSessionSnapshot, nil)).Payload }
		has("running lookup", looked(a.held), true)
		has("running snapshot", shown(a.held), true)
		next := r.connect(true)
		a.resume(next) // rewrites nothing
		ordinary := r.connect(false).claim(a.session, true)
		has("ordinary lookup", looked(ordinary), false)
		has("ordinary snapshot", shown(ordinary), false)
		has("ordinary history", ordinary.call(ordinary.with(wirev2.MethodSessionHistory, nil)).Payload, false)
		feed <- "text"
		synctest.Wait()
		close(feed)
		synctest.Wait()
		has("ordinary terminal", ordinary.events[len(ordinary.events)-1].Payload, false)
		has("ordinary terminal snapshot", shown(ordinary), false)
		has("ordinary finished lookup", looked(ordinary), false)
		a.held = a.claim(a.session, true)
		has("terminal snapshot", shown(a.held), true)
		has("finished lookup", looked(a.held), true)
		require.Equal(t, 1, strings.Count(string(looked(a.held)), "application_manifest"), "the terminal inside is written without its own")
		has("history", a.call(a.with(wirev2.MethodSessionHistory, nil)).Payload, true)
		has("evidence", a.call(a.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: started.TurnID})).Payload, true)

		feed = make(line)
		r.model.then(feed.step)
		a.generation = a.held.generation
		next.leave()
		a.resume(a.peer)
		a.run("again")
		close(feed)
		synctest.Wait()
		require.NotContains(t, string(a.events[len(a.events)-1].Payload), inner, "another turn, another manifest")
		require.Contains(t, string(a.events[len(a.events)-1].Payload), `"application_manifest":{"profile"`)
	})
}

// rule: W-127, W-154, A-088, W-304, A-089
func TestManifestIsNullWithoutApplicationAndEmptyForAnEmptyRegistry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		r.model.then(says("1"), says("2"))
		response := a.call(a.with(wirev2.MethodTurnStart, `{"prompt":"x"}`))
		require.Contains(t, string(response.Payload), `"application_manifest":null`)
		require.Contains(t, string(a.events[len(a.events)-1].Payload), `"application_manifest":null`)
		require.Contains(t, string(a.call(a.with(wirev2.MethodSessionSnapshot, nil)).Payload), `"application_manifest":null`)

		a.resources()
		m := a.run("x").ApplicationManifest.Manifest
		require.Empty(t, m.Resources)
		require.Empty(t, m.Tools)
		require.Nil(t, m.AcceptedExecutor)
		require.Contains(t, string(a.events[len(a.events)-1].Payload), `"resources":[],"tools":[]`)
		after(retention)
		require.JSONEq(t, `{"snapshot":{"turn":null,"terminal":null}}`, string(a.call(a.with(wirev2.MethodSessionSnapshot, nil)).Payload))
	})
	d := newDesk()
	d.conn.selected = true
	d.ask(d.conn, wirev2.MethodSessionResourcesRegister, inlineSkill)
	listed := d.ask(d.conn, wirev2.MethodSessionResourcesList, `{}`)[0].(respond)
	var list wirev2.SessionResourcesListReply
	require.NoError(t, wirev2.DecodePayload(listed.response.Payload, &list))
	effects := d.ask(d.conn, wirev2.MethodTurnStart, `{"prompt":"x","application":{"expected_registry_revision":"`+string(list.RegistryRevision)+
		`","executor_id":null,"executor_generation":null,"tool_authorizations":[]}}`)
	require.Equal(t, "startTurn", told(effects))
	require.Contains(t, string(d.ask(d.conn, wirev2.MethodSessionSnapshot, `{}`)[0].(respond).response.Payload),
		`"state":"preparing","text":"","application_manifest":null`)
}

// preparing is a turn of a tool that waits for its preparation, driven by hand.
func newPreparing(t *testing.T) (*desk, *turn, wirev2.Secret) {
	t.Helper()
	d := newDesk()
	d.conn.selected = true
	var made wirev2.ExecutorCreateReply
	reply := func(effects []effect, dst any) {
		t.Helper()
		require.NoError(t, wirev2.DecodePayload(effects[0].(respond).response.Payload, dst), told(effects))
	}
	reply(d.executorAsk(d.conn, wirev2.MethodExecutorCreate, `{}`), &made)
	d.executorAsk(d.conn, wirev2.MethodExecutorConfirm, `{"executor_id":"`+string(made.ExecutorID)+`","resume_secret":"`+made.ResumeSecret.Reveal()+`"}`)
	var entry wirev2.SessionResourcesRegisterReply
	raw, err := wirev2.EncodePayload(wirev2.SessionResourcesRegisterRequest{Resource: inline("say", wirev2.KindTool, fmt.Sprintf(contract, ""))})
	require.NoError(t, err)
	reply(d.ask(d.conn, wirev2.MethodSessionResourcesRegister, string(raw)), &entry)
	generation := int64(1)
	raw, err = wirev2.EncodePayload(wirev2.TurnStartRequest{Prompt: "x", Application: &wirev2.Application{
		ExpectedRegistryRevision: entry.RegistryRevision, ExecutorID: &made.ExecutorID, ExecutorGeneration: &generation,
		ToolAuthorizations: []wirev2.Authorization{{ResourceID: entry.Entry.ResourceID, RevisionID: entry.Entry.RevisionID, RevisionSHA256: entry.Entry.RevisionSHA256}},
	}})
	require.NoError(t, err)
	require.Equal(t, "startTurn", told(d.ask(d.conn, wirev2.MethodTurnStart, string(raw))))
	return d, d.session.turn, made.ResumeSecret
}

// executorAsk sends an executor method.
func (d *desk) executorAsk(conn *Conn, method wirev2.Method, payload string) []effect {
	d.n++
	d.handle(conn, wirev2.Request{RequestID: fmt.Sprint(d.n), Method: method, OperationID: wirev2.NewID(), Payload: []byte(payload)}, d.now+1000, true)
	return d.take()
}

// rule: W-176, A-073, A-074, A-075
func TestExecutorLostWhilePreparingRefusesTheTurn(t *testing.T) {
	for name, lose := range map[string]func(d *desk, id string, secret wirev2.Secret) []effect{
		"resumed elsewhere": func(d *desk, id string, secret wirev2.Secret) []effect {
			return d.executorAsk(d.connect(wirev2.NewID(), true, quiet{}), wirev2.MethodExecutorResume, `{"executor_id":"`+id+`","resume_secret":"`+secret.Reveal()+`"}`)
		},
		"resumed here": func(d *desk, id string, secret wirev2.Secret) []effect {
			return d.executorAsk(d.conn, wirev2.MethodExecutorResume, `{"executor_id":"`+id+`","resume_secret":"`+secret.Reveal()+`"}`)
		},
		"released": func(d *desk, id string, _ wirev2.Secret) []effect {
			return d.executorAsk(d.conn, wirev2.MethodExecutorRelease, `{"executor_id":"`+id+`","executor_generation":1}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, turn, secret := newPreparing(t)
			before, request := d.resources.Usage(), turn.ask.request.RequestID
			effects := told(lose(d, string(turn.app.executor.ID), secret))
			require.Contains(t, effects, "#"+request+" stale_connection")
			require.Nil(t, d.admitTurn(turn, 0, nil), "and is not admitted")
			require.Equal(t, before, d.resources.Usage())
			require.Empty(t, d.turns)
		})
	}
	t.Run("a rotation loses nothing", func(t *testing.T) {
		d, turn, _ := newPreparing(t)
		d.executorAsk(d.conn, wirev2.MethodExecutorRotate, `{"executor_id":"`+string(turn.app.executor.ID)+`","executor_generation":1}`)
		require.NotNil(t, d.admitTurn(turn, 0, nil))
		require.Equal(t, 1, d.executors.Counts(d.now).Pinned)
	})
	t.Run("failed preparation", func(t *testing.T) {
		d, turn, _ := newPreparing(t)
		d.admitTurn(turn, 0, errDisk)
		require.Contains(t, told(d.take()), "preparation_failed")
		require.Zero(t, d.executors.Counts(d.now).Pinned)
	})
}

// rule, W-110
func TestAcceptedSnapshotIsUntouchedByLaterChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		r.write("say.json", fmt.Sprintf(contract, `,"timeout_ms":5000`))
		r.write("how.md", "original instructions")
		path := "say.json"
		var tool, skill wirev2.SessionResourcesRegisterReply
		a.ok(a.registration(wirev2.Resource{Kind: wirev2.KindTool, Name: "say", Source: wirev2.Source{Kind: wirev2.SourceWorkspaceFile, Path: &path}}, nil), &tool)
		a.ok(a.registration(file("how", "how.md"), nil), &skill)
		gate := make(chan struct{})
		r.model.then(func(ctx ctx, accept func(string) error) (reply, error) {
			<-gate
			return asks("say", "one", "two")(ctx, accept)
		}, says("done"))
		started := a.run("go")

		r.write("say.json", "changed")
		r.write("how.md", "changed")
		for _, entry := range []wirev2.Descriptor{tool.Entry, skill.Entry} {
			a.ok(a.with(wirev2.MethodSessionResourcesUnregister, wirev2.SessionResourcesUnregisterRequest{
				ResourceID: entry.ResourceID, ExpectedRevision: entry.RevisionID,
			}), &wirev2.SessionResourcesUnregisterReply{})
		}
		replacement := a.register("say", wirev2.KindTool, contractWith(9000), nil)
		a.register("how", wirev2.KindSkill, "replaced", nil)
		require.Equal(t, 2, r.c.core.resources.Usage().Snapshots)
		close(gate)
		synctest.Wait()
		for _, call := range a.calls() {
			require.Equal(t, tool.Entry.RevisionID, call.RevisionID)
			require.Equal(t, int64(5000), call.TimeoutMS)
			wrong := call
			wrong.ResourceID, wrong.RevisionID, wrong.RevisionSHA256 = replacement.ResourceID, replacement.RevisionID, replacement.RevisionSHA256
			a.refused(result(a.session, wrong, said("x")), wirev2.CodeInvalidPayload)
			a.report(a.session, call, said("x"))
		}
		continuation := r.model.requests[1]
		require.Contains(t, continuation.System, "original instructions")
		require.NotContains(t, continuation.System, "replaced")
		require.Equal(t, r.model.requests[0].Tools, continuation.Tools)
		require.Equal(t, started.ApplicationManifest.Manifest, a.evidence(started.TurnID).ApplicationManifest)
		require.Equal(t, 1, r.c.core.resources.Usage().Snapshots, "the old one went with its worker")

		r.model.then(asks("say", "three"), says("done"))
		a.run("again")
		require.Equal(t, replacement.RevisionID, a.calls()[2].RevisionID)
		require.Contains(t, r.model.requests[2].System, "replaced")
		a.report(a.session, a.calls()[2], said("x"))
		a.leave()
		after(900 * 1e9)
		require.Zero(t, r.c.core.resources.Usage())
	})
}

// rule: M-081, A-090, W-170
func TestManifestOverItsLimitIsRefusedByName(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		for i := range 16 {
			a.register(fmt.Sprintf("t%02d", i), wirev2.KindTool, `{"input_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]},`+
				`"output_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}}`, nil)
		}
		for i := range 16 {
			a.register(fmt.Sprintf("s%02d", i), wirev2.KindSkill, "", nil)
		}
		refusal := a.refused(a.startRequest("x"), wirev2.CodeLimitExceeded)
		require.Contains(t, refusal.Message, "manifest")
		require.Equal(t, []string{"session"}, r.records(a.session))
	})
}

// rule: W-198, A-091
func TestManifestTakesFromTheTextBudget(t *testing.T) {
	for _, more := range []int{0, 1} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			gate := make(chan int)
			r.model.then(func(_ ctx, accept func(string) error) (reply, error) {
				return reply{}, accept(strings.Repeat("a", <-gate))
			})
			turn := a.run("go").TurnID
			room := 20000 - r.c.core.turns[turn].app.manifest.FieldBytes()
			gate <- room + more
			synctest.Wait()
			terminal := a.view().Terminal
			require.Equal(t, more == 0, terminal.Error == nil)
			require.Len(t, terminal.Text, room*(1-more))
			response := a.call(a.with(wirev2.MethodSessionSnapshot, nil))
			require.LessOrEqual(t, len(response.Payload), 24576+len(`{"snapshot":}`))
		})
	}
}

// rule, W-170
func TestEvidenceIsKeptForTwoHundredFiftySixTurns(t *testing.T) {
	d := newDesk()
	d.verify = nil
	d.conn.selected = true
	d.ask(d.conn, wirev2.MethodSessionResourcesRegister, inlineSkill)
	var list wirev2.SessionResourcesListReply
	require.NoError(t, wirev2.DecodePayload(d.ask(d.conn, wirev2.MethodSessionResourcesList, `{}`)[0].(respond).response.Payload, &list))
	selecting := `{"prompt":"x","application":{"expected_registry_revision":"` + string(list.RegistryRevision) +
		`","executor_id":null,"executor_generation":null,"tool_authorizations":[]}}`
	run := func(payload string) string {
		effects := told(d.ask(d.conn, wirev2.MethodTurnStart, payload))
		if turn := d.session.turn; turn != nil {
			d.admitTurn(turn, 0, nil)
			d.userRecorded(turn, nil)
			d.admitTerminal(turn, nil, nil)
			d.turnEnded(turn, nil)
			d.take()
		}
		return effects
	}
	for range maxEvidenceTurns {
		require.Equal(t, "startTurn", run(selecting))
	}
	refused := d.ask(d.conn, wirev2.MethodTurnStart, selecting)[0].(respond).response.Error
	require.Equal(t, wirev2.CodeLimitExceeded, refused.Code)
	require.Contains(t, refused.Message, "max_evidence_turns")
	require.Empty(t, d.session.turn)
	d.advance(d.now + retention - 1)
	require.Contains(t, run(selecting), "limit_exceeded")
	d.advance(d.now + 1)
	verify(d.core)
	require.Equal(t, "startTurn", run(selecting))
}

// rule: W-296, W-298, A-058
func TestAfterARestartNothingOfTheProfileIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say", "late")
		r.model.then(asks("say", "x"))
		turn := a.run("go").TurnID
		// The daemon dies: its journal stays as it is, and another instance opens it.
		other := r.crash(a.session)
		h := other.connect(true).claim(a.session, false)
		require.Empty(t, h.resources().Entries)
		h.refused(h.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn}), wirev2.CodeUnknownTurn)
		h.refused(resume(a.executor, a.secret), wirev2.CodeExecutorRejected)
		records := h.call(h.with(wirev2.MethodSessionHistory, nil)).Payload
		require.Contains(t, string(records), `"code":"cancelled"`)
		require.Contains(t, string(records), `"external_effects":"uncertain"`)
		require.Contains(t, string(records), `"status":"failed"`)
		require.Empty(t, h.calls())
		other.close()
		a.stop(turn)
	})
}
