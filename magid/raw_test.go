package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// record is a request as bytes.
func record(id, method, payload string) string {
	return fmt.Sprintf(`{"v":2,"kind":"request","request_id":%q,"method":%q,"session_id":null,"control_token":null,"operation_id":null,"payload":%s}`+"\n", id, method, payload)
}

const hello = `{"client":{"name":"raw","version":"1"},"requested_capabilities":[]}`

// raw is a connection without a client.
type raw struct {
	*net.UnixConn
	t  testing.TB
	in *bufio.Reader
}

func (p *place) raw() *raw {
	p.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.socket, Net: "unix"})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(p.t, conn.SetDeadline(time.Now().Add(patience)))
	r := &raw{conn, p.t, bufio.NewReaderSize(conn, 1<<17)}
	require.NotContains(p.t, r.ask(record("init", "initialize", hello)), `"error"`)
	return r
}

func (r *raw) send(text string) {
	r.t.Helper()
	_, err := r.Write([]byte(text))
	require.NoError(r.t, err)
}

func (r *raw) line() string {
	r.t.Helper()
	line, err := r.in.ReadString('\n')
	require.NoError(r.t, err, line)
	return strings.TrimSuffix(line, "\n")
}

func (r *raw) ask(text string) string {
	r.t.Helper()
	r.send(text)
	return r.line()
}

func readLine(t testing.TB, conn net.Conn) string {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return line
}

// with fills in session, token and operation of a record.
func with(record, session, token string, operation wirev2.ID) string {
	for member, value := range map[string]string{"session_id": session, "control_token": token, "operation_id": string(operation)} {
		if value != "" {
			record = strings.Replace(record, `"`+member+`":null`, `"`+member+`":"`+value+`"`, 1)
		}
	}
	return record
}

// field is a string member of a record, or of its payload.
func field(t *testing.T, line, name string, payload bool) string {
	t.Helper()
	members := parse[map[string]jsontext.Value](t, line)
	if payload {
		require.Contains(t, members, "payload", line)
		members = parse[map[string]jsontext.Value](t, string(members["payload"]))
	}
	require.Contains(t, members, name, line)
	return parse[string](t, string(members[name]))
}

// postNothing uses up one reply of a scripted model.
func postNothing(base string) error {
	response, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}
