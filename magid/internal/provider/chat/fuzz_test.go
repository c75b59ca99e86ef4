package chat

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// read feeds a body to a reply as package attempt does.
func read(body []byte, text func(string) error) (*stream, error) {
	s := &stream{callBytes: 1 << 20, text: text}
	events := sse.NewReader(bytes.NewReader(body), 1<<20, nil)
	for {
		e, err := events.Next()
		switch {
		case err == io.EOF:
			return s, s.End(nil)
		case err == io.ErrUnexpectedEOF:
			return s, s.End(&e)
		case err != nil:
			return s, err
		}
		if done, err := s.Event(e); done || err != nil {
			return s, err
		}
	}
}

// Whatever a server sends, a reply ends well or fails with a closed code, and only
// a reply that ended well has calls.
func FuzzStream(f *testing.F) {
	for _, reply := range fixtures(f) {
		f.Add(reply.Body(scripted.Chat))
	}
	f.Add([]byte("data: [DONE]\n\n"))
	f.Add([]byte(`data: {"error":"x"}` + "\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := read(body, func(piece string) error {
			require.NotEmpty(t, piece)
			require.True(t, utf8.ValidString(piece))
			return nil
		})
		calls := s.result()
		if err != nil {
			require.Empty(t, calls)
			var own *provider.Error
			if errors.As(err, &own) {
				require.True(t, utf8.ValidString(own.Message))
				require.LessOrEqual(t, len(own.Message), provider.MaxMessageBytes)
			} else {
				require.True(t, errors.Is(err, sse.ErrField) || errors.Is(err, sse.ErrTooLong), "%v", err)
			}
			return
		}
		require.NotEmpty(t, s.finish)
		require.LessOrEqual(t, len(calls), MaxCalls)
		for _, c := range calls {
			require.NotEmpty(t, c.Name)
			require.True(t, utf8.ValidString(c.Name) && utf8.ValidString(c.ID) && utf8.ValidString(c.Arguments))
			require.True(t, s.finish != "stop" || jsontext.Value(c.Arguments).IsValid())
		}
	})
}

// What decode takes is what the strict decoder takes, but for parts of characters
// in text and arguments.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}}]}`,
		"{\"choices\":[{\"delta\":{\"content\":\"\xe5\"}}]}",
		`{"choices":[{"delta":{"content":"\ud83d","function_call":{"arguments":"\ude00"}}}]}`,
		`{"usage":{"prompt_tokens":1}}`, `{"error":{}}`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		strict := new(chunk)
		strictErr := json.Unmarshal(data, strict)
		if strictErr == nil {
			require.NoError(t, err)
			require.Equal(t, strict, c)
			return
		}
		if err != nil {
			return
		}
		// It is strict but for these strings.
		parts := false
		for _, text := range c.texts() {
			parts = parts || !text.raw.IsValid()
		}
		require.True(t, parts, "%q", data)
		require.True(t, jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true)))
	})
}
