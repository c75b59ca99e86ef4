package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// acknowledged is what a client had been told when its daemon died.
type acknowledged struct {
	session  wirev2.ID
	claimed  bool
	turn     wirev2.ID        // of an answered turn.start
	terminal *wirev2.Terminal // of a turn.terminal event
	records  []jsontext.Value // of the last session.history
}

const crashPrompt = "look at the file"

// crashReplies are a turn with a tool call: every durable step that a turn has.
func crashReplies() []scripted.Reply {
	return []scripted.Reply{
		scripted.CallReply(scripted.Call{Index: 0, ID: "c1", Name: "read_file", Arguments: `{"path":"a.txt"}`}),
		scripted.TextReply("It says ", "hello."),
	}
}

// live does everything that leaves a trace on disk, until the daemon dies under it.
func live(p *place, c *client.Client) (a acknowledged) {
	ctx := p.t.Context()
	id, err := c.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: p.workspace})
	if err != nil {
		return a
	}
	a.session = id
	s, err := c.Claim(ctx, "", id, false)
	if err != nil {
		return a
	}
	a.claimed = true
	reply, err := s.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: crashPrompt})
	if err != nil {
		return a
	}
	a.turn = reply.TurnID
	for a.terminal == nil {
		e, err := s.Events().Next(ctx)
		if err != nil {
			return a
		}
		if e.Event == wirev2.EventTurnTerminal {
			a.terminal = new(wirev2.Terminal)
			require.NoError(p.t, wirev2.DecodePayload(e.Payload, a.terminal))
		}
		page, err := s.History(ctx, wirev2.SessionHistoryRequest{})
		if err == nil {
			a.records = page.Records
		}
	}
	return a
}

// historyJSON is what `magid history --json` prints.
type historyJSON struct {
	SessionID wirev2.ID        `json:"session_id"`
	Records   []jsontext.Value `json:"records"`
}

// rule: W-290, W-294, W-295, W-297, W-299, W-291, M-008
func TestKilledAtEachDurableStepNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	steps := 0
	for step := 1; ; step++ {
		died := dieAt(t, fmt.Sprint(step))
		if !died {
			break
		}
		steps++
	}
	require.GreaterOrEqual(t, steps, 12, "a session and a turn with a call have so many durable steps")
}

// rule: W-291, W-290, W-297
func TestKilledWithATornWriteNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	writes := 0
	for write := 1; dieAt(t, fmt.Sprintf("torn:%d", write)); write++ {
		writes++
	}
	require.GreaterOrEqual(t, writes, 4, "the session, the prompt, the reply, the result and the end")
}

// dieAt runs the whole life against a daemon that dies at a step, and then looks at what the next daemon makes of it. It
// reports whether the daemon died at all.
func dieAt(t *testing.T, at string) (died bool) {
	t.Helper()
	p := newPlace(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.workspace, "a.txt"), []byte("hello"), 0o600))
	model := p.model(crashReplies()...)
	mortal := p.mortal(at)
	var told acknowledged
	if p.answersOrDies(mortal) {
		c := p.dial()
		told = live(p, c)
		if told.terminal != nil && c.Err() == nil {
			mortal.kill()
			return false
		}
	}
	require.Equal(t, -1, mortal.ends(), "killed by a signal")
	asked := len(model.Requests())

	second := p.serve()
	if told.session == "" {
		// What was never acknowledged may be there or not, but it is whole.
		for _, s := range parse[struct {
			Sessions []struct {
				ID wirev2.ID `json:"session_id"`
			} `json:"sessions"`
		}](t, p.run("sessions", "--json").stdout).Sessions {
			require.Len(t, history(t, p.claimed(p.dial(), s.ID)), 1)
		}
		return true
	}
	before := p.run("history", string(told.session), "--json")
	require.Zero(t, before.code, before.stderr)
	records := parse[historyJSON](t, before.stdout).Records
	require.GreaterOrEqual(t, len(records), len(told.records), at)
	for i, record := range told.records {
		require.JSONEq(t, withoutManifest(t, record), withoutManifest(t, records[i]), "%s: record %d", at, i)
	}
	// The next opening closes what was open.
	s := p.claimed(p.dial(), told.session)
	after := history(t, s)
	require.GreaterOrEqual(t, len(after), len(told.records))
	checkClosed(t, at, told, after)
	require.Len(t, model.Requests(), asked, "%s: nothing is dispatched again", at)

	// And the session is good for another turn, whose request is well formed.
	model.Add(scripted.TextReply("again"))
	drain(model, crashReplies(), asked)
	_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "again"})
	require.NoError(t, err, at)
	_, terminal := end(t, s)
	require.Equal(t, wirev2.TerminalCompleted, terminal.Status, "%s: %v", at, terminal.Error)
	second.kill()
	return true
}

// drain uses up what is left of a script, so that the next request gets the reply that was added.
func drain(model *scripted.Server, script []scripted.Reply, used int) {
	for range len(script) - used {
		_ = postNothing(model.URL())
	}
}

func withoutManifest(t *testing.T, record jsontext.Value) string {
	t.Helper()
	var members map[string]jsontext.Value
	require.NoError(t, json.Unmarshal(record, &members))
	delete(members, "application_manifest")
	out, err := json.Marshal(members)
	require.NoError(t, err)
	return string(out)
}

func history(t *testing.T, s *client.Session) (records []wirev2.Record) {
	t.Helper()
	page, err := s.History(t.Context(), wirev2.SessionHistoryRequest{})
	require.NoError(t, err)
	require.Nil(t, page.NextAfter)
	for _, raw := range page.Records {
		record, err := wirev2.DecodeRecord(raw)
		require.NoError(t, err)
		require.EqualValues(t, len(records)+1, record.Head().N)
		records = append(records, record)
	}
	return records
}

// checkClosed says that every turn has an end and every call a result, and that the end is the right one.
func checkClosed(t *testing.T, at string, told acknowledged, records []wirev2.Record) {
	t.Helper()
	open, calls := wirev2.ID(""), make(map[wirev2.ID]bool)
	for _, record := range records {
		switch r := record.(type) {
		case *wirev2.UserRecord:
			require.Empty(t, open)
			require.Equal(t, crashPrompt, r.Prompt)
			open = r.TurnID
		case *wirev2.ToolCallRecord:
			calls[r.CallID] = true
		case *wirev2.ToolResultRecord:
			require.True(t, calls[r.CallID])
			delete(calls, r.CallID)
		case *wirev2.TerminalRecord:
			require.Equal(t, open, r.TurnID)
			require.Empty(t, calls, "%s: a call without a result", at)
			if told.terminal != nil {
				require.Equal(t, told.terminal.Status, r.Status, "%s: the end that was told is the end", at)
			} else if r.Status != wirev2.TerminalCompleted {
				require.Equal(t, wirev2.TerminalFailed, r.Status, at)
				require.Equal(t, wirev2.TurnInternal, r.Error.Code, at)
			}
			open = ""
		}
	}
	require.Empty(t, open, "%s: a turn without an end", at)
	require.Empty(t, calls, at)
	if told.turn != "" {
		require.Greater(t, len(records), 1, "%s: the turn that was answered is recorded", at)
	}
}

// rule: W-144, W-145
func TestSecondDaemonOnTheSameStateGetsSessionLocked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := p.model(scripted.Reply{Steps: []scripted.Step{scripted.Text("a"), scripted.Hold("on"), scripted.Text("b"), scripted.Finish("stop"), scripted.Done()}})
	p.serve()
	other := newPlace(t)
	other.env = append(other.env, "MAGI_STATE="+p.state)
	other.serve()

	mine, theirs := p.dial(), other.dial()
	id := p.session(mine)
	locked := func() string {
		_, err := theirs.Claim(t.Context(), "", id, false)
		if err == nil {
			return ""
		}
		var refused *wirev2.Error
		require.ErrorAs(t, err, &refused)
		return string(refused.Code)
	}
	s := p.claimed(mine, id)
	require.Equal(t, "session_locked", locked())
	_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "x"})
	require.NoError(t, err)
	require.NoError(t, s.Release(t.Context(), ""))
	require.Equal(t, "session_locked", locked(), "released, and a turn runs")
	<-model.Held("on")
	model.Release("on")
	until(t, "the lock is free when the turn has ended", func() bool { return locked() == "" })
}
