package acp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// complaint: B1.4 can1357/oh-my-pi#11567 - the end of the input dropped a request that had been taken, and the exit said that all was well
// rule: F-109, F-110
func TestComplaintB1_4OhMyPi11567AnEndBeforeTheAnswerIsAFailure(t *testing.T) {
	bubble(t, func(r *rig) {
		r.peer = hangs
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("do something")))
		require.NoError(t, r.requests.Close(false))
		require.Equal(t, fault.Disconnected, r.lost())
		require.Equal(t, `{"explanation":"protocol"}`, string(r.fails(fault.Uncertain).Details))
	})
}

// complaint: B1.11 asheshgoplani/agent-deck#756 - the client was signalled as soon as it had answered, and its history was lost
// rule: J-216, F-129, F-131, P-066
func TestComplaintB1_11AgentDeck756AClientHasTimeToWriteItsHistory(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		2500 * time.Millisecond: `"status":"retained","reference":"` + given + `"`,
		3500 * time.Millisecond: `"status":"unavailable","reason":"not-cleanly-closed"`,
	} {
		bubble(t, func(r *rig) {
			r.retaining(retain, &keeper{})
			r.peer = leaves(func(p *peer) {
				agent(p)
				select {
				case <-time.After(wait):
				case <-p.s.told: // what a signal does to what it was about to write
				}
			})
			r.start()
			r.open()
			_, said := r.turn(3, "hello")
			require.Equal(t, "said: hello", said, "the answer is worth the same")
			r.close()
			r.succeeds(exited + `,"session":{` + want + `}`)
		})
	}
}

// complaint: B2.21 Yeachan-Heo/gajae-code#4324 - a cancel was acknowledged, the prompt never settled, and the session hung for good
// rule: F-082, P-065, J-215
func TestComplaintB2_21GajaeCode4324AnIgnoredCancelIsFenced(t *testing.T) {
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) {
			serve(p, func(string) {
				go p.line()                       // it hears of the cancel
				for p.say("%s", ignored) == nil { // signs of life are no settlement
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		time.Sleep(time.Minute)
		r.send(cancel)
		began := time.Now()
		r.fails(fault.Uncertain)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.True(t, r.scope.killed)
		time.Sleep(time.Second) // the client notices
	})
}

// complaint: B2.22 compozy/compozy#522 - a cancel that came late hit the next turn
// rule: P-063, P-064, F-080
func TestComplaintB2_22Compozy522ALateCancelHitsNobody(t *testing.T) {
	bubble(t, func(r *rig) {
		r.grant = two
		settle := make(chan struct{})
		r.peer = func(p *peer) {
			turns := 0
			serve(p, func(line string) {
				if turns++; turns == 1 {
					// It reads nothing while it answers, so the cancel waits.
					for id := range 3 {
						p.say(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{}}`, id)
					}
					<-settle
				}
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		synctest.Wait()
		r.send(cancel)
		synctest.Wait()
		close(settle)
		r.settled(3)
		answer, _ := r.turn(4, "again")
		require.Equal(t, settles, answer)
		r.close()
		r.succeeds(exited)
		require.Zero(t, count(r, "session/cancel"))
		require.Equal(t, 2, count(r, "session/prompt"))
	})
}

// complaint: B2.25 anomalyco/opencode#48232 - a permission that a session of another name asked for was dropped, and both sides waited
// rule: F-087, P-046
func TestComplaintB2_25Opencode48232EveryPermissionIsAnsweredAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		const refusal = `,"result":{"outcome":{"outcome":"cancelled"}}}`
		ask := func(p *peer, id, session string) {
			p.say(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":%q,"options":[]}}`, id, session)
			began := time.Now()
			require.Equal(t, `{"jsonrpc":"2.0","id":`+id+refusal, p.line())
			require.Less(t, time.Since(began), 50*time.Millisecond)
		}
		r.peer = func(p *peer) {
			first := p.line()
			ask(p, "0", "of nobody") // before there is any session
			p.common(first)
			serve(p, func(line string) {
				ask(p, `"p1"`, "another one")
				ask(p, "7", native)
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		answer, _ := r.turn(3, "hello")
		require.Equal(t, settles, answer)
		r.close()
		r.succeeds(exited)
	})
}
