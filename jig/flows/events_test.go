package flows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

const incomplete = "Progress is incomplete from here on: its reader did not follow. The work itself goes on.\n"

func chunk(text string) string {
	return `{"content":{"text":"` + text + `","type":"text"},"sessionUpdate":"agent_message_chunk"}`
}

func TestEventsAreShownAsTheyCome(t *testing.T) {
	// rule: E-102, F-152
	w := newWorld(t)
	g := w.ask(task, func(p *play) {
		p.open()
		id, _ := p.prompt()
		p.say("Hel")
		p.notify(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo."},"messageId":"m1"}`)
		p.notify(`{"sessionUpdate":"plan","entries":[{"content":"think","priority":"high","status":"completed"}]}`)
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	}, watched)
	g.is("done", `{"text":"Hello."}`)
	require.Nil(t, g.broke)
	require.Equal(t, []string{
		chunk("Hel"),
		`{"content":{"text":"lo.","type":"text"},"messageId":"m1","sessionUpdate":"agent_message_chunk"}`,
		`{"entries":[{"content":"think","priority":"high","status":"completed"}],"sessionUpdate":"plan"}`,
	}, g.shown())
	require.Empty(t, g.stderr)
	// They are shown although the Agent fails in the end.
	g = w.ask(task, one("so far", "cancelled"), watched)
	g.fails("CANCELLED", "")
	require.Equal(t, []string{chunk("so far")}, g.shown())
}

// called is what became of a call of the Agent by another Flow.
type called struct {
	Log    []any          `json:"log"`
	Result map[string]any `json:"result"`
}

// led has another Flow call the Agent and take these steps.
func (w *world) led(input string, channels []string, steps string, script func(*play), stderr ...func(string)) (called, string) {
	w.Helper()
	names, err := json.Marshal(channels)
	require.NoError(w, err)
	g := w.run(w.Context(), w.caller(), fmt.Sprintf(`{"input":%s,"channels":%s,"steps":[%s]}`, input, names, steps), script, func(o *tree.Options) {
		keep := o.Stderr
		o.Stderr = func(label string, b []byte) {
			keep(label, b)
			for _, f := range stderr {
				f(string(b))
			}
		}
	})
	require.Nil(w, g.err, "%v\n%s", g.err, g.stderr)
	var c called
	require.NoError(w, json.Unmarshal([]byte(strings.TrimPrefix(g.result, "done ")), &c))
	return c, g.stderr
}

// An item that the channel holds is accepted whoever reads it, or nobody: so many
// of them go through before the relay's own queue begins to fill.
const held = 16

func TestASlowReaderLosesTheRestForGood(t *testing.T) {
	// rule: F-153, F-154, F-155, P-205, F-152
	for _, c := range []struct {
		name   string
		pieces int // that come at once
		wait   time.Duration
		lost   bool
	}{
		{"as many as fit", held + 16, 400 * time.Millisecond, false},
		{"one more", held + 17, 400 * time.Millisecond, true},
		{"blocked for too long", held + 1, 501 * time.Millisecond, true},
		{"blocked for a while", held + 1, 499 * time.Millisecond, false},
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			got, stderr := w.led(task, []string{"events"}, fmt.Sprintf(`{"sleep":%d},{"drain":"events"}`, 1000+c.wait.Milliseconds()), func(p *play) {
				p.open()
				id, _ := p.prompt()
				time.Sleep(time.Second)
				for i := range c.pieces {
					p.say(fmt.Sprint(i, " "))
				}
				time.Sleep(time.Minute)
				p.say("late")
				p.reply(id, `{"stopReason":"end_turn"}`)
				p.end()
			})
			require.Equal(t, "done", got.Result["outcome"], "%s: what is shown decides nothing: %v", c.name, got.Result)
			require.Contains(t, fmt.Sprint(got.Result["output"]), "late", c.name)
			last := got.Log[len(got.Log)-1]
			if !c.lost {
				require.Empty(t, stderr, c.name)
				require.Equal(t, "end", last, c.name)
				require.Len(t, got.Log, c.pieces+2, "%s: all of them, late, and the end", c.name)
				return
			}
			require.Equal(t, incomplete, stderr, c.name)
			require.Equal(t, "LAGGED", last.(map[string]any)["error"], c.name)
			require.NotContains(t, fmt.Sprint(got.Log), "late", c.name)
		})
	}
}

func TestWhatWaitsAtTheEndIsStillShown(t *testing.T) {
	// rule: F-152, F-153
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		got, stderr := w.led(task, []string{"events"}, `{"sleep":1400},{"drain":"events"}`, func(p *play) {
			p.open()
			id, _ := p.prompt()
			time.Sleep(time.Second)
			for i := range held + 10 {
				p.say(fmt.Sprint(i))
			}
			p.reply(id, `{"stopReason":"end_turn"}`)
			p.end()
		})
		require.Equal(t, "done", got.Result["outcome"], "%v", got.Result)
		require.Empty(t, stderr)
		require.Len(t, got.Log, held+11)
		require.Equal(t, "end", got.Log[held+10])
	})
}

func TestAnItemThatIsTooLargeEndsTheEvents(t *testing.T) {
	// rule: F-153, P-205
	w := newWorld(t)
	plan := func(n int) string {
		const frame = `{"sessionUpdate":"plan","entries":[{"content":"","priority":"low","status":"pending"}]}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1)
	}
	for _, n := range []int{65535, 65536, 65537} {
		g := w.ask(task, func(p *play) {
			p.open()
			id, _ := p.prompt()
			p.notify(plan(n))
			p.say("after")
			p.reply(id, `{"stopReason":"end_turn"}`)
			p.end()
		}, watched)
		g.is("done", `{"text":"after"}`)
		if n <= 65536 {
			require.Len(t, g.items, 2)
			require.Len(t, g.items[0].Value, n)
			require.Empty(t, g.stderr)
			continue
		}
		require.Empty(t, g.items)
		require.Equal(t, "LAGGED", string(g.broke.Code))
		require.Equal(t, incomplete, g.stderr)
	}
}

func TestTheQueueOfEventsIsBoundedInBytes(t *testing.T) {
	// rule: F-153, P-205
	const frame = `{"entries":[{"content":"","priority":"low","status":"pending"}],"sessionUpdate":"plan"}`
	plan := func(size int) string {
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	for extra, lost := range map[int]bool{0: false, 1: true} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			got, stderr := w.led(task, []string{"events"}, `{"sleep":1400},{"drain":"events"}`, func(p *play) {
				p.open()
				id, _ := p.prompt()
				time.Sleep(time.Second)
				for range 4 { // the channel holds 256 KiB
					p.notify(plan(65536))
				}
				for range 3 { // and so does the queue
					p.notify(plan(65536))
				}
				p.notify(plan(65536 - 2*len(frame)))
				p.notify(plan(len(frame)))
				p.notify(plan(len(frame) + extra))
				time.Sleep(time.Minute)
				p.reply(id, `{"stopReason":"end_turn"}`)
				p.end()
			})
			require.Equal(t, "done", got.Result["outcome"])
			last := got.Log[len(got.Log)-1]
			if lost {
				require.Equal(t, incomplete, stderr)
				require.Equal(t, "LAGGED", last.(map[string]any)["error"])
				return
			}
			require.Empty(t, stderr)
			require.Equal(t, "end", last)
			require.Len(t, got.Log, 11)
		})
	}
}

func TestAReaderThatGoesAwayChangesNothing(t *testing.T) {
	// rule: F-152, F-153
	w := newWorld(t)
	gone := make(chan struct{})
	got, stderr := w.led(task, []string{"events"}, `{"read":"events"},{"release":"events"}`, func(p *play) {
		p.open()
		id, _ := p.prompt()
		for i := range 100 {
			p.say(fmt.Sprint(i))
			if i == 50 {
				<-gone
			}
		}
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	}, func(line string) {
		if strings.Contains(line, "incomplete") {
			close(gone)
		}
	})
	require.Equal(t, "done", got.Result["outcome"])
	require.Equal(t, incomplete, stderr)
}

func TestACancelledRunDoesNotWaitForItsReader(t *testing.T) {
	// rule: F-152, F-153
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		g := w.run(ctx, w.caller(), fmt.Sprintf(`{"input":%s,"channels":["events"],"steps":[{"sleep":3600000}]}`, task), func(p *play) {
			p.open()
			p.prompt()
			for i := range held + 8 {
				p.say(fmt.Sprint(i))
			}
			cancel()
			p.abandoned()
		})
		g.fails("CANCELLED", "")
		require.Less(t, time.Since(began), time.Second, "it ends within its grace")
	})
}
