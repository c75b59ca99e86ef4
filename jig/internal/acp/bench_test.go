package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// An answer of 1 MiB in updates of 4 KiB: what a long turn looks like.
const (
	updates = 256
	piece   = 4096
)

func answer() string { return strings.Repeat("0123456789abcdef", piece/16) }

// A whole conversation, from the start of its scope to its result.
//
// target: <= 3x BenchmarkConversation_LimitSteps
func BenchmarkConversation(b *testing.B) {
	text := answer()
	b.ReportAllocs()
	b.SetBytes(updates * piece)
	for b.Loop() {
		r := newRig(b)
		r.peer = func(p *peer) {
			serve(p, func(line string) {
				for range updates {
					p.text(text)
				}
				p.answer(line, settles)
			})
		}
		r.start()
		r.open()
		_, said := r.turn(3, "hello")
		require.Len(b, said, updates*piece)
		r.close()
		r.succeeds(exited)
	}
}

// The steps that each update of it needs, one after the other in one goroutine:
// the authority, the fragments, and the broker with its schemas.
func BenchmarkConversation_LimitSteps(b *testing.B) {
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`, native, answer())
	ports := finite(b).Ports
	ctx := context.Background()
	b.ReportAllocs()
	b.SetBytes(updates * piece)
	for b.Loop() {
		broker := channel.New(channel.Limits{})
		made, failure := broker.Create(1, channel.Options{Delivery: contract.Direct, Contract: ports["responses"].Contract})
		require.Nil(b, failure)
		send, receive := broker.Sender(1, made.Send), broker.Receiver(1, made.Receive)
		m, err := acpprofile.New(acpprofile.Config{Client: "codex", MaxTurns: 1})
		require.NoError(b, err)
		splitter, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{})
		require.NoError(b, err)
		joiner, err := acpframing.NewJoiner(acpframing.Responses, acpframing.Limits{})
		require.NoError(b, err)
		for i, step := range []struct{ method, params, result string }{
			{"initialize", initialize, offered}, {"session/new", newSession, `"result":` + session}, {"session/prompt", prompt("hello"), ""},
		} {
			_, err := m.Adapter([]byte(request(i+1, step.method, step.params)))
			require.NoError(b, err)
			if step.result != "" {
				_, err = m.Native(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, i+1, step.result))
				require.NoError(b, err)
			}
		}
		var item []byte
		for range updates {
			d, err := m.Native(line)
			require.NoError(b, err)
			require.NoError(b, splitter.Begin(d.ToAdapter[0]))
			for splitter.More() {
				item, err = splitter.Next(item[:0])
				require.NoError(b, err)
				require.NoError(b, send.Send(ctx, item))
				got, err := receive.Next(ctx)
				require.NoError(b, err)
				_, err = joiner.Add(got.Value)
				require.NoError(b, err)
			}
		}
	}
}
