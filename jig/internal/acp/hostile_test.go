package acp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func TestPeersThatBreakTheLines(t *testing.T) {
	// rule: P-031, P-032, F-116, F-119
	flood := func(n int, line string) func(p *peer) {
		return func(p *peer) {
			p.common(p.line())
			p.common(p.line())
			for range n {
				if p.say("%s", line) != nil {
					return
				}
			}
			<-p.s.ended
		}
	}
	for name, c := range map[string]struct {
		peer   func(p *peer)
		limits acp.Limits
		note   string
	}{
		"no JSON":  {flood(1, "not-json"), acp.Limits{}, "no JSON-RPC message"},
		"empty":    {flood(1, ""), acp.Limits{}, "a line of the client's adapter is empty"},
		"too long": {flood(1, strings.Repeat("x", 1001)), acp.Limits{LineBytes: 1000}, "a line of the client's adapter is too long"},
		"too many": {flood(11, ignored), acp.Limits{Lines: 10}, "more lines than it may"},
		"too much": {flood(11, ignored), acp.Limits{OutputBytes: 1000}, "wrote more than it may"},
		"half a line": {func(p *peer) {
			p.common(p.line())
			p.common(p.line())
			fmt.Fprint(p.out, `{"jsonrpc":"2.0"`)
			p.exit(0)
		}, acp.Limits{}, "ended inside a line"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.peer, r.limits = c.peer, c.limits
				r.start()
				r.next()
				r.send(request(1, "initialize", initialize))
				r.next()
				r.send(request(2, "session/new", newSession))
				require.Equal(t, fault.Disconnected, r.lost())
				f := r.fails(fault.Uncertain)
				require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
				require.Contains(t, r.notes(), c.note)
			})
		})
	}
}

const ignored = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + native + `","update":{"sessionUpdate":"usage_update"}}}`

func TestTheBoundsOfTheLinesAreExact(t *testing.T) {
	// rule: P-031
	line := strings.Repeat(" ", 1000-len(ignored)) + ignored
	for _, c := range []struct {
		lines int
		l     acp.Limits
		ok    bool
	}{
		{1, acp.Limits{LineBytes: 1000}, true}, {1, acp.Limits{LineBytes: 999}, false},
		{4, acp.Limits{Lines: 7}, true}, {5, acp.Limits{Lines: 7}, false}, // three answers
	} {
		bubble(t, func(r *rig) {
			r.limits = c.l
			r.peer = func(p *peer) {
				serve(p, func(request string) {
					for range c.lines {
						p.say("%s", line)
					}
					p.answer(request, settles)
				})
			}
			r.start()
			r.open()
			r.send(request(3, "session/prompt", prompt("hello")))
			if !c.ok {
				require.Equal(t, fault.Disconnected, r.lost())
				r.fails(fault.Uncertain)
				return
			}
			r.settled(3)
			r.close()
			r.succeeds(exited)
		})
	}
	// Newlines count in the total.
	total := 0
	for _, ok := range []bool{true, false} {
		bubble(t, func(r *rig) {
			if total > 0 {
				r.limits.OutputBytes = total - 1
			}
			r.peer = func(p *peer) {
				counted := &counter{Conn: p.out}
				p.out = counted
				agent(p)
				total = counted.n
			}
			if ok {
				r.start()
				r.open()
				r.turn(3, "hello")
				r.close()
				r.succeeds(exited)
				return
			}
			r.start()
			r.open()
			r.send(request(3, "session/prompt", prompt("hello")))
			require.Equal(t, fault.Disconnected, r.lost())
			r.fails(fault.Uncertain)
		})
	}
}

func TestStandardErrorIsDrainedAndBounded(t *testing.T) {
	// rule: P-033, P-068
	for _, n := range []int{65_536, 65_537} {
		bubble(t, func(r *rig) {
			r.peer = func(p *peer) {
				serve(p, func(line string) {
					p.err.Write([]byte(strings.Repeat("canary ", 10_000)[:n]))
					p.answer(line, settles)
				})
			}
			r.start()
			r.open()
			r.send(request(3, "session/prompt", prompt("hello")))
			if n == 65_536 {
				r.settled(3)
				r.close()
				r.succeeds(exited)
				return
			}
			require.Equal(t, fault.Disconnected, r.lost())
			f := r.fails(fault.Uncertain)
			require.Nil(t, f.Details)
			require.NotContains(t, f.Message+r.notes(), "canary")
		})
	}
}

func TestAClientThatFailsOutsideARequest(t *testing.T) {
	// rule: J-239, F-107, F-116, F-117, P-080
	grave := func(p *peer) {
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"version":1,"severity":"error","title":"canary /home/x sk-canary"}}}}}}}`, native)
	}
	for name, peer := range map[string]func(p *peer){
		"starting": func(p *peer) {
			p.common(p.line())
			p.line()
			grave(p)
			<-p.s.ended
		},
		"idle": func(p *peer) {
			serve(p, func(line string) { p.answer(line, settles); grave(p) })
		},
		"closing": func(p *peer) {
			serve(p, func(line string) { p.answer(line, settles) })
			grave(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.peer = peer
				r.start()
				r.next()
				r.send(request(1, "initialize", initialize))
				r.next()
				r.send(request(2, "session/new", newSession))
				if name != "starting" {
					r.next()
					r.send(request(3, "session/prompt", prompt("hello")))
				}
				if name == "closing" {
					r.settled(3)
					require.NoError(t, r.requests.Close(false))
				}
				require.Equal(t, fault.Disconnected, r.lost())
				f := r.fails(fault.Uncertain)
				require.Equal(t, `{"explanation":"native-session"}`, string(f.Details))
				require.NotContains(t, f.Message+r.notes(), "canary")
			})
		})
	}
}

func TestAWarningAloneExplainsNothing(t *testing.T) {
	// rule: F-118, F-105, J-211
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"version":1,"severity":"warning","title":"canary"}}}}}}}`, native)
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`+native+`","update":{"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}}}`, r.next())
		r.settled(3)
		r.close()
		r.succeeds(exited)
	})
	// And where the client then hangs, the failure has no explanation.
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			p.common(p.line())
			p.line()
			p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"version":1,"severity":"warning"}}}}}}}`, native)
			<-p.s.ended
		}
		r.start()
		r.next()
		r.ask(1, "initialize", initialize, offered)
		r.send(request(2, "session/new", newSession))
		require.Nil(t, r.fails(fault.Uncertain).Details)
	})
}

func TestAClientThatIgnoresTheEndIsTerminatedOnce(t *testing.T) {
	// rule: F-112, F-113, F-114, P-066, J-216, J-166
	term := "SIGTERM"
	zero := 0
	for _, c := range []struct {
		end  acp.Evidence
		want string
	}{
		{acp.Evidence{Seen: true, Signal: &term, Terminated: true}, `"stopReason":"closed","exitCode":null,"signal":"SIGTERM"`},
		{acp.Evidence{Seen: true, Code: &zero, Terminated: true}, `"stopReason":"closed","exitCode":0,"signal":null`},
	} {
		bubble(t, func(r *rig) {
			var told time.Time
			r.peer = func(p *peer) {
				serve(p, func(line string) { p.answer(line, settles) })
				p.report(acp.Evidence{})
				<-p.s.told
				told = time.Now()
				p.report(c.end)
			}
			r.start()
			r.open()
			r.turn(3, "hello")
			require.NoError(t, r.requests.Close(false))
			closed := time.Now()
			require.Empty(t, r.next())
			r.succeeds(c.want)
			require.Equal(t, 3*time.Second, told.Sub(closed))
			require.Equal(t, 1, r.scope.terminated)
			require.False(t, r.scope.killed)
		})
	}
}

func TestAClientThatTakesItsTimeGetsNoSignal(t *testing.T) {
	// rule: P-067, J-216
	for _, wait := range []time.Duration{650 * time.Millisecond, 2999 * time.Millisecond} {
		bubble(t, func(r *rig) {
			r.peer = func(p *peer) {
				serve(p, func(line string) { p.answer(line, settles) })
				time.Sleep(wait)
			}
			r.start()
			r.open()
			r.turn(3, "hello")
			r.close()
			r.succeeds(exited)
			require.Zero(t, r.scope.terminated)
		})
	}
}

func TestAnAdapterThatDoesNotEndEither(t *testing.T) {
	// rule: J-167, P-076, F-115
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(line string) { p.answer(line, settles) })
			p.report(acp.Evidence{})
			<-p.s.ended
		}
		r.start()
		r.open()
		r.turn(3, "hello")
		require.NoError(t, r.requests.Close(false))
		f := r.fails(fault.Uncertain)
		require.Contains(t, f.Message, "was not seen")
		require.Equal(t, 1, r.scope.terminated)
		require.True(t, r.scope.killed)
	})
	// The client's own end was seen, and only the adapter had to be killed.
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(line string) { p.answer(line, settles) })
			<-p.s.ended
		}
		r.start()
		r.open()
		r.turn(3, "hello")
		r.close()
		r.succeeds(exited)
	})
}

func TestAClientThatIsGoneBeforeTheFlowIsDone(t *testing.T) {
	// rule: P-070, F-109
	gone := func(p *peer) {
		serve(p, func(line string) {
			p.answer(line, settles)
			p.exit(0)
			p.s.dies()
		})
	}
	bubble(t, func(r *rig) {
		r.peer = gone
		r.start()
		r.open()
		r.turn(3, "hello")
		require.Empty(t, r.next(), "the responses end with the client")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, r.requests.Close(false))
		r.succeeds(exited)
	})
	// Another prompt cannot be answered any more, and is not waited for.
	bubble(t, func(r *rig) {
		r.peer, r.grant = gone, two
		r.start()
		r.open()
		r.turn(3, "hello")
		require.Empty(t, r.next())
		r.send(request(4, "session/prompt", prompt("again")))
		began := time.Now()
		r.fails(fault.Uncertain)
		require.Zero(t, time.Since(began))
		require.Contains(t, r.notes(), "the client had gone")
	})
	// One that goes before it has settled fails the call at once.
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { p.line(); p.exit(70) }
		r.start()
		r.next()
		r.send(request(1, "initialize", initialize))
		require.Equal(t, fault.Disconnected, r.lost())
		f := r.fails(fault.Uncertain)
		require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
	})
}

func TestTheEndOfTheRequestsIsNoEndOfTheConversation(t *testing.T) {
	// rule: F-110, F-109, F-111
	for _, upTo := range []int{0, 1, 2} {
		bubble(t, func(r *rig) {
			r.start()
			r.next()
			if upTo > 0 {
				r.ask(1, "initialize", initialize, offered)
			}
			if upTo > 1 {
				r.ask(2, "session/new", newSession, `"result":`+session)
			}
			require.NoError(t, r.requests.Close(false))
			require.Equal(t, fault.Disconnected, r.lost())
			f := r.fails(fault.Uncertain)
			require.Equal(t, `{"explanation":"protocol"}`, string(f.Details))
			require.Contains(t, r.notes(), "the Flow: the requests ended")
		})
	}
}

func TestAFrameThatIsNotWholeGoesNowhere(t *testing.T) {
	// rule: F-056, F-057, F-121
	for name, send := range map[string]func(r *rig){
		"its end is missing": func(r *rig) {
			require.NoError(r, r.requests.Send(r.Context(), []byte(`{"kind":"data","text":"{\"jsonrpc\":\"2.0\"","end":false}`)))
			require.NoError(r, r.requests.Close(false))
		},
		"no JSON":   func(r *rig) { r.send("nonsense") },
		"no method": func(r *rig) { r.send(`{"jsonrpc":"2.0","id":1,"result":{}}`) },
		"a session": func(r *rig) { r.send(request(1, "session/new", newSession)) },
		"powers": func(r *rig) {
			r.send(request(1, "initialize", `{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.start()
				r.next()
				send(r)
				require.Equal(t, fault.Disconnected, r.lost())
				require.Equal(t, `{"explanation":"protocol"}`, string(r.fails(fault.Uncertain).Details))
				require.Equal(t, []string{"fence", "close"}, r.scope.order, "something reached the client")
			})
		})
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	// rule: F-121
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(string) { p.s.dies() })
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		require.Equal(t, fault.Disconnected, r.lost())
		r.fails(fault.Uncertain)
		require.Equal(t, 1, r.starts)
		require.Equal(t, []string{"initialize", "session/new", "session/prompt", "fence", "close"}, r.scope.order)
	})
}
