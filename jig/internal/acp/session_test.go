package acp_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

func nobody(context.Context, *tree.Grant) (*client.Prepared, error) { return nil, errBoom }

// retaining is a rig whose call asks for a session.
func (r *rig) retaining(input string, k *keeper) {
	r.grant, r.input, r.keeper = keeps, input, k
	r.peer = leaves(agent)
}

// leaves is a peer whose client leaves a folder of sessions.
func leaves(then func(p *peer)) func(p *peer) {
	return func(p *peer) {
		p.s.mu.Lock()
		p.s.evidence.Sessions = folder
		p.s.mu.Unlock()
		then(p)
	}
}

// folder stands for what a client leaves; nothing reads it.
var folder, _ = os.Open(os.DevNull)

const (
	retain = `{"session":{"retain":true}}`
	tied   = `{"session":{"retain":true,"lifetime":"run"}}`
	back   = `{"session":{"restore":"` + given + `"}}`
)

func (r *rig) oneTurn() {
	r.Helper()
	r.start()
	r.open()
	r.turn(3, "hello")
	r.close()
}

func TestASessionIsRetainedAfterEverythingElse(t *testing.T) {
	// rule: F-013, F-123, F-129, P-152, J-168, J-220
	for _, input := range []string{retain, tied} {
		bubble(t, func(r *rig) {
			k := &keeper{}
			r.retaining(input, k)
			r.oneTurn()
			r.succeeds(exited + `,"session":{"status":"retained","reference":"` + given + `"}`)
			require.True(t, r.scope.frame.Retain)
			require.Nil(t, r.scope.frame.Session)
			require.Equal(t, []string{"initialize", "session/new", "session/prompt", "fence", "collect", "close", "save"}, r.scope.order)
			require.Equal(t, &acp.Collected{NativeID: native, Path: os.DevNull, Content: []byte("history\n")}, k.saved)
			require.Equal(t, input == tied, k.savedTied)
			require.Empty(t, k.claimed)
		})
	}
	bubble(t, func(r *rig) {
		r.retaining("null", &keeper{})
		r.oneTurn()
		r.succeeds(exited)
		require.False(t, r.scope.frame.Retain)
		require.NotContains(t, r.scope.order, "collect")
	})
}

func TestAnEndThatIsNotCleanLeavesNoSession(t *testing.T) {
	// rule: F-130, F-131, J-166, J-168, P-149, P-219, P-045
	term, zero, one := "SIGTERM", 0, 1
	for name, c := range map[string]struct {
		end  acp.Evidence
		code int
		want string
	}{
		"terminated":         {acp.Evidence{Seen: true, Signal: &term, Terminated: true}, 0, `"stopReason":"closed","exitCode":null,"signal":"SIGTERM"`},
		"terminated, exit 0": {acp.Evidence{Seen: true, Code: &zero, Terminated: true}, 0, `"stopReason":"closed","exitCode":0,"signal":null`},
		"exit 1":             {acp.Evidence{Seen: true, Code: &one}, 0, `"stopReason":"exited","exitCode":1,"signal":null`},
		"a signal":           {acp.Evidence{Seen: true, Signal: &term}, 0, `"stopReason":"exited","exitCode":null,"signal":"SIGTERM"`},
		"the adapter failed": {acp.Evidence{Seen: true, Code: &zero}, 70, exited},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.retaining(retain, &keeper{})
				r.peer = leaves(func(p *peer) {
					agent(p)
					p.s.code = c.code
					p.report(c.end)
				})
				r.oneTurn()
				r.succeeds(c.want + `,"session":{"status":"unavailable","reason":"not-cleanly-closed"}`)
				require.NotContains(t, r.scope.order, "collect")
				require.NotContains(t, r.scope.order, "save")
			})
		})
	}
	// A client that was told to end and then ended by itself has been told.
	bubble(t, func(r *rig) {
		r.retaining(retain, &keeper{})
		r.peer = leaves(func(p *peer) { agent(p); <-p.s.told })
		r.oneTurn()
		r.succeeds(exited + `,"session":{"status":"unavailable","reason":"not-cleanly-closed"}`)
	})
	// An error of the client's settles the conversation and names no session.
	bubble(t, func(r *rig) {
		r.retaining(retain, &keeper{})
		r.peer = leaves(func(p *peer) {
			serve(p, func(line string) { p.answer(line, `"error":{"code":-32603,"message":"Internal error"}`) })
		})
		r.oneTurn()
		r.succeeds(exited + `,"session":{"status":"unavailable","reason":"not-cleanly-closed"}`)
	})
	// Without a request for one there is no word of a session.
	bubble(t, func(r *rig) {
		r.peer = func(p *peer) { agent(p); p.report(acp.Evidence{Seen: true, Code: &one}) }
		r.oneTurn()
		r.succeeds(`"stopReason":"exited","exitCode":1,"signal":null`)
	})
}

func TestTheFourReasonsOfAReceipt(t *testing.T) {
	// rule: F-132, F-148, F-151, F-127
	for _, k := range []*keeper{{reason: acp.ReasonMissing}, {reason: acp.ReasonUnsupported}, {full: true}} {
		bubble(t, func(r *rig) {
			want := k.reason
			if k.full {
				want = acp.ReasonCapacity
			}
			r.retaining(retain, k)
			r.oneTurn()
			r.succeeds(fmt.Sprintf(`%s,"session":{"status":"unavailable","reason":%q}`, exited, want))
			require.Nil(t, k.saved)
			require.Equal(t, k.full, contains(fmt.Sprint(r.scope.order), "save"))
		})
	}
	require.Equal(t, []string{"not-cleanly-closed", "missing-history", "unsupported-history", "capacity"},
		[]string{acp.ReasonNotClean, acp.ReasonMissing, acp.ReasonUnsupported, acp.ReasonCapacity})
}

func TestWhatCannotBeReadOrKeptFailsTheCall(t *testing.T) {
	// rule: F-149, F-150, P-150, P-152, P-077
	for name, c := range map[string]struct {
		k    *keeper
		peer func(p *peer)
		save bool
	}{
		"the folder cannot be read":   {&keeper{collErr: errBoom}, leaves(agent), false},
		"the folder did not come":     {&keeper{}, agent, false},
		"the store cannot be trusted": {&keeper{saveErr: errBoom}, leaves(agent), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.retaining(retain, c.k)
				r.peer = c.peer
				r.oneTurn()
				f := r.fails(fault.Uncertain)
				require.NotContains(t, f.Message, "boom")
				require.Equal(t, c.save, contains(fmt.Sprint(r.scope.order), "save"))
			})
		})
	}
	// A failed clean-up is never hidden behind a receipt.
	bubble(t, func(r *rig) {
		k := &keeper{}
		r.retaining(retain, k)
		r.peer = leaves(func(p *peer) { p.s.unclosed = errBoom; agent(p) })
		r.oneTurn()
		r.fails(fault.ExecutionFailed)
		require.Nil(t, k.saved)
	})
	bubble(t, func(r *rig) {
		k := &keeper{}
		r.retaining(retain, k)
		r.peer = leaves(func(p *peer) { p.s.unclosed = fmt.Errorf("the folder: %w", acp.ErrUnproved); agent(p) })
		r.oneTurn()
		r.fails(fault.Uncertain)
		require.Nil(t, k.saved)
	})
}

func TestAnEndFromOutsideAfterTheSaveShowsNoReference(t *testing.T) {
	// rule: P-151, P-072
	bubble(t, func(r *rig) {
		k := &keeper{}
		r.retaining(retain, k)
		k.onSave = r.cancel
		r.oneTurn()
		f := r.fails(fault.Cancelled)
		require.NotNil(t, k.saved)
		require.NotContains(t, f.Message, given)
	})
}

func TestASessionIsRestored(t *testing.T) {
	// rule: F-018, F-030, F-065, F-084, F-137, F-139, F-143
	for _, own := range []bool{true, false} {
		bubble(t, func(r *rig) {
			k := &keeper{snapshot: &acp.Snapshot{NativeID: native, Path: "sessions/a.jsonl", Content: []byte("what was\n"), Tied: own}}
			r.retaining(back, k)
			r.start()
			require.JSONEq(t, `{"kind":"ready","protocolVersion":1,"cwd":"/work","maxTurns":1,"configuration":[],"restoreSessionId":"`+native+`"}`, r.next())
			require.Len(t, k.claimed, 1)
			require.Contains(t, k.claimed[0], given)
			r.ask(1, "initialize", initialize, offered)
			r.ask(2, "session/resume", `{"sessionId":"`+native+`","cwd":"/work","mcpServers":[]}`, `"result":{}`)
			r.turn(3, "hello")
			r.close()
			r.succeeds(exited + `,"session":{"status":"retained","reference":"` + given + `"}`)
			require.Equal(t, "sessions/a.jsonl", r.scope.frame.Session.Path)
			require.Equal(t, "what was\n", string(r.scope.frame.Session.Content))
			require.Equal(t, own, k.savedTied, "a successor was widened")
			require.Equal(t, make([]byte, 9), k.snapshot.Content, "the host keeps what it has handed over")
		})
	}
}

func TestARefusedReferenceStartsNothing(t *testing.T) {
	// rule: F-140, F-138
	var said []string
	for _, k := range []*keeper{{}, {claimErr: acp.ErrNoSession}, {snapshot: &acp.Snapshot{}, claimed: []string{"before"}}} {
		bubble(t, func(r *rig) {
			r.retaining(back, k)
			r.start()
			said = append(said, r.fails(fault.Unavailable).Message)
			require.Zero(t, r.starts)
		})
	}
	require.Equal(t, said[0], said[1])
	require.Equal(t, said[0], said[2])
	bubble(t, func(r *rig) {
		r.retaining(back, &keeper{claimErr: errBoom})
		r.start()
		require.NotContains(t, r.fails(fault.ExecutionFailed).Message, "boom")
		require.Zero(t, r.starts)
	})
}

func TestAClaimIsFinalWhateverHappensThen(t *testing.T) {
	// rule: F-137, F-138
	bubble(t, func(r *rig) {
		k := &keeper{snapshot: &acp.Snapshot{NativeID: native, Path: "sessions/a.jsonl", Content: []byte("x\n")}}
		r.retaining(back, k)
		r.unstarted = errBoom
		r.start()
		r.fails(fault.Uncertain)
		r.unstarted = nil
		r.start()
		r.fails(fault.Unavailable)
		require.Equal(t, 1, r.starts, "the second time nothing was started")
		require.Len(t, k.claimed, 2)
	})
}

func TestARestorationLooksAtTheGrantAndTheLoginOfNowFirst(t *testing.T) {
	// rule: F-141
	for name, c := range map[string]struct {
		grant   string
		refused error
	}{
		"no session is lent any more": {codex, nil},
		"another client is lent":      {`{"kind":"acp","client":"claude","retainSessions":true}`, nil},
		"the login has gone":          {keeps, &project.Refusal{Diagnostics: []project.Diagnostic{{Code: "PROJECT_ACP_CODEX_LOGIN", Message: "there is no login"}}}},
		"the client has changed":      {keeps, &client.ChangedError{Client: "codex", Parts: []string{"executable"}}},
		"the client cannot be opened": {keeps, errBoom},
	} {
		bubble(t, func(r *rig) {
			k := &keeper{snapshot: &acp.Snapshot{NativeID: native, Path: "sessions/a.jsonl", Content: []byte("x\n")}}
			r.retaining(back, k)
			r.grant, r.refused = c.grant, c.refused
			r.start()
			r.fails(fault.Unavailable)
			require.Zero(t, r.starts, name)
			require.Empty(t, k.claimed, name)
			// The reference is as good as before.
			r.grant, r.refused = keeps, nil
			r.start()
			require.Contains(t, r.next(), native, name)
			r.cancel()
			r.fails(fault.Cancelled)
			require.Len(t, k.claimed, 1, name)
		})
	}
}

func TestAClientThatCannotResumeIsAskedForNoNewSession(t *testing.T) {
	// rule: F-067
	bubble(t, func(r *rig) {
		k := &keeper{snapshot: &acp.Snapshot{NativeID: native, Path: "sessions/a.jsonl", Content: []byte("x\n")}}
		r.retaining(back, k)
		r.peer = func(p *peer) {
			p.answer(p.line(), `"result":{"protocolVersion":1,"agentCapabilities":{}}`)
			p.line()
			<-p.s.ended
		}
		r.start()
		r.next()
		r.send(request(1, "initialize", initialize))
		require.Equal(t, fault.Disconnected, r.lost())
		r.fails(fault.Uncertain)
		require.Zero(t, count(r, "session/new"))
	})
}
