package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// wide is a broker whose other bounds are out of the way of the one under test.
func wide(t *testing.T) rig {
	return rig{t, channel.New(channel.Limits{Sources: 2000, Receivers: 2000})}
}

func TestARootUsesSixteenDescriptors(t *testing.T) {
	// rule: R-097
	r := wide(t)
	use := func(n int) string {
		_, err := r.Create(root, channel.Options{Delivery: contract.Direct, Contract: named(t, fmt.Sprint("c", n), `true`)})
		return code(err)
	}
	for n := range 16 {
		require.Equal(t, "ok", use(n), n)
	}
	require.Equal(t, "RESOURCE_EXHAUSTED", use(16))
	require.Equal(t, "ok", use(0), "one that is known takes no place")
	r.direct(root) // and neither does an unnamed channel
	_, err := r.Create(child, channel.Options{Delivery: contract.Direct, Contract: named(t, "other", `true`)})
	require.Equal(t, "RESOURCE_EXHAUSTED", code(err), "the root counts, not the invocation")
}

func TestADescriptorHas256KiB(t *testing.T) {
	// rule: R-097
	const most = 262_144
	head := `{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/c","version":"1.0.0","semantics":"s","item":true`
	for size, fits := range map[int]bool{most - 1: true, most: true, most + 1: false} {
		_, err := contract.ParseChannel([]byte(head + strings.Repeat(" ", size-len(head)-1) + "}"))
		require.Equal(t, fits, err == nil, "%d bytes: %v", size, err)
	}
}

func TestAnInvocationHolds512Endpoints(t *testing.T) {
	// rule: R-092
	r := wide(t)
	broadcast := func(p channel.Party) (channel.Created, string) {
		c, err := r.Create(p, channel.Options{Delivery: contract.Broadcast})
		return c, code(err)
	}
	for range 255 {
		r.direct(root)
	}
	made, got := broadcast(root)
	require.Equal(t, "ok", got) // 511
	_, err := r.Create(root, channel.Options{Delivery: contract.Direct})
	require.Equal(t, "RESOURCE_EXHAUSTED", code(err), "a pair would make 513")
	sub, err := r.Subscribe(root, made.Source)
	require.Nil(t, err) // 512
	_, got = broadcast(root)
	require.Equal(t, "RESOURCE_EXHAUSTED", got)
	_, err = r.Subscribe(root, made.Source)
	require.Equal(t, "RESOURCE_EXHAUSTED", code(err))
	require.Equal(t, "released", r.release(root, sub))
	_, got = broadcast(root)
	require.Equal(t, "RESOURCE_EXHAUSTED", got, "what was released counts as well")
}

func TestACalleeHolds512Endpoints(t *testing.T) {
	// rule: R-092
	r := wide(t)
	move := func(from channel.Party, receivers []channel.Grant) string {
		p, m := ports{}, map[string]string{}
		for i, g := range receivers {
			name := fmt.Sprint("n", i)
			p[name], m[name] = receivePort(), g.Endpoint
		}
		_, err := r.Transfer(from, child, p, m)
		return code(err)
	}
	made := func(p channel.Party, n int) (receivers []channel.Grant) {
		for range n {
			_, g := r.direct(p)
			receivers = append(receivers, g)
		}
		return receivers
	}
	require.Equal(t, "ok", move(root, made(root, 255)))
	require.Equal(t, "ok", move(second, made(second, 256))) // 511
	last := made(4, 3)
	require.Equal(t, "RESOURCE_EXHAUSTED", move(4, last[:2]))
	require.Equal(t, "pending", r.next(4, last[1]).answer, "neither has moved")
	require.Equal(t, "ok", move(4, last[:1])) // 512
	require.Equal(t, "RESOURCE_EXHAUSTED", move(4, last[2:]))
}
