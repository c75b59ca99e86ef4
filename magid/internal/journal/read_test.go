package journal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// talk appends n turns of three records.
func talk(t testing.TB, s *Session, n int) {
	t.Helper()
	for i := range n {
		u, a, end := user(), assistant(fmt.Sprint("answer ", i)), completed("")
		u.Prompt = fmt.Sprint("question ", i)
		u.TurnID, a.TurnID, end.TurnID = id(1000+i), id(1000+i), id(1000+i)
		require.NoError(t, s.Append(u, a, end))
	}
}

// rule: W-124, W-125
func TestPagesFollowOneAnotherWithoutGapOrRepeat(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	talk(t, s, 90) // 271 records: more than four strides
	whole, err := s.Read(View{Limit: 1000, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Len(t, whole.Records, 271)
	require.Zero(t, whole.NextAfter)
	for _, limit := range []int{1, 2, 63, 64, 65, 199, 200, 201, 270, 271, 272} {
		var got []string
		after := int64(0)
		for {
			page, err := s.Read(View{After: after, Limit: limit, MaxBytes: 1 << 20})
			require.NoError(t, err)
			require.NotEmpty(t, page.Records)
			require.LessOrEqual(t, len(page.Records), limit)
			for _, raw := range page.Records {
				got = append(got, string(raw))
			}
			if page.NextAfter == 0 {
				break
			}
			require.Len(t, page.Records, limit)
			require.Equal(t, int64(len(got)), page.NextAfter)
			after = page.NextAfter
		}
		require.Len(t, got, 271)
		for i, raw := range whole.Records {
			require.Equal(t, string(raw), got[i])
		}
	}
	page, err := s.Read(View{})
	require.NoError(t, err)
	require.Len(t, page.Records, 200, "the default")
	require.Equal(t, int64(200), page.NextAfter)
}

// rule: W-124
func TestAfterMeansGreater(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	talk(t, s, 43) // 130 records
	for _, after := range []int64{0, 1, 62, 63, 64, 65, 127, 128, 129} {
		page, err := s.Read(View{After: after, Limit: 1})
		require.NoError(t, err)
		rec, err := wirev2.DecodeRecord(page.Records[0])
		require.NoError(t, err)
		require.Equal(t, after+1, rec.Head().N)
	}
	for _, after := range []int64{130, 131, 1 << 62} {
		page, err := s.Read(View{After: after})
		require.NoError(t, err)
		require.Equal(t, Page{}, page)
	}
	for _, bad := range []View{{After: -1}, {Limit: -1}, {MaxBytes: -1}} {
		_, err := s.Read(bad)
		require.Error(t, err)
	}
}

// rule: W-124, W-011
func TestAPageHoldsAsManyRecordsAsFitAndAtLeastOne(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	talk(t, s, 2)
	whole, err := s.Read(View{})
	require.NoError(t, err)
	two := len(whole.Records[0]) + 1 + len(whole.Records[1])
	for budget, want := range map[int]int{1: 1, two - 1: 1, two: 2, two + 1: 2, two + 1 + len(whole.Records[2]): 3} {
		page, err := s.Read(View{MaxBytes: budget})
		require.NoError(t, err)
		require.Len(t, page.Records, want, budget)
		require.Equal(t, int64(want), page.NextAfter)
	}
	var b strings.Builder
	for i := range 10 {
		u, end := user(), completed("")
		u.TurnID, end.TurnID = id(2000+i), id(2000+i)
		u.Prompt = strings.Repeat("p", 24576)
		require.NoError(t, s.Append(u, end))
		b.WriteString(u.Prompt)
	}
	for after := int64(7); ; {
		page, err := s.Read(View{After: after})
		require.NoError(t, err)
		reply, err := wirev2.EncodePayload(wirev2.SessionHistoryReply{Records: page.Records, NextAfter: &page.NextAfter})
		require.NoError(t, err)
		require.LessOrEqual(t, len(reply), 49152)
		if after = page.NextAfter; after == 0 {
			break
		}
		require.Greater(t, len(reply)+24576+1000, 49152, "one more would not have fitted")
	}
}

// rule: W-289, W-125
func TestAnOrdinaryViewLeavesOutManifestsAndContracts(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(manifestUser(), toolContract(), assistant("", callA), application(callA)))
	for limit := range 6 {
		page, err := s.Read(View{Ordinary: true, Limit: limit})
		require.NoError(t, err)
		for _, raw := range page.Records {
			require.NotContains(t, string(raw), "application_manifest")
			require.NotContains(t, string(raw), "tool_contract")
		}
		want := []int64{0, 1, 2, 4, 0, 0}[limit]
		require.Equal(t, want, page.NextAfter, limit)
	}
	page, err := s.Read(View{})
	require.NoError(t, err)
	require.Len(t, page.Records, 5)
	require.Contains(t, string(page.Records[1]), `"application_manifest":{"profile":`)
	// Where only hidden records follow, the page is the last.
	s2 := sessionRecord()
	s2.SessionID = id(60)
	other, err := store.Create(s2)
	require.NoError(t, err)
	require.NoError(t, other.Append(user(), toolContract()))
	page, err = other.Read(View{Ordinary: true, Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Records, 2)
	require.Zero(t, page.NextAfter)
	require.NoError(t, other.Close())
}

func TestReadersSeeABatchWholeOrNotAtAll(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			u, end := user(), completed("")
			u.TurnID, end.TurnID = id(3000+i), id(3000+i)
			if s.Append(u, end) != nil {
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		page, err := s.Read(View{Limit: 1000, MaxBytes: 1 << 20})
		require.NoError(t, err)
		require.Equal(t, 1, len(page.Records)%2)
		n := 0
		for turn, err := range s.Backward() {
			require.NoError(t, err)
			require.NotNil(t, turn.Terminal)
			n++
		}
		require.LessOrEqual(t, n, s.Turns())
	}
	require.Equal(t, 100, s.Turns())
}

func TestEntriesReadWithoutTheLease(t *testing.T) {
	dir, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), assistant("a")))
	f, err := os.OpenFile(journalFile(dir), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"n":4,"at":`) // a write that is under way
	require.NoError(t, err)
	require.NoError(t, f.Close())
	before, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	ro, err := OpenReadOnly(dir)
	require.NoError(t, err)
	var got []wirev2.Record
	for rec, err := range ro.Entries(sessionID) {
		require.NoError(t, err)
		got = append(got, rec)
	}
	require.Equal(t, []wirev2.RecordType{wirev2.RecordSession, wirev2.RecordUser, wirev2.RecordAssistant}, types(got))
	for range ro.Entries(sessionID) {
		break // a reader may stop early
	}
	require.NoError(t, ro.Close())
	after, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestTurnsAreAConversation(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	require.Zero(t, s.Turns())
	for range s.Backward() {
		t.Fatal("no turn yet")
	}
	require.NoError(t, s.Append(
		user(), toolContract(), assistant("a", callA, callB), application(callA), builtin(callB), success(callB), synthetic(callA),
		assistant("b"), completed("a\n\nb")))
	later := user()
	later.TurnID = id(70)
	require.NoError(t, s.Append(later))
	require.Equal(t, 2, s.Turns())
	var turns []Turn
	for turn, err := range s.Backward() {
		require.NoError(t, err)
		turns = append(turns, turn)
	}
	require.Len(t, turns, 2)
	require.Equal(t, id(70), turns[0].User.TurnID)
	require.Nil(t, turns[0].Terminal)
	require.Empty(t, turns[0].Replies)
	first := turns[1]
	require.Equal(t, "do it", first.User.Prompt)
	require.Equal(t, "completed", string(first.Terminal.Status))
	require.Equal(t, "a\n\nb", first.Text())
	require.Len(t, first.Replies, 2)
	require.Equal(t, callA, first.Replies[0].Calls[0].Call.CallID)
	require.True(t, first.Replies[0].Calls[0].Result.Synthetic)
	require.Equal(t, callB, first.Replies[0].Calls[1].Call.CallID)
	require.Equal(t, `{"ok":true}`, string(first.Replies[0].Calls[1].Result.Value))
}

// rule: W-186, W-187
func TestTextIsJoinedAsTheTerminalShowsIt(t *testing.T) {
	called := []*Call{{}}
	for _, test := range []struct {
		want    string
		replies []Reply
	}{
		{"", nil},
		{"a", []Reply{{Text: "a"}}},
		{"ab", []Reply{{Text: "a"}, {Text: "b"}}},
		{"a\n\nb", []Reply{{"a", called}, {Text: "b"}}},
		{"b", []Reply{{"", called}, {Text: "b"}}},
		{"a", []Reply{{"a", called}, {Text: ""}}},
		{"a\n\nb", []Reply{{"a", called}, {"", called}, {Text: "b"}}},
		{"a\n\nb\n\nc", []Reply{{"a", called}, {"b", called}, {Text: "c"}}},
	} {
		require.Equal(t, test.want, Turn{Replies: test.replies}.Text())
	}
}
