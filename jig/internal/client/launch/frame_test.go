package launch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

const sessionPath = "sessions/2026/11/30/rollout-2026-11-30T10-11-12-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl"

func sample() *Frame {
	return &Frame{
		Client: "codex", Native: "/opt/codex", Argv: []string{"app-server", "-c", `model="m"`}, Env: map[string]string{"PATH": "/nonexistent", "CODEX_HOME": "/codex"},
		Credential: jsontext.Value(`{"type":"apiKey","apiKey":"sk-canary"}`), Session: &Session{sessionPath, []byte("{\"a\":\"\\u0001\"}\n中\n")}, Retain: true,
	}
}

// framed is a frame of the given JSON.
func framed(doc string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(doc))), doc...)
}

// rule: J-158, J-159
func TestFrameTravelsWhole(t *testing.T) {
	b, err := sample().Encode()
	require.NoError(t, err)
	require.Equal(t, uint32(len(b)-4), binary.BigEndian.Uint32(b))
	require.Equal(t, `{"v":1,"client":"codex","native":"/opt/codex","argv":["app-server","-c","model=\"m\""],`+
		`"env":{"CODEX_HOME":"/codex","PATH":"/nonexistent"},"credential":{"type":"apiKey","apiKey":"sk-canary"},`+
		`"session":{"path":"`+sessionPath+`","content":"{\"a\":\"\\u0001\"}\n中\n"},"retain":true}`, string(b[4:]))

	rest := bytes.NewReader(append(b, "{\"jsonrpc\""...))
	got, err := Read(rest)
	require.NoError(t, err)
	require.Equal(t, *sample(), *got)
	after, _ := io.ReadAll(rest)
	require.Equal(t, `{"jsonrpc"`, string(after), "what follows the frame is the conversation's")

	bare := &Frame{Client: "pi", Native: "/opt/pi", Argv: []string{}, Env: map[string]string{}}
	b, err = bare.Encode()
	require.NoError(t, err)
	require.Equal(t, `{"v":1,"client":"pi","native":"/opt/pi","argv":[],"env":{},"credential":null,"session":null,"retain":false}`, string(b[4:]))
	got, err = Read(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, *bare, *got)
}

// rule: J-159, J-160
func TestBadFrameIsRefused(t *testing.T) {
	good := `{"v":1,"client":"codex","native":"/n","argv":[],"env":{},"credential":null,"session":null,"retain":false}`
	_, err := Read(bytes.NewReader(framed(good)))
	require.NoError(t, err)
	swap := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	for name, doc := range map[string]string{
		"version":              swap(`"v":1`, `"v":2`),
		"version as text":      swap(`"v":1`, `"v":"1"`),
		"unknown member":       swap(`"v":1`, `"v":1,"x":1`),
		"other case":           swap(`"client"`, `"Client"`),
		"duplicate":            swap(`"v":1`, `"v":1,"v":1`),
		"no version":           swap(`"v":1,`, ``),
		"no client":            swap(`"client":"codex",`, ``),
		"no native":            swap(`"native":"/n",`, ``),
		"no argv":              swap(`"argv":[],`, ``),
		"argv null":            swap(`"argv":[]`, `"argv":null`),
		"no env":               swap(`"env":{},`, ``),
		"no credential":        swap(`"credential":null,`, ``),
		"no session":           swap(`"session":null,`, ``),
		"no retain":            swap(`,"retain":false`, ``),
		"retain null":          swap(`"retain":false`, `"retain":null`),
		"unknown client":       swap(`codex`, `gemini`),
		"relative native":      swap(`"/n"`, `"n"`),
		"unclean native":       swap(`"/n"`, `"/a/../n"`),
		"NUL in argv":          swap(`[]`, `["\u0000"]`),
		"number in argv":       swap(`[]`, `[1]`),
		"variable without =":   swap(`{}`, `{"":"x"}`),
		"variable with =":      swap(`{}`, `{"A=B":"x"}`),
		"NUL in value":         swap(`{}`, `{"A":"\u0000"}`),
		"credential text":      swap(`"credential":null`, `"credential":"k"`),
		"session text":         swap(`"session":null`, `"session":"s"`),
		"session open":         swap(`"session":null`, `"session":{"path":"a","content":"b","x":1}`),
		"session without path": swap(`"session":null`, `"session":{"content":"b"}`),
		"session null content": swap(`"session":null`, `"session":{"path":"a","content":null}`),
		"session empty":        swap(`"session":null`, `"session":{"path":"a","content":""}`),
		"session absolute":     swap(`"session":null`, `"session":{"path":"/a","content":"b"}`),
		"session above":        swap(`"session":null`, `"session":{"path":"../a","content":"b"}`),
		"session through":      swap(`"session":null`, `"session":{"path":"a/../../b","content":"b"}`),
		"session of claude":    strings.Replace(swap(`"session":null`, `"session":{"path":"a","content":"b"}`), "codex", "claude", 1),
		"retained by pi":       strings.Replace(swap(`"retain":false`, `"retain":true`), "codex", "pi", 1),
		"two documents":        good + "{}",
		"bad UTF-8":            swap(`codex`, "\xff"),
		"lone surrogate":       swap(`[]`, `["\ud800"]`),
		"no object":            `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(framed(doc)))
			require.ErrorIs(t, err, ErrFrame)
		})
	}
	for name, b := range map[string][]byte{
		"nothing":       nil,
		"half a length": {0, 0, 0},
		"empty":         {0, 0, 0, 0},
		"truncated":     framed(good)[:len(good)+3],
		"no JSON":       {0, 0, 0, 2, 'x', 'y'},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(b))
			require.ErrorIs(t, err, ErrFrame)
		})
	}
}

// rule: J-158, J-160
func TestFrameHasTwelveMebibytes(t *testing.T) {
	doc := `{"v":1,"client":"codex","native":"/n","argv":[],"env":{},"credential":null,"session":null,"retain":false}`
	for _, n := range []int{MaxFrameBytes - 1, MaxFrameBytes, MaxFrameBytes + 1} {
		_, err := Read(bytes.NewReader(framed(doc + strings.Repeat(" ", n-len(doc)))))
		if n > MaxFrameBytes {
			require.ErrorIs(t, err, ErrFrame)
		} else {
			require.NoError(t, err)
		}
	}
	f := sample()
	f.Session.Content = []byte("x")
	b, err := f.Encode()
	require.NoError(t, err)
	f.Session.Content = bytes.Repeat([]byte("x"), 1+MaxFrameBytes-(len(b)-4))
	b, err = f.Encode()
	require.NoError(t, err)
	require.Len(t, b, 4+MaxFrameBytes)
	f.Session.Content = append(f.Session.Content, 'x')
	_, err = f.Encode()
	require.ErrorIs(t, err, ErrFrame)
	// The length is judged before a byte of room is made for it.
	_, err = Read(bytes.NewReader(binary.BigEndian.AppendUint32(nil, MaxFrameBytes+1)))
	require.ErrorIs(t, err, ErrFrame)
	require.ErrorContains(t, err, "12 MiB")
}

// A session of 8 MiB fits with the escapes that a rollout has: one quote in four
// bytes.
func TestLargestSessionFits(t *testing.T) {
	f := sample()
	f.Session.Content = bytes.Repeat([]byte(`abc"`), 2<<20)
	b, err := f.Encode()
	require.NoError(t, err)
	require.Less(t, len(b), MaxFrameBytes)
}

// rule: J-161
func TestSecretsAreZeroed(t *testing.T) {
	f := sample()
	credential, content := f.Credential, f.Session.Content
	f.Zero()
	require.Nil(t, f.Credential)
	require.Nil(t, f.Session)
	require.Equal(t, make([]byte, len(credential)), []byte(credential))
	require.Equal(t, make([]byte, len(content)), content)

	b, err := sample().Encode()
	require.NoError(t, err)
	body := b[4:]
	_, err = decode(body)
	require.NoError(t, err)
	kept := &keeper{r: bytes.NewReader(b)}
	_, err = Read(kept)
	require.NoError(t, err)
	require.NotContains(t, string(kept.last), "sk-canary", "the bytes that were read are gone")
	require.Len(t, kept.last, len(body))
}

// keeper keeps the buffer that the last read filled.
type keeper struct {
	r    io.Reader
	last []byte
}

func (k *keeper) Read(p []byte) (int, error) {
	k.last = p
	return k.r.Read(p)
}

// rule: J-161
func TestFramePrintsAsRedacted(t *testing.T) {
	f := sample()
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "frame", f, "value", *f)
	b, err := json.Marshal(f)
	require.NoError(t, err)
	for _, s := range []string{
		fmt.Sprint(f), fmt.Sprintf("%v %+v %#v %s %q %x %d", f, f, f, f, f, f, f), fmt.Sprintf("%+v %#v", *f, *f), f.String(), f.GoString(), string(b), log.String(),
	} {
		require.NotContains(t, s, "sk-canary")
		require.NotContains(t, s, "736b2d63616e617279", "not in hexadecimal either")
		require.NotContains(t, s, "rollout")
		require.Contains(t, s, redacted)
	}
}

// rule: J-161
func TestRefusalsHoldNothingOfTheFrame(t *testing.T) {
	for _, doc := range []string{
		`{"v":1,"sk-canary":1}`, `{"credential":{"apiKey":"sk-canary"`, `{"v":1,"client":"sk-canary","native":"/n","argv":[],"env":{},"credential":null,"session":null,"retain":false}`,
	} {
		_, err := Read(bytes.NewReader(framed(doc)))
		require.ErrorIs(t, err, ErrFrame)
		require.NotContains(t, err.Error(), "canary")
	}
}

func FuzzRead(f *testing.F) {
	b, err := sample().Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add(framed(`{"v":1,"client":"pi","native":"/opt/pi","argv":[],"env":{},"credential":null,"session":null,"retain":false}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Read(bytes.NewReader(b))
		if err != nil {
			require.ErrorIs(t, err, ErrFrame)
			return
		}
		again, err := got.Encode()
		require.NoError(t, err)
		same, err := Read(bytes.NewReader(again))
		require.NoError(t, err)
		require.Equal(t, *got, *same)
	})
}
