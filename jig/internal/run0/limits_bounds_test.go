package run0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// gate is a standard input that takes nothing until it is opened.
type gate struct {
	open, closed chan struct{}
	taken        strings.Builder // read once closed is closed
}

func (g *gate) Write(b []byte) (int, error) { <-g.open; return g.taken.Write(b) }
func (g *gate) Close() error                { close(g.closed); return nil }

// TestWhatWaitsToBeReadIsBoundedToTheByte has a component that reads nothing, not
// even what it is to run, while its calls are answered.
func TestWhatWaitsToBeReadIsBoundedToTheByte(t *testing.T) {
	// rule: R-036
	r := start(t)
	r.Start()
	run := len(r.line()) + 1
	first, second := result("a", `{"outcome":"done","output":1}`), result("b", `{"outcome":"done","output":22}`)
	all := run + len(first) + 1 + len(second) + 1
	for _, most := range []int{all + 1, all, all - 1} {
		in := &gate{open: make(chan struct{}), closed: make(chan struct{})}
		r := start(t, func(o *run0.Options) { o.In, o.Limits.QueuedBytes = in, most })
		r.Start()
		for i, id := range []string{"a", "b"} {
			r.write(call(id, id, ""))
			d := <-r.host.calls
			d.op.Settle(jsontext.Value(fmt.Sprintf(`{"outcome":"done","output":%s}`, []string{"1", "22"}[i])), nil)
		}
		if most < all {
			r.doomed()
			close(in.open)
			require.Contains(t, r.fails(clean, fault.ResourceExhausted).Message, "queued responses")
			continue
		}
		close(in.open)
		r.write(done)
		<-r.Answered()
		require.Nil(t, r.end(clean).Err)
		<-in.closed
		require.Len(t, in.taken.String(), all)
		require.Contains(t, in.taken.String(), first+"\n"+second)
	}
}

func TestAComponentsOutputIsBoundedToTheByte(t *testing.T) {
	// rule: R-035
	idle := `{"jsonrpc":"2.0","method":"idle"}`
	all := int64(3*(len(idle)+1) + len(done) + 1)
	for _, most := range []int64{all + 1, all, all - 1, all - int64(len(done)) - 2} {
		r := opened(t, func(o *run0.Options) { o.Limits.StdoutBytes = most })
		go r.raw(strings.Repeat(idle+"\n", 3) + done + "\n")
		if most < all {
			r.doomed()
			require.Contains(t, r.fails(clean, fault.ResourceExhausted).Message, "standard output")
			continue
		}
		<-r.Answered()
		require.Nil(t, r.end(clean).Err)
	}
}

func TestACallMaps256Channels(t *testing.T) {
	// rule: R-092
	r := opened(t)
	for _, n := range []int{255, 256, 257} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"n%d":"e%d"`, i, i))
		}
		id := fmt.Sprint("c", n)
		r.write(call(id, id, `,"channels":{`+strings.Join(all, ",")+`}`))
		if n <= 256 {
			require.Len(t, (<-r.host.calls).Channels, n)
		} else {
			require.Contains(t, r.line(), `-32602`)
		}
	}
	require.Empty(t, r.host.calls)
}
