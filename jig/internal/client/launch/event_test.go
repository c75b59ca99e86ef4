package launch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func exited(x Exit) event    { return event{name: eventExited, exit: x} }
func started(pid int) event  { return event{name: eventStarted, pid: pid} }
func failed(c string) event  { return event{name: eventFailed, category: Category(c)} }
func terminate() event       { return event{name: eventTerminate} }
func sessionsMessage() event { return event{name: eventSessions, descriptor: true} }

// rule: J-163
func TestEventsAreTheseBytes(t *testing.T) {
	for want, e := range map[string]event{
		`{"event":"started","pid":7}`:                                                 started(7),
		`{"event":"exited","exitCode":0,"signal":null,"terminated":false}`:            exited(Exit{Code: new(0)}),
		`{"event":"exited","exitCode":null,"signal":"SIGKILL","terminated":true}`:     exited(Exit{Signal: new("SIGKILL"), Terminated: true}),
		`{"event":"exited","exitCode":143,"signal":null,"terminated":true}`:           exited(Exit{Code: new(143), Terminated: true}),
		`{"event":"failed","category":"auth"}`:                                        failed("auth"),
		`{"event":"sessions"}`:                                                        sessionsMessage(),
		`{"event":"terminate"}`:                                                       terminate(),
		`{"event":"exited","exitCode":null,"signal":"SIGRTMIN+1","terminated":false}`: exited(Exit{Signal: new("SIGRTMIN+1")}),
	} {
		b, err := e.encode()
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		got, err := decodeEvent(b)
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
}

func TestMalformedEventsAreRefused(t *testing.T) {
	for _, bad := range []string{
		``, `x`, `[]`, `{}`, `{"event":"x"}`, `{"event":"started"}`, `{"event":"started","pid":0}`, `{"event":"started","pid":1,"x":1}`,
		`{"event":"exited","exitCode":0,"signal":null}`, `{"event":"exited","exitCode":0,"signal":"SIGTERM","terminated":false}`,
		`{"event":"exited","exitCode":null,"signal":null,"terminated":false}`, `{"event":"exited","exitCode":256,"signal":null,"terminated":false}`,
		`{"event":"exited","exitCode":-1,"signal":null,"terminated":false}`, `{"event":"exited","exitCode":null,"signal":"TERM","terminated":false}`,
		`{"event":"exited","exitCode":null,"signal":"SIG\u001b[0m","terminated":false}`, `{"event":"exited","exitCode":null,"signal":"SIGAAAAAAAAAAAAAAAAAAA","terminated":false}`,
		`{"event":"failed","category":"words of the client"}`, `{"event":"failed"}`, `{"event":"sessions","fd":3}`, `{"event":"terminate","event":"terminate"}`,
		`{"event":"terminate","x":"` + strings.Repeat("x", MaxEventBytes) + `"}`,
	} {
		_, err := decodeEvent([]byte(bad))
		require.ErrorIs(t, err, errEvent, bad)
	}
}

// rule: J-168
func TestCleanIsZeroUnasked(t *testing.T) {
	require.True(t, Exit{Code: new(0)}.Clean())
	require.False(t, Exit{Code: new(1)}.Clean())
	require.False(t, Exit{Code: new(0), Terminated: true}.Clean())
	require.False(t, Exit{Signal: new("SIGTERM")}.Clean())
}

func FuzzEvent(f *testing.F) {
	for _, s := range []string{`{"event":"started","pid":7}`, `{"event":"exited","exitCode":0,"signal":null,"terminated":false}`, `{"event":"failed","category":"rate"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEvent(b)
		if err != nil {
			return
		}
		again, err := e.encode()
		require.NoError(t, err)
		same, err := decodeEvent(again)
		require.NoError(t, err)
		require.Equal(t, e, same)
	})
}
