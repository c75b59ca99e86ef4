package wirev2

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-088, W-129, W-130, W-134, A-005, A-096, A-133
func TestMethodTable(t *testing.T) {
	const table = `
initialize -
capabilities -
daemon.status -
session.create O
session.list -
session.claim S O
session.release S C O
session.snapshot S C
session.history S C
session.resources.list S C profile
session.resources.register S C O profile
session.resources.unregister S C O profile
session.resources.clear S C O profile
turn.start S C O
turn.stop S C O
turn.application_evidence S C profile
turn.application_tool_result S O profile
executor.create O profile
executor.confirm O profile
executor.resume O profile
executor.rotate O profile
executor.rotate_confirm O profile
executor.release O profile
operation.lookup s c`
	lines := strings.Split(strings.TrimSpace(table), "\n")
	all := Methods()
	require.Len(t, all, len(lines))
	for i, line := range lines {
		words := strings.Fields(line)
		want := MethodInfo{Method: Method(words[0])}
		for _, need := range words[1:] {
			switch need {
			case "S":
				want.Session = Required
			case "C":
				want.Control = Required
			case "O":
				want.Operation = Required
			case "s":
				want.Session = Either
			case "c":
				want.Control = Either
			case "profile":
				want.Profile = true
			}
		}
		require.Equal(t, want, all[i])
		got, ok := want.Method.Lookup()
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, m := range []Method{"", "Initialize", "turn", "daemon.watch", "turn.start "} {
		_, ok := m.Lookup()
		require.False(t, ok)
	}
	all[0].Method = "changed"
	require.Equal(t, MethodInitialize, Methods()[0].Method, "the table cannot be changed from outside")
}

func TestLimits(t *testing.T) {
	l, err := Limits{}.OrDefault()
	require.NoError(t, err)
	require.Equal(t, DefaultLimits(), l)
	l, err = Limits{MaxProviderReplies: 8, MaxDepth: 5}.OrDefault()
	require.NoError(t, err)
	require.Equal(t, int64(8), l.MaxProviderReplies)
	require.Equal(t, int64(5), l.MaxDepth)
	require.Equal(t, int64(65536), l.MaxRecordBytes)
	_, err = Limits{MaxQueueBytes: -1}.OrDefault()
	require.EqualError(t, err, "wirev2: limit MaxQueueBytes is negative")
}
