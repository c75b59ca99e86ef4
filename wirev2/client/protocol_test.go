package client

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// A daemon that breaks the protocol is disconnected, and every call says why.
func TestABrokenDaemonIsDisconnected(t *testing.T) {
	response := func(d *daemon, q wirev2.Request, change func(*wirev2.Response)) string {
		p := wirev2.Response{
			RequestID: q.RequestID, InstanceID: d.instance, ConnectionID: d.connection, SessionID: q.SessionID,
			OperationID: q.OperationID, Body: echo{"x"},
		}
		change(&p)
		record, err := wirev2.AppendResponse(nil, &p)
		require.NoError(t, err)
		return string(record)
	}
	nothing := func(*wirev2.Response) {}
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			record func(d *daemon, q wirev2.Request) string
			cause  error
		}{
			"not JSON": {func(*daemon, wirev2.Request) string { return "hello\n" }, wirev2.ErrInvalidRecord},
			"duplicate": {func(d *daemon, q wirev2.Request) string {
				return strings.Replace(response(d, q, nothing), `"text":"x"`, `"text":"x","text":"y"`, 1)
			}, wirev2.ErrInvalidRecord},
			"too long":  {func(*daemon, wirev2.Request) string { return strings.Repeat(" ", 65536) }, wirev2.ErrInvalidRecord},
			"a request": {func(*daemon, wirev2.Request) string { return `{"v":2,"kind":"request"}` + "\n" }, wirev2.ErrInvalidEnvelope},
			"unknown member": {func(d *daemon, q wirev2.Request) string {
				return strings.Replace(response(d, q, nothing), `"v":2`, `"v":2,"w":1`, 1)
			}, wirev2.ErrInvalidEnvelope},
			"no such request": {func(d *daemon, q wirev2.Request) string {
				return response(d, q, func(p *wirev2.Response) { p.RequestID = "other" })
			}, wirev2.ErrInvalidEnvelope},
			"another session": {func(d *daemon, q wirev2.Request) string {
				return response(d, q, func(p *wirev2.Response) { p.SessionID = wirev2.NewID() })
			}, wirev2.ErrInvalidEnvelope},
			"no operation": {func(d *daemon, q wirev2.Request) string {
				return response(d, q, func(p *wirev2.Response) { p.OperationID = "" })
			}, wirev2.ErrInvalidEnvelope},
			"another instance": {func(d *daemon, q wirev2.Request) string {
				return response(d, q, func(p *wirev2.Response) { p.InstanceID = wirev2.NewID() })
			}, nil},
			"another connection": {func(d *daemon, q wirev2.Request) string {
				return response(d, q, func(p *wirev2.Response) { p.ConnectionID = wirev2.NewID() })
			}, nil},
			"cut off": {func(d *daemon, q wirev2.Request) string { return strings.TrimSuffix(response(d, q, nothing), "\n") }, io.ErrUnexpectedEOF},
			"its verdict on us": {func(d *daemon, q wirev2.Request) string {
				return response(d, wirev2.Request{}, func(p *wirev2.Response) { p.Error = wirev2.Errorf(wirev2.CodeInvalidRecord, "bad") })
			}, nil},
		} {
			client, d := connect(t, plain)
			call := start(bg, client, Call{Method: wirev2.MethodSessionCreate}, nil)
			record := c.record(d, d.next())
			_, err := io.WriteString(d.conn, record)
			if name == "cut off" {
				require.NoError(t, err)
				require.NoError(t, d.conn.Close())
			}
			got := <-call
			require.ErrorIs(t, got.err, client.Err(), name)
			var unanswered *UnansweredError
			require.ErrorAs(t, got.err, &unanswered, name)
			require.True(t, unanswered.Sent)
			requireDisconnect(t, client.Err(), c.cause)
			var verdict *wirev2.Error
			require.Equal(t, name == "its verdict on us", errors.As(got.err, &verdict), name)
		}
	})
}

func TestInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		d := newDaemon(t, theirs)
		go func() {
			q := d.next()
			require.Equal(t, wirev2.MethodInitialize, q.Method)
			require.Empty(t, q.SessionID+q.OperationID)
			require.Equal(t, `{"client":{"name":"app","version":"1.2"},"requested_capabilities":["application_resources_v1"]}`, string(q.Payload))
			d.reply(q, welcome(wirev2.CapabilityApplicationResources))
		}()
		c, err := New(bg, ours, Options{Name: "app", Version: "1.2", Capabilities: []wirev2.Capability{wirev2.CapabilityApplicationResources}})
		require.NoError(t, err)
		require.Equal(t, d.instance, c.InstanceID())
		require.Equal(t, d.connection, c.ConnectionID())
		require.Equal(t, wirev2.DaemonInfo{Name: "magid", Version: "0"}, c.Daemon())
		require.True(t, c.Negotiated(wirev2.CapabilityApplicationResources))
		require.False(t, c.Negotiated("other"))
		require.Equal(t, wirev2.DefaultLimits(), c.Capabilities().Limits)
		require.NoError(t, c.Close())
		require.NoError(t, theirs.Close())
	})
}

func TestInitializeFails(t *testing.T) {
	selected := wirev2.CapabilityApplicationResources
	twoSelections := welcome(selected)
	twoSelections.Capabilities.NegotiatedCapabilities = nil
	noBounds := welcome(selected)
	noBounds.Capabilities.ApplicationCallbacks = nil
	synctest.Test(t, func(t *testing.T) {
		for name, body := range map[string]any{
			"unsupported_capability": &wirev2.Error{Code: wirev2.CodeUnsupportedCapability, Message: "retired"},
			"not asked for":          welcome("other"),
			"two different":          twoSelections,
			"do not agree":           noBounds,
			"does not fit":           echo{},
		} {
			ours, theirs := net.Pipe()
			d := newDaemon(t, theirs)
			go func() { d.reply(d.next(), body) }()
			_, err := New(bg, ours, Options{Name: "app", Version: "1", Capabilities: []wirev2.Capability{selected}})
			require.ErrorContains(t, err, name)
			_, err = d.reader.ReadRequest()
			require.Equal(t, io.EOF, err, "the connection is closed")
		}

		ours, theirs := net.Pipe()
		require.NoError(t, theirs.Close())
		_, err := New(bg, ours, plain)
		requireUnanswered(t, err, true, io.ErrClosedPipe)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, options := range map[string]Options{
		"MaxInFlight":     {MaxInFlight: -1},
		"MaxQueueRecords": {MaxQueueRecords: -1},
		"MaxQueueBytes":   {MaxQueueBytes: -1},
		"WriteTimeout":    {WriteTimeout: -1},
		"MaxDepth":        {Limits: wirev2.Limits{MaxDepth: -1}},
	} {
		ours, theirs := net.Pipe()
		_, err := New(bg, ours, options)
		require.ErrorContains(t, err, name+" is negative")
		_, err = theirs.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err, "the connection is closed")
	}
	_, err := Dial(bg, t.TempDir()+"/nothing", plain)
	require.Error(t, err)
}

// rule: W-001
func TestSocketPath(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"MAGI_SOCKET": "/s", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/u"}, "/s"},
		{map[string]string{"MAGI_SOCKET": "", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/u"}, "/run/user/1/magi/magid.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/1"}, "/run/user/1/magi/magid.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "", "HOME": "/home/u"}, "/home/u/.local/state/magi/magid.sock"},
	} {
		got, err := SocketPath(func(name string) string { return c.env[name] })
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := SocketPath(func(string) string { return "" })
	require.ErrorContains(t, err, "MAGI_SOCKET")
}
