package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

const (
	root   channel.Party = 1
	child  channel.Party = 2
	second channel.Party = 3
)

// rig drives a broker and remembers every answer.
type rig struct {
	testing.TB
	*channel.Broker
}

func newRig(t testing.TB) rig { return rig{t, channel.New(channel.Limits{})} }

func (r rig) direct(p channel.Party, o ...channel.Options) (send, receive channel.Grant) {
	r.Helper()
	options := channel.Options{Delivery: contract.Direct}
	if len(o) > 0 {
		options = o[0]
		options.Delivery = contract.Direct
	}
	c, err := r.Create(p, options)
	require.Nil(r, err)
	return c.Send, c.Receive
}

// sent is a send and its answer: pending, ok, or a code.
type sent struct {
	answer string
	cancel func()
}

func (r rig) send(p channel.Party, g channel.Grant, value string) *sent {
	s := &sent{answer: "pending"}
	s.cancel = r.Broker.Send(p, g.Endpoint, []byte(value), func(err *fault.Error) {
		require.Equal(r, "pending", s.answer, "one answer a send")
		s.answer = code(err)
	})
	return s
}

// got is a read and its answer: pending, "1:value", "end:1", or a code.
type got struct {
	answer string
	cancel func()
}

func (r rig) next(p channel.Party, g channel.Grant) *got {
	n := &got{answer: "pending"}
	n.cancel = r.Broker.Next(p, g.Endpoint, func(i channel.Item, err *fault.Error) {
		require.Equal(r, "pending", n.answer, "one answer a read")
		switch {
		case err != nil:
			n.answer = string(err.Code)
		case i.End:
			n.answer = fmt.Sprintf("end:%d", i.Sequence)
		default:
			n.answer = fmt.Sprintf("%d:%s", i.Sequence, i.Value)
		}
	})
	return n
}

func (r rig) release(p channel.Party, g channel.Grant) string {
	rel, err := r.Broker.Release(p, g.Endpoint)
	if err != nil {
		return string(err.Code)
	}
	switch rel.Status {
	case "ended":
		return fmt.Sprintf("ended:%d", rel.LastSequence)
	case "failed":
		return "failed:" + string(rel.Failure.Code)
	}
	return rel.Status
}

func (r rig) close(p channel.Party, g channel.Grant, lagged bool) string {
	return code(r.Broker.Close(p, g.Endpoint, lagged))
}

func code(err *fault.Error) string {
	if err == nil {
		return "ok"
	}
	return string(err.Code)
}

func schema(t testing.TB, raw string) *contract.ItemSchema {
	t.Helper()
	s, err := contract.CompileItem([]byte(raw))
	require.NoError(t, err)
	return s
}

func named(t testing.TB, id, item string) *contract.Channel {
	t.Helper()
	c, err := contract.ParseChannel([]byte(`{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/` + id + `","version":"1.0.0","semantics":"s","item":` + item + `}`))
	require.NoError(t, err)
	return c
}

// text is a JSON string whose encoding has n bytes.
func text(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

func receivePort() contract.Port {
	return contract.Port{Direction: contract.Receive, Required: true, Start: contract.Beginning}
}

func sendPort() contract.Port { return contract.Port{Direction: contract.Send, Required: true} }
