package adapter

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: B2.13 chenhg5/cc-connect#189 - one long line of the client ends the turn
// rule: J-173
func TestComplaintB2_13CcConnect189ALongLineIsOneAnswer(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		const n = 3 << 20
		go r.says("text a "+strings.Repeat("x", n), "stop end_turn")
		size, updates := 0, 0
		for line := r.next(); !strings.Contains(line, "stopReason"); line = r.next() {
			_, rest, _ := strings.Cut(line, `"text":"`)
			text, _, _ := strings.Cut(rest, `"`)
			require.LessOrEqual(r, len(text), maxUpdateBytes)
			size += len(text)
			updates++
		}
		require.Equal(r, n, size)
		require.Equal(r, n/maxUpdateBytes, updates)
		r.ends()
	})
}

// complaint: B1.9 modelcontextprotocol/typescript-sdk#2776 - nobody reads the client's errors, so that it stops and looks like a slow model
// rule: J-173
func TestComplaintB1_9TypescriptSdk2776ErrorsAreReadAndCounted(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		_, err := io.Copy(r.stderr, filler(maxStderrBytes))
		require.NoError(r, err)
		r.says("stop end_turn")
		r.result(`{"stopReason":"end_turn"}`)
		r.ends()
	})
	bubble(t, func(r *rig) {
		r.prompted()
		_, err := io.Copy(r.stderr, filler(maxStderrBytes+1))
		require.NoError(r, err)
		r.gets(diagnostic("s", "error", 1))
		r.ends()
	})
}
