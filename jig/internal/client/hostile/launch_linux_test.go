package hostile

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

func prefixed(length uint32, body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, length), body...)
}

// rule: J-158, J-159, J-160
func TestAnAdapterWithABadLaunchFrameEndsWith70AndStartsNothing(t *testing.T) {
	good, err := frame(t, "claude", "good").Encode()
	require.NoError(t, err)
	body := string(good[4:])
	whole := func(body string) []byte { return prefixed(uint32(len(body)), body) }
	for name, raw := range map[string][]byte{
		"nothing":               {},
		"half a length":         {0, 0},
		"no body":               prefixed(10, ""),
		"a byte too few":        good[:len(good)-1],
		"an empty body":         prefixed(0, ""),
		"a byte over 12 MiB":    prefixed(launch.MaxFrameBytes+1, "{"),
		"4 GiB":                 prefixed(1<<32-1, "{"),
		"little endian":         append([]byte{good[3], good[2], good[1], good[0]}, body...),
		"an unknown member":     whole(strings.Replace(body, `{"v":1,`, `{"v":1,"extra":0,`, 1)),
		"another version":       whole(strings.Replace(body, `"v":1`, `"v":2`, 1)),
		"a missing member":      whole(strings.Replace(body, `,"retain":false`, "", 1)),
		"a member twice":        whole(strings.Replace(body, `"v":1,`, `"v":1,"v":1,`, 1)),
		"another client":        whole(strings.Replace(body, `"client":"claude"`, `"client":"gemini"`, 1)),
		"a relative program":    whole(strings.Replace(body, `"native":"/`, `"native":"`, 1)),
		"a session of another":  whole(strings.Replace(body, `"session":null`, `"session":{"path":"sessions/a.jsonl","content":"x"}`, 1)),
		"retention of another":  whole(strings.Replace(body, `"retain":false`, `"retain":true`, 1)),
		"a credential of bytes": whole(strings.Replace(body, `"credential":{`, `"credential":"{`, 1)),
		"no JSON":               whole("not-json"),
	} {
		t.Run(name, func(t *testing.T) {
			p := adaptertest.Start(t, adaptertest.Spec{Command: []string{filepath.Join(place, "jig"), adapter.Command}, Raw: raw, Credential: nobody()})
			p.CloseInput()
			code, stderr := p.Wait()
			require.Equal(t, 70, code)
			require.NotContains(t, stderr, secret)
			<-p.Evidence.Ended()
			_, exited := p.Evidence.Exited()
			require.False(t, exited)
			select {
			case <-p.Evidence.Started():
				t.Fatal("a native client was started")
			default:
			}
		})
	}
}

func TestAClientThatCannotBeStartedIsNoConversation(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		for name, spoil := range map[string]func(f *launch.Frame){
			"no program":       func(f *launch.Frame) { f.Native = filepath.Join(place, "absent") },
			"no executable":    func(f *launch.Frame) { f.Native = "/etc/passwd" },
			"wrong credential": func(f *launch.Frame) { f.Credential = []byte(`{"type":"` + secret + `"}`) },
		} {
			f := frame(t, client, "good")
			spoil(f)
			p := start(t, f)
			code, stderr := p.Wait()
			require.Equal(t, 71, code, name)
			require.NotContains(t, stderr, secret)
			require.NotContains(t, stderr, place, "no path")
			_, exited := p.Evidence.Exited()
			require.False(t, exited, name)
		}
	})
}
