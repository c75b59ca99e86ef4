package coordinator

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule
func TestEvidenceShowsWhatBecameOfEachCallAndMovesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		code := wirev2.ToolExecutionFailed
		r.model.then(asks("say", "argument-1", "argument-2", "argument-3"), says("done"))
		turn := a.run("go").TurnID
		calls := a.calls()
		a.report(a.session, calls[0], said("result-1"))
		a.report(a.session, calls[1], wirev2.Outcome{Status: wirev2.OutcomeError, Code: &code, Message: new("error-2")})
		time.Sleep(1500 * time.Microsecond)
		for range 50 {
			a.evidence(turn)
		}
		response := a.call(a.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn}))
		require.Len(t, a.calls(), 3)
		for _, hidden := range []string{"argument-1", "result-1", "error-2", "schema", a.secret.Reveal(), a.token.Reveal(), r.workspace} {
			require.NotContains(t, strings.ReplaceAll(string(response.Payload), "call-argument-1", ""), hidden)
		}
		var reply wirev2.TurnApplicationEvidenceReply
		r.decode(response, &reply)
		for i, want := range []struct {
			status  wirev2.CallStatus
			effects wirev2.Effects
		}{{wirev2.CallSucceeded, wirev2.EffectsReported}, {wirev2.CallFailed, wirev2.EffectsReported}, {wirev2.CallPending, wirev2.EffectsUncertain}} {
			got := reply.Calls[i]
			require.Equal(t, calls[i].CallID, got.CallID, "in the order of their need")
			require.Equal(t, want.status, got.Status)
			require.Equal(t, want.effects, got.ExternalEffects)
			require.Equal(t, i == 2, got.WaitKind != nil)
			require.Equal(t, i == 2, got.RemainingMS != nil)
		}
		require.Equal(t, wirev2.WaitExecution, *reply.Calls[2].WaitKind)
		require.Equal(t, int64(119999), *reply.Calls[2].RemainingMS, "119,998.5 ms, rounded up")
		want := fmt.Sprintf(`{"call_id":%q,"provider_call_id":%q,"name":"say","executor_id":%q,"executor_generation":1,"revision_sha256":%q,`+
			`"status":"succeeded","external_effects":"reported","wait_kind":null,"remaining_ms":null,"resource_id":%q,"revision_id":%q}`,
			calls[0].CallID, calls[0].ProviderCallID, a.executor, calls[0].RevisionSHA256, calls[0].ResourceID, calls[0].RevisionID)
		require.Contains(t, string(response.Payload), want)
		after(120*time.Second - 1500*time.Microsecond)
		require.Equal(t, wirev2.CallFailed, a.evidence(turn).Calls[2].Status, "the reads renewed nothing")
	})
}

// rule
func TestEvidenceIsTheControllersAndLivesWithTheOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		feed := make(line)
		r.model.then(feed.step)
		turn := a.run("go").TurnID
		read := func(h *held) request {
			return h.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn})
		}
		b := r.connect(true)
		a.resume(b)
		b.refused(read(a.held), wirev2.CodeStaleConnection) // the executor alone may not read
		foreign := r.open(true)
		foreign.refused(read(foreign), wirev2.CodeUnknownTurn)
		none := read(a.held)
		none.token = ""
		a.refused(none, wirev2.CodeControlRequired)
		after(time.Hour)
		a.evidence(turn) // an active turn's does not expire
		close(feed)
		synctest.Wait()
		a.ok(a.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{
			ExpectedRegistryRevision: a.resources().RegistryRevision,
		}), &wirev2.SessionResourcesClearReply{})
		require.Zero(t, r.c.core.resources.Usage().Bytes, "evidence keeps no body")
		for range 599 {
			after(time.Second)
			require.Len(t, a.evidence(turn).ApplicationManifest.Tools, 1)
		}
		after(time.Second - 1)
		a.evidence(turn)
		after(1)
		a.refused(read(a.held), wirev2.CodeUnknownTurn)
	})
}

// rule: A-109, W-109, W-273, A-057, A-081
func TestNoSecretArgumentResultOrBodyLeavesItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		r.c.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		a := r.application("say")
		r.write("canary-file.md", "canary-body")
		require.Nil(t, a.call(a.registration(file("how", "canary-file.md"), nil)).Error)
		var rotated wirev2.ExecutorRotateReply
		a.ok(rotate(a.executor, 1), &rotated)
		r.model.then(says("", provider.Call{ID: "1", Name: "say", Arguments: `{"text":"canary-argument"}`},
			provider.Call{ID: "2", Name: "say", Arguments: `{"text":"canary-open"}`}), says("done"))
		turn := a.run("go").TurnID
		a.report(a.session, a.calls()[0], said("canary-result"))
		a.refused(result(a.session, a.calls()[1], wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{"said":"canary-refused","more":1}`)}), wirev2.CodeInvalidPayload)
		a.refused(confirm(a.executor, "canary-secret"), wirev2.CodeExecutorRejected)
		a.refused(a.registration(file("x", "canary-missing"), nil), wirev2.CodeInvalidPayload)

		secrets := []string{a.secret.Reveal(), rotated.ResumeSecret.Reveal(), a.token.Reveal(), "canary-secret"}
		private := append([]string{"canary-argument", "canary-open", "canary-result", "canary-refused", "canary-body", "canary-file.md", "canary-missing"}, secrets...)
		for what, text := range map[string]string{
			"status":   string(a.call(request{method: wirev2.MethodDaemonStatus}).Payload),
			"evidence": string(a.call(a.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn})).Payload),
			"snapshot": string(a.call(a.with(wirev2.MethodSessionSnapshot, nil)).Payload),
			"list":     string(a.call(a.with(wirev2.MethodSessionResourcesList, nil)).Payload),
			"log":      log.String(),
			"state":    fmt.Sprintf("%+v %+v", *r.c.core.sessions[a.session], r.c.core.executors),
		} {
			for _, canary := range private {
				if what == "state" && !contains(secrets, canary) {
					continue // an open call keeps its arguments
				}
				require.NotContains(t, text, canary, what)
			}
		}
		for _, p := range []*peer{a.peer} {
			for _, response := range p.responses {
				if response.Error != nil {
					for _, canary := range private {
						require.NotContains(t, response.Error.Message, canary)
					}
				}
			}
		}
		require.NoError(t, filepath.WalkDir(r.state, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			for _, canary := range append([]string{"canary-body", "canary-file.md"}, secrets...) {
				require.NotContains(t, string(content), canary, path)
			}
			return err
		}))
		a.stop(turn)
	})
}

func contains(all []string, one string) bool {
	return slices.Contains(all, one)
}
