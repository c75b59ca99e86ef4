package flows_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

const talk = `{"instructions":"begin","conversation":true}`

var both = []string{"commands", "replies"}

// Steps of a caller.
func prompt(turn int, text string) string {
	return fmt.Sprintf(`{"send":{"type":"prompt","turn":%d,"input":{"instructions":%q}}}`, turn, text)
}
func command(kind string, turn int) string {
	return fmt.Sprintf(`{"send":{"type":%q,"turn":%d}}`, kind, turn)
}
func steps(all ...string) string { return strings.Join(all, ",") }

const (
	read = `{"read":"replies"}`
	end  = `{"end":true}`
)

// bye closes the conversation after its turn.
func bye(turn int) string { return steps(command("close", turn), read, end) }

// Replies.
func accepted(command string, turn int) string {
	return fmt.Sprintf(`{"command":%q,"turn":%d,"type":"accepted"}`, command, turn)
}
func rejected(command string, turn int, code string) string {
	return fmt.Sprintf(`{"code":%q,"command":%q,"turn":%d,"type":"rejected"}`, code, command, turn)
}
func result(turn int, outcome, text string) string {
	return fmt.Sprintf(`{"result":{"outcome":%q,"output":{"text":%q}},"turn":%d,"type":"result"}`, outcome, text, turn)
}

// replied says that the caller got exactly these replies.
func (c called) replied(t *testing.T, replies ...string) {
	t.Helper()
	got := []string{}
	for _, r := range c.Log {
		b, err := json.Marshal(r, json.Deterministic(true))
		require.NoError(t, err)
		got = append(got, string(b))
	}
	require.Equal(t, replies, got)
}

func (c called) ended(t *testing.T, outcome, output string) {
	t.Helper()
	require.Equal(t, outcome, c.Result["outcome"], "%v", c.Result)
	b, err := json.Marshal(c.Result["output"], json.Deterministic(true))
	require.NoError(t, err)
	require.Equal(t, output, string(b))
}

func (c called) failed(t *testing.T, code fault.Code, text string) {
	t.Helper()
	require.Equal(t, string(code), c.Result["error"], "%v", c.Result)
	require.Contains(t, c.Result["message"], text)
}

func TestAConversation(t *testing.T) {
	// rule: P-206, P-211, E-103, E-102
	w := newWorld(t)
	got, stderr := w.led(talk, []string{"commands", "replies", "events"}, steps(read, prompt(1, "go on"), read, read, prompt(2, "more"), read, read, bye(2)), func(p *play) {
		p.openWith(3)
		p.turn("one", "end_turn")
		p.turn("two", "refusal")
		p.turn("three", "max_tokens")
		p.end()
	})
	require.Empty(t, stderr)
	event := func(turn int, text string) string {
		return fmt.Sprintf(`{"content":{"text":%q,"type":"text"},"sessionUpdate":"agent_message_chunk","turn":%d}`, text, turn)
	}
	got.replied(t,
		result(0, "done", "one"), accepted("prompt", 1), result(1, "blocked", "two"), accepted("prompt", 2), result(2, "limit", "three"), accepted("close", 2),
		event(0, "one"), event(1, "two"), event(2, "three"), `"end"`, `"end"`)
	got.ended(t, "done", `{"turns":3}`)
}

func TestAConversationIsRetained(t *testing.T) {
	// rule: P-211, F-124, E-103
	w := newWorld(t)
	got, _ := w.led(`{"instructions":"begin","conversation":true,"session":{"retain":true}}`, both, steps(read, bye(0)), func(p *play) {
		one("one", "end_turn")(p)
		p.result = receipt(exited, `{"status":"retained","reference":"`+reference+`"}`)
	})
	got.replied(t, result(0, "done", "one"), accepted("close", 0), `"end"`)
	got.ended(t, "done", `{"session":{"reference":"`+reference+`","status":"retained"},"turns":1}`)
}

func TestEveryRejection(t *testing.T) {
	// rule: P-206, P-207, P-209
	w := newWorld(t)
	seen, twice := make(chan struct{}), `{"send":{"type":"prompt","turn":1,"input":{"instructions":"x","guidance":[{"label":"a","text":""},{"label":"a","text":""}]}}}`
	got, _ := w.led(talk, both, steps(
		// While turn 0 runs.
		prompt(1, "x"), read, prompt(5, "x"), read, command("close", 0), read, command("interrupt", 1), read,
		command("interrupt", 0), read, command("interrupt", 0), read, `{"say":"seen"}`, read,
		// When it has ended.
		command("interrupt", 0), read, command("interrupt", 3), read, prompt(0, "x"), read, prompt(2, "x"), read, command("close", 1), read, twice, read,
		`{"send":{"type":"prompt","turn":1,"input":{"instructions":"x","responseSchema":{"type":"number"}}}}`, read,
		prompt(1, "fine"), read, read,
		// When the turns are used up.
		prompt(2, "x"), read, prompt(1, "x"), read, bye(1),
	), func(p *play) {
		p.openWith(2)
		id, _ := p.prompt()
		p.interrupted()
		<-seen // the second interruption comes before the first one works
		p.reply(id, `{"stopReason":"cancelled"}`)
		p.turn("two", "end_turn")
		p.end()
	}, func(line string) {
		if strings.Contains(line, "seen") {
			close(seen)
		}
	})
	got.replied(t,
		rejected("prompt", 1, "BUSY"), rejected("prompt", 5, "BUSY"), rejected("close", 0, "BUSY"), rejected("interrupt", 1, "STALE_TURN"),
		accepted("interrupt", 0), rejected("interrupt", 0, "BUSY"), `{"turn":0,"type":"cancelled"}`,
		rejected("interrupt", 0, "NOT_RUNNING"), rejected("interrupt", 3, "NOT_RUNNING"), rejected("prompt", 0, "STALE_TURN"), rejected("prompt", 2, "STALE_TURN"),
		rejected("close", 1, "STALE_TURN"), rejected("prompt", 1, "INVALID_INPUT"), rejected("prompt", 1, "INVALID_INPUT"),
		accepted("prompt", 1), result(1, "done", "two"),
		rejected("prompt", 2, "TURN_LIMIT"), rejected("prompt", 1, "STALE_TURN"), accepted("close", 1), `"end"`)
	got.ended(t, "done", `{"turns":2}`)
}

func TestAnInterruptedTurnCanStillAnswer(t *testing.T) {
	// rule: P-207, F-081
	w := newWorld(t)
	got, _ := w.led(talk, both, steps(command("interrupt", 0), read, read, bye(0)), func(p *play) {
		p.openWith(2)
		id, _ := p.prompt()
		p.interrupted()
		p.say("done already")
		p.reply(id, `{"stopReason":"end_turn"}`)
		p.end()
	})
	got.replied(t, accepted("interrupt", 0), result(0, "done", "done already"), accepted("close", 0), `"end"`)
}

func TestAnAnswerThatDoesNotFitEndsOnlyItsTurn(t *testing.T) {
	// rule: E-103, P-202
	w := newWorld(t)
	schema := `"responseSchema":{"type":"integer"}`
	got, _ := w.led(`{"instructions":"begin","conversation":true,`+schema+`}`, both, steps(
		read, `{"send":{"type":"prompt","turn":1,"input":{"instructions":"again",`+schema+`}}}`, read, read, prompt(2, "as you like"), read, read, bye(2),
	), func(p *play) {
		p.openWith(8)
		p.turn("four", "end_turn")
		p.turn("4", "end_turn")
		p.turn("four", "later")
		p.end()
	})
	got.replied(t,
		`{"code":"INVALID_RESULT","message":"the answer is not one JSON value","turn":0,"type":"error"}`,
		accepted("prompt", 1), `{"result":{"outcome":"done","output":{"structured":4,"text":"4"}},"turn":1,"type":"result"}`,
		accepted("prompt", 2), `{"code":"INVALID_RESULT","message":"The native agent stopped for an unknown reason.","turn":2,"type":"error"}`,
		accepted("close", 2), `"end"`)
	got.ended(t, "done", `{"turns":3}`)
}

func TestCommandsThatEndWithoutAClose(t *testing.T) {
	// rule: P-210
	w := newWorld(t)
	got, _ := w.led(talk, both, steps(read, end), func(p *play) {
		p.openWith(2)
		p.turn("one", "end_turn")
		p.abandoned()
	})
	got.failed(t, "DISCONNECTED", "before the conversation was closed")
	got, _ = w.led(talk, both, end, func(p *play) { // in a turn, too
		p.openWith(2)
		p.prompt()
		p.abandoned()
	})
	got.failed(t, "DISCONNECTED", "before the conversation was closed")
	got, _ = w.led(talk, both, steps(read, command("close", 0), read, command("close", 0), end), func(p *play) {
		p.openWith(2)
		p.turn("one", "end_turn")
		p.abandoned()
	})
	got.failed(t, "INVALID_INPUT", "after the conversation was closed")
}

func TestHowLongACallerMayTake(t *testing.T) {
	// rule: P-208, P-210
	for wait, late := range map[int]bool{4999: false, 5001: true} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			got, _ := w.led(talk, both, steps(read, `{"sleep":100000}`, command("close", 0), read, fmt.Sprintf(`{"sleep":%d}`, wait), end), func(p *play) {
				p.openWith(2)
				p.turn("one", "end_turn")
				if late {
					p.abandoned()
				}
				p.end()
			})
			if late {
				got.failed(t, "EXECUTION_FAILED", "did not end within 5 seconds")
			} else {
				got.ended(t, "done", `{"turns":1}`)
			}
		})
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			// The channel takes sixteen replies that nobody reads.
			var send []string
			for range 16 {
				send = append(send, prompt(5, "x"))
			}
			got, _ := w.led(talk, both, steps(steps(send...), fmt.Sprintf(`{"sleep":%d}`, wait), read, read, `{"drain":"replies"}`, command("close", 0), end), func(p *play) {
				p.openWith(2)
				p.turn("one", "end_turn") // the seventeenth
				if late {
					p.abandoned()
				}
				p.end()
			})
			if late {
				got.failed(t, "DISCONNECTED", "within 5 seconds")
			} else {
				got.ended(t, "done", `{"turns":1}`)
			}
		})
	}
}

func TestTheCommandsAreCounted(t *testing.T) {
	// rule: P-208
	for n, fine := range map[int]bool{63: true, 64: false} {
		w := newWorld(t)
		all := []string{read, `{"drain":"replies"}`}
		for range n {
			all = append(all, prompt(9-4, "x"))
		}
		got, _ := w.led(talk, both, steps(append(all, command("close", 0), `{"sleep":1}`, end)...), func(p *play) {
			p.openWith(2)
			p.turn("one", "end_turn")
			if !fine {
				p.abandoned()
			}
			p.end()
		})
		if fine {
			got.ended(t, "done", `{"turns":1}`)
			require.Len(t, got.Log, 1+n+2)
		} else {
			got.failed(t, "RESOURCE_EXHAUSTED", "64 commands")
		}
	}
}

func TestTheSizeOfAReply(t *testing.T) {
	// rule: P-208
	frame := len(`{"type":"result","turn":0,"result":{"outcome":"done","output":{"text":""}}}`)
	for n, fine := range map[int]bool{65536: true, 65537: false} {
		w := newWorld(t)
		got, _ := w.led(talk, both, steps(read, bye(0)), func(p *play) {
			p.openWith(2)
			id, _ := p.prompt()
			for n := n - frame; n > 0; n -= 8000 {
				p.say(strings.Repeat("x", min(n, 8000)))
			}
			p.reply(id, `{"stopReason":"end_turn"}`)
			if !fine {
				p.abandoned()
			}
			p.end()
		})
		if fine {
			got.ended(t, "done", `{"turns":1}`)
		} else {
			got.failed(t, "RESOURCE_EXHAUSTED", "64 KiB")
		}
	}
}

func TestAConversationThatBreaks(t *testing.T) {
	// rule: P-212, P-204
	w := newWorld(t)
	got, _ := w.led(talk, both, read, func(p *play) { // between two turns
		p.openWith(2)
		p.turn("one", "end_turn")
		p.fail(fault.Uncertain, "what it did is not known")
	})
	got.failed(t, "UNCERTAIN", "what it did is not known")
	got, _ = w.led(talk, both, "", func(p *play) {
		p.openWith(2)
		p.prompt()
		p.call.Senders["responses"].Fail(fault.New(fault.Disconnected, "gone"))
		p.fail(fault.Uncertain, "what it did is not known")
	})
	got.failed(t, "UNCERTAIN", "what it did is not known")
	got, _ = w.led(talk, both, steps(read, prompt(1, "x"), read), func(p *play) {
		p.openWith(2)
		p.turn("one", "end_turn")
		p.refuse("session/prompt", "")
		p.end()
	})
	got.failed(t, "EXECUTION_FAILED", "answered with an error")
	got, _ = w.led(talk, both, `{"release":"replies"}`, func(p *play) {
		p.openWith(2)
		p.turn("one", "end_turn")
		p.abandoned()
	})
	require.NotEmpty(t, got.Result["error"])
}

func TestAConversationNeedsBothChannelsAndToBeAskedFor(t *testing.T) {
	// rule: E-101
	w := newWorld(t)
	none := func(p *play) { p.wrong("a dispatch") }
	for _, c := range []struct {
		input    string
		channels []string
	}{{talk, nil}, {talk, []string{"commands"}}, {talk, []string{"replies"}}, {task, both}, {task, []string{"replies"}}, {task, []string{"commands"}}} {
		got, _ := w.led(c.input, c.channels, "", none)
		got.failed(t, "INVALID_INPUT", "conversation")
	}
}

func TestEightTurns(t *testing.T) {
	// rule: P-206, P-214
	w := newWorld(t)
	all := []string{read}
	for turn := 1; turn < 8; turn++ {
		all = append(all, prompt(turn, "x"), read, command("interrupt", turn), read, read)
	}
	got, _ := w.led(talk, both, steps(append(all, bye(7))...), func(p *play) {
		p.openWith(8)
		p.turn("0", "end_turn")
		for range 7 {
			id, _ := p.prompt()
			p.interrupted()
			p.reply(id, `{"stopReason":"cancelled"}`)
		}
		p.end()
	})
	got.ended(t, "done", `{"turns":8}`)
}
