package provider

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// rule: W-196
func TestASecretNeverShows(t *testing.T) {
	key, err := NewSecret("canary")
	require.NoError(t, err)
	o := Options{Model: "m", Key: key}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%T"} {
		fmt.Fprintf(&out, verb+" ", key)
		fmt.Fprintf(&out, verb+" ", &key)
		fmt.Fprintf(&out, verb+" ", o)
		fmt.Fprintf(&out, verb+" ", []any{o, &o})
	}
	fmt.Fprintln(&out, key, key.String(), key.GoString(), fmt.Errorf("x: %v", key))
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "key", key, "pointer", &key, "options", slog.AnyValue(struct{ Key Secret }{key}))
	}
	raw, err := json.Marshal(struct {
		Key Secret
		Map map[Secret]int
	}{key, map[Secret]int{key: 1}})
	require.NoError(t, err)
	out.Write(raw)
	text, err := key.MarshalText()
	require.NoError(t, err)
	out.Write(text)
	require.NotContains(t, out.String(), "canary")
	require.NotContains(t, out.String(), "63616e617279", "in hexadecimal")
	require.Contains(t, out.String(), "[redacted]")
	require.Equal(t, "canary", key.Reveal())
}

func TestNewSecret(t *testing.T) {
	for _, good := range []string{"", "x", "sk-a_b.c~!", strings.Repeat("k", MaxKeyBytes-1), strings.Repeat("k", MaxKeyBytes)} {
		key, err := NewSecret(good)
		require.NoError(t, err)
		require.Equal(t, good, key.Reveal())
		require.Equal(t, good == "", key.IsZero())
	}
	for _, bad := range []string{"canary\n", " canary", "can ary", "canary\r\nX: y", "canary\x00", "canary\x7f", "canaryä", strings.Repeat("canary", MaxKeyBytes/6+1)} {
		_, err := NewSecret(bad)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "canary")
	}
}
