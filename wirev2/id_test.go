package wirev2

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// rule: W-048
func TestParseIDTakesCanonicalLowercaseUUIDsOfAnyVersion(t *testing.T) {
	for _, s := range []string{
		idA, idC, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"01890a5d-ac96-774b-bcce-b302099a8057",
	} {
		id, err := ParseID(s)
		require.NoError(t, err)
		require.Equal(t, s, string(id))
		require.True(t, id.Valid())
	}
	for _, s := range []string{
		"", strings.ToUpper(idA), "{" + idA + "}", "urn:uuid:" + idA, strings.ReplaceAll(idA, "-", ""), idA[:35], idA + "0",
		" " + idA, idA + "\n", "0a0a0a0a-0000-4000-8000-00000000000g", "0a0a0a0a0-000-4000-8000-00000000000a",
		"0a0a0a0a_0000_4000_8000_00000000000a", idA[:35] + "A", strings.Repeat("-", 36),
	} {
		_, err := ParseID(s)
		require.Error(t, err, s)
		require.False(t, ID(s).Valid())
	}
}

// rule: W-049
func TestNewIDIsAVersion4UUID(t *testing.T) {
	seen := map[ID]bool{}
	for range 100 {
		id := NewID()
		require.True(t, id.Valid())
		u, err := uuid.Parse(string(id))
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), u.Version())
		require.False(t, seen[id])
		seen[id] = true
	}
}

func TestIDPtr(t *testing.T) {
	require.Nil(t, ID("").Ptr())
	require.Equal(t, ID(idA), *ID(idA).Ptr())
}

// rule: W-054, W-057
func TestNewSecretIs32BytesInUnpaddedBase64URL(t *testing.T) {
	seen := map[Secret]bool{}
	for range 100 {
		s := NewSecret()
		require.Len(t, s.Reveal(), 43)
		b, err := base64.RawURLEncoding.Strict().DecodeString(s.Reveal())
		require.NoError(t, err)
		require.Len(t, b, 32)
		require.False(t, seen[s])
		seen[s] = true
	}
}

func TestSecretsPrintRedacted(t *testing.T) {
	const secret = "abcDEF0123456789"
	s := Secret(secret)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", s, "request", Request{ControlToken: s})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", s)
	old, err := json.Marshal(struct{ S Secret }{s})
	require.NoError(t, err)
	new2, err := jsonv2.Marshal(ExecutorCreateReply{ResumeSecret: s})
	require.NoError(t, err)
	shown := []string{s.String(), s.GoString(), log.String(), string(old), string(new2)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, Request{ControlToken: s}),
			fmt.Sprintf(verb, []Secret{s}), fmt.Sprintf(verb, SessionClaimReply{ControlToken: s}))
	}
	for _, text := range shown {
		require.NotContains(t, text, secret)
		require.NotContains(t, text, fmt.Sprintf("%x", secret))
	}
	require.Equal(t, secret, s.Reveal())
	require.True(t, s.Equal(Secret(secret)))
	require.False(t, s.Equal(Secret(secret+"x")))
	require.False(t, s.Equal(""))
	require.False(t, s.Equal("abcDEF0123456780"))
}
