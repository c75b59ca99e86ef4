package wirev2

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// FuzzReader: however the bytes arrive, the same records are read; what is read is what two other parsers would read; and
// memory is bounded.
func FuzzReader(f *testing.F) {
	for _, in := range []string{
		statusRequest + "\n", turnRequest() + "\n" + statusRequest + "\n", response() + "\n", event() + "\n" + event(), "\n", "{}\n",
		turnRequest("payload", `{"a":[{"b":"\u2028\ud83d\ude00"}]}`) + "\r\n", "\xef\xbb\xbf{}\n", padded(300),
		strings.Replace(statusRequest, `"v":2`, `"\u0076":2`, 1) + "\n",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 512
		readAll := func(src io.Reader) (all []Request, errs []string) {
			r, err := NewReader(src, Limits{MaxRecordBytes: limit, MaxPayloadBytes: limit / 2})
			require.NoError(t, err)
			for {
				q, err := r.ReadRequest()
				require.LessOrEqual(t, cap(r.buf), limit)
				if err == nil {
					all = append(all, q)
					continue
				}
				errs = append(errs, err.Error())
				if _, ok := err.(*RequestError); !ok {
					return all, errs
				}
			}
		}
		all, errs := readAll(bytes.NewReader(in))
		again, errsAgain := readAll(iotest.OneByteReader(bytes.NewReader(in)))
		require.Equal(t, all, again)
		require.Equal(t, errs, errsAgain)

		for _, q := range all {
			record, err := AppendRequest(nil, &q)
			require.NoError(t, err)
			require.Equal(t, 1, bytes.Count(record, []byte("\n")))
			line := bytes.TrimSuffix(record, []byte("\n"))
			require.True(t, stdjson.Valid(line))
			require.True(t, jsontext.Value(line).IsValid())
			back, err := newReader(t, bytes.NewReader(record)).ReadRequest()
			require.NoError(t, err)
			back.Payload, q.Payload = appendCompact(nil, back.Payload), appendCompact(nil, q.Payload)
			require.Equal(t, q, back)
		}
		r := newReader(t, bytes.NewReader(in))
		for {
			var m Message
			if err := r.ReadMessage(&m, nil); err != nil {
				break
			}
			var record []byte
			var err error
			if m.IsEvent {
				record, err = AppendEvent(nil, &m.Event)
			} else if m.Response.Error == nil || m.Response.Error.Code.Known() {
				m.Response.Method = MethodSessionHistory // the widest budget
				record, err = AppendResponse(nil, &m.Response)
			}
			require.NoError(t, err)
			require.LessOrEqual(t, bytes.Count(record, []byte("\n")), 1)
		}
	})
}

// FuzzDecodePayload: what DecodePayload takes, the json module takes under its strict options, with the same result, and
// so does encoding/json; and encoding it again and decoding that changes nothing.
func FuzzDecodePayload(f *testing.F) {
	all := allSamples()
	for i, s := range all {
		f.Add(uint8(i), []byte(s.want))
	}
	f.Add(uint8(0), []byte(`{"client":{"name":"\u0061","version":"1"},"requested_capabilities":[]}`))
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		s := all[int(which)%len(all)]
		got := s.fresh()
		if DecodePayload(in, got) != nil {
			return
		}
		want := s.fresh()
		require.True(t, stdjson.Valid(in))
		require.NoError(t, json.Unmarshal(in, want, json.RejectUnknownMembers(true), json.WithUnmarshalers(
			json.UnmarshalFromFunc(func(dec *jsontext.Decoder, m *ManifestMember) error {
				m.Present = true
				return json.UnmarshalDecode(dec, &m.Manifest)
			}))))
		require.Equal(t, want, got)
		encoded, err := EncodePayload(got)
		require.NoError(t, err)
		back := s.fresh()
		require.NoError(t, DecodePayload(encoded, back))
		again, err := EncodePayload(back)
		require.NoError(t, err)
		require.Equal(t, encoded, again)
	})
}

// FuzzCompact: the compact form of a valid text is valid, means the same, and is its own compact form.
func FuzzCompact(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := appendValue(nil, in, payloadDepth)
		if err != nil {
			return
		}
		before, after := jsontext.Value(bytes.Clone(in)), jsontext.Value(bytes.Clone(got))
		require.NoError(t, before.Format(jsontext.PreserveRawStrings(false)))
		require.NoError(t, after.Format(jsontext.PreserveRawStrings(false)))
		require.Equal(t, string(before), string(after))
		require.Equal(t, got, appendCompact(nil, got))
		require.NotContains(t, string(got), "\n")
		require.NotContains(t, string(got), "\u2028")
	})
}
