package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
)

// A page of the history has a budget of its own, larger than that of other payloads.
//
// rule: W-011
func TestAHistoryPageIsLargerThanOtherPayloads(t *testing.T) {
	p := newPlace(t)
	p.model(scripted.TextReply("yes"), scripted.TextReply("yes"))
	p.serve()
	c := p.dial()
	s := p.claimed(c, p.session(c))
	for _, letter := range []string{"a", "b"} {
		_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: strings.Repeat(letter, 20000)})
		require.NoError(t, err)
		end(t, s)
	}
	page, err := s.History(t.Context(), wirev2.SessionHistoryRequest{})
	require.NoError(t, err)
	bytes := 0
	for _, record := range page.Records {
		bytes += len(record)
	}
	require.Greater(t, bytes, 40000)
	require.Nil(t, page.NextAfter)
}
