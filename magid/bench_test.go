package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// Row 1 of the performance page: a record there and a record of 1 KiB back, over the socket of a real daemon in its own
// process, strict both ways.
//
// target: <= 1.5x BenchmarkRoundTrip1KiB_LimitRawEcho
// target: <= 4 allocs
func BenchmarkRoundTrip1KiB(b *testing.B) {
	p := newPlace(b)
	p.serve()
	c, err := client.Dial(b.Context(), p.socket, client.Options{Name: "bench", Version: "1"})
	require.NoError(b, err)
	defer c.Close()
	exchange(b, c, client.Call{Method: wirev2.MethodCapabilities}, capabilitiesBytes)
}

// BenchmarkRoundTrip1KiB_LimitRawEcho moves the same bytes between the same two processes and looks at none.
func BenchmarkRoundTrip1KiB_LimitRawEcho(b *testing.B) { rawEcho(b, capabilitiesBytes) }

// Row 2: the same with 16 KiB, the snapshot of a session.
//
// target: <= 4x BenchmarkRoundTrip16KiB_LimitRawEcho
// target: <= 24 KiB
func BenchmarkRoundTrip16KiB(b *testing.B) {
	p := newPlace(b)
	text := strings.Repeat("0123456789abcdef", (snapshotBytes-snapshotFrame)/16)
	p.model(scripted.TextReply(text))
	p.serve()
	c, err := client.Dial(b.Context(), p.socket, client.Options{Name: "bench", Version: "1"})
	require.NoError(b, err)
	defer c.Close()
	id, err := c.CreateSession(b.Context(), "", wirev2.SessionCreateRequest{Workspace: p.workspace})
	require.NoError(b, err)
	s, err := c.Claim(b.Context(), "", id, false)
	require.NoError(b, err)
	_, err = s.StartTurn(b.Context(), "", wirev2.TurnStartRequest{Prompt: "go"})
	require.NoError(b, err)
	for {
		e, err := s.Events().Next(b.Context())
		require.NoError(b, err)
		if e.Event == wirev2.EventTurnTerminal {
			break
		}
	}
	exchange(b, c, client.Call{Method: wirev2.MethodSessionSnapshot, SessionID: id, ControlToken: s.Token()}, snapshotBytes)
}

// BenchmarkRoundTrip16KiB_LimitRawEcho moves the same bytes between the same two processes and looks at none.
func BenchmarkRoundTrip16KiB_LimitRawEcho(b *testing.B) { rawEcho(b, snapshotBytes) }

// Sizes of the records, to within a few bytes that a build's version may add.
const (
	requestBytes      = 170
	capabilitiesBytes = 930
	snapshotBytes     = 16 << 10
	snapshotFrame     = 540 // what a snapshot's record has beside the turn's text
)

func exchange(b *testing.B, c *client.Client, call client.Call, bytes int) {
	var reply jsontext.Value
	m := roomy()
	b.ReportAllocs()
	for b.Loop() {
		m.measure(func() {
			if err := c.Call(b.Context(), &call, nil, &reply); err != nil {
				b.Fatal(err)
			}
		})
	}
	m.report(b, 1)
	// The envelope of a response is of about 270 bytes.
	require.InDelta(b, bytes, len(reply)+270, 80)
}

// rawEcho sends as many bytes as a request has and reads as many as its reply has.
func rawEcho(b *testing.B, bytes int) {
	p := newPlace(b)
	self, err := os.Executable()
	require.NoError(b, err)
	require.NoError(b, os.Mkdir(filepath.Dir(p.socket), 0o700))
	p.process(exec.Command(self), fmt.Sprintf("MAGID_TEST_ECHO=%d", bytes))
	var conn net.Conn
	until(b, "the echo listens", func() bool {
		conn, err = net.Dial("unix", p.socket)
		return err == nil
	})
	defer conn.Close()
	request, reply := make([]byte, requestBytes), make([]byte, bytes)
	m := roomy()
	b.ReportAllocs()
	for b.Loop() {
		m.measure(func() {
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(conn, reply); err != nil {
				b.Fatal(err)
			}
		})
	}
	m.report(b, 1)
}

// roomy is a meter for many short exchanges. Both sides of a pair show the median: what else runs on the machine makes
// a few exchanges long, and the mean tells more of that than of either side.
func roomy() *meter { return &meter{times: make([]time.Duration, 0, 1<<18)} }

// echo is the far end of rawEcho, in a process of its own.
func echo(socket, size string) error {
	var bytes int
	if _, err := fmt.Sscan(size, &bytes); err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			request, reply := make([]byte, requestBytes), make([]byte, bytes)
			for {
				if _, err := io.ReadFull(conn, request); err != nil {
					return
				}
				if _, err := conn.Write(reply); err != nil {
					return
				}
			}
		}()
	}
}

// Row 11: from the start of the process to its first reply, and what it then takes in memory (rss-MiB).
//
// target: <= 3x BenchmarkStart_LimitMinimalDaemon
func BenchmarkStart(b *testing.B) {
	benchStart(b, func(p *place) *exec.Cmd { return exec.Command(magid, "serve") }, record("i", "initialize", hello))
}

// BenchmarkStart_LimitMinimalDaemon is the smallest Go program that answers on a Unix socket.
func BenchmarkStart_LimitMinimalDaemon(b *testing.B) {
	minimal := filepath.Join(filepath.Dir(magid), "minimal")
	out, err := exec.Command("go", "build", "-o", minimal, "./testdata/minimal").CombinedOutput()
	require.NoError(b, err, string(out))
	benchStart(b, func(p *place) *exec.Cmd {
		require.NoError(b, os.Mkdir(filepath.Dir(p.socket), 0o700))
		return exec.Command(minimal, p.socket)
	}, "hello\n")
}

func benchStart(b *testing.B, command func(*place) *exec.Cmd, greeting string) {
	var resident int64
	for b.Loop() {
		b.StopTimer()
		p := newPlace(b)
		cmd := command(p)
		b.StartTimer()
		r := p.process(cmd)
		if err := greet(p.socket, greeting); err != nil {
			b.Fatal(err, r.log)
		}
		b.StopTimer()
		resident = max(resident, rss(b, r.Process.Pid))
		r.kill()
		b.StartTimer()
	}
	b.ReportMetric(float64(resident)/(1<<20), "rss-MiB")
}

// greet connects as soon as somebody listens, and reads one line.
func greet(socket, greeting string) error {
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_, err = io.WriteString(conn, greeting)
			if err == nil {
				_, err = bufio.NewReader(conn).ReadString('\n')
			}
			return errors.Join(err, conn.Close())
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Microsecond)
	}
}
