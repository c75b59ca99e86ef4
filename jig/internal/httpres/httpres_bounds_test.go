package httpres_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// padded is a gzip stream of n bytes that holds one byte of text: its header
// carries what nobody reads.
func padded(t *testing.T, n int) []byte {
	pack := func(extra int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Extra = make([]byte, extra)
		io.WriteString(z, "x")
		require.NoError(t, z.Close())
		return b.Bytes()
	}
	b := pack(n - len(pack(1)) + 1)
	require.Len(t, b, n)
	return b
}

// empties is a gzip stream of n members that hold nothing.
func empties(t *testing.T, n int) []byte {
	var one bytes.Buffer
	require.NoError(t, gzip.NewWriter(&one).Close())
	return bytes.Repeat(one.Bytes(), n)
}

func TestWhatArrivesPackedIsBounded(t *testing.T) {
	// rule: J-231
	r := newRig(t)
	var body []byte
	s := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(body)
	})
	for _, n := range []int{100, 999, 1000} {
		body = padded(t, n)
		r.ok(policy("GET", s.URL, ""), `{}`, `{"outcome":"done","output":{"status":200,"body":"x"}}`)
	}
	body = empties(t, 1000/len(empties(t, 1)))
	r.ok(policy("GET", s.URL, ""), `{}`, `{"outcome":"done","output":{"status":200,"body":""}}`)
	// Every one of these is whole, and holds next to nothing.
	for _, body = range [][]byte{padded(t, 1001), padded(t, 60_000), empties(t, 100), append(empties(t, 100), padded(t, 100)...), empties(t, 10_000)} {
		r.fails(policy("GET", s.URL, ""), `{}`, fault.Uncertain)
	}
}

func TestABombIsStoppedAtTheBound(t *testing.T) {
	// rule: J-231
	r := newRig(t)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.CopyN(z, zeros{}, 16<<20)
	require.NoError(t, z.Close())
	const most = 20_000
	require.Less(t, bomb.Len(), most, "all of it may arrive")
	s := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	message := r.fails(strings.Replace(policy("GET", s.URL, ""), `"responseBytes":1000`, fmt.Sprintf(`"responseBytes":%d`, most), 1), `{}`, fault.Uncertain)
	runtime.ReadMemStats(&after)
	require.Contains(t, message, "larger than the grant allows")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "it was not unpacked to its end")
}

// TestTheEarlierDeadlineEndsACall has the root's deadline, and then the grant's
// time, pass before the call, before there is a connection, and after.
func TestTheEarlierDeadlineEndsACall(t *testing.T) {
	call := func(url func(local string) string, granted, left time.Duration) (*fault.Error, int32) {
		r := newRig(t)
		over := make(chan struct{})
		late := func() { // when the call is over, or would not be for long
			select {
			case <-over:
			case <-time.After(20 * time.Second):
			}
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			r.hits.Add(1)
			late()
			io.WriteString(w, "an answer")
		}))
		defer s.Close()
		defer close(over)
		r.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, err := netip.ParseAddr(host); err == nil {
				return []netip.Addr{a}, nil
			}
			late()
			return nil, errors.New("no such name")
		}
		p := strings.Replace(policy("GET", url(s.URL), ""), "20000", fmt.Sprint(granted.Milliseconds()), 1)
		_, err := r.Call(t.Context(), tree.ResourceCall{
			Grant: &tree.Grant{Kind: "http", Policy: jsontext.Value(p)}, Input: jsontext.Value(`{}`), Deadline: time.Now().Add(left),
		})
		require.NotNil(t, err, "the other side was not waited for")
		return err, r.hits.Load()
	}
	here := func(local string) string { return local }
	nowhere := func(string) string { return "https://slow.example.org" }
	err, hits := call(here, time.Minute, 0)
	require.Equal(t, fault.DeadlineExceeded, err.Code)
	require.Zero(t, hits, "nothing was sent")
	const soon = time.Second
	for _, first := range []struct{ granted, left time.Duration }{{time.Minute, soon}, {soon, time.Minute}} {
		err, _ = call(nowhere, first.granted, first.left)
		require.Equal(t, fault.DeadlineExceeded, err.Code)
		err, hits = call(here, first.granted, first.left)
		require.Equal(t, fault.Uncertain, err.Code)
		require.EqualValues(t, 1, hits)
	}
}
