package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rss is the resident memory of a process in bytes.
func rss(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	require.Fail(t, "no VmRSS")
	return 0
}

// deltas is a reply of so many pieces.
func deltas(count int, piece string) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{
		scripted.Repeat(count, scripted.Text(piece)), scripted.Finish("stop"), scripted.Done(),
	}}
}

// complaint: 21 anomalyco/opencode#22198 - peers that stopped reading were kept, and the queue grew to gigabytes
// rule: W-067, W-068, W-069
func TestComplaint21Opencode22198StoppedReaderIsCutAndOthersKeepPace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const turns, pieces = 40, 400
	replies := make([]scripted.Reply, 0, turns)
	for range turns {
		replies = append(replies, deltas(pieces, "0123456789 0123456789 0123456789 "))
	}
	p.model(replies...)
	r := p.serve()

	healthy := p.dial()
	s := p.claimed(healthy, p.session(healthy))
	turn := func() {
		_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "go"})
		require.NoError(t, err)
		text, terminal := end(t, s)
		require.Equal(t, text, terminal.Text)
		require.Equal(t, wirev2.TerminalCompleted, terminal.Status, "%v", terminal.Error)
	}
	for range turns / 2 {
		turn() // what turns need in memory they have from here on
	}
	before := rss(t, r.Process.Pid)
	// One connection asks for the same long answer again and again and never reads.
	stopped := p.raw()
	go func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(stopped, record(fmt.Sprintf("r%d", i), "capabilities", "{}")); err != nil {
				return
			}
		}
	}()
	// Meanwhile another session's turns run at their pace.
	ended := 0
	for start := time.Now(); time.Since(start) < 9*time.Second && ended < turns/2; ended++ {
		turn()
	}
	require.Positive(t, ended)
	r.logged("record not written in 10s: the reader has stopped")
	until(t, "the stopped reader's connection has ended", func() bool {
		status, err := healthy.Status(t.Context())
		require.NoError(t, err)
		return status.Connections == 1
	})
	if !*race {
		// A queue may hold 4 MiB; the garbage collector's own ups and downs are of 2 to 3.
		grown := rss(t, r.Process.Pid) - before
		require.Less(t, grown, int64(8<<20), "%d turns and %d KiB later", ended, grown>>10)
	}
}

// complaint: 24 openai/codex#18203, openai/codex#37526 - two turns at 500 deltas a second dropped a client that was only slow
// rule: W-066, W-156
func TestComplaint24Codex18203SlowReaderOfTwoFastTurnsGetsItAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fast := scripted.Reply{Steps: []scripted.Step{
		scripted.Repeat(750, scripted.Text("delta "), scripted.Wait(2*time.Millisecond)), scripted.Finish("stop"), scripted.Done(),
	}}
	p.model(fast, fast)
	p.serve()
	c := p.raw()
	want := strings.Repeat("delta ", 750)
	texts, terminals := make(map[string]string), make(map[string]string)
	var starts []string
	for i := range 2 {
		id := wirev2.NewID()
		session := field(t, c.ask(with(record(fmt.Sprintf("c%d", i), "session.create", fmt.Sprintf(`{"workspace":%q}`, p.workspace)), "", "", id)), "session_id", true)
		token := field(t, c.ask(with(record(fmt.Sprintf("k%d", i), "session.claim", "{}"), session, "", wirev2.NewID())), "control_token", true)
		starts = append(starts, with(record(fmt.Sprintf("t%d", i), "turn.start", `{"prompt":"go"}`), session, token, wirev2.NewID()))
	}
	c.send(strings.Join(starts, ""))
	for len(terminals) < 2 {
		line := c.line()
		switch {
		case strings.Contains(line, `"event":"turn.text"`):
			texts[field(t, line, "turn_id", true)] += field(t, line, "text", true)
			time.Sleep(20 * time.Millisecond) // the slow reader
		case strings.Contains(line, `"event":"turn.terminal"`):
			terminals[field(t, line, "turn_id", true)] = field(t, line, "text", true)
		}
	}
	for turn, text := range texts {
		require.Equal(t, want, text)
		require.Equal(t, want, terminals[turn])
	}
}

// complaint: 31 tyrchen/claude-agent-sdk-rs#28 - a size counter that was never reset ended the stream after 10 MB in all
// complaint: 30 anthropics/claude-code#58648 - framing depended on how the bytes were written
// rule: W-008
func TestComplaint31ClaudeAgentSDK28TenThousandRecordsOfTenKiB(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	c := p.raw()
	const records = 10_000
	filler := strings.Repeat("x", 10<<10)
	go func() {
		var batch strings.Builder
		for i := range records {
			batch.WriteString(record(fmt.Sprint(i), "daemon.status", `{"x":"`+filler+`"}`))
			if i%7 == 0 || i == records-1 { // writes of many sizes, none of them a record
				text := batch.String()
				batch.Reset()
				for len(text) > 0 {
					n := min(len(text), 4099+13*(i%500))
					if _, err := io.WriteString(c, text[:n]); err != nil {
						return
					}
					text = text[n:]
				}
			}
		}
	}()
	for i := range records {
		line := c.line()
		require.Contains(t, line, `"code":"invalid_payload"`)
		require.Contains(t, line, fmt.Sprintf(`"request_id":"%d"`, i))
	}
	require.NotContains(t, c.ask(record("last", "daemon.status", "{}")), `"error"`)
}

// rule: W-070, W-072, W-141
func TestHalfClosedConnectionFreesItsSessionAndIsAnswered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := p.model(scripted.Reply{Steps: []scripted.Step{scripted.Text("one "), scripted.Hold("on"), scripted.Text("two"), scripted.Finish("stop"), scripted.Done()}})
	p.serve()
	c := p.raw()
	session := field(t, c.ask(with(record("c", "session.create", fmt.Sprintf(`{"workspace":%q}`, p.workspace)), "", "", wirev2.NewID())), "session_id", true)
	token := field(t, c.ask(with(record("k", "session.claim", "{}"), session, "", wirev2.NewID())), "control_token", true)
	c.send(with(record("t", "turn.start", `{"prompt":"go"}`), session, token, wirev2.NewID()) + record("s", "daemon.status", "{}"))
	<-model.Held("on")
	require.NoError(t, c.CloseWrite())
	// What was admitted is answered, then the connection ends.
	var seen strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		seen.WriteString(line)
	}
	require.Contains(t, seen.String(), `"request_id":"t"`)
	require.Contains(t, seen.String(), `"request_id":"s"`)
	// The session is free without a takeover, and the turn has gone on.
	s := p.claimed(p.dial(), wirev2.ID(session))
	turn := s.Claimed().Turn
	require.NotNil(t, turn)
	model.Release("on")
	later, terminal := end(t, s)
	require.Equal(t, "one two", turn.Text+later)
	require.Equal(t, "one two", terminal.Text)
}
