package acp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func TestOneConversation(t *testing.T) {
	// rule: F-001, F-012, F-021, F-022, F-023, F-113, F-119, F-122, F-123, P-015, J-166
	bubble(t, func(r *rig) {
		r.start()
		require.Equal(t, ready, r.next())
		r.ask(1, "initialize", initialize, offered)
		r.ask(2, "session/new", newSession, `"result":`+session)
		answer, said := r.turn(3, "hello")
		require.Equal(t, `"result":{"stopReason":"end_turn"}`, answer)
		require.Equal(t, "said: hello", said)
		r.close()
		r.succeeds(exited)
		require.NotContains(t, string(r.result), "hello", "an answer is not part of a result")
		require.Equal(t, []string{"initialize", "session/new", "session/prompt", "fence", "close"}, r.scope.order)
		require.Zero(t, r.scope.terminated)
		require.False(t, r.scope.killed)
		require.Equal(t, 1, r.starts)
		require.Empty(t, r.left)
		require.Equal(t, "mind the gap", r.notes())
	})
}

func TestAConversationThatHasClosedItsSession(t *testing.T) {
	// rule: F-111
	bubble(t, func(r *rig) {
		r.start()
		r.open()
		r.turn(3, "hello")
		r.ask(4, "session/close", session, `"result":{}`)
		r.close()
		r.succeeds(exited)
	})
}

func TestACloseThatIsNotAnsweredIsNoEnd(t *testing.T) {
	// rule: F-111, J-215
	for _, closes := range []bool{true, false} {
		bubble(t, func(r *rig) {
			r.peer = func(p *peer) {
				serveBut(p, "session/close", func(string) {})
			}
			r.start()
			r.open()
			r.turn(3, "hello")
			r.send(request(4, "session/close", session))
			began := time.Now()
			if closes {
				require.NoError(t, r.requests.Close(false))
			}
			require.Equal(t, fault.Disconnected, r.lost())
			f := r.fails(fault.Uncertain)
			if closes {
				require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
				return
			}
			require.Equal(t, 3*time.Second, time.Since(began))
		})
	}
}

// serveBut is agent, but for what it does with one method.
func serveBut(p *peer, but string, do func(line string)) {
	for {
		line := p.line()
		switch {
		case line == "":
			p.exit(0)
			return
		case method(line) == but:
			do(line)
		case p.common(line):
		case method(line) == "session/prompt":
			p.text("said: hello")
			p.answer(line, settles)
		}
	}
}

func TestTheReadyRecordIsWhatIsEnforced(t *testing.T) {
	// rule: F-024, F-029, F-030, F-034, F-036
	on := true
	for _, c := range []struct {
		grant string
		plan  func(r *rig)
		want  string
	}{
		{codex, func(*rig) {}, ready},
		{`{"kind":"acp","client":"codex","maxTurns":8}`, func(r *rig) { r.plan.ModeID = "read-only" },
			`{"configuration":[],"cwd":"/work","kind":"ready","maxTurns":8,"modeId":"read-only","protocolVersion":1}`},
		{`{"kind":"acp","client":"pi"}`, func(r *rig) {
			r.plan.Client = "pi"
			r.plan.Configuration = []acpprofile.Setting{{ID: "model", Value: "openai/m"}, {ID: "fast", Boolean: &on}}
		}, `{"configuration":[{"configId":"model","value":"openai/m"},{"configId":"fast","type":"boolean","value":true}],"cwd":"/work","kind":"ready","maxTurns":1,"protocolVersion":1}`},
	} {
		bubble(t, func(r *rig) {
			r.grant = c.grant
			c.plan(r)
			r.start()
			require.Equal(t, c.want, r.next())
			r.cancel()
			r.fails(fault.Cancelled)
		})
	}
	bubble(t, func(r *rig) {
		// A Flow that changes what it has read is measured against what was reviewed.
		r.plan.Configuration = []acpprofile.Setting{{ID: "model", Value: "m"}}
		r.start()
		r.open()
		r.send(request(3, "session/set_config_option", `{"sessionId":"`+native+`","configId":"model","value":"dearer"}`))
		require.Equal(t, fault.Disconnected, r.lost())
		r.fails(fault.Uncertain)
		require.NotContains(t, r.scope.order, "session/set_config_option")
	})
}

func TestConfigurationAndModePrecedeThePrompt(t *testing.T) {
	// rule: F-010, F-057
	bubble(t, func(r *rig) {
		r.plan.Configuration, r.plan.ModeID = []acpprofile.Setting{{ID: "model", Value: "m"}}, "read-only"
		r.start()
		r.open()
		r.ask(3, "session/set_config_option", `{"sessionId":"`+native+`","configId":"model","value":"m"}`,
			`"result":{"configOptions":[{"id":"model","name":"model","type":"select","currentValue":"m","options":[{"value":"m","name":"m"}]}]}`)
		r.ask(4, "session/set_mode", `{"sessionId":"`+native+`","modeId":"read-only"}`, `"result":{}`)
		r.turn(5, "hello")
		r.close()
		r.succeeds(exited)
		require.Equal(t, []string{"initialize", "session/new", "session/set_config_option", "session/set_mode", "session/prompt", "fence", "close"}, r.scope.order)
	})
}

func TestSeveralTurns(t *testing.T) {
	// rule: F-058
	bubble(t, func(r *rig) {
		r.grant = `{"kind":"acp","client":"codex","maxTurns":3}`
		r.start()
		r.open()
		for id := 3; id < 6; id++ {
			_, said := r.turn(id, "hello")
			require.Equal(t, "said: hello", said)
		}
		r.send(request(6, "session/prompt", prompt("hello")))
		require.Equal(t, fault.Disconnected, r.lost())
		f := r.fails(fault.Uncertain)
		require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
		require.Equal(t, 3, count(r, "session/prompt"), "a prompt beyond the allowance reached the client")
	})
}

func count(r *rig, what string) (n int) {
	for _, step := range r.scope.order {
		if step == what {
			n++
		}
	}
	return n
}

func TestReadyComesBeforeTheClientHasSaidAnything(t *testing.T) {
	// rule: F-035, J-215
	bubble(t, func(r *rig) {
		r.peer = silent
		r.start()
		require.Equal(t, ready, r.next())
		r.send(request(1, "initialize", initialize))
		began := time.Now()
		require.Equal(t, fault.Disconnected, r.lost())
		require.Equal(t, 20*time.Second, time.Since(began))
		f := r.fails(fault.Uncertain)
		require.Contains(t, f.Message, "did not answer in time")
		require.Nil(t, f.Details)
		require.True(t, r.scope.killed)
	})
}

func TestSilenceIsBoundedEverywhereButInAPrompt(t *testing.T) {
	// rule: J-215, J-218
	for _, c := range []struct {
		silent string
		want   time.Duration
	}{
		{"initialize", 20 * time.Second}, {"login", 30 * time.Second}, {"session/new", 20 * time.Second}, {"session/set_config_option", 5 * time.Second},
		{"session/set_mode", 5 * time.Second}, {"session/prompt", time.Hour},
	} {
		bubble(t, func(r *rig) {
			r.plan.Configuration, r.plan.ModeID = []acpprofile.Setting{{ID: "model", Value: "m"}}, "read-only"
			r.plan.Login = c.silent == "login"
			r.peer = func(p *peer) {
				for {
					line := p.line()
					if line == "" || method(line) == c.silent || c.silent == "login" {
						<-p.s.ended
						return
					}
					p.common(line)
				}
			}
			r.start()
			began := time.Now()
			r.next()
			steps := []struct{ method, params string }{
				{"initialize", initialize}, {"session/new", newSession},
				{"session/set_config_option", `{"sessionId":"` + native + `","configId":"model","value":"m"}`},
				{"session/set_mode", `{"sessionId":"` + native + `","modeId":"read-only"}`}, {"session/prompt", prompt("hello")},
			}
			for i, s := range steps {
				r.send(request(i+1, s.method, s.params))
				if s.method == c.silent || c.silent == "login" {
					break
				}
				r.next()
			}
			require.Equal(t, fault.Disconnected, r.lost())
			require.Equal(t, c.want, time.Since(began))
			if c.silent == "session/prompt" {
				r.fails(fault.DeadlineExceeded)
				return
			}
			require.Contains(t, r.fails(fault.Uncertain).Message, "in time")
		})
	}
}

func TestWhatAPersonSeesOfAConversation(t *testing.T) {
	// rule: J-017
	bubble(t, func(r *rig) {
		r.grant = `{"kind":"acp","client":"codex","maxTurns":2}`
		r.start()
		r.open()
		r.turn(3, "hello")
		r.turn(4, "hello")
		r.close()
		r.succeeds(exited)
		var phases []string
		var text strings.Builder
		for _, e := range r.events {
			require.Equal(t, "flow:agent > native", e.Label)
			if e.Phase != "" {
				phases = append(phases, e.Phase)
			}
			text.WriteString(e.Text)
		}
		require.Equal(t, []string{"preparing", "starting", "initializing", "starting the session", "prompting", "prompting", "closing"}, phases)
		require.Equal(t, "said: hellosaid: hello", text.String())
		require.Equal(t, acp.Event{Label: "flow:agent > native", End: true}, r.events[len(r.events)-1])
	})
}

func TestNobodyWhoWatchesHoldsAConversationUp(t *testing.T) {
	// rule: J-017
	bubble(t, func(r *rig) {
		stuck := make(chan struct{})
		r.stuck = stuck
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				for range 1000 {
					p.text("x")
				}
				p.answer(line, settles)
			})
		}
		began := time.Now()
		r.start()
		r.open()
		_, said := r.turn(3, "hello")
		require.Len(t, said, 1000)
		r.close()
		r.succeeds(exited)
		require.Equal(t, time.Second, time.Since(began), "the end waits a moment, and not for ever")
		close(stuck)
		synctest.Wait()
		text := 0
		for _, e := range r.events {
			text += len(e.Text)
		}
		require.Less(t, text, 1000)
		require.True(t, r.events[len(r.events)-1].End, "all but text is told")
	})
}

func TestAScopeThatUsedTooMuchIsSaidToHave(t *testing.T) {
	// rule: F-117
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			p.common(p.line())
			p.s.limit = "memory"
		}
		r.start()
		r.next()
		r.send(request(1, "initialize", initialize))
		require.Equal(t, fault.Disconnected, r.lost())
		f := r.fails(fault.Uncertain)
		require.Contains(t, f.Message, "used more than its scope may")
		require.Nil(t, f.Details)
		require.Contains(t, r.notes(), "the scope of the client was ended for its memory")
	})
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { p.s.broken = "bubblewrap cannot be used: it did not start" }
		r.start()
		r.fails(fault.Uncertain)
		require.Contains(t, r.notes(), "bubblewrap cannot be used")
	})
}

func TestALongAnswerIsWhole(t *testing.T) {
	// rule: F-060
	bubble(t, func(r *rig) {
		pieces := 2
		if *long {
			pieces = 16
		}
		piece := strings.Repeat("0123456789abcdef", 512<<10/16)
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				for range pieces {
					p.text(piece)
				}
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		_, said := r.turn(3, "hello")
		require.Equal(t, pieces*512<<10, len(said))
		require.True(t, said == strings.Repeat(piece, pieces))
		r.close()
		r.succeeds(exited)
	})
}
