package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// rule: M-099
func TestStopEndsTheReply(t *testing.T) {
	o := once(t, scripted.TextReply("Hel", "lo"))
	require.NoError(t, o.err)
	require.Equal(t, "Hello", o.text)
	require.Empty(t, o.reply.Calls)
	require.Equal(t, &provider.Usage{InputTokens: 1, OutputTokens: 2}, o.reply.Usage)
}
