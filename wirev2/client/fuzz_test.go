package client

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// FuzzClient: whatever a daemon sends, the client ends in good order, and says why.
func FuzzClient(f *testing.F) {
	const ids = `"instance_id":"0a0a0a0a-0000-4000-8000-00000000000a","connection_id":"0a0a0a0a-0000-4000-8000-00000000000b",`
	f.Add([]byte("hello\n"))
	f.Add([]byte(`{"v":2,"kind":"response","request_id":"2",` + ids + `"session_id":null,"operation_id":null,"grant_generation":null,"payload":{"text":"x"}}` + "\n"))
	f.Add([]byte(`{"v":2,"kind":"response","request_id":null,` + ids + `"session_id":null,"operation_id":null,"grant_generation":null,"error":{"code":"invalid_record","message":"x"}}` + "\n"))
	f.Add([]byte(`{"v":2,"kind":"event","event":"turn.text",` + ids + `"session_id":null,"operation_id":null,"grant_generation":1,"live_sequence":1,"payload":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := net.Pipe()
		d := newDaemon(t, theirs)
		d.instance, d.connection = "0a0a0a0a-0000-4000-8000-00000000000a", "0a0a0a0a-0000-4000-8000-00000000000b"
		played := make(chan struct{})
		go func() {
			defer close(played)
			for _, play := range []func(q wirev2.Request) error{
				func(q wirev2.Request) error { return d.tryReply(q, welcome()) },
				func(wirev2.Request) error { _, err := theirs.Write(sent); return err },
			} {
				if q, err := d.reader.ReadRequest(); err != nil || play(q) != nil {
					break
				}
			}
			_ = theirs.Close()
		}()
		c, err := New(bg, ours, plain)
		require.NoError(t, err)
		events := c.Subscribe(nil)
		var reply echo
		_ = c.Call(bg, &Call{Method: noSuch}, nil, &reply)
		for err = error(nil); err == nil; {
			_, err = events.Next(bg)
		}
		requireDisconnect(t, err, nil)
		require.ErrorIs(t, c.Err(), err)
		require.NoError(t, c.Close())
		<-played
	})
}
