package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-073, W-261
func TestNothingIsAnsweredBeforeInitialize(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		for _, info := range wirev2.Methods() {
			if info.Method != wirev2.MethodInitialize {
				require.Equal(t, "not_initialized", c.code(request("a", string(info.Method), "{}")), info.Method)
			}
		}
		require.Equal(t, "not_initialized", c.code(request("a", "no.such.method", "{}")))
		require.Empty(t, w.fake.arrivals)
	})
}

// rule: W-074
func TestSecondInitializeIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		again := `{"client":{"name":"test","version":"1"},"requested_capabilities":[]}`
		require.Equal(t, "already_initialized", c.code(request("b", "initialize", again)))
		require.Equal(t, "already_initialized", c.code(request("b", "initialize", `{"nonsense":1}`)), "before the payload is looked at")
		require.Empty(t, c.code(status("c")), "the connection lives on")
		require.Len(t, w.fake.arrivals, 1)
	})
}

// rule: W-262, W-263
func TestMethodsAreKnownOpenOrNeither(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		ordinary, _ := w.initialized()
		selected, _ := w.initialized("application_resources_v1")
		for _, name := range []string{"", "turn", "Daemon.status", "daemon.status ", "session.watch"} {
			require.Equal(t, "unknown_method", ordinary.code(request("a", name, "{}")), "%q", name)
		}
		for _, info := range wirev2.Methods() {
			if !info.Profile {
				continue
			}
			// All three members are wrong or missing for one method or another: openness comes first.
			bad := withMembers(string(info.Method), "", "token", "")
			require.Equal(t, "unsupported_capability", ordinary.code(bad), info.Method)
			require.Equal(t, "invalid_request", selected.code(bad), info.Method)
		}
	})
}

const (
	aSession   = "33333333-3333-4333-8333-333333333333"
	anOperatio = "44444444-4444-4444-8444-444444444444"
)

func withMembers(method, session, token, operation string) string {
	quote := func(s string) string {
		if s == "" {
			return "null"
		}
		return `"` + s + `"`
	}
	return fmt.Sprintf(`{"v":2,"kind":"request","request_id":"m","method":%q,"session_id":%s,"control_token":%s,"operation_id":%s,"payload":{}}`+"\n",
		method, quote(session), quote(token), quote(operation))
}

// table is the "needs" column of wire-v2 4, written out here so that the test does not repeat the
// code's table.
var table = map[string]string{
	"capabilities": "", "daemon.status": "", "session.create": "O", "session.list": "",
	"session.claim": "SO", "session.release": "SCO", "session.snapshot": "SC", "session.history": "SC",
	"session.resources.list": "SC", "session.resources.register": "SCO", "session.resources.unregister": "SCO", "session.resources.clear": "SCO",
	"turn.start": "SCO", "turn.stop": "SCO", "turn.application_evidence": "SC", "turn.application_tool_result": "SO",
	"executor.create": "O", "executor.confirm": "O", "executor.resume": "O", "executor.rotate": "O", "executor.rotate_confirm": "O", "executor.release": "O",
}

// rule: W-129, W-130, W-264
func TestEveryMethodTakesExactlyItsMembers(t *testing.T) {
	inBubbleWith(t, func(o *Options) { o.Profile = true }, func(t *testing.T, w *world) {
		c, p := w.initialized("application_resources_v1")
		for method, needs := range table {
			for mask := range 8 {
				session, token, operation := mask&1 != 0, mask&2 != 0, mask&4 != 0
				record := withMembers(method, only(session, aSession), only(token, "secret"), only(operation, anOperatio))
				// A null token where one is needed is the coordinator's to refuse, as control_required
				// comes after unknown_session.
				wants := session == strings.Contains(needs, "S") &&
					operation == strings.Contains(needs, "O") &&
					(!token || strings.Contains(needs, "C"))
				before := len(w.fake.seen(p))
				got := c.code(record)
				if method == "capabilities" {
					before--
				}
				if wants {
					require.Empty(t, got, "%s %03b", method, mask)
					require.Len(t, w.fake.seen(p), before+1, "%s %03b", method, mask)
				} else {
					require.Equal(t, "invalid_request", got, "%s %03b", method, mask)
				}
			}
		}
		require.Equal(t, "invalid_request", c.code(withMembers("operation.lookup", "", "secret", "")))
		require.Equal(t, "invalid_request", c.code(withMembers("operation.lookup", "", "", anOperatio)))
		for _, good := range [][2]string{{"", ""}, {aSession, ""}, {aSession, "secret"}} {
			require.Empty(t, c.code(withMembers("operation.lookup", good[0], good[1], "")))
		}
	})
}

func only(set bool, value string) string {
	if set {
		return value
	}
	return ""
}

// rule: W-051, W-260
func TestRequestIDIsUniqueAmongTheUnanswered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		w.fake.hold()
		c.send(status("same"))
		synctest.Wait()
		require.Equal(t, "invalid_request", c.code(status("same")))
		require.Equal(t, "invalid_request", c.code(request("same", "no.such.method", "{}")), "before the method is looked at")
		require.Len(t, w.fake.seen(p), 1)
		p.answer(w.fake.seen(p)[0], `{"first":true}`)
		require.Contains(t, c.next()["payload"], "first", "the refusals have not answered it")
		c.send(status("same"))
		synctest.Wait()
		require.Len(t, w.fake.seen(p), 2, "after the answer it may be used again")
	})
}

// rule: W-025
func TestBadEnvelopeLeavesTheConnectionAlive(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, _ := w.initialized()
		for _, bad := range []string{
			`{}`, `{"v":1}`, strings.Replace(status("a"), `"v":2`, `"v":1`, 1), strings.Replace(status("a"), `{"v"`, `{"x":1,"v"`, 1),
			strings.Replace(status("a"), `"payload":{}`, `"payload":[]`, 1),
			request("a", "daemon.status", `{"x":"`+strings.Repeat("y", 32768)+`"}`),
		} {
			require.Equal(t, "invalid_request", c.code(strings.TrimSuffix(bad, "\n")+"\n"), bad[:min(len(bad), 60)])
		}
		require.Empty(t, c.code(status("b")))
	})
}

// rule: W-259
func TestRecordComesBeforeEnvelopeAndBothBeforeInitialize(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.dial()
		require.Equal(t, "invalid_request", c.code(`{"v":1}`+"\n"), "not initialised, and a bad envelope")
		require.Equal(t, "invalid_record", c.code(`{"v":1,"v":1}`+"\n"), "a bad envelope in a bad record")
	})
}

// rule: W-059, W-060
func TestRequestsAreAdmittedInOrderAndAnsweredInAny(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		w.fake.hold()
		c.send(status("0"), status("1"), status("2"), status("3"))
		synctest.Wait()
		seen := w.fake.seen(p)
		require.Len(t, seen, 4)
		for i, q := range seen {
			require.Equal(t, fmt.Sprint(i), q.RequestID)
		}
		for _, i := range []int{2, 0, 3, 1} {
			p.answer(seen[i], "{}")
			require.Equal(t, fmt.Sprint(i), c.next()["request_id"])
		}
	})
}

// rule: W-061
func TestOf65UnansweredRequestsTheLastStaysUnread(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		w.fake.hold()
		var records []string
		for i := range 65 {
			records = append(records, status(fmt.Sprint(i)))
		}
		c.send(records[:63]...)
		synctest.Wait()
		require.Len(t, w.fake.seen(p), 63)
		c.send(records[63])
		synctest.Wait()
		require.Len(t, w.fake.seen(p), 64)
		c.send(records[64])
		synctest.Wait()
		require.Len(t, w.fake.seen(p), 64, "the 65th is not read")
		p.answer(w.fake.seen(p)[20], "{}")
		require.Equal(t, "20", c.next()["request_id"])
		synctest.Wait()
		require.Len(t, w.fake.seen(p), 65)
	})
}

// complaint: 25 openai/codex#19608 - under load the refusals themselves were dropped and callers waited for ever
func TestComplaint25Codex19608EveryRequestIsAnsweredOrTheConnectionEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		var records []string
		const count = 5000 // far beyond the 64 unanswered and the 1,024 records of the queue
		for i := range count {
			switch i % 4 {
			case 0:
				records = append(records, status(fmt.Sprint(i)))
			case 1:
				records = append(records, request(fmt.Sprint(i), "no.such.method", "{}"))
			case 2:
				records = append(records, withMembers("daemon.status", aSession, "", ""))
			default:
				records = append(records, `{"v":2,"kind":"request","request_id":"`+fmt.Sprint(i)+`"}`+"\n")
			}
		}
		c.send(records...)
		// Nobody reads for a while: what is unanswered is bounded, the rest waits unread.
		synctest.Wait()
		require.LessOrEqual(t, len(w.fake.seen(p)), 65)
		answered := make(map[string]int)
		for range count {
			answered[fmt.Sprint(c.next()["request_id"])]++
		}
		require.Equal(t, count/4, answered["m"])
		require.Len(t, answered, 3*count/4+1)
	})
	// Where the answers cannot be taken, the connection ends; silence is no third way.
	inBubble(t, func(t *testing.T, w *world) {
		c, p := w.initialized()
		w.fake.hold()
		c.send(status("a"))
		synctest.Wait()
		grant := new(coordinator.Grant)
		for p.event(grant, "{}") { //nolint:revive // until the queue is full
		}
		p.answer(w.fake.seen(p)[0], "{}")
		synctest.Wait()
		require.True(t, w.fake.isGone(p))
	})
}
