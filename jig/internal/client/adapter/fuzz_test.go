package adapter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// said is what a program may say at any time, wanted or not.
var said = []string{
	"text a some words", "text b other words", "text a " + strings.Repeat("x", pieceBytes), "plan a plan", "warn", "permit call", "ignored", "broken service",
	"nonsense", "fail auth", "data failed to load configuration: x", "invalid", "stop end_turn", "stop cancelled", "done s", "text a \u2028\x00\x1b", "wait",
}

// Whatever a program says, and whenever: the adapter stays within the conversation
// that the host allows. What it cannot carry is the client's failure, never a breach
// of the protocol.
//
// rule: J-172, J-239, F-091
func FuzzProgramNeverBreaksTheProtocol(f *testing.F) {
	f.Add([]byte{200, 14, 200, 14, 200, 0, 1, 3, 4, 5, 12, 200, 0, 13})
	f.Add([]byte{4, 200, 4, 14, 4, 200, 4, 14, 4, 200, 2, 2, 201, 13, 200, 9, 200})
	f.Add([]byte{0, 3, 4, 5, 7})
	f.Add([]byte{200, 14, 200, 14, 200, 5, 202, 12, 200, 12, 200, 12})
	f.Fuzz(func(t *testing.T, steps []byte) {
		machine, err := acpprofile.New(acpprofile.Config{Client: "codex", MaxTurns: 3})
		require.NoError(t, err)
		var waiting []string // lines to the host
		client, now := &words{resume: true}, time.Unix(0, 0)
		a := &face{
			client: client, native: func([]byte) {}, host: func(line []byte) { waiting = append(waiting, string(line)) },
			report: func(launch.Category) {}, now: func() time.Time { return now }, permissions: map[string]func(){},
			after: func(time.Duration, func()) func() { return func() {} },
		}
		client.Start(a)
		id, turns, ended := 0, 0, false
		hears := func() {
			for len(waiting) > 0 && !ended {
				line := waiting[0]
				waiting = waiting[1:]
				d, err := machine.Native([]byte(line))
				if failure := new(acpprofile.Failure); errors.As(err, &failure) {
					require.Equal(t, acpprofile.ReasonNative, failure.Reason, line)
					ended = true
				} else {
					require.NoError(t, err, line)
				}
				for _, reply := range d.ToNative {
					require.NoError(t, a.line(reply))
				}
			}
		}
		// ask sends what comes next in a conversation, if anything may.
		ask := func() {
			method, params := "initialize", untyped
			switch {
			case a.pending != nil || turns == 3:
				return
			case id == 1:
				method, params = "session/new", `{"cwd":"/work","mcpServers":[]}`
			case id > 1:
				method, params = "session/prompt", promptOf("hi")
				turns++
			}
			id++
			d, err := machine.Adapter(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
			if err != nil {
				ended = true // the host has ended the conversation before
				return
			}
			for _, line := range d.ToNative {
				require.NoError(t, a.line(line))
			}
		}
		for _, step := range steps {
			switch {
			case ended:
				return
			case step >= 202:
				now = now.Add(time.Second)
				a.flush()
			case step == 201:
				if a.pending != nil && a.pending.Kind == Prompt && !a.stopped {
					d, err := machine.Adapter([]byte(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`))
					require.NoError(t, err)
					for _, line := range d.ToNative {
						require.NoError(t, a.line(line))
					}
				}
			case step >= 180:
				ask()
			default:
				line := said[int(step)%len(said)]
				if _, results := map[string]bool{"done s": true, "stop end_turn": true, "stop cancelled": true}[line]; results && !fits(a, line) {
					continue // a client says so only when it was asked
				}
				if !a.over && client.Line([]byte(line)) != nil {
					a.Broken("")
				}
			}
			hears()
		}
		a.ended()
		hears()
		if settled, err := machine.Settled(); err == nil && !ended && a.typed {
			require.True(t, settled, "an end too early is told")
		}
	})
}

// fits says whether a result answers the request in progress.
func fits(a *face, line string) bool {
	prompt := strings.HasPrefix(line, "stop")
	return a.pending != nil && (a.pending.Kind == Prompt) == prompt && (line != "stop cancelled" || a.stopped)
}
