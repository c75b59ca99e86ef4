package coordinator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

func (p *peer) list(payload string) wirev2.SessionListReply {
	p.r.t.Helper()
	var reply wirev2.SessionListReply
	response := p.ok(request{method: wirev2.MethodSessionList, payload: payload}, &reply)
	require.LessOrEqual(p.r.t, len(response.Payload), maxPayloadBytes)
	return reply
}

// rule: W-111, W-112, W-113, W-114, W-115, W-116
func TestCreatedSessionsAreListedAsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		odd := filepath.Join(r.workspace, "a folder\n\"é")
		require.NoError(t, os.Mkdir(odd, 0o700))
		file := filepath.Join(r.workspace, "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		for _, c := range []struct {
			payload any
			ok      bool
		}{
			{wirev2.SessionCreateRequest{Workspace: odd + "/"}, true}, // kept as it was sent
			{`{"workspace":"relative"}`, false},
			{`{"workspace":""}`, false},
			{wirev2.SessionCreateRequest{Workspace: odd + "x"}, false},
			{wirev2.SessionCreateRequest{Workspace: file}, false},
			{wirev2.SessionCreateRequest{Workspace: exactPath(r.workspace, 4096)}, true},
			{wirev2.SessionCreateRequest{Workspace: exactPath(r.workspace, 4097)}, false},
			{wirev2.SessionCreateRequest{Workspace: odd, Title: new(strings.Repeat("t", 256))}, true},
			{wirev2.SessionCreateRequest{Workspace: odd, Title: new(strings.Repeat("t", 257))}, false},
			{wirev2.SessionCreateRequest{Workspace: odd, Title: new("")}, true},
			{`{"workspace":"/","title":null}`, false},
			{`{}`, false},
		} {
			time.Sleep(time.Millisecond) // an order of their own
			q := request{method: wirev2.MethodSessionCreate, payload: c.payload}
			if !c.ok {
				refusal := p.refused(q, wirev2.CodeInvalidPayload)
				require.NotContains(t, refusal.Message, r.workspace)
				continue
			}
			var reply wirev2.SessionCreateReply
			response := p.ok(q, &reply)
			require.Len(t, response.OperationID, 36)
			require.Empty(t, response.SessionID, "the session of the envelope is the request's")
		}
		sessions := p.list(`{}`).Sessions
		require.Len(t, sessions, 4)
		require.Equal(t, []string{odd, odd, exactPath(r.workspace, 4096), odd + "/"}, []string{
			sessions[0].Workspace, sessions[1].Workspace, sessions[2].Workspace, sessions[3].Workspace,
		})
		require.Equal(t, "", *sessions[0].Title)
		require.Len(t, *sessions[1].Title, 256)
		require.Nil(t, sessions[3].Title)
		require.Equal(t, sessions[0].CreatedAt, sessions[0].UpdatedAt)
		require.False(t, sessions[0].Claimed)
		require.Nil(t, sessions[0].ActiveTurn)

		h := p.claim(sessions[0].SessionID, false)
		feed := make(line)
		r.model.then(feed.step)
		time.Sleep(time.Second)
		turn := h.turn("go")
		info := p.list(`{"limit":1}`).Sessions[0]
		require.True(t, info.Claimed)
		require.Equal(t, turn, *info.ActiveTurn)
		require.Greater(t, info.UpdatedAt, info.CreatedAt)
	})
}

// exactPath names a folder in exactly so many bytes.
func exactPath(folder string, size int) string {
	if (size-len(folder))%2 == 1 {
		folder += "/"
	}
	return folder + strings.Repeat("/.", (size-len(folder))/2)
}

// rule: W-117, W-118, W-119
func TestListPagesWithoutGapOrRepeat(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		var want []wirev2.ID
		for i := range 7 {
			if i != 3 {
				time.Sleep(time.Millisecond) // two were made in the same millisecond
			}
			want = append(want, p.create())
		}
		slices.Reverse(want)
		if want[3] < want[4] {
			want[3], want[4] = want[4], want[3]
		}
		for limit := 1; limit <= 8; limit++ {
			var got []wirev2.ID
			payload := fmt.Sprintf(`{"limit":%d}`, limit)
			for {
				reply := p.list(payload)
				require.LessOrEqual(t, len(reply.Sessions), limit)
				for _, s := range reply.Sessions {
					got = append(got, s.SessionID)
				}
				if reply.NextCursor == nil {
					break
				}
				if len(got) == limit {
					time.Sleep(time.Millisecond)
					p.create() // a newer session moves nothing
				}
				payload = fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, *reply.NextCursor)
			}
			require.Equal(t, want, got[len(got)-7:])
			want = nil
			for _, s := range p.list(`{}`).Sessions {
				want = append(want, s.SessionID)
			}
			require.True(t, slices.Equal(want[len(want)-7:], got[len(got)-7:]))
			want = want[len(want)-7:]
		}
		for payload, ok := range map[string]bool{
			`{"limit":0}`: false, `{"limit":1}`: true, `{"limit":100}`: true, `{"limit":101}`: false,
			`{"cursor":""}`: false, `{"cursor":"x"}`: false, `{"cursor":"2026-01-02T03:04:05.678Z_x"}`: false,
			`{"cursor":"2026-01-02T03:04:05Z_` + string(want[0]) + `"}`: false, `{"cursor":null}`: false,
		} {
			q := request{method: wirev2.MethodSessionList, payload: payload}
			if ok {
				p.list(payload)
				continue
			}
			p.refused(q, wirev2.CodeInvalidPayload)
		}
	})
}

// rule: W-119
func TestListFillsItsPayloadAndNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		folder := exactPath(r.workspace, 4096)
		for range 20 {
			p.ok(request{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: folder, Title: new(strings.Repeat("\x01", 256))}}, &wirev2.SessionCreateReply{})
		}
		seen := map[wirev2.ID]bool{}
		payload, pages := `{}`, 0
		for {
			reply := p.list(payload)
			pages++
			for _, s := range reply.Sessions {
				require.False(t, seen[s.SessionID])
				seen[s.SessionID] = true
			}
			if reply.NextCursor == nil {
				break
			}
			require.Len(t, reply.Sessions, 5) // 5 of about 5.8 KB in 32,768
			payload = `{"cursor":"` + *reply.NextCursor + `"}`
		}
		require.Len(t, seen, 20)
		require.Equal(t, 4, pages)
	})
}

func TestListTellsWhenTheDiskFails(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		require.NoError(t, r.store.Close())
		refusal := p.refused(request{method: wirev2.MethodSessionList}, wirev2.CodeInternal)
		require.NotContains(t, refusal.Message, r.state)
		p.refused(request{method: wirev2.MethodDaemonStatus}, wirev2.CodeInternal)
		store, err := journal.Open(r.state)
		require.NoError(t, err)
		r.store = store
	})
}

func TestSessionThatCannotBeMadeDurableDoesNotExist(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.connect(false)
		for _, step := range []journal.Step{journal.StepMakeFolder, journal.StepMakeJournal, journal.StepWrite, journal.StepSync, journal.StepRename, journal.StepSyncSessions} {
			r.failJournal(func(s journal.Step) error {
				if s == step {
					return errors.New("no space left on device")
				}
				return nil
			})
			refusal := p.refused(request{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: r.workspace}}, wirev2.CodeInternal)
			require.NotContains(t, refusal.Message, "space left")
			require.Empty(t, p.list(`{}`).Sessions)
		}
	})
}

// rule: W-108, W-109
func TestStatusIsNumbersOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		idle := r.open(false)
		idle.leave()
		r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("go")
		time.Sleep(1500 * time.Millisecond)
		response := h.call(request{method: wirev2.MethodDaemonStatus})
		require.JSONEq(t, `{"instance_id":"`+string(response.InstanceID)+`","version":"test","uptime_ms":1500,"connections":2,"sessions":3,
			"claimed_sessions":2,"active_turns":1,"executors":0,"pending_calls":0,"retained":{"snapshots":0,"entries":0,"bytes":0}}`, string(response.Payload))
		require.NotContains(t, string(response.Payload), h.token.Reveal())
		h.refused(request{method: wirev2.MethodDaemonStatus, payload: `{"x":1}`}, wirev2.CodeInvalidPayload)
		close(feed)
		synctest.Wait()
		require.Contains(t, string(h.call(request{method: wirev2.MethodDaemonStatus}).Payload), `"active_turns":0`)
	})
}

// rule: W-123, W-124, W-125
func TestHistoryPagesWholeRecords(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		for i := range 5 {
			r.model.then(says(fmt.Sprint("answer ", i)))
			h.turn(fmt.Sprint("prompt ", i))
		}
		read := func(payload string) wirev2.SessionHistoryReply {
			t.Helper()
			var reply wirev2.SessionHistoryReply
			response := h.ok(h.with(wirev2.MethodSessionHistory, payload), &reply)
			require.LessOrEqual(t, len(response.Payload), maxHistoryBytes)
			return reply
		}
		all := read(`{}`)
		require.Len(t, all.Records, 1+3*5)
		require.Nil(t, all.NextAfter)
		for limit := 1; limit <= 17; limit++ {
			var got []string
			after := int64(0)
			for {
				page := read(fmt.Sprintf(`{"after":%d,"limit":%d}`, after, limit))
				for _, record := range page.Records {
					got = append(got, string(record))
				}
				if page.NextAfter == nil {
					break
				}
				require.Len(t, page.Records, limit)
				after = *page.NextAfter
				require.Equal(t, int64(len(got)), after)
			}
			require.Len(t, got, 16)
			for i, record := range got {
				require.Equal(t, string(all.Records[i]), record)
				require.Contains(t, record, fmt.Sprintf(`{"n":%d,`, i+1))
			}
		}
		require.Empty(t, read(`{"after":16}`).Records)
		require.Empty(t, read(`{"after":9000}`).Records)
		for payload, ok := range map[string]bool{`{"limit":0}`: false, `{"limit":1}`: true, `{"limit":200}`: true, `{"limit":201}`: false, `{"after":-1}`: false} {
			q := h.with(wirev2.MethodSessionHistory, payload)
			if ok {
				read(payload)
				continue
			}
			h.refused(q, wirev2.CodeInvalidPayload)
		}
	})
}

// rule: W-011, W-124
func TestHistoryPageIsAtMostItsOwnBudget(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		for range 4 {
			r.model.then(says(strings.Repeat("a", 20000)))
			h.turn(strings.Repeat("p", maxPromptBytes))
		}
		after, records, largest := int64(0), 0, 0
		for {
			var page wirev2.SessionHistoryReply
			response := h.ok(h.with(wirev2.MethodSessionHistory, fmt.Sprintf(`{"after":%d}`, after)), &page)
			require.LessOrEqual(t, len(response.Payload), maxHistoryBytes)
			largest = max(largest, len(response.Payload))
			require.NotEmpty(t, page.Records)
			records += len(page.Records)
			if page.NextAfter == nil {
				break
			}
			after = *page.NextAfter
		}
		require.Equal(t, 13, records)
		require.Greater(t, largest, maxPayloadBytes)
	})
}
