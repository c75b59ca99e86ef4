package hostile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
)

// settled is a conversation with one answered prompt.
func settled(t *testing.T, client string, behaviour ...string) *adaptertest.Process {
	p := open(t, client, behaviour...)
	_, _, err := p.Prompt("hello")
	require.NoError(t, err)
	return p
}

// rule: J-163, N-025
func TestAClientThatIsKilledIsReportedAsThatSignal(t *testing.T) {
	each(t, func(t *testing.T, client string) {
		p := open(t, client, "die")
		_, _, err := p.Prompt("hello")
		failed(t, err)
		x := p.Exit()
		require.NotNil(t, x.Signal)
		require.Equal(t, "SIGKILL", *x.Signal)
		require.Nil(t, x.Code)
		require.False(t, x.Terminated, "nobody had asked")
	})
}

// rule: J-163
func TestAClientThatEndsInATurnFailsTheSession(t *testing.T) {
	each(t, func(t *testing.T, client string) {
		for _, code := range []int{0, 3} {
			p := open(t, client, "exit", strconv.Itoa(code))
			_, _, err := p.Prompt("hello")
			failed(t, err)
			require.Equal(t, code, *p.Exit().Code)
		}
	})
}

// complaint: B1.12 openclaw/acpx#182 - a client that ends at once is started over and over
func TestComplaintB1_12Acpx182AClientThatEndsAtOnceIsStartedOnce(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := start(t, frame(t, client, "exit-at-once", "3"))
		failed(t, p.Open(config(client)))
		require.Equal(t, 3, *p.Exit().Code)
		p.CloseInput()
		p.Wait() // and nothing is started any more
	})
}

// rule: N-036, J-168
func TestAnExitCodeAfterTheEndIsReportedAsItIs(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := settled(t, client, "after", "1")
		p.CloseInput()
		x := p.Exit()
		require.Equal(t, 1, *x.Code)
		require.False(t, x.Terminated)
		require.False(t, x.Clean())
	})
}

// rule: J-168
func TestAClientThatTakesItsTimeEndsByItself(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := settled(t, client, "late", "650")
		p.CloseInput()
		require.True(t, p.Exit().Clean())
	})
}

// rule: J-165
// complaint: B1.1 agentclientprotocol/claude-agent-acp#325 - a client that goes on after the end of its input stays behind
func TestComplaintB1_1ClaudeAgentAcp325AClientThatIgnoresTheEndIsTerminated(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := settled(t, client, "ignore-eof")
		p.CloseInput()
		require.NoError(t, p.Evidence.Terminate())
		x := p.Exit()
		require.True(t, x.Terminated)
		require.Equal(t, "SIGTERM", *x.Signal)
		code, _ := p.Wait()
		require.Zero(t, code)
	})
}

// rule: J-165, N-016
func TestAClientThatIgnoresTERMIsKilledOneSecondLater(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := settled(t, client, "ignore-term")
		p.CloseInput()
		began := time.Now()
		require.NoError(t, p.Evidence.Terminate())
		x := p.Exit()
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.True(t, x.Terminated)
		require.Equal(t, "SIGKILL", *x.Signal)
		p.Wait()
	})
}

func TestAClientThatReadsNothingIsStillTerminated(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := start(t, frame(t, client, "deaf"))
		p.Begin("initialize", `"protocolVersion":1`)
		<-p.Evidence.Started()
		require.NoError(t, p.Evidence.Terminate())
		x := p.Exit()
		require.True(t, x.Terminated)
		_, err := p.Reply("1")
		failed(t, err)
	})
}

// A tool that its client left behind holds the client's output open. The end of the
// client is the end all the same.
func TestAGrandchildThatKeepsTheStreamsDelaysNothing(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		f := frame(t, client, "grandchild", "")
		note := filepath.Join(f.Env["HOME"], "pid")
		f.Argv[3] = note
		p := start(t, f)
		require.NoError(t, p.Open(config(client)))
		_, _, err := p.Prompt("hello")
		require.NoError(t, err)
		grandchild := pidIn(t, note)
		t.Cleanup(func() { unix.Kill(grandchild, unix.SIGKILL) })
		p.CloseInput()
		require.True(t, p.Exit().Clean())
		code, _ := p.Wait()
		require.Zero(t, code)
		require.NoError(t, unix.Kill(grandchild, 0), "it is alive: the scope's fence ends it")
	})
}

// complaint: B1.5 openclaw/openclaw#68691 - what a tool leaves behind stays as a zombie until nothing can be started any more
func TestComplaintB1_5Openclaw68691OrphansAreReaped(t *testing.T) {
	some(t, func(t *testing.T, client string) {
		p := settled(t, client, "orphans", "20")
		for deadline := time.Now().Add(10 * time.Second); ; {
			if zombies(t, p.PID()) == 0 {
				break
			}
			require.True(t, time.Now().Before(deadline), "zombies are left")
			time.Sleep(time.Millisecond)
		}
		p.CloseInput()
		require.True(t, p.Exit().Clean(), "and none of them is taken for the client")
	})
}

// zombies counts the dead children of a process that nobody has waited for.
func zombies(t *testing.T, parent int) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(parent) {
			n++
		}
	}
	return n
}

func pidIn(t *testing.T, name string) int {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(content))
	require.NoError(t, err)
	return pid
}
