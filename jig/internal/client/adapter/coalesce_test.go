package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func texts(pieces []piece) (out []string) {
	for _, p := range pieces {
		out = append(out, p.text)
	}
	return out
}

// rule: J-169
func TestTextIsHeldUntilFourKiB(t *testing.T) {
	now := time.Unix(0, 0)
	var c coalescer
	require.Empty(t, c.add(now, "a", strings.Repeat("x", pieceBytes-1)))
	out := c.add(now, "a", "y")
	require.Len(t, out, 1)
	require.Len(t, out[0].text, pieceBytes)
	_, held := c.due()
	require.False(t, held)
	require.Empty(t, c.flush())

	out = c.add(now, "a", strings.Repeat("z", pieceBytes+1))
	require.Len(t, out, 1, "what comes at once goes out at once")
	require.Len(t, out[0].text, pieceBytes+1)
}

// rule: J-169, J-170
func TestHeldTextFallsDue(t *testing.T) {
	start := time.Unix(100, 0)
	for updates, want := range map[int]time.Duration{0: holdTime, slowUpdates - 1: holdTime, slowUpdates: slowHoldTime, scarceUpdates - 1: slowHoldTime} {
		c := coalescer{updates: updates}
		_, held := c.due()
		require.False(t, held)
		c.add(start, "a", "x")
		c.add(start.Add(20*time.Millisecond), "a", "y")
		due, held := c.due()
		require.True(t, held)
		require.Equal(t, start.Add(want), due, "counted from the first byte")
	}
	c := coalescer{updates: scarceUpdates}
	c.add(start, "a", "x")
	_, held := c.due()
	require.False(t, held)
}

// rule: J-170
func TestScarceUpdatesHoldEightKiB(t *testing.T) {
	now := time.Unix(0, 0)
	for updates, want := range map[int]int{scarceUpdates - 1: pieceBytes, scarceUpdates: scarceBytes} {
		c := coalescer{updates: updates}
		require.Empty(t, c.add(now, "a", strings.Repeat("x", want-1)))
		require.Len(t, c.add(now, "a", "x"), 1)
		require.Equal(t, updates+1, c.updates)
	}
}

// rule: J-169
func TestAnotherMessageTakesHeldTextAlong(t *testing.T) {
	now := time.Unix(0, 0)
	var c coalescer
	c.add(now, "a", "one")
	out := c.add(now, "b", "two")
	require.Equal(t, []piece{{"a", "one"}}, out)
	require.Equal(t, []piece{{"b", "two"}}, c.flush())
}

func TestOneUpdateIsBoundedAndCutBetweenCharacters(t *testing.T) {
	var c coalescer
	text := strings.Repeat("中", maxUpdateBytes) // three bytes each; the bound is no multiple
	out := texts(c.add(time.Unix(0, 0), "a", text))
	require.Equal(t, text, strings.Join(out, ""))
	require.Len(t, out, 4)
	for _, s := range out {
		require.LessOrEqual(t, len(s), maxUpdateBytes)
		require.Zero(t, len(s)%3)
	}
	require.Equal(t, 4, c.updates)
}

// The 8 MiB of text and the 4,096 updates of a conversation come out even, however
// small the deltas are.
// rule: J-170, J-171
func TestEightMebibytesFitTheUpdates(t *testing.T) {
	for _, delta := range []int{1 << 8, 4 << 10} {
		for _, gap := range []time.Duration{0, 60 * time.Millisecond, time.Second} {
			var c coalescer
			now := time.Unix(0, 0)
			total := 0
			count := func(out []piece) {
				for _, p := range out {
					total += len(p.text)
				}
			}
			for n := 0; n < 8<<20; n += delta {
				if due, held := c.due(); held && !now.Before(due) {
					count(c.flush())
				}
				count(c.add(now, "a", strings.Repeat("x", delta)))
				now = now.Add(gap)
			}
			count(c.flush())
			require.Equal(t, 8<<20, total)
			require.LessOrEqual(t, c.updates, 4096)
		}
	}
}
