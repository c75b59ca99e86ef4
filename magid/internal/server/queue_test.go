package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// stalled is a connection whose reader does nothing: one record is on its way, the queue
// behind it is empty.
func (w *world) stalled() (*client, *peer) {
	c, p := w.initialized()
	p.event(new(coordinator.Grant), `{"on":"its way"}`)
	synctest.Wait()
	return c, p
}

// rule: W-064, W-067
func TestQueueHolds1024Records(t *testing.T) {
	for extra, alive := range map[int]bool{-1: true, 0: true, 1: false} {
		inBubble(t, func(t *testing.T, w *world) {
			c, p := w.stalled()
			grant := new(coordinator.Grant)
			for i := range 1024 + extra {
				require.Equal(t, i < 1024, p.event(grant, "{}"), i)
			}
			synctest.Wait()
			require.Equal(t, !alive, w.fake.isGone(p))
			if alive {
				require.Equal(t, map[string]any{"on": "its way"}, c.next()["payload"])
				for i := range 1024 + extra {
					require.EqualValues(t, i+1, c.next()["live_sequence"])
				}
				return
			}
			require.Zero(t, w.server.Connections())
			require.Contains(t, w.log.String(), "outgoing queue full: 1024 records")
		})
	}
}

// rule: W-065, W-067
func TestQueueHolds4MiB(t *testing.T) {
	for extra, alive := range map[int]bool{-1: true, 0: true, 1: false} {
		inBubble(t, func(t *testing.T, w *world) {
			_, p := w.stalled()
			grant := new(coordinator.Grant)
			event := wirev2.Event{Event: wirev2.EventTurnStarted, InstanceID: instance, ConnectionID: p.id}
			frame := eventSize(&event) - len("{}")
			left := 4<<20 + extra
			for left > 0 {
				size := min(left, 16384)
				if left > 16384 && left < 16384+frame+2 {
					size = left / 2
				}
				fits := p.event(grant, `{`+strings.Repeat(" ", size-frame-2)+`}`)
				left -= size
				require.Equal(t, left > 0 || alive, fits, "%+d, %d left", extra, left)
			}
			synctest.Wait()
			require.Equal(t, !alive, w.fake.isGone(p))
			if !alive {
				require.Contains(t, w.log.String(), "outgoing queue full: 4 MiB")
			}
		})
	}
}

// rule: W-064, W-065
func TestSizesAreThoseOfTheEncodedRecords(t *testing.T) {
	id := wirev2.ID(aSession)
	for _, r := range []wirev2.Response{
		{InstanceID: instance, ConnectionID: id},
		{RequestID: "r", InstanceID: instance, ConnectionID: id, SessionID: id, OperationID: id, GrantGeneration: 12345, Payload: []byte(`{"a":"b"}`)},
		{RequestID: "r", InstanceID: instance, ConnectionID: id, Error: &wirev2.Error{Code: wirev2.CodeInternal, Message: "a \"quoted\" \\ line"}},
	} {
		encoded, err := wirev2.AppendResponse(nil, &r)
		require.NoError(t, err)
		require.Equal(t, len(encoded), responseSize(&r), string(encoded))
	}
	for _, e := range []wirev2.Event{
		{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: id, LiveSequence: 1<<63 - 1, GrantGeneration: 9},
		{Event: wirev2.EventTurnTerminal, InstanceID: instance, ConnectionID: id, SessionID: id, OperationID: id, LiveSequence: 1<<63 - 1, Payload: []byte(`{"é":1}`)},
	} {
		encoded, err := wirev2.AppendEvent(nil, &e)
		require.NoError(t, err)
		require.Equal(t, len(encoded), eventSize(&e), string(encoded))
	}
	text := "x\n\u2028é\""
	c := &conn{queue: newQueue()}
	require.True(t, c.queue.pushText(wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: id}, nil, turnID, text))
	require.True(t, c.queue.pushText(wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: id}, nil, turnID, text))
	require.Equal(t, 1, c.queue.records.len())
	item := *c.queue.records.at(0)
	item.event.LiveSequence = 1<<63 - 1
	encoded, err := c.encode(nil, item)
	require.NoError(t, err)
	require.Equal(t, len(encoded), item.size, string(encoded))
}

func texts(t *testing.T, c *client) (joined string, records int, last int64) {
	t.Helper()
	for {
		record := c.next()
		if record["event"] != "turn.text" {
			return joined, records, last
		}
		payload := record["payload"].(map[string]any)
		require.Equal(t, string(turnID), payload["turn_id"])
		joined += payload["text"].(string)
		records++
		require.EqualValues(t, last+1, record["live_sequence"])
		last++
	}
}

// rule: W-046, W-066
func TestTextsThatWaitAreJoinedExactly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.stalled()
		grant := new(coordinator.Grant)
		var want strings.Builder
		for i := range 5000 {
			piece := fmt.Sprintf("%d\n\u2028\"é%c", i, 'a'+i%26)[:3+i%4]
			if i%3 == 0 {
				piece = strings.ToValidUTF8(piece, "")
			}
			piece = strings.ToValidUTF8(piece, "?")
			want.WriteString(piece)
			require.True(t, p.text(grant, piece))
		}
		require.True(t, p.event(grant, `{}`))
		require.Equal(t, map[string]any{"on": "its way"}, c.next()["payload"])
		got, records, _ := texts(t, c)
		require.Equal(t, want.String(), got)
		require.LessOrEqual(t, records, 3, "5000 pieces in few records")
	})
}

// rule: W-045, W-046
func TestOnlyNeighboursOfOneGrantAndTurnAreJoined(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.stalled()
		a, b := new(coordinator.Grant), new(coordinator.Grant)
		p.text(a, "a1")
		p.text(a, "a2")
		p.text(b, "b1")
		p.text(a, "a3")
		p.event(a, "{}")
		p.text(a, "a4")
		p.out.Text(wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: p.id}, a, wirev2.ID(aSession), "other turn")
		p.event(nil, "{}")
		require.Equal(t, []string{"a1a2 1", "b1 1", "a3 2", " 3", "a4 4", "other turn 5", " <nil>"}, summary(c, 8)[1:], "each grant counts for itself, an executor event not at all")
	})
}

func summary(c *client, count int) (got []string) {
	for range count {
		record := c.next()
		text, _ := record["payload"].(map[string]any)["text"].(string)
		got = append(got, fmt.Sprint(text, " ", record["live_sequence"]))
	}
	return got
}

// A writer that begins late, when somebody writes already, waits for its turn: two that write at once would mix records.
func TestAWriterThatBeginsLateTakesThePenFromNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		response := wirev2.Response{InstanceID: instance, ConnectionID: wirev2.NewID()}
		require.True(t, q.respond(response, false))
		_, ok := q.take()
		require.True(t, ok)
		require.True(t, q.respond(response, false))
		began := make(chan bool)
		go func() {
			_, _, ok := q.next(false)
			began <- ok
		}()
		synctest.Wait()
		_, ok = q.take()
		require.False(t, ok, "the pen is held")
		q.release([]byte("the rest"))
		require.True(t, <-began)
		q.disconnect("the end")
	})
}

// rule: W-066
func TestJoiningOvertakesOtherSessionsAndNeverItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.stalled()
		a, b := new(coordinator.Grant), new(coordinator.Grant)
		text := func(grant *coordinator.Grant, session wirev2.ID, text string) {
			p.out.Text(wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: p.id, SessionID: session}, grant, turnID, text)
		}
		reply := func(session wirev2.ID) {
			p.out.Respond(wirev2.Response{RequestID: "r", InstanceID: instance, ConnectionID: p.id, SessionID: session})
		}
		text(a, aSession, "a1 ")
		text(b, anOperatio, "b1 ")
		text(a, aSession, "a2")
		text(b, anOperatio, "b2")
		reply("")
		text(a, aSession, " a3")
		reply(aSession) // a snapshot that holds a1 to a3
		text(a, aSession, "a4")
		text(b, anOperatio, " b3")
		require.Equal(t, []string{"a1 a2 a3 1", "b1 b2 b3 1", " <nil>", " <nil>", "a4 2"}, summary(c, 6)[1:])
	})
}

// rule: W-046
func TestJoinedTextStaysWithinAPayload(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.stalled()
		grant := new(coordinator.Grant)
		piece := strings.Repeat("\n", 5000) // twice as long when encoded
		for range 10 {
			require.True(t, p.text(grant, piece))
		}
		p.event(grant, "{}")
		c.next()
		total := 0
		for {
			line, err := c.line()
			require.NoError(t, err)
			require.Less(t, len(line), 32768+1024)
			record := decode(t, line)
			text, ok := record["payload"].(map[string]any)["text"].(string)
			if !ok {
				break
			}
			payload, err := json.Marshal(record["payload"])
			require.NoError(t, err)
			require.LessOrEqual(t, len(payload), 32768)
			total += len(text)
		}
		require.Equal(t, 50000, total)
	})
}

func TestRingKeepsOrderAndReusesItsSlice(t *testing.T) {
	var r ring
	pushed, popped := 0, 0
	for round := range 200 {
		for range round % 7 {
			require.Equal(t, pushed, r.push(record{size: pushed}))
			require.Equal(t, pushed, r.at(pushed).size)
			pushed++
		}
		for r.len() > round%3 {
			require.Equal(t, popped, r.at(popped).size)
			item, number := r.pop()
			require.Equal(t, popped, item.size)
			require.Equal(t, popped, number)
			popped++
		}
	}
	require.Less(t, cap(r.items), 64)
	require.Equal(t, pushed-popped, r.len())
}
