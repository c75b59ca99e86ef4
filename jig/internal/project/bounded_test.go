package project

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// Each fits by itself; what is shown and recorded is all of them.
//
// rule: J-035
func TestDeclarationsAreBoundedTogether(t *testing.T) {
	m := Empty()
	m.Packages["x"] = ""
	size := func() int {
		b, err := m.Canonical()
		require.NoError(t, err)
		return len(b)
	}
	m.Packages["x"] = strings.Repeat("a", 0)
	spare := MaxMeaningBytes - size()
	for i := 0; spare > 0; i++ { // a text has at most 1 MiB
		n := min(spare-20, 900_000)
		name := fmt.Sprintf("p%d", i)
		m.Packages[name] = strings.Repeat("a", n)
		spare = MaxMeaningBytes - size()
		if spare < 0 {
			m.Packages[name] = m.Packages[name][:n+spare]
			spare = MaxMeaningBytes - size()
		}
		if spare > 0 && spare < 40 {
			m.Packages[name] += strings.Repeat("a", spare)
			spare = 0
		}
	}
	require.Equal(t, MaxMeaningBytes, size())
	require.NoError(t, m.bounded())
	m.Packages["x"] += "a"
	require.Equal(t, []string{"PROJECT_DECLARATION_INVALID: the declarations are too large together: at most 4 MiB and 131072 values"}, lines(t, m.bounded()))

	m = Empty()
	m.Agents = make([]string, 65_536)
	last := ""
	for m.bounded() == nil {
		more := 1
		if len(m.Packages) == 0 {
			more = MaxMeaningValues - len(m.Agents) - 50 // nearly all at once
		}
		for range more {
			last = fmt.Sprint("p", len(m.Packages))
			m.Packages[last] = ""
		}
	}
	delete(m.Packages, last)
	b, err := m.Canonical()
	require.NoError(t, err)
	require.NoError(t, json0.Limits{Nodes: MaxMeaningValues}.Check(b))
	require.ErrorIs(t, json0.Limits{Nodes: MaxMeaningValues - 1}.Check(b), json0.ErrLimit)
}
