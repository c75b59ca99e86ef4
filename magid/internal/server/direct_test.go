package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

func socketPair(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	near, err = net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	far, err = l.Accept()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return near, far
}

// On a socket the reader's goroutine writes quick answers itself, and the writer's takes over whatever the kernel does
// not take at once. Whoever writes, records stay whole and in their order.
//
// rule: W-059, W-046, W-060
func TestRecordsStayWholeAndOrderedWhoeverWritesThem(t *testing.T) {
	const requests = 4000
	var work sync.WaitGroup
	defer work.Wait()
	f := &fake{}
	grant := new(coordinator.Grant)
	f.handle = func(p *peer, q wirev2.Request) {
		var n int
		_, _ = fmt.Sscan(q.RequestID, &n)
		payload := `{"x":"` + strings.Repeat("y", (n*7919)%30000) + `"}`
		switch n % 5 {
		case 0: // later, from another goroutine
			work.Go(func() { p.answer(q, payload) })
		case 1: // with an event ahead
			p.event(grant, fmt.Sprintf(`{"n":%d}`, n))
			p.answer(q, payload)
		default:
			p.answer(q, payload)
		}
	}
	s, err := New(Options{Instance: instance, Version: "0.1.0", Coordinator: f})
	require.NoError(t, err)
	near, far := socketPair(t)
	s.ServeConn(far)
	require.NoError(t, near.SetDeadline(time.Now().Add(2*time.Minute)))
	in := bufio.NewReaderSize(near, 1<<16)
	_, err = io.WriteString(near, initialize("n", "1", "[]"))
	require.NoError(t, err)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	go func() {
		out := bufio.NewWriterSize(near, 8192)
		for i := range requests {
			_, _ = out.WriteString(status(fmt.Sprint(i)))
		}
		_ = out.Flush()
	}()
	answered, sequence, lastEvent := make(map[string]bool), 0, -1
	for len(answered) < requests {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		record := decode(t, line)
		if record["kind"] == "event" {
			sequence++
			require.EqualValues(t, sequence, record["live_sequence"])
			n := int(record["payload"].(map[string]any)["n"].(float64))
			require.Greater(t, n, lastEvent)
			require.False(t, answered[fmt.Sprint(n)], "the event was queued ahead of the answer")
			lastEvent = n
			continue
		}
		id := record["request_id"].(string)
		require.False(t, answered[id])
		answered[id] = true
		var n int
		_, err = fmt.Sscan(id, &n)
		require.NoError(t, err)
		require.Len(t, record["payload"].(map[string]any)["x"], (n*7919)%30000)
	}
	require.Equal(t, requests/5, sequence)
	require.NoError(t, near.Close())
	s.gone.Wait()
}

// rule: W-021, W-022
func TestBrokenRecordOnASocketEndsWithItsResponseAndNoReset(t *testing.T) {
	for range 50 {
		s, err := New(Options{Instance: instance, Version: "0.1.0", Coordinator: &fake{}})
		require.NoError(t, err)
		near, far := socketPair(t)
		s.ServeConn(far)
		_, err = io.WriteString(near, strings.Repeat("x", 70000)+"\nand more that nobody reads\n")
		require.NoError(t, err)
		text, err := io.ReadAll(near)
		require.NoError(t, err, "the end, not a reset")
		require.Equal(t, 1, strings.Count(string(text), "\n"))
		require.Contains(t, string(text), `"code":"invalid_record"`)
		require.NoError(t, near.Close())
		s.gone.Wait()
	}
}
