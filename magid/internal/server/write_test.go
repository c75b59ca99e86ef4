package server

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-068
func TestRecordThatIsNotWrittenInTenSecondsEndsTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, p := w.stalled()
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		require.False(t, w.fake.isGone(p))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
		require.Zero(t, w.server.Connections())
		require.Contains(t, w.log.String(), "record not written in 10s")
	})
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		grant := new(coordinator.Grant)
		for range 20 { // slow, but never ten seconds for one record
			require.True(t, p.event(grant, "{}"))
			require.True(t, p.event(grant, "{}"))
			time.Sleep(9 * time.Second)
			c.next()
			time.Sleep(9 * time.Second)
			c.next()
		}
		require.False(t, w.fake.isGone(p))
	})
}

// rule: W-069
func TestStalledReaderHoldsUpNobodyElse(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, stalled := w.stalled()
		other, p := w.initialized()
		start := time.Now()
		grant, mine := new(coordinator.Grant), new(coordinator.Grant)
		for i := range 1000 {
			require.True(t, stalled.event(grant, "{}"))
			require.True(t, p.event(mine, "{}"))
			require.EqualValues(t, i+1, other.next()["live_sequence"])
			require.Empty(t, other.code(status("s")))
		}
		require.Zero(t, time.Since(start))
	})
}

// complaint: 22 anomalyco/opencode#31087, anomalyco/opencode#45215 - a queue before the filter had no bound in events or bytes
// rule: W-064, W-065, W-066, W-067
func TestComplaint22Opencode31087AMillionDeltasToAStalledReaderAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, p := w.stalled()
		grant := new(coordinator.Grant)
		before := heap()
		deltas, most := 0, uint64(0)
		for deltas < 1_000_000 && p.text(grant, "some words of a reply ") {
			if deltas%10_000 == 0 {
				now := heap() // which a collection may have made smaller than before
				most = max(most, now-min(before, now))
			}
			deltas++
		}
		synctest.Wait()
		require.True(t, w.fake.isGone(p), "the reader is cut, not starved in silence")
		require.Less(t, deltas, 4<<20/len("some words"), "before the queue is past its bytes")
		require.Contains(t, w.log.String(), "outgoing queue full")
		require.Less(t, most, uint64(24<<20), "a small multiple of the queue's 4 MiB")
	})
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// complaint: 22 anomalyco/opencode#31087, anomalyco/opencode#45215 - terminal events were lost without a sign
func TestComplaint22Opencode31087TerminalEventIsDeliveredOrTheConnectionEnds(t *testing.T) {
	for _, queued := range []int{1023, 1024} {
		inBubble(t, func(t *testing.T, w *world) {
			c, p := w.stalled()
			grant := new(coordinator.Grant)
			for range queued {
				require.True(t, p.event(grant, "{}"))
			}
			fits := p.out.Event(wirev2.Event{Event: wirev2.EventTurnTerminal, InstanceID: instance, ConnectionID: p.id}, grant)
			require.Equal(t, queued == 1023, fits)
			synctest.Wait()
			require.Equal(t, !fits, w.fake.isGone(p))
			if fits {
				for range 1 + queued {
					c.next()
				}
				require.Equal(t, "turn.terminal", c.next()["event"])
			}
		})
	}
}

// complaint: 24 openai/codex#18203, openai/codex#37526 - a cap of 128 messages dropped healthy clients during fast deltas
// rule: W-066, W-067
func TestComplaint24Codex18203SlowReaderOfFastDeltasLives(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		grants := []*coordinator.Grant{new(coordinator.Grant), new(coordinator.Grant)}
		sessions := []wirev2.ID{aSession, anOperatio}
		const deltas = 500 * 60 // a minute of 500 deltas a second in each of two turns
		go func() {
			for i := range deltas {
				for n, grant := range grants {
					event := wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: p.id, SessionID: sessions[n], GrantGeneration: int64(n + 1)}
					if !p.out.Text(event, grant, turnID, fmt.Sprintf("%d.", i%10)) {
						return
					}
				}
				time.Sleep(2 * time.Millisecond)
			}
			for n, grant := range grants {
				p.out.Event(wirev2.Event{Event: wirev2.EventTurnTerminal, InstanceID: instance, ConnectionID: p.id, GrantGeneration: int64(n + 1)}, grant)
			}
		}()
		text := map[any]int{}
		ended := 0
		for ended < 2 {
			time.Sleep(20 * time.Millisecond)
			record := c.next()
			if record["event"] == "turn.terminal" {
				ended++
				continue
			}
			text[record["grant_generation"]] += len(record["payload"].(map[string]any)["text"].(string))
		}
		require.Equal(t, map[any]int{1.0: 2 * deltas, 2.0: 2 * deltas}, text)
		require.NotContains(t, w.log.String(), "queue full")
	})
	// A reader that stops is cut, and the log says why.
	inBubble(t, func(t *testing.T, w *world) {
		_, p := w.initialized()
		grant := new(coordinator.Grant)
		go func() {
			for p.text(grant, "delta") {
				time.Sleep(2 * time.Millisecond)
			}
		}()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
		require.Contains(t, w.log.String(), "record not written in 10s: the reader has stopped")
	})
}

// rule: W-070, W-072
func TestEndOfInputFreesControlAtOnceAndStillAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		w.fake.hold()
		c.send(status("a"), status("b"))
		synctest.Wait()
		require.NoError(t, c.conn.CloseWrite())
		synctest.Wait()
		require.True(t, w.fake.isGone(p), "control is free before anything else happens")
		require.Equal(t, 1, w.server.Connections(), "two requests are unanswered")
		time.Sleep(4 * time.Second)
		for _, q := range w.fake.seen(p) {
			p.answer(q, "{}")
		}
		require.Equal(t, "a", c.next()["request_id"])
		require.Equal(t, "b", c.next()["request_id"])
		c.ends()
		synctest.Wait()
		require.Zero(t, w.server.Connections())
	})
}

// rule: W-072
func TestFlushAfterTheEndOfInputLastsFiveSeconds(t *testing.T) {
	for name, answered := range map[string]bool{"unanswered": false, "unread": true} {
		inBubble(t, func(t *testing.T, w *world) {
			c, p := w.initialized()
			w.fake.hold()
			c.send(status("a"))
			synctest.Wait()
			require.NoError(t, c.conn.CloseWrite())
			if answered {
				p.answer(w.fake.seen(p)[0], "{}") // which nobody reads
			}
			time.Sleep(5*time.Second - time.Millisecond)
			synctest.Wait()
			require.Equal(t, 1, w.server.Connections(), name)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			require.Zero(t, w.server.Connections(), name)
			require.Contains(t, w.log.String(), "not flushed in 5s", name)
		})
	}
}

func TestRecordCutOffByTheEndOfInputIsNoRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		c.send(status("a")[:50])
		synctest.Wait()
		require.NoError(t, c.conn.CloseWrite())
		c.ends()
		require.Empty(t, w.fake.seen(p))
	})
}

func TestClosedPeerEndsTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		require.NoError(t, c.conn.Close())
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
		require.Zero(t, w.server.Connections())
	})
}

func TestDisconnectByTheCoordinatorIsLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		p.out.Disconnect("a reason of the coordinator's")
		c.ends()
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
		require.Contains(t, w.log.String(), "a reason of the coordinator's")
	})
}

func TestReplyThatCannotBeEncodedIsAnInternalError(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.fake.handle = func(p *peer, q wirev2.Request) { p.answer(q, "canary") }
		c, _ := w.initialized()
		require.Equal(t, "internal", c.code(status("a")))
		require.Contains(t, w.log.String(), "response cannot be encoded")
		require.NotContains(t, w.log.String(), "canary")
	})
}

// rule: M-140
func TestLogsHoldNoBodies(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		c.ask(request("a", "daemon.status", `{"x":"canary"}`))
		c.ask(request("canary", "canary", `{}`))
		require.Equal(t, "invalid_record", c.code("canary\n"))
		synctest.Wait()
		require.NotContains(t, w.log.String(), "canary")
	})
}

// A reply or an event may come as a payload type instead of encoded.
func TestBodiesAreEncodedOnTheirWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.fake.handle = func(p *peer, q wirev2.Request) {
			p.out.Respond(wirev2.Response{RequestID: q.RequestID, InstanceID: instance, ConnectionID: p.id, Body: &wirev2.SessionCreateReply{SessionID: wirev2.ID(q.RequestID)}})
		}
		c, p := w.initialized()
		require.Equal(t, map[string]any{"session_id": aSession}, c.ask(status(aSession))["payload"])
		require.Equal(t, "internal", c.code(status("not-an-id")))
		require.Contains(t, w.log.String(), "response cannot be encoded")
		require.Empty(t, c.code(status(aSession)), "the place of either is free again")
		body := &wirev2.TurnStartedEvent{TurnID: turnID, OmittedTurns: 3}
		require.True(t, p.out.Event(wirev2.Event{Event: wirev2.EventTurnStarted, InstanceID: instance, ConnectionID: p.id, Body: body}, nil))
		require.Equal(t, map[string]any{"turn_id": string(turnID), "omitted_turns": 3.0}, c.next()["payload"])
		require.False(t, p.out.Event(wirev2.Event{Event: wirev2.EventTurnStarted, InstanceID: instance, ConnectionID: p.id, Body: make(chan int)}, nil))
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
	})
}

func TestStopFlushesAndEndsEveryConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.stalled()
		idle := w.dial()
		require.True(t, p.event(new(coordinator.Grant), "{}"))
		stopped := make(chan error, 1)
		go func() { stopped <- w.server.Stop(t.Context()) }()
		time.Sleep(time.Second)
		idle.ends()
		c.next()
		require.Equal(t, "turn.started", c.next()["event"])
		c.ends()
		require.NoError(t, <-stopped)
		late := w.dial()
		late.ends()
	})
	inBubble(t, func(t *testing.T, w *world) {
		_, p := w.stalled()
		start := time.Now()
		require.NoError(t, w.server.Stop(t.Context()))
		require.Equal(t, 5*time.Second, time.Since(start), "a reader that has stopped does not hold the daemon")
		require.True(t, w.fake.isGone(p))
	})
}

// rule: W-024
func TestOverlongInputIsNotBuffered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		before := heap()
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			chunk := []byte(strings.Repeat("x", 1<<16))
			for range 1024 { // 64 MiB without a line feed
				if _, err := c.conn.Write(chunk); err != nil {
					return
				}
			}
		}()
		require.Equal(t, "invalid_record", code(c.next()))
		_, err := c.line()
		require.ErrorIs(t, err, io.EOF)
		<-stop
		require.Less(t, heap(), before+(8<<20))
	})
}
