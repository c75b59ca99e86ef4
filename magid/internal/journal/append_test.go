package journal

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-278
func TestRecordsCarryNumberTimeAndType(t *testing.T) {
	dir, store := state(t)
	before := time.Now().UTC().Truncate(time.Millisecond)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), assistant("hi")))
	require.NoError(t, s.Append(completed("hi")))
	after := time.Now().UTC()
	form := regexp.MustCompile(`^\{"n":([0-9]+),"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)","type":"([a-z_]+)",`)
	var got []string
	for _, line := range fileLines(t, dir) {
		m := form.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		got = append(got, m[1]+" "+m[3])
		at, err := time.Parse(time.RFC3339, m[2])
		require.NoError(t, err)
		require.False(t, at.Before(before) || at.After(after), line)
	}
	require.Equal(t, []string{"1 session", "2 user", "3 assistant", "4 terminal"}, got)
}

// rule: W-279, W-280, W-282, W-284, W-285, W-286, W-287, W-288
func TestRecordsHaveExactlyTheMembersOfTheSpecification(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	failed := completed("text")
	failed.Status, failed.Usage = wirev2.TerminalFailed, nil
	failed.Error = &wirev2.TurnError{Code: wirev2.TurnToolFailed, Message: "why"}
	callC := id(8)
	require.NoError(t, s.Append(
		user(), toolContract(), assistant("text", callA, callB, callC),
		builtin(callA), application(callB), invalidCall(callC),
		success(callA), synthetic(callB), synthetic(callC), failed))
	var got []string
	for _, line := range fileLines(t, dir) {
		got = append(got, body(t, line))
	}
	turn := `"turn_id":"` + string(turnID) + `"`
	require.Equal(t, []string{
		`{"session_id":"` + string(sessionID) + `","workspace":"/work/space","title":"a title"}`,
		`{` + turn + `,"operation_id":"` + string(operation) + `","prompt":"do it","application_manifest":null}`,
		`{` + turn + `,"resource_id":"` + string(resource) + `","revision_id":"` + string(revision) + `","revision_sha256":"` + sha +
			`","name":"tool","description":"does it","input_schema":{"type":"object"},"output_schema":{"type":"object"},"timeout_ms":1000}`,
		`{` + turn + `,"text":"text","tool_calls":["` + string(callA) + `","` + string(callB) + `","` + string(callC) + `"]}`,
		`{` + turn + `,"call_id":"` + string(callA) + `","provider_call_id":"p-` + string(callA) +
			`","minted":false,"name":"read_file","arguments":{"path":"x"},"resource_id":null,"revision_id":null,"revision_sha256":null}`,
		`{` + turn + `,"call_id":"` + string(callB) + `","provider_call_id":"p-` + string(callB) +
			`","minted":false,"name":"tool","arguments":{"path":"x"},"resource_id":"` + string(resource) + `","revision_id":"` + string(revision) +
			`","revision_sha256":"` + sha + `"}`,
		`{` + turn + `,"call_id":"` + string(callC) + `","provider_call_id":"p-` + string(callC) +
			`","minted":false,"name":"tool","arguments":null,"arguments_text":"{\"a\":","resource_id":"` + string(resource) + `","revision_id":"` +
			string(revision) + `","revision_sha256":"` + sha + `"}`,
		`{` + turn + `,"call_id":"` + string(callA) + `","status":"success","value":{"ok":true},"synthetic":false,"external_effects":"reported"}`,
		`{` + turn + `,"call_id":"` + string(callB) + `","status":"error","code":"cancelled","message":"stopped","synthetic":true,"external_effects":"not_dispatched"}`,
		`{` + turn + `,"call_id":"` + string(callC) + `","status":"error","code":"cancelled","message":"stopped","synthetic":true,"external_effects":"not_dispatched"}`,
		`{` + turn + `,"operation_id":"` + string(operation) + `","status":"failed","text":"text","error":{"code":"tool_failed","message":"why"},"usage":null}`,
	}, got)
}

// rule: W-026, W-028, W-029
func TestAJournalLineIsWhatTheWireShows(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	u := user()
	u.Prompt = "<a> & \u2028 \u007f / é\t"
	call := builtin(callA)
	call.Arguments = jsontext.Value("{ \"path\" : \"\u2028\u007f\\/\" }")
	require.NoError(t, s.Append(u, assistant("", callA), call))
	lines := fileLines(t, dir)
	require.Contains(t, lines[1], `"prompt":"<a> & \u2028 \u007f / é\t"`)
	require.Contains(t, lines[3], `"arguments":{"path":"\u2028\u007f/"}`)
	page, err := s.Read(View{After: 1})
	require.NoError(t, err)
	for i, raw := range page.Records {
		require.Equal(t, lines[i+1], string(raw))
	}
}

// rule: W-277
func TestAcknowledgedBytesNeverChange(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	steps := [][]wirev2.Record{
		{user()}, {assistant("a", callA), builtin(callA)}, {success(callA)}, {assistant("b")}, {completed("a\n\nb")}, {user()},
	}
	var acknowledged []byte
	check := func() {
		b, err := os.ReadFile(journalFile(dir))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(b), string(acknowledged)))
		acknowledged = b
	}
	check()
	for _, recs := range steps {
		require.NoError(t, s.Append(recs...))
		check()
		require.ErrorIs(t, s.Append(sessionRecord()), ErrRefused)
		check()
	}
	s = reopen(t, store, s) // closes the turn that is active
	check()
	reopen(t, store, s)
	check()
}

// rule: W-290
func TestAppendReturnsAfterOneWriteAndOneSync(t *testing.T) {
	var steps []Step
	store, err := OpenHooked(t.TempDir(), func(step Step) error { steps = append(steps, step); return nil })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	steps = nil
	s := newSession(t, store)
	require.Equal(t, []Step{
		StepMakeFolder, StepMakeJournal, StepWrite, StepSync, StepSyncFolder, StepRename, StepSyncSessions,
	}, steps)
	steps = nil
	require.NoError(t, s.Append(user(), assistant("", callA), builtin(callA)))
	require.Equal(t, []Step{StepWrite, StepSync}, steps)
	steps = nil
	require.NoError(t, s.Append())
	require.ErrorIs(t, s.Append(user()), ErrRefused)
	require.Empty(t, steps)
}

// rule: W-283, W-284
func TestRecordsComeInTheOrderOfATurn(t *testing.T) {
	otherTurn := func(r wirev2.Record) wirev2.Record {
		switch r := r.(type) {
		case *wirev2.ToolContractRecord:
			r.TurnID = id(99)
		case *wirev2.AssistantRecord:
			r.TurnID = id(99)
		case *wirev2.ToolCallRecord:
			r.TurnID = id(99)
		case *wirev2.ToolResultRecord:
			r.TurnID = id(99)
		case *wirev2.TerminalRecord:
			r.TurnID = id(99)
		}
		return r
	}
	begun := []wirev2.Record{user(), toolContract(), assistant("", callA, callB)}
	called := append(begun[:len(begun):len(begun)], builtin(callA), application(callB))
	sameProviderID := builtin(callB)
	sameProviderID.ProviderCallID = "p-" + string(callA)
	otherOperation := completed("")
	otherOperation.OperationID = id(99)
	for _, test := range []struct {
		why    string
		before []wirev2.Record
		rec    wirev2.Record
	}{
		{"a second session record", nil, sessionRecord()},
		{"outside a turn", nil, toolContract()},
		{"outside a turn", nil, assistant("")},
		{"outside a turn", nil, builtin(callA)},
		{"outside a turn", nil, success(callA)},
		{"outside a turn", nil, completed("")},
		{"outside a turn", []wirev2.Record{user(), completed("")}, completed("")},
		{"inside a turn", begun, user()},
		{"not the active turn's", begun, otherTurn(toolContract())},
		{"not the active turn's", called, otherTurn(assistant(""))},
		{"not the active turn's", begun, otherTurn(builtin(callA))},
		{"not the active turn's", called, otherTurn(success(callA))},
		{"not the active turn's", []wirev2.Record{user()}, otherTurn(completed(""))},
		{"not the turn's", []wirev2.Record{user()}, otherOperation},
		{"second tool_contract", begun, toolContract()},
		{"before its tool_contract", []wirev2.Record{user(), assistant("", callA)}, application(callA)},
		{"no assistant record lists here", []wirev2.Record{user()}, builtin(callA)},
		{"no assistant record lists here", begun, builtin(callB)},
		{"no assistant record lists here", called, builtin(callA)},
		{"used twice", begun[:3:3], sameProviderID},
		{"names a call twice", []wirev2.Record{user()}, assistant("", callA, callA)},
		{"names a call twice", append(called[:5:5], success(callA), success(callB)), assistant("", callA)},
		{"before the last one's calls", begun, assistant("")},
		{"before all results", append(called[:5:5], success(callA)), assistant("")},
		{"without its call", begun, success(callA)},
		{"without its call", called, success(id(99))},
		{"before all calls of the reply", append(begun[:3:3], builtin(callA)), success(callA)},
		{"second tool_result", append(called[:5:5], success(callA)), synthetic(callA)},
		{"before all results", append(called[:5:5], success(callA)), completed("")},
		{"calls that were not recorded", begun, completed("")},
	} {
		t.Run(test.why, func(t *testing.T) {
			dir, store := state(t)
			s := newSession(t, store)
			before := test.before
			if test.why == "used twice" {
				before = append(before, builtin(callA))
			}
			require.NoError(t, s.Append(before...))
			lines := fileLines(t, dir)
			err := s.Append(test.rec)
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, test.why)
			require.Equal(t, lines, fileLines(t, dir))
			// Refused in a batch, the records before it are not written either.
			require.ErrorIs(t, s.Append(append(closing(before), test.rec, test.rec)...), ErrRefused)
			require.Equal(t, lines, fileLines(t, dir))
			// And the session goes on.
			require.NoError(t, s.Append(closing(before)...))
			reopen(t, store, s)
		})
	}
}

// closing ends the turn that recs leave open, if any, without claiming that it went well.
func closing(recs []wirev2.Record) []wirev2.Record {
	var open []wirev2.Record
	active := false
	done := map[wirev2.ID]bool{}
	for _, r := range recs {
		switch r := r.(type) {
		case *wirev2.UserRecord:
			active = true
		case *wirev2.TerminalRecord:
			active = false
		case *wirev2.ToolResultRecord:
			done[r.CallID] = true
		}
	}
	for _, r := range recs {
		if c, ok := r.(*wirev2.ToolCallRecord); ok && !done[c.CallID] {
			open = append(open, synthetic(c.CallID))
		}
	}
	if !active {
		return nil
	}
	end := completed("")
	end.Status = wirev2.TerminalCancelled
	return append(open, end)
}
