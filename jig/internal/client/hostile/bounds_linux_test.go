package hostile

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

// failed demands that the host saw an authoritative failure of the session.
func failed(t *testing.T, err error) {
	t.Helper()
	var f *acpprofile.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, acpprofile.ReasonNative, f.Reason)
}

func TestAnHonestClientHoldsAConversation(t *testing.T) {
	each(t, func(t *testing.T, client string) {
		p := open(t, client, "good")
		for range 3 {
			stop, answer, err := p.Prompt("hello")
			require.NoError(t, err)
			require.Equal(t, "end_turn", stop)
			require.Equal(t, "Hello", answer)
		}
		p.CloseInput()
		x := p.Exit()
		require.True(t, x.Clean())
		code, _ := p.Wait()
		require.Zero(t, code)
	})
}

// rule: J-173
func TestMoreOutputThanThereMayBeFailsTheSession(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		failed(t, start(t, frame(t, client, "stdout", strconv.Itoa(32<<20))).Open(config(client)))
		p := open(t, client, "stdout", strconv.Itoa(31<<20))
		_, _, err := p.Prompt("hello")
		require.NoError(t, err, "what is ignored counts, and there was room for the rest")
	})
}

// rule: J-173
func TestALineLongerThanThereMayBeFailsTheSession(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		failed(t, start(t, frame(t, client, "line", strconv.Itoa(16<<20+1))).Open(config(client)))
		p := open(t, client, "line", strconv.Itoa(16<<20))
		_, _, err := p.Prompt("hello")
		require.NoError(t, err)
	})
}

// rule: J-173
func TestAFloodOfDiagnosticsFailsTheSession(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := start(t, frame(t, client, "stderr", "65537"))
		err := p.Open(config(client))
		if err == nil {
			_, _, err = p.Prompt("hello")
		}
		if err == nil { // it was read after that: the idle session fails
			err = p.Until("never")
		}
		failed(t, err)
		p = open(t, client, "stderr", "65536")
		_, _, err = p.Prompt("hello")
		require.NoError(t, err)
		p.CloseInput()
		require.True(t, p.Exit().Clean())
		_, stderr := p.Wait()
		require.Empty(t, stderr, "none of it goes on")
	})
}

// complaint: B2.16 LinusU/node-jsonlines#7 - text that is cut between its bytes comes out broken
func TestComplaintB2_16Jsonlines7BytesOfOneCharacterArriveOneByOne(t *testing.T) {
	each(t, func(t *testing.T, client string) {
		p := open(t, client, "spell", "中文 é 😀 \u2028 end")
		_, answer, err := p.Prompt("hello")
		require.NoError(t, err)
		require.Equal(t, "中文 é 😀 \u2028 end", answer)
		bad := []string{"{\"type\":\"\xe4\"}\n", "not-json\n", "[]\n", "{} {}\n"}
		if !*long {
			bad = bad[:1]
		}
		for _, bad := range bad {
			failed(t, start(t, frame(t, client, "write", strconv.Quote(bad))).Open(config(client)))
		}
	})
}

// rule: J-171, N-039
func TestAnAnswerOfTwentyThousandPiecesFits(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := open(t, client, "deltas", "20000")
		_, answer, err := p.Prompt("hello")
		require.NoError(t, err)
		require.Equal(t, 20000, strings.Count(answer, " "))
		require.True(t, strings.HasPrefix(answer, "0 1 2 ") && strings.HasSuffix(answer, " 19999 "))
		require.LessOrEqual(t, p.Updates, 4096)
	})
}
