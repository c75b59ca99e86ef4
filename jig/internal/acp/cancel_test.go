package acp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

const two = `{"kind":"acp","client":"codex","maxTurns":2}`

func TestACancelAfterItsPromptHasSettledGoesNowhere(t *testing.T) {
	// rule: J-176, P-063, P-064, F-080
	bubble(t, func(r *rig) {
		r.grant = two
		r.start()
		r.open()
		r.turn(3, "hello")
		r.send(cancel)
		answer, _ := r.turn(4, "again")
		require.Equal(t, settles, answer)
		r.close()
		r.succeeds(exited)
		require.Equal(t, []string{"initialize", "session/new", "session/prompt", "session/prompt", "fence", "close"}, r.scope.order)
	})
}

func TestACancelAfterAnErrorGoesNowhere(t *testing.T) {
	// rule: J-176, P-029
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(line string) { p.answer(line, `"error":{"code":-32603,"message":"secret reason"}`) })
		}
		r.start()
		r.open()
		answer, _ := r.turn(3, "hello")
		require.Equal(t, `"error":{"code":-32603,"message":"Native ACP request failed"}`, answer)
		r.send(cancel)
		r.close()
		r.succeeds(exited)
		require.Zero(t, count(r, "session/cancel"))
	})
}

func TestASecondCancelEndsTheConversation(t *testing.T) {
	// rule: J-177, F-080
	for _, settled := range []bool{true, false} {
		bubble(t, func(r *rig) {
			r.grant = two
			if !settled {
				r.peer = func(p *peer) { serve(p, func(string) {}) }
			}
			r.start()
			r.open()
			r.send(request(3, "session/prompt", prompt("hello")))
			if settled {
				r.settled(3)
			}
			r.send(cancel)
			r.send(cancel)
			require.Equal(t, fault.Disconnected, r.lost())
			require.Equal(t, `{"explanation":"protocol"}`, string(r.fails(fault.Uncertain).Details))
		})
	}
}

func TestACancelledPromptMaySettleAndTheNextOneGoesOn(t *testing.T) {
	// rule: F-081, P-215, P-065
	bubble(t, func(r *rig) {
		r.grant = two
		r.peer = func(p *peer) {
			turns := 0
			serve(p, func(line string) {
				if turns++; turns == 2 {
					p.answer(line, settles)
					return
				}
				require.Equal(t, "session/cancel", method(p.line()))
				time.Sleep(4999 * time.Millisecond)
				p.text("nearly")
				p.answer(line, `"result":{"stopReason":"cancelled"}`)
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		r.send(cancel)
		answer, _ := r.settled(3)
		require.Equal(t, `"result":{"stopReason":"cancelled"}`, answer)
		time.Sleep(time.Minute) // the timer of the cancel has ended with its prompt
		answer, _ = r.turn(4, "again")
		require.Equal(t, settles, answer)
		r.close()
		r.succeeds(exited)
	})
}

func TestAnInterruptionThatDoesNotSettleIsFenced(t *testing.T) {
	// rule: F-082, P-065, J-215
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(string) {
				for range 200 { // progress is no settlement
					time.Sleep(100 * time.Millisecond)
					if p.text("still at it") != nil {
						return
					}
				}
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		time.Sleep(time.Minute)
		began := time.Now()
		go r.send(cancel)
		require.Equal(t, fault.Disconnected, r.lost())
		require.Equal(t, 5*time.Second, time.Since(began))
		f := r.fails(fault.Uncertain)
		require.Nil(t, f.Details, "a timeout explains nothing")
		require.True(t, r.scope.killed)
	})
}

// A cancel stands in the queue behind an answer that the client does not read;
// its prompt settles meanwhile.
// states are the moments at which a call can be stopped from outside.
var states = map[string]func(r *rig){
	"before initialize": func(r *rig) { r.next() },
	"initializing": func(r *rig) {
		r.next()
		r.send(request(1, "initialize", initialize))
	},
	"in a prompt": func(r *rig) {
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
	},
	"cancelling": func(r *rig) {
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		r.send(cancel)
	},
	"idle": func(r *rig) {
		r.open()
		r.turn(3, "hello")
	},
	"closing": func(r *rig) {
		r.open()
		r.turn(3, "hello")
		require.NoError(r, r.requests.Close(false))
	},
	"not read": func(r *rig) {
		r.open()
		r.send(request(3, "session/prompt", prompt("flood")))
	},
}

// hangs is a peer that ends no turn but the ones it is greeted in, and does not end.
func hangs(p *peer) {
	serve(p, func(line string) {
		text := field(line, "params")
		switch {
		case contains(text, "flood"):
			for p.text("more and more and more of it, and nobody reads a word") == nil {
			}
		case contains(text, "hello") && p.s.greet:
			p.answer(line, settles)
		}
	})
	<-p.s.ended
}

func TestCancellationFencesTheScopeInEveryState(t *testing.T) {
	// rule: F-208, P-072, F-115, P-069
	for name, reach := range states {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.peer = hangs
				r.greet = name == "idle" || name == "closing"
				r.start()
				reach(r)
				synctest.Wait()
				began := time.Now()
				r.cancel()
				r.fails(fault.Cancelled)
				require.Zero(t, time.Since(began), "it was waited for something")
				require.True(t, r.scope.killed)
				require.Zero(t, r.scope.terminated)
			})
		})
	}
}

func TestTheDeadlineFencesTheScopeInEveryState(t *testing.T) {
	// rule: P-073, J-218
	for name, reach := range states {
		if name == "cancelling" || name == "closing" || name == "initializing" {
			continue // what comes first there is another bound
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.peer, r.deadline = hangs, 10*time.Minute
				r.greet = name == "idle"
				began := time.Now()
				r.start()
				reach(r)
				r.fails(fault.DeadlineExceeded)
				require.Equal(t, 10*time.Minute, time.Since(began))
			})
		})
	}
}

// The root cancels what is under way when its deadline passes: that is a deadline
// all the same. What came first counts, however long the fence takes.
func TestOfACancellationAndTheDeadlineTheFirstCounts(t *testing.T) {
	// rule: P-073, P-079
	for _, c := range []struct {
		cancel time.Duration
		want   fault.Code
	}{
		{time.Minute - time.Second, fault.Cancelled}, {time.Minute - time.Nanosecond, fault.Cancelled}, {time.Minute, fault.DeadlineExceeded},
		{time.Minute + time.Nanosecond, fault.DeadlineExceeded}, {time.Minute + time.Second, fault.DeadlineExceeded},
	} {
		for _, fence := range []time.Duration{0, 4 * time.Second} {
			bubble(t, func(r *rig) {
				r.peer, r.deadline = func(p *peer) { p.s.slow = fence; hangs(p) }, time.Minute
				began := time.Now()
				late := time.AfterFunc(c.cancel, r.cancel)
				r.start()
				r.open()
				r.fails(c.want)
				require.Equal(t, min(c.cancel, time.Minute)+fence, time.Since(began))
				late.Stop()
			})
		}
	}
	// Nobody looks while a session is kept.
	for code, wait := range map[fault.Code]time.Duration{fault.Cancelled: 0, fault.DeadlineExceeded: 2 * time.Minute} {
		bubble(t, func(r *rig) {
			k := &keeper{}
			r.retaining(retain, k)
			k.onSave = func() {
				time.Sleep(wait)
				r.cancel()
				time.Sleep(2 * time.Minute)
			}
			r.deadline = time.Minute
			r.oneTurn()
			r.fails(code)
		})
	}
}

func TestWhatIsStoppedBeforeItBeganStartsNothing(t *testing.T) {
	// rule: P-072, P-073
	bubble(t, func(r *rig) {
		r.cancel()
		r.start()
		r.fails(fault.Cancelled)
		require.Zero(t, r.starts)
	})
	bubble(t, func(r *rig) {
		r.deadline = 0
		r.start()
		r.fails(fault.DeadlineExceeded)
		require.Zero(t, r.starts)
	})
}

func TestCancellationComesBeforeWhatElseHasFailed(t *testing.T) {
	// rule: P-079, P-077
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			p.line()
			r.cancel()
			p.say("nonsense")
			<-p.s.ended
		}
		r.start()
		r.next()
		r.send(request(1, "initialize", initialize))
		r.fails(fault.Cancelled)
	})
	// A failed clean-up comes before a cancellation.
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { p.s.unclosed = errBoom; hangs(p) }
		r.start()
		r.open()
		r.cancel()
		f := r.fails(fault.ExecutionFailed)
		require.NotContains(t, f.Message, "boom")
		require.Equal(t, []bool{false}, r.left)
	})
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { p.s.unfenced = acp.ErrUnproved; hangs(p) }
		r.start()
		r.open()
		r.cancel()
		require.Contains(t, r.fails(fault.Uncertain).Message, "could not be confirmed")
		require.Equal(t, []bool{true}, r.left)
	})
}

func TestAFailureBeforeTheDispatchIsNotUncertain(t *testing.T) {
	// rule: P-071, P-075
	for _, c := range []struct {
		err  error
		want string
	}{
		{&client.ChangedError{Client: "codex", Parts: []string{"executable"}}, "codex is not as it was reviewed: executable"},
		{&project.Refusal{Diagnostics: []project.Diagnostic{{Code: "PROJECT_ACP_CODEX_LOGIN", Message: "there is no login"}}}, "there is no login"},
		{errBoom, "the admitted client cannot be opened"},
	} {
		bubble(t, func(r *rig) {
			r.refused = c.err
			r.start()
			require.Contains(t, r.fails(fault.Unavailable).Message, c.want)
			require.Zero(t, r.starts)
		})
	}
	bubble(t, func(r *rig) {
		r.plan.Native = "codex"
		r.start()
		r.fails(fault.ExecutionFailed)
		require.Zero(t, r.starts)
	})
	bubble(t, func(r *rig) {
		r.unstarted = errBoom
		r.start()
		f := r.fails(fault.Uncertain)
		require.NotContains(t, f.Message, "boom")
		require.Equal(t, fault.Disconnected, r.lost())
	})
	bubble(t, func(r *rig) {
		r.unstarted = acp.ErrUnproved
		r.start()
		require.Contains(t, r.fails(fault.Uncertain).Message, "could not be confirmed")
		require.Equal(t, []bool{true}, r.left)
	})
	bubble(t, func(r *rig) {
		r.start()
		c := r.call()
		c.Receivers, c.Senders = map[string]*channel.Receiver{}, nil
		_, f := r.resource.Call(r.ctx, c)
		require.Equal(t, fault.Unavailable, f.Code)
		r.cancel()
		r.fails(fault.Cancelled)
	})
}
