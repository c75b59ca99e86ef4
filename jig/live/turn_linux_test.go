package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-205, F-035, P-199, J-235, F-108, P-216
func TestTheOrdinaryAgentHasOneTurnWithEachClient(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			o := p.agent("Say HELLO").ends(0, "succeeded")
			require.Equal(t, `{"text":"Hello from a script."}`, o.member("output"))
			require.Len(t, p.model.posts(), 1, "requests to the model")
			require.Contains(t, p.model.posts()[0].Header.Get("Authorization")+p.model.posts()[0].Header.Get("X-Api-Key"), p.key)
		})
	}
}
