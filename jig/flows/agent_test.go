package flows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATaskIsDone(t *testing.T) {
	// rule: P-199, F-198
	w := newWorld(t)
	var asked []string
	g := w.run(w.agent(), `{"instructions":"say hello"}`, func(p *play) {
		one("Hello.", "end_turn")(p)
		asked = p.asked
	})
	g.is("done", `{"text":"Hello."}`)
	require.Equal(t, []string{"initialize#1", "session/new#2", "session/set_config_option#3", "session/set_mode#4", "session/prompt#5"}, asked)
	require.Empty(t, g.stderr)
}
