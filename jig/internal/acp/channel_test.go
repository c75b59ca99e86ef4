package acp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func TestTheChannelsAreBothNeededDirectAndTheRightWayRound(t *testing.T) {
	// rule: F-019, F-020
	resource, err := acp.New(acp.Options{Starter: newRig(t), Prepare: nobody})
	require.NoError(t, err)
	require.Equal(t, finite(t).Identity, resource.Contract().Identity)
	ports := resource.Contract().Ports
	b := channel.New(channel.Limits{})
	create := func(name, delivery string) channel.Created {
		c, err := b.Create(1, channel.Options{Delivery: delivery, Contract: ports[name].Contract})
		require.Nil(t, err)
		return c
	}
	up, down := create("requests", contract.Direct), create("responses", contract.Direct)
	wide := create("responses", contract.Broadcast)
	for name, channels := range map[string]map[string]string{
		"no requests":  {"responses": down.Send.Endpoint},
		"no responses": {"requests": up.Receive.Endpoint},
		"none":         {},
		"more":         {"requests": up.Receive.Endpoint, "responses": down.Send.Endpoint, "more": up.Send.Endpoint},
		"turned round": {"requests": up.Send.Endpoint, "responses": down.Receive.Endpoint},
		"one of them":  {"requests": up.Receive.Endpoint, "responses": down.Receive.Endpoint},
		"broadcast":    {"requests": up.Receive.Endpoint, "responses": wide.Send.Endpoint},
		"exchanged":    {"requests": down.Receive.Endpoint, "responses": up.Send.Endpoint},
	} {
		err := b.Check(1, ports, channels)
		require.NotNil(t, err, name)
		require.Equal(t, fault.InvalidInput, err.Code, name)
	}
	require.Nil(t, b.Check(1, ports, map[string]string{"requests": up.Receive.Endpoint, "responses": down.Send.Endpoint}))
}

func TestALostChannelFencesTheScopeAndKeepsItsCode(t *testing.T) {
	// rule: F-120, P-078, F-115, P-069
	for name, c := range map[string]struct {
		lose func(r *rig)
		want fault.Code
		word string
	}{
		"requests lag":      {func(r *rig) { require.NoError(r, r.requests.Close(true)) }, fault.Lagged, "requests"},
		"requests fail":     {func(r *rig) { require.NoError(r, r.requests.Fail(fault.New(fault.ChannelLost, "gone"))) }, fault.ChannelLost, "requests"},
		"the Flow has gone": {func(r *rig) { r.broker.Finish(channel.Party(1), false) }, fault.OwnerClosed, "channel"},
		"responses go": {func(r *rig) {
			require.NoError(r, r.responses.Release())
			r.trySend(request(3, "session/prompt", prompt("hello")))
		}, fault.Disconnected, "responses"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.start()
				r.open()
				c.lose(r)
				f := r.fails(c.want)
				require.Contains(t, f.Message, c.word)
				require.Contains(t, f.Message, "not known")
				require.Nil(t, f.Details)
				require.True(t, r.scope.killed)
				require.Equal(t, []string{"fence", "close"}, r.scope.order[len(r.scope.order)-2:])
			})
		})
	}
}

func TestAReaderThatGoesBeforeTheEndLosesTheCall(t *testing.T) {
	// rule: F-119, F-120
	bubble(t, func(r *rig) {
		r.start()
		r.open()
		r.turn(3, "hello")
		require.NoError(t, r.responses.Release())
		require.NoError(t, r.requests.Close(false))
		r.fails(fault.Disconnected)
	})
}

func TestTheFlowIsToldThroughItsChannels(t *testing.T) {
	// rule: P-069
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { p.line(); p.say("nonsense"); <-p.s.ended }
		r.start()
		r.next()
		r.send(request(1, "initialize", initialize))
		require.Equal(t, fault.Disconnected, r.lost())
		<-r.done
		require.Error(t, r.trySend(request(2, "session/new", newSession)))
	})
}

func TestAFlowThatDoesNotReadHoldsTheClientBack(t *testing.T) {
	// rule: F-021, F-060
	bubble(t, func(r *rig) {
		said := 0
		piece := strings.Repeat("x", 8000)
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				for range 90 {
					p.text(piece)
					p.s.mu.Lock()
					said++
					p.s.mu.Unlock()
				}
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.scope.mu.Lock()
		held := said
		r.scope.mu.Unlock()
		require.Less(t, held, 50, "what nobody reads piles up")
		_, text := r.settled(3)
		require.Equal(t, 90*8000, len(text))
		r.close()
		r.succeeds(exited)
	})
}

func TestRequestsAreTakenWhileNobodyReads(t *testing.T) {
	// rule: F-080
	bubble(t, func(r *rig) {
		stopped := make(chan struct{})
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				go func() {
					for p.text(strings.Repeat("x", 8000)) == nil {
					}
				}()
				if method(p.line()) == "session/cancel" {
					close(stopped)
				}
				<-p.s.ended
			})
		}
		r.start()
		r.open()
		r.send(request(3, "session/prompt", prompt("hello")))
		time.Sleep(time.Minute)
		r.send(cancel)
		<-stopped
		r.cancel()
		r.fails(fault.Cancelled)
	})
}

func TestSecretsNeverTravelOverTheChannels(t *testing.T) {
	// rule: F-108, F-122
	bubble(t, func(r *rig) {
		r.plan.Env["ANTHROPIC_BASE_URL"] = "https://canary.invalid"
		r.plan.Argv = []string{"--canary"}
		r.plan.Native = "/opt/canary"
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"tool_call","title":"canary"},"_meta":{"canary":1}}}`, native)
				p.text("clean")
				p.answer(line, `"result":{"stopReason":"end_turn","_meta":{"canary":"canary"},"usage":{"canary":1}}`)
			})
		}
		r.start()
		r.open()
		r.turn(3, "hello")
		r.close()
		r.succeeds(exited)
		for _, item := range r.items {
			require.NotContains(t, string(item), "canary")
		}
		require.NotContains(t, string(r.result), "canary")
		require.Equal(t, "/opt/canary", r.scope.frame.Native)
	})
}
