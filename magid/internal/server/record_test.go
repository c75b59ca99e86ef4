package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-021, W-022
func TestBrokenRecordGetsOneResponseAndTheEnd(t *testing.T) {
	for name, broken := range map[string]string{
		"no JSON": "hello\n", "empty line": "\n", "array": "[]\n", "two objects": "{}{}\n",
		"deep": `{"payload":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}\n",
		"long": `{"a":"` + strings.Repeat("x", 70000) + `"}` + "\n",
		"BOM":  "\ufeff" + status("a"), "bad UTF-8": "{\"a\":\"\xff\"}\n", "lone surrogate": `{"a":"\ud800"}` + "\n",
	} {
		inBubble(t, func(t *testing.T, w *world) {
			c, p := w.initialized()
			c.send(broken, status("never"))
			answer := c.next()
			require.Equal(t, "invalid_record", code(answer), name)
			for _, member := range []string{"request_id", "session_id", "operation_id", "grant_generation"} {
				require.Contains(t, answer, member)
				require.Nil(t, answer[member], "%s: %s", name, member)
			}
			require.Equal(t, string(p.id), answer["connection_id"])
			c.ends()
			synctest.Wait()
			require.Empty(t, w.fake.seen(p))
			require.True(t, w.fake.isGone(p))
		})
	}
}

// rule: W-022, W-023
func TestWhatWasQueuedBeforeABrokenRecordIsFlushed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		grant := new(coordinator.Grant)
		for range 3 {
			require.True(t, p.event(grant, "{}"))
		}
		c.send("broken\n")
		synctest.Wait()
		require.True(t, w.fake.isGone(p), "control is free while the flush goes on")
		require.False(t, p.event(grant, "{}"), "nothing is taken any more")
		time.Sleep(999 * time.Millisecond)
		for range 3 {
			require.Equal(t, "turn.started", c.next()["event"])
		}
		require.Equal(t, "invalid_record", code(c.next()))
		c.ends()
	})
}

// rule: W-023
func TestFlushAfterABrokenRecordLastsASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		start := time.Now()
		c.send("broken\n") // and nobody reads the answer
		for w.server.Connections() > 0 {
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, time.Second, time.Since(start).Truncate(10*time.Millisecond))
		require.Contains(t, w.log.String(), "not flushed in 1s")
		_, err := c.line()
		require.ErrorIs(t, err, io.EOF)
	})
}

// rule: W-063
func TestConnectionThatIsNotInitialisedIsClosedAfterTenSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		time.Sleep(9 * time.Second)
		require.Equal(t, "not_initialized", c.code(status("a")), "talk does not extend the time")
		time.Sleep(time.Second - time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, w.server.Connections())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Zero(t, w.server.Connections())
		require.Contains(t, w.log.String(), "not initialised in 10s")
		c.ends()
	})
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		time.Sleep(1000 * time.Hour)
		require.Empty(t, c.code(status("a")), "an initialised connection may be silent")
	})
}

// complaint: 30 anthropics/claude-code#58648 - the second of two long lines that came in one piece was cut
// rule: W-008, W-018
func TestComplaint30ClaudeCode58648FramingIgnoresWriteBoundaries(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		// Two records in one write, each as long as its payload may be.
		long := func(id string) string {
			return request(id, "daemon.status", `{"x":"`+strings.Repeat("y", 32768-len(`{"x":""}`))+`"}`)
		}
		c.send(long("one") + long("two"))
		require.Equal(t, "one", c.next()["request_id"])
		require.Equal(t, "two", c.next()["request_id"])
		for _, q := range w.fake.seen(p) {
			require.Len(t, q.Payload, 32768)
		}
		// One record, a byte a write.
		go func() {
			for _, b := range []byte(status("bytes")) {
				_, _ = c.conn.Write([]byte{b})
			}
		}()
		require.Equal(t, "bytes", c.next()["request_id"])
		// The longest record, with white space to fill it, between two others in one write.
		for bytes, want := range map[int]string{65535: "", 65536: ""} {
			record := strings.TrimSuffix(status("full"), "\n")
			record += strings.Repeat(" ", bytes-len(record)-2) + "\r\n"
			require.Len(t, record, bytes)
			c.send(status("before") + record + status("after"))
			require.Equal(t, "before", c.next()["request_id"])
			require.Equal(t, want, code(c.next()))
			require.Equal(t, "after", c.next()["request_id"])
		}
		record := strings.TrimSuffix(status("over"), "\n")
		c.send(record + strings.Repeat(" ", 65537-len(record)-1) + "\n")
		require.Equal(t, "invalid_record", code(c.next()))
		c.ends()
	})
}

// complaint: 61 tidwall/gjson#393, golang/go#14750, golang/go#48298 - two parsers read a repeated or differently cased member differently
func TestComplaint61Gjson393RepeatedAndCaseVariantMembersAreRefused(t *testing.T) {
	for _, twice := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"b":{"a":1,"\u0061":2}}`, `{"b":[{"a":1,"a":1}]}`} {
		inBubble(t, func(t *testing.T, w *world) {
			c, p := w.initialized()
			require.Equal(t, "invalid_record", c.code(request("a", "daemon.status", twice)), twice)
			require.Empty(t, w.fake.seen(p))
		})
	}
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		for _, variant := range []string{
			`{"Client":{"name":"n","version":"1"},"requested_capabilities":[]}`,
			`{"client":{"Name":"n","version":"1"},"requested_capabilities":[]}`,
			`{"client":{"name":"n","Name":"m","version":"1"},"requested_capabilities":[]}`,
		} {
			require.Equal(t, "invalid_payload", c.code(request("a", "initialize", variant)), variant)
		}
		require.Equal(t, "invalid_request", c.code(strings.Replace(status("a"), `"method"`, `"Method"`, 1)))
	})
}

// rule: W-052, W-053
func TestConnectionIDsDifferAndAreTheResponses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		seen := make(map[string]bool)
		for i := range 20 {
			c, p := w.initialized()
			answer := c.ask(status(fmt.Sprint(i)))
			require.Equal(t, string(p.id), answer["connection_id"])
			require.Equal(t, string(instance), answer["instance_id"])
			_, err := wirev2.ParseID(string(p.id))
			require.NoError(t, err)
			seen[string(p.id)] = true
		}
		require.Len(t, seen, 20)
	})
}
