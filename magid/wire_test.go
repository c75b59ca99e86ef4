package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

func codeOf(t *testing.T, err error) wirev2.Code {
	t.Helper()
	if err == nil {
		return ""
	}
	var refused *wirev2.Error
	require.True(t, errors.As(err, &refused), "%v", err)
	return refused.Code
}

// rule: W-303, W-268
func TestNoRequestChoosesTheProvider(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	theirs, err := scripted.StartReplies(scripted.TextReply("not configured"))
	require.NoError(t, err)
	defer theirs.Close()
	ours := p.model(scripted.TextReply("configured"))
	p.serve()
	c := p.raw()
	session := field(t, c.ask(with(record("c", "session.create", fmt.Sprintf(`{"workspace":%q}`, p.workspace)), "", "", wirev2.NewID())), "session_id", true)
	token := field(t, c.ask(with(record("k", "session.claim", "{}"), session, "", wirev2.NewID())), "control_token", true)
	for _, member := range []string{
		`"base_url":"` + theirs.URL() + `"`, `"model":"other"`, `"api_key":"sk-other"`, `"provider":{"base_url":"` + theirs.URL() + `"}`,
	} {
		require.Contains(t, c.ask(with(record("t", "turn.start", `{"prompt":"x",`+member+`}`), session, token, wirev2.NewID())), `"code":"invalid_payload"`)
		require.Contains(t, c.ask(with(record("c", "session.create", fmt.Sprintf(`{"workspace":%q,%s}`, p.workspace, member)), "", "", wirev2.NewID())), `"code":"invalid_payload"`)
	}
	started := c.ask(with(record("t", "turn.start", `{"prompt":"x"}`), session, token, wirev2.NewID()))
	require.NotContains(t, started, `"error"`)
	for line := ""; ; {
		if line = c.line(); field(t, line, "event", false) == "turn.terminal" {
			require.Equal(t, "configured", field(t, line, "text", true))
			break
		}
	}
	require.Len(t, ours.Requests(), 1)
	require.Empty(t, theirs.Requests())
}

// A session has one controller, and events go to it alone.
//
// rule: W-044, W-045, W-139, W-140, W-142, W-143
func TestEventsGoToTheControllerAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hold := func(name string) scripted.Step { return scripted.Hold(name) }
	model := p.model(scripted.Reply{Steps: []scripted.Step{
		scripted.Text("one "), hold("first"), scripted.Text("two "), hold("second"), scripted.Text("three"), scripted.Finish("stop"), scripted.Done(),
	}})
	p.serve()
	a, b, c := p.dial(), p.dial(), p.dial()
	id := p.session(a)
	nobody := c.Subscribe(nil)
	first := p.claimed(a, id)
	started, err := first.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "go"})
	require.NoError(t, err)
	<-model.Held("first")
	until(t, "the first words", func() bool {
		s, err := first.Snapshot(t.Context())
		require.NoError(t, err)
		return s.Turn.Text == "one "
	})
	second, err := b.Claim(t.Context(), "", id, true)
	require.NoError(t, err)
	require.Equal(t, first.Generation()+1, second.Generation())
	model.Release("first")

	// The loser sees what it had, then that it lost, then nothing.
	text, events := "", []wirev2.EventName{}
	for len(events) == 0 || events[len(events)-1] != wirev2.EventSessionControlLost {
		e, err := first.Events().Next(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(events)+1, e.LiveSequence)
		require.Equal(t, first.Generation(), e.GrantGeneration)
		events = append(events, e.Event)
		if e.Event == wirev2.EventTurnText {
			var piece wirev2.TurnTextEvent
			require.NoError(t, wirev2.DecodePayload(e.Payload, &piece))
			text += piece.Text
		}
	}
	require.Equal(t, "one ", text)
	require.Equal(t, wirev2.EventTurnStarted, events[0])
	_, err = first.Snapshot(t.Context())
	require.Equal(t, wirev2.CodeStaleConnection, codeOf(t, err))
	_, err = first.StopTurn(t.Context(), "", started.TurnID)
	require.Equal(t, wirev2.CodeStaleConnection, codeOf(t, err))

	// The winner releases in the middle; the turn goes on, and whoever claims next finds the rest.
	<-model.Held("second")
	until(t, "the second words", func() bool {
		s, err := second.Snapshot(t.Context())
		require.NoError(t, err)
		return s.Turn.Text == "one two "
	})
	e, err := second.Events().Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, e.LiveSequence, "each grant begins at 1")
	require.NoError(t, second.Release(t.Context(), ""))
	third, err := c.Claim(t.Context(), "", id, false)
	require.NoError(t, err)
	model.Release("second")
	later, terminal := end(t, third)
	require.Equal(t, "one two three", third.Claimed().Turn.Text+later)
	require.Equal(t, "one two three", terminal.Text)
	// A round trip later, whatever was sent to the other two has arrived.
	for _, other := range []*client.Client{a, b} {
		_, err = other.Status(t.Context())
		require.NoError(t, err)
		require.Zero(t, other.Dropped())
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = first.Events().Next(over)
	require.ErrorIs(t, err, context.Canceled, "the loser hears no more")
	for {
		e, err := nobody.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, third.Generation(), e.GrantGeneration, "a bystander hears nothing before its own claim")
		if e.Event == wirev2.EventTurnTerminal {
			break
		}
	}
}

// rule: W-258, W-271
func TestErrorsAreOfTheClosedListAndOneLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	c := p.raw()
	id := string(wirev2.NewID())
	for _, text := range []string{
		`{}` + "\n", `{"v":2}` + "\n", record("a", "nonsense\\n", "{}"), record("a", "initialize", "{}"), record("a", "capabilities", `{"a\nb":1}`),
		record("a", "session.list", `{"limit":0}`), record("a", "session.list", `{"cursor":"\n"}`), record("a", "executor.create", "{}"),
		with(record("a", "session.create", `{"workspace":"a\nb"}`), "", "", wirev2.NewID()),
		with(record("a", "session.create", `{"workspace":"/no/such\nfolder"}`), "", "", wirev2.NewID()),
		with(record("a", "session.claim", "{}"), id, "", wirev2.NewID()), with(record("a", "turn.start", "{}"), id, "x\\ny", wirev2.NewID()),
		with(record("a", "operation.lookup", `{"operation_id":"`+id+`"}`), "", "", ""),
	} {
		line := c.ask(text)
		answer := parse[struct {
			Error struct {
				Code    wirev2.Code `json:"code"`
				Message string      `json:"message"`
			} `json:"error"`
		}](t, line)
		require.True(t, answer.Error.Code.Known(), line)
		require.NotEmpty(t, answer.Error.Message, line)
		require.NotContains(t, answer.Error.Message, "\n", line)
	}
}
