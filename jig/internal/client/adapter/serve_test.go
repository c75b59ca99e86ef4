package adapter

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

func TestConversationFromInitializeToClose(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opened()
		r.ask("session/set_config_option", `{"sessionId":"s","configId":"model","value":"m-1"}`)
		r.hears("configure model")
		r.says("done")
		r.result(`{"configOptions":[{"id":"model","name":"model","type":"select","currentValue":"m-1","options":[{"value":"m-1","name":"m-1"}]}]}`)
		r.ask("session/set_mode", `{"sessionId":"s","modeId":"read-only"}`)
		r.hears("mode read-only")
		r.says("done")
		r.result(`{}`)
		r.ask("session/prompt", promptOf("hi"))
		r.hears("prompt hi")
		r.says("text a one ", "text a two", "stop end_turn")
		r.gets(textOf("a", "one two"))
		r.result(`{"stopReason":"end_turn"}`)
		r.ask("session/close", session)
		r.result(`{}`)
		r.ends()
	})
}

func TestResumeIsOfTheSessionThatWasAskedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		r.ask("initialize", typed)
		r.hears("initialize")
		r.says("done")
		r.next()
		r.ask("session/resume", `{"sessionId":"old","cwd":"/work","mcpServers":[]}`)
		r.hears("resume old")
		r.says("done")
		r.result(`{}`)
		r.ask("session/set_mode", `{"sessionId":"old","modeId":"m"}`)
		r.hears("mode m")
		r.says("invalid")
		r.failure(`{"code":-32602,"message":"Invalid params"}`)
		r.ends()
	})
}

// rule: J-174
func TestOnlyWhatIsOfferedStandsInInitialize(t *testing.T) {
	bubble(t, func(r *rig) {
		r.client.resume = false
		r.ask("initialize", untyped)
		r.hears("initialize")
		r.says("done")
		r.result(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`)
		require.NoError(r, r.host.Close())
		r.exits()
	})
}

// rule: J-169
func TestHeldTextGoesOutAfterFiftyMilliseconds(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		start := time.Now()
		r.says("text a x", "text a y")
		r.gets(textOf("a", "xy"))
		require.Equal(r, holdTime, time.Since(start))
		r.says("text a " + strings.Repeat("z", pieceBytes))
		r.gets(textOf("a", strings.Repeat("z", pieceBytes)))
		require.Equal(r, holdTime, time.Since(start), "4 KiB wait for nothing")
		r.says("stop end_turn")
		r.next()
		r.ends()
	})
}

// rule: J-169
func TestEveryOtherMessageTakesTheTextAlong(t *testing.T) {
	for name, c := range map[string]struct{ says, gets string }{
		"plan":       {"plan first", updateOf("s", `"sessionUpdate":"plan","entries":[{"content":"first","priority":"high","status":"in_progress"},{"content":"then","priority":"low","status":"pending"}]`)},
		"warning":    {"warn", diagnostic("s", "warning", 2)},
		"permission": {"permit call", `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"call"},"options":[{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}`},
		"other text": {"text b " + strings.Repeat("z", pieceBytes), textOf("b", strings.Repeat("z", pieceBytes))},
		"failure":    {"broken ", diagnostic("s", "error", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.prompted()
				start := time.Now()
				r.says("text a held", c.says)
				r.gets(textOf("a", "held"))
				r.gets(c.gets)
				require.Zero(r, time.Since(start))
			})
		})
	}
}

// rule: J-170, J-171
func TestTwentyThousandDeltasAreOneAnswer(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		const n = 20_000
		go func() {
			for range n {
				r.stdout.Write([]byte("text a wörd·\n"))
				time.Sleep(5 * time.Millisecond)
			}
			r.stdout.Write([]byte("stop end_turn\n"))
		}()
		var text strings.Builder
		updates := 0
		for {
			line := r.next()
			if strings.Contains(line, "stopReason") {
				break
			}
			_, rest, _ := strings.Cut(line, `"text":"`)
			piece, _, _ := strings.Cut(rest, `"`)
			text.WriteString(piece)
			updates++
		}
		require.Equal(r, strings.Repeat("wörd·", n), text.String())
		require.LessOrEqual(r, updates, 4096)
		r.ends()
	})
}

// rule: J-169, J-170
func TestSlowTextIsHeldLongerWhenUpdatesGrowFew(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		for range slowUpdates {
			r.says("text a x")
			r.next()
		}
		start := time.Now()
		r.says("text a x")
		r.next()
		require.Equal(r, slowHoldTime, time.Since(start))
		for range scarceUpdates - slowUpdates - 1 {
			r.says("text a x")
			r.next()
		}
		start = time.Now()
		r.says("text a x")
		time.Sleep(time.Hour)
		r.says("stop end_turn")
		r.gets(textOf("a", "x"))
		require.GreaterOrEqual(r, time.Since(start), time.Hour)
		r.result(`{"stopReason":"end_turn"}`)
		r.ends()
	})
}

// rule: J-212, J-213
func TestFailedPromptIsANumberAndACategory(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		r.says("fail rate")
		r.failure(internal)
		require.Equal(r, launch.Rate, <-r.reported)
		r.ask("session/close", session)
		r.result(`{}`)
		r.ends()
	})
}

// rule: J-214
func TestOnlyDataThatAClientGivesIsThere(t *testing.T) {
	bubble(t, func(r *rig) {
		r.ask("initialize", typed)
		r.hears("initialize")
		r.says("done")
		r.next()
		r.ask("session/new", `{"cwd":"/work","mcpServers":[]}`)
		r.hears("new")
		r.says("data failed to load configuration: x")
		r.failure(`{"code":-32603,"message":"Internal error","data":"failed to load configuration: x"}`)
		r.ends()
	})
}

// rule: J-239, F-107
func TestFailureOutsideARequestIsTyped(t *testing.T) {
	for name, setup := range map[string]func(r *rig) (session string, n int){
		"while it starts": func(r *rig) (string, int) {
			r.ask("initialize", typed)
			r.hears("initialize")
			return "none", 1
		},
		"between turns": func(r *rig) (string, int) {
			r.prompted()
			r.says("stop end_turn")
			r.next()
			return "s", 1
		},
		"in a prompt": func(r *rig) (string, int) { r.prompted(); return "s", 1 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				session, n := setup(r)
				r.says("broken service")
				r.gets(diagnostic(session, "error", n))
				require.Equal(r, launch.Service, <-r.reported)
				r.says("text a late", "warn", "stop end_turn", "broken auth")
				r.ends()
			})
		})
	}
}

func TestWithoutTypedDiagnosticsAFailureEndsTheRequest(t *testing.T) {
	bubble(t, func(r *rig) {
		r.ask("initialize", untyped)
		r.hears("initialize")
		r.says("warn", "broken auth")
		r.failure(internal)
		r.ends()
	})
}

// rule: J-211, N-021
func TestNoticesBeforeTheSessionAreOne(t *testing.T) {
	bubble(t, func(r *rig) {
		r.ask("initialize", typed)
		r.hears("initialize")
		r.says("warn", "done")
		r.next()
		r.says("warn")
		r.ask("session/new", `{"cwd":"/work","mcpServers":[]}`)
		r.hears("new")
		r.says("warn", "done s")
		r.result(`{"sessionId":"s"}`)
		r.gets(diagnostic("s", "warning", 1))
		r.says("warn")
		r.gets(diagnostic("s", "warning", 2))
		r.ends2()
	})
}

// ends2 ends a conversation that has not settled: the host is the one to judge it.
func (r *rig) ends2() {
	r.Helper()
	require.NoError(r, r.host.Close())
	r.exits()
	rest, err := io.ReadAll(r.out)
	require.NoError(r, err)
	require.Contains(r, string(rest), `"severity":"error"`)
	require.NoError(r, <-r.served)
}

func TestNoticesAreCounted(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		go func() {
			for range maxWarnings + 10 {
				r.stdout.Write([]byte("warn\n"))
			}
			r.stdout.Write([]byte("stop end_turn\n"))
		}()
		n := 0
		for !strings.Contains(r.next(), "stopReason") {
			n++
		}
		require.Equal(r, maxWarnings, n)
		r.ends()
	})
}

// rule: J-172, N-043
func TestWhatIsNoAnswerIsNotSent(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opened()
		r.says("text a early", "plan early", "ignored thing", "")
		r.ask("session/prompt", promptOf("hi"))
		r.hears("prompt hi")
		r.says("ignored", "text a ", "stop end_turn")
		r.result(`{"stopReason":"end_turn"}`)
		r.says("text a late", "plan late")
		r.ends()
	})
}

// rule: F-081, J-176
func TestCancelReachesTheClientOnceAndNotTooLate(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
	bubble(t, func(r *rig) {
		r.prompted()
		r.write(cancel)
		r.hears("cancel")
		r.says("text a more", "stop cancelled")
		r.gets(textOf("a", "more"))
		r.result(`{"stopReason":"cancelled"}`)
		r.write(cancel)
		r.ask("session/prompt", promptOf("again"))
		r.hears("prompt again")
		r.says("stop end_turn")
		r.result(`{"stopReason":"end_turn"}`)
		require.Equal(r, 1, r.client.cancelled)
		r.ends()
	})
}

// rule: F-087
func TestPermissionIsRefusedWhateverTheHostAnswers(t *testing.T) {
	for _, answer := range []string{`"result":{"outcome":{"outcome":"cancelled"}}`, `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`, `"error":{"code":1,"message":"x"}`} {
		bubble(t, func(r *rig) {
			r.prompted()
			r.says("permit a", "permit b")
			require.Contains(r, r.next(), `"id":1,"method":"session/request_permission"`)
			require.Contains(r, r.next(), `"id":2,"method":"session/request_permission"`)
			r.write(`{"jsonrpc":"2.0","id":2,` + answer + `}`)
			r.hears("no b")
			r.write(`{"jsonrpc":"2.0","id":1,` + answer + `}`)
			r.hears("no a")
			r.says("stop end_turn")
			r.result(`{"stopReason":"end_turn"}`)
			r.ends()
		})
	}
}

func TestPermissionBeforeASessionIsRefusedAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.ask("initialize", typed)
		r.hears("initialize")
		r.says("permit a")
		r.hears("no a")
		r.ends2()
	})
}

// rule: J-215
func TestTimersFireUnlessTheyAreStopped(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		r.says("wait", "enough")
		time.Sleep(time.Minute)
		start := time.Now()
		r.says("wait")
		r.gets(diagnostic("s", "error", 1))
		require.Equal(r, 10*time.Second, time.Since(start))
		require.Equal(r, launch.Auth, <-r.reported)
		r.ends()
	})
}

func TestLineThatBreaksTheProtocolIsAFailure(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		r.says("nonsense with words of the client")
		r.gets(diagnostic("s", "error", 1))
		r.ends()
	})
}

// The host checks all it forwards. What it never sends ends the conversation
// without an answer.
func TestHostThatLeavesTheConversationIsNotAnswered(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":         `x`,
		"version":         `{"jsonrpc":"1.0","id":9,"method":"session/close","params":{"sessionId":"s"}}`,
		"unknown":         `{"jsonrpc":"2.0","id":9,"method":"authenticate","params":{}}`,
		"load":            `{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s"}}`,
		"other session":   `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"text","text":"x"}]}}`,
		"second session":  `{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`,
		"image":           `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"image"}]}}`,
		"two parts":       `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}}`,
		"Boolean":         `{"jsonrpc":"2.0","id":9,"method":"session/set_config_option","params":{"sessionId":"s","configId":"c","type":"boolean","value":true}}`,
		"null id":         `{"jsonrpc":"2.0","id":null,"method":"session/close","params":{"sessionId":"s"}}`,
		"answer to none":  `{"jsonrpc":"2.0","id":9,"result":{}}`,
		"cancel of other": `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.opened()
				r.write(line)
				require.ErrorIs(r, <-r.served, errHost)
				_, err := r.out.ReadByte()
				require.ErrorIs(r, err, io.EOF)
			})
		})
	}
}

func TestRequestDuringARequestIsNotAnswered(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		r.ask("session/prompt", promptOf("again"))
		require.ErrorIs(r, <-r.served, errHost)
	})
}

// rule: P-070
func TestProgramThatIsGoneBeforeItsInputIsNoDeadlock(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		r.exits()
		r.gets(diagnostic("s", "error", 1))
		synctest.Wait()
		require.NoError(r, <-r.served)
	})
}

// rule: P-067
func TestProgramThatEndsByItselfAfterSettlementIsNoFailure(t *testing.T) {
	for _, last := range []string{"stop end_turn", "fail model"} {
		bubble(t, func(r *rig) {
			r.prompted()
			r.says(last)
			r.next()
			r.exits()
			_, err := r.out.ReadByte()
			require.ErrorIs(r, err, io.EOF)
			require.NoError(r, <-r.served)
		})
	}
}

// rule: J-239
func TestProgramThatEndsBeforeTheFirstWordIsAFailure(t *testing.T) {
	for _, last := range []string{"", "nonsense", "broken service"} {
		bubble(t, func(r *rig) {
			if last != "" {
				r.says(last)
			}
			r.exits()
			synctest.Wait()
			r.ask("initialize", typed)
			r.gets(diagnostic("none", "error", 1))
			require.NoError(r, <-r.served)
		})
		bubble(t, func(r *rig) {
			r.exits()
			synctest.Wait()
			r.ask("initialize", untyped)
			r.failure(internal)
			require.NoError(r, <-r.served)
		})
		bubble(t, func(r *rig) { // a host that says nothing at all
			r.exits()
			require.NoError(r, r.host.Close())
			require.NoError(r, <-r.served)
		})
	}
}

// rule: J-239
func TestProgramThatEndsTooEarlyIsAFailure(t *testing.T) {
	for name, setup := range map[string]func(r *rig) string{
		"before initialize is answered": func(r *rig) string { r.ask("initialize", typed); r.hears("initialize"); return "none" },
		"before a prompt":               func(r *rig) string { r.opened(); return "s" },
		"in a prompt":                   func(r *rig) string { r.prompted(); return "s" },
		"inside a line": func(r *rig) string {
			r.prompted()
			r.stdout.Write([]byte("stop end_t"))
			return "s"
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				session := setup(r)
				r.exits()
				r.gets(diagnostic(session, "error", 1))
				require.NoError(r, <-r.served)
			})
		})
	}
}
