package server

import (
	"bufio"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A request of an initialised connection, through the checks and the queue and back, on a socket and in one process; the
// reply is of about 1 KiB.
//
// target: <= 1.5x BenchmarkExchange_LimitRawEcho
func BenchmarkExchange(b *testing.B) {
	s, err := New(Options{Instance: instance, Version: "0.1.0", Coordinator: &fake{}})
	require.NoError(b, err)
	near, far := socketPair(b)
	s.ServeConn(far)
	in := bufio.NewReader(near)
	var reply []byte
	for _, record := range []string{initialize("bench", "1", "[]"), request("c", "capabilities", "{}")} {
		_, err := io.WriteString(near, record)
		require.NoError(b, err)
		reply, err = in.ReadBytes('\n')
		require.NoError(b, err)
	}
	require.Equal(b, offerBytes, len(reply))
	exchange(b, near, []byte(request("c", "capabilities", "{}")), offerBytes)
	require.NoError(b, near.Close())
	s.gone.Wait()
}

// offerBytes is the size of the record that answers capabilities.
const offerBytes = 922

// BenchmarkExchange_LimitRawEcho moves as many bytes and looks at none.
func BenchmarkExchange_LimitRawEcho(b *testing.B) {
	near, far := socketPair(b)
	ask, answer := []byte(request("c", "capabilities", "{}")), make([]byte, offerBytes)
	go func() {
		buffer := make([]byte, len(ask))
		for {
			if _, err := io.ReadFull(far, buffer); err != nil {
				return
			}
			if _, err := far.Write(answer); err != nil {
				return
			}
		}
	}()
	exchange(b, near, ask, len(answer))
	require.NoError(b, near.Close())
}

func exchange(b *testing.B, conn net.Conn, ask []byte, answer int) {
	buffer := make([]byte, answer)
	b.SetBytes(int64(answer))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(ask); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buffer); err != nil {
			b.Fatal(err)
		}
	}
}
