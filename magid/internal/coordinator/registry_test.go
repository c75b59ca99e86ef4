package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

func (h *held) registration(resource wirev2.Resource, expected *wirev2.ID) request {
	return h.with(wirev2.MethodSessionResourcesRegister, wirev2.SessionResourcesRegisterRequest{ExpectedRevision: expected, Resource: resource})
}

func file(name, path string) wirev2.Resource {
	return wirev2.Resource{Kind: wirev2.KindSkill, Name: name, Source: wirev2.Source{Kind: wirev2.SourceWorkspaceFile, Path: &path}}
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.workspace, name), []byte(content), 0o600))
}

// rule
func TestRegistryMethodsAnswerWithDescriptors(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		empty := h.resources()
		require.Empty(t, empty.Entries)
		q := h.registration(inline("say", wirev2.KindTool, fmt.Sprintf(contract, "")), nil)
		q.operation = wirev2.NewID()
		response := h.call(q)
		var made wirev2.SessionResourcesRegisterReply
		r.decode(response, &made)
		require.Equal(t, wirev2.Attribution{
			InstanceID: response.InstanceID, ConnectionID: h.id, OperationID: q.operation, GrantGeneration: h.generation,
		}, made.Entry.RegisteredBy)
		h.register("how", wirev2.KindSkill, "text", nil)
		listed := h.resources()
		require.Equal(t, []string{"how", "say"}, []string{listed.Entries[0].Name, listed.Entries[1].Name}, "skills before tools")
		require.Equal(t, made.Entry, listed.Entries[1])
		raw := string(h.call(h.with(wirev2.MethodSessionResourcesList, nil)).Payload)
		require.NotContains(t, raw, "schema")
		require.NotContains(t, raw, h.token.Reveal())

		var gone wirev2.SessionResourcesUnregisterReply
		h.ok(h.with(wirev2.MethodSessionResourcesUnregister, wirev2.SessionResourcesUnregisterRequest{
			ResourceID: made.Entry.ResourceID, ExpectedRevision: made.Entry.RevisionID,
		}), &gone)
		require.Equal(t, made.Entry.RevisionID, gone.RemovedRevision)
		h.refused(h.with(wirev2.MethodSessionResourcesUnregister, wirev2.SessionResourcesUnregisterRequest{
			ResourceID: made.Entry.ResourceID, ExpectedRevision: made.Entry.RevisionID,
		}), wirev2.CodeResourceNotFound)
		var cleared wirev2.SessionResourcesClearReply
		h.ok(h.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{ExpectedRegistryRevision: gone.RegistryRevision}), &cleared)
		require.Equal(t, int64(1), cleared.RemovedCount)
		h.refused(h.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{ExpectedRegistryRevision: gone.RegistryRevision}), wirev2.CodeConflict)
	})
}

// rule
func TestRegistryIsItsControllersAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		loser := *a.held
		winner := r.connect(true).claim(a.session, true)
		revision := wirev2.NewID()
		for _, q := range []request{
			loser.with(wirev2.MethodSessionResourcesList, nil),
			loser.registration(file("x", "no/such/file"), nil),
			loser.with(wirev2.MethodSessionResourcesUnregister, wirev2.SessionResourcesUnregisterRequest{ResourceID: revision, ExpectedRevision: revision}),
			loser.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{ExpectedRegistryRevision: revision}),
		} {
			loser.refused(q, wirev2.CodeStaleConnection) // though it holds the executor
			q.token = ""
			loser.refused(q, wirev2.CodeControlRequired)
		}
		require.Len(t, winner.resources().Entries, 1, "a takeover keeps the registry")
		other := winner.create()
		winner.refused(request{method: wirev2.MethodSessionResourcesList, session: other, token: winner.token}, wirev2.CodeStaleConnection)
		require.Equal(t, 1, r.c.core.resources.Usage().Registries)
	})
}

// rule: W-269, M-087, A-027, W-268
func TestMalformedRegistrationsAnswerBeforeState(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		stale := wirev2.NewID() // a state check that would answer conflict
		for name, resource := range map[string]wirev2.Resource{
			"name":           inline("Say", wirev2.KindTool, contract),
			"long name":      inline(strings.Repeat("n", 49), wirev2.KindTool, contract),
			"kind":           inline("say", "package", contract),
			"description":    {Kind: wirev2.KindSkill, Name: "x", Description: strings.Repeat("d", 513), Source: inline("x", wirev2.KindSkill, "").Source},
			"absolute path":  file("x", "/etc/passwd"),
			"parent path":    file("x", "../x"),
			"empty path":     file("x", ""),
			"long path":      file("x", strings.Repeat("p", 1025)),
			"path with NUL":  file("x", "a\x00b"),
			"no source kind": {Kind: wirev2.KindSkill, Name: "x"},
		} {
			h.refused(h.registration(resource, &stale), wirev2.CodeInvalidPayload)
			require.NotContains(t, name, "\n")
		}
		for _, payload := range []string{
			`{"expected_revision":null,"resource":{"kind":"tool","name":"x","description":"","contract":{}}}`,
			`{"expected_revision":null,"resource":{"kind":"skill","name":"x","description":"","content":"text"}}`,
			`{"resource":{"kind":"skill","name":"x","description":"","source":{"kind":"inline","content":"text"}}}`,
			`{"expected_revision":null,"resource":{"kind":"skill","name":"x","description":"","source":{"kind":"inline","content":"text","path":"p"}}}`,
		} {
			h.refused(h.with(wirev2.MethodSessionResourcesRegister, payload), wirev2.CodeInvalidPayload)
		}
		h.refused(h.registration(inline("say", wirev2.KindTool, `{}`), &stale), wirev2.CodeConflict)
		h.refused(h.registration(inline("say", wirev2.KindTool, `{}`), nil), wirev2.CodeInvalidPayload)
		require.Empty(t, h.resources().Entries)
	})
}

// rule: M-057, M-058, A-029
func TestCatalogsNamesAreTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		for _, name := range []string{"read_file", "list_files", "find_text", "delegate", "mcp_x"} {
			h.refused(h.registration(inline(name, wirev2.KindSkill, "text"), nil), wirev2.CodeConflict)
		}
	})
}

// rule: A-065
func TestLookupOfARegistrationKeepsNoBody(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		q := h.registration(inline("how", wirev2.KindSkill, "the body itself"), nil)
		q.operation = wirev2.NewID()
		require.Nil(t, h.call(q).Error)
		found := h.lookup(q.operation)
		require.Equal(t, wirev2.OperationCompleted, found.State)
		require.Contains(t, string(found.Result), `"registry_revision"`)
		require.NotContains(t, string(found.Result), "the body itself")
	})
}

// rule
func TestRegistryLivesWithItsControllerAndItsTurn(t *testing.T) {
	const idle = 900 * time.Second
	for _, c := range []struct {
		wait time.Duration
		gone bool
	}{{idle - 1, false}, {idle, true}, {idle + 1, true}} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			feed := make(line)
			r.model.then(feed.step)
			a.run("go")
			a.leave()
			after(2 * idle) // its turn protects it
			close(feed)
			synctest.Wait()
			after(c.wait)
			next := r.connect(true).claim(a.session, false)
			require.Equal(t, c.gone, len(next.resources().Entries) == 0)
		})
	}
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		for range 3 { // a reclaim resets the time
			a.leave()
			after(idle - 1)
			next := r.connect(true)
			a.held = next.claim(a.session, false)
			require.Len(t, a.resources().Entries, 1)
			after(2 * idle)
			require.Len(t, a.resources().Entries, 1, "a controller protects it")
		}
		empty := r.open(true)
		empty.resources()
		require.Equal(t, 2, r.c.core.resources.Usage().Registries)
		empty.ok(empty.with(wirev2.MethodSessionRelease, nil), &wirev2.SessionReleaseReply{})
		require.Equal(t, 1, r.c.core.resources.Usage().Registries, "an empty one goes with its controller")
		a.leave()
		after(idle)
		require.Zero(t, r.c.core.resources.Usage())
	})
}

// rule: A-050
func TestWorkspaceFileIsCapturedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		r.write("skill.md", "original")
		var made wirev2.SessionResourcesRegisterReply
		h.ok(h.registration(file("how", "skill.md"), nil), &made)
		require.Equal(t, int64(len("original")), made.Entry.CapturedBytes)
		r.write("skill.md", "changed, and longer")
		require.NoError(t, os.Remove(filepath.Join(r.workspace, "skill.md")))
		a := &app{held: h}
		r.model.then(says("ok"))
		a.run("go")
		require.Contains(t, r.model.requests[0].System, "original")
	})
}

// rule: M-088, M-089, A-038, A-039, A-040
func TestCaptureRefusalsNameTheRuleAndNoPath(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(true)
		r.write("plain", "text")
		r.write("big", strings.Repeat("a", 16385))
		r.write("exact", strings.Repeat("a", 16384))
		r.write("binary", "\xff\xfe")
		r.write(".env", "KEY=1")
		require.NoError(t, os.Symlink("plain", filepath.Join(r.workspace, "link")))
		r.write("one", "text")
		require.NoError(t, os.Link(filepath.Join(r.workspace, "one"), filepath.Join(r.workspace, "two")))
		require.NoError(t, unix.Mkfifo(filepath.Join(r.workspace, "fifo"), 0o600))
		for path, code := range map[string]wirev2.Code{
			"missing": wirev2.CodeInvalidPayload, "link": wirev2.CodeInvalidPayload, "two": wirev2.CodeInvalidPayload,
			"fifo": wirev2.CodeInvalidPayload, "binary": wirev2.CodeInvalidPayload, ".env": wirev2.CodeInvalidPayload,
			"big": wirev2.CodeLimitExceeded,
		} {
			refusal := h.refused(h.registration(file("how", path), nil), code)
			require.NotContains(t, refusal.Message, path+" ")
			require.NotContains(t, refusal.Message, r.workspace)
		}
		require.Zero(t, r.c.core.resources.Usage().Registries, "a refused registration makes no registry")
		require.Nil(t, h.call(h.registration(file("how", "exact"), nil)).Error)
	})
}

// rule: M-063
func TestCaptureKeepsOutOfTheStateFolder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.c.state = r.state
		p := r.connect(true)
		var made wirev2.SessionCreateReply
		p.ok(request{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: filepath.Dir(r.state)}}, &made)
		h := p.claim(made.SessionID, false)
		path := filepath.Join(filepath.Base(r.state), "sessions", string(made.SessionID), "journal.jsonl")
		h.refused(h.registration(file("how", path), nil), wirev2.CodeInvalidPayload)
		r.c.state = ""
		require.Nil(t, h.call(h.registration(file("how", path), nil)).Error, "it is the folder that keeps it out")
	})
}

// capturing is a registration that waits for its source: the core is driven by
// hand, and the worker brings what the test says.
type capturing struct {
	*desk
	effect captureSource
}

func newCapturing(t *testing.T, deadline time.Duration) *capturing {
	t.Helper()
	d := newDesk()
	d.conn.selected = true
	effects := d.raw(wirev2.MethodSessionResourcesRegister,
		`{"expected_revision":null,"resource":{"kind":"skill","name":"how","description":"","source":{"kind":"workspace_file","path":"f"}}}`, d.now+deadline)
	capture, ok := effects[0].(captureSource)
	require.True(t, ok, told(effects))
	return &capturing{d, capture}
}

// raw is ask with a deadline of its own.
func (d *desk) raw(method wirev2.Method, payload string, deadline time.Duration) []effect {
	d.n++
	q := wirev2.Request{RequestID: fmt.Sprint(d.n), Method: method, SessionID: d.session.id, ControlToken: d.token, Payload: []byte(payload)}
	if info, _ := method.Lookup(); info.Operation == wirev2.Required {
		q.OperationID = wirev2.NewID()
	}
	d.handle(d.conn, q, deadline, true)
	return d.take()
}

const inlineSkill = `{"expected_revision":null,"resource":{"kind":"skill","name":"other","description":"","source":{"kind":"inline","content":"x"}}}`

// rule, M-090, M-091, M-092, W-308, A-035
func TestOneSourceIsCapturedAtATime(t *testing.T) {
	c := newCapturing(t, time.Hour)
	require.Equal(t, 128<<10, c.resources.Usage().CaptureBytes)
	require.Equal(t, "#3 configuration_busy", told(c.raw(wirev2.MethodSessionResourcesRegister, inlineSkill, time.Hour)))
	stale := strings.Replace(inlineSkill, `"expected_revision":null`, `"expected_revision":"`+string(wirev2.NewID())+`"`, 1)
	require.Equal(t, "#4 conflict", told(c.raw(wirev2.MethodSessionResourcesRegister, stale, time.Hour)), "revision before the slot")
	require.Equal(t, "#5 ok", told(c.raw(wirev2.MethodSessionResourcesList, `{}`, time.Hour)))
	require.Equal(t, "#6 unknown_turn", told(c.raw(wirev2.MethodTurnStop, `{"turn_id":"`+string(wirev2.NewID())+`"}`, time.Hour)))
	require.Equal(t, "startTurn", told(c.raw(wirev2.MethodTurnStart, `{"prompt":"x"}`, time.Hour)), "an empty registry asks for no application")

	c.captured(c.effect, []byte("text"), nil)
	require.Zero(t, c.resources.Usage().CaptureBytes)
	require.Equal(t, "#2 ok", told(c.take()))
	require.Equal(t, "#8 ok", told(c.raw(wirev2.MethodSessionResourcesRegister, inlineSkill, time.Hour)), "the slot is free before the reply")
}

// rule
func TestCaptureIsDiscardedWhenItsRequestIsOver(t *testing.T) {
	for name, end := range map[string]func(c *capturing) string{
		"deadline":   func(c *capturing) string { c.advance(time.Second); return "#2 deadline_exceeded" },
		"takeover":   func(c *capturing) string { c.claim(c.connect(wirev2.NewID(), true, quiet{})); return "" },
		"release":    func(c *capturing) string { c.raw(wirev2.MethodSessionRelease, `{}`, time.Hour); return "" },
		"disconnect": func(c *capturing) string { c.disconnect(c.conn); return "#2 stale_connection, closeLease" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCapturing(t, time.Second)
			want := end(c)
			effects := told(c.take())
			if want != "" {
				require.Equal(t, want, effects)
			}
			require.Equal(t, 128<<10, c.resources.Usage().CaptureBytes, "the slot is charged until the worker returns")
			require.NotNil(t, c.capturing)
			c.captured(c.effect, []byte("text"), nil)
			require.Empty(t, c.take())
			require.Zero(t, c.resources.Usage(), "and what it brings is thrown away")
			require.False(t, c.resources.Nonempty(appresources.ID(c.session.id)))
		})
	}
	t.Run("one before the deadline", func(t *testing.T) {
		c := newCapturing(t, time.Second)
		c.advance(time.Second - 1)
		c.captured(c.effect, []byte("text"), nil)
		require.Equal(t, "#2 ok", told(c.take()))
		c.advance(time.Second)
		require.Empty(t, c.take())
	})
}
