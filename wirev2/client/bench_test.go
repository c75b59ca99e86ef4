package client

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// The peer of a benchmark is this test binary in a process of its own, as a daemon would be: what it allocates is not
// counted, and the kernel switches between the two.
const peerVariable = "WIREV2_BENCHMARK_PEER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(peerVariable); mode != "" {
		if err := servePeer(mode, os.Args[len(os.Args)-1]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// echo is the payload both ways.
type echo struct {
	Text string `json:"text"`
}

// servePeer serves one connection.
func servePeer(mode, path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err = os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if mode == "raw" {
		return echoBytes(conn)
	}
	return echoRecords(conn)
}

func echoBytes(conn net.Conn) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return nil // the benchmark hung up
		}
		if _, err = conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// echoRecords decodes every request strictly and answers with the same payload.
func echoRecords(conn net.Conn) error {
	reader, err := wirev2.NewReader(conn, wirev2.Limits{})
	if err != nil {
		return err
	}
	writer := wirev2.NewWriter(conn)
	instance, connection := wirev2.NewID(), wirev2.NewID()
	for {
		q, err := reader.ReadRequest()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var body any
		if q.Method == wirev2.MethodInitialize {
			var hello wirev2.InitializeRequest
			if err = wirev2.DecodePayload(q.Payload, &hello); err == nil {
				body = wirev2.InitializeReply{}
			}
		} else {
			var in echo
			err = wirev2.DecodePayload(q.Payload, &in)
			body = &in
		}
		if err == nil {
			err = writer.WriteResponse(&wirev2.Response{
				RequestID: q.RequestID, InstanceID: instance, ConnectionID: connection, SessionID: q.SessionID,
				OperationID: q.OperationID, GrantGeneration: 1, Body: body,
			})
		}
		if err != nil {
			return err
		}
	}
}

// startPeer starts a peer and returns the path of its socket.
func startPeer(b *testing.B, mode string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "s")
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), peerVariable+"="+mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { require.NoError(b, cmd.Wait()) }) // it ends when its connection does
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(out, ready)
	require.NoError(b, err)
	return path
}

// benchText returns a text that makes the request record one of about n bytes.
func benchText(n int) string {
	const line = "The daemon hands each call to one executor, \"at most once\".\n"
	const envelope = 310
	return strings.Repeat(line, n/len(line)+1)[:n-envelope-n/len(line)*3]
}

func benchmarkRoundTrip(b *testing.B, size int) {
	path := startPeer(b, "records")
	c, err := Dial(context.Background(), path, Options{Name: "bench", Version: "1"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	in := &echo{benchText(size)}
	q := Call{Method: wirev2.MethodTurnStart, SessionID: wirev2.NewID(), ControlToken: wirev2.NewSecret()}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		q.OperationID = ""
		var out echo
		if err := c.Call(ctx, &q, in, &out); err != nil {
			b.Fatal(err)
		}
		if len(out.Text) != len(in.Text) {
			b.Fatal("another text")
		}
	}
}

func benchmarkRawEcho(b *testing.B, size int) {
	conn, err := net.Dial("unix", startPeer(b, "raw"))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, conn.Close()) })
	record := bytes.Repeat([]byte("x"), size)
	buf := make([]byte, size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(record); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundTrip1KiB is a call with a record of about 1 KiB each way, strict on both sides.
//
// target: <= 1.5x BenchmarkRoundTrip1KiB_LimitRawEcho
// target: <= 4 allocs
func BenchmarkRoundTrip1KiB(b *testing.B) { benchmarkRoundTrip(b, 1<<10) }

func BenchmarkRoundTrip1KiB_LimitRawEcho(b *testing.B) { benchmarkRawEcho(b, 1<<10) }

// BenchmarkRoundTrip16KiB is the same with about 16 KiB.
//
// target: <= 4x BenchmarkRoundTrip16KiB_LimitRawEcho
// target: <= 24 KiB
func BenchmarkRoundTrip16KiB(b *testing.B) { benchmarkRoundTrip(b, 16<<10) }

func BenchmarkRoundTrip16KiB_LimitRawEcho(b *testing.B) { benchmarkRawEcho(b, 16<<10) }
