package channel_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// TestEveryWaitingItemHasToFitThePort moves the reader of a channel that holds
// 16 queued items and sends beyond them that nobody has taken.
func TestEveryWaitingItemHasToFitThePort(t *testing.T) {
	// rule: R-118
	port := receivePort()
	port.Item = schema(t, `{"type":"number"}`)
	for _, c := range []struct {
		name string
		bad  int // the one that is no number; -1: none
		sent int
		want string
	}{
		{"nothing waits", -1, 0, "ok"},
		{"all fit", -1, 18, "ok"},
		{"the first in the queue", 0, 18, "INVALID_INPUT"},
		{"the last in the queue", 15, 18, "INVALID_INPUT"},
		{"the first pending send", 16, 18, "INVALID_INPUT"},
		{"the last pending send", 17, 18, "INVALID_INPUT"},
	} {
		r := newRig(t)
		w, rd := r.direct(root)
		for i := range c.sent {
			value := fmt.Sprint(i)
			if i == c.bad {
				value = `"text"`
			}
			want := "ok"
			if i >= 16 {
				want = "pending"
			}
			require.Equal(t, want, r.send(root, w, value).answer)
		}
		channels := map[string]string{"in": rd.Endpoint}
		require.Equal(t, c.want, code(r.Check(root, ports{"in": port}, channels)), c.name)
		require.Equal(t, c.want, r.transfer(ports{"in": port}, channels), c.name)
		if c.want != "ok" {
			require.Equal(t, "ok", r.transfer(ports{"in": receivePort()}, channels), "%s: nothing had moved", c.name)
		}
	}
}

// TestAnotherReadersItemsDoNotMatter moves one subscription of several.
func TestAnotherReadersItemsDoNotMatter(t *testing.T) {
	// rule: R-118
	r := newRig(t)
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	subscribe := func() channel.Grant {
		g, err := r.Subscribe(root, c.Source)
		require.Nil(t, err)
		return g
	}
	early := subscribe()
	r.send(root, c.Send, `"text"`)
	late := subscribe()
	r.send(root, c.Send, `1`)
	port := receivePort()
	port.Start = contract.Suffix
	port.Item = schema(t, `{"type":"number"}`)
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": port}, map[string]string{"in": early.Endpoint}))
	require.Equal(t, "ok", r.transfer(ports{"in": port}, map[string]string{"in": late.Endpoint}))
}

func TestASourceReferenceIsNeverMapped(t *testing.T) {
	// rule: R-102
	r := newRig(t)
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	suffix := receivePort()
	suffix.Start = contract.Suffix
	for _, port := range []contract.Port{sendPort(), receivePort(), suffix} {
		require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"x": port}, map[string]string{"x": c.Source}))
	}
	_, err = r.Subscribe(root, c.Source)
	require.Nil(t, err, "it is still the creator's")
	require.Equal(t, "ok", r.transfer(ports{"x": sendPort()}, map[string]string{"x": c.Send.Endpoint}), "the writer was not used and moves")
}
