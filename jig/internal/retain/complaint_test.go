//go:build unix

package retain

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// complaint: B7.59 anthropics/claude-code#50347 - half a line or a block of NULs in the history cut the memory short, and nobody said so
// rule: F-126, J-223
func TestComplaintB7_59ClaudeCode50347ADamagedHistoryIsNotKept(t *testing.T) {
	whole := written(good())
	require.NoError(t, Check(at, []byte(whole), session))
	lines := strings.SplitAfter(whole, "\n")
	middle := len(lines) / 2
	join := func(change string) string {
		changed := append([]string{}, lines...)
		changed[middle] = change
		return strings.Join(changed, "")
	}
	for name, text := range map[string]string{
		"a cut line":                 join(lines[middle][:len(lines[middle])/2] + "\n"),
		"a cut line without its end": join(lines[middle][:len(lines[middle])/2]),
		"300 NUL bytes for a line":   join(strings.Repeat("\x00", 300) + "\n"),
		"300 NUL bytes in a line":    join(strings.Repeat("\x00", 300) + lines[middle]),
		"300 NUL bytes at the end":   whole + strings.Repeat("\x00", 300),
		"no newline at the end":      strings.TrimSuffix(whole, "\n"),
		"CRLF":                       strings.ReplaceAll(whole, "\n", "\r\n"),
		"one CRLF":                   join(strings.TrimSuffix(lines[middle], "\n") + "\r\n"),
		"a byte order mark":          "\ufeff" + whole,
		"one inside":                 join("\ufeff" + lines[middle]),
	} {
		require.ErrorIs(t, Check(at, []byte(text), session), ErrUnsupported, name)
	}
}

// complaint: B7.61 openma-ai/deepseek-harness-acp#17 - two processes took up one session, and both wrote to its history
// rule: F-137
func TestComplaintB7_61DeepseekHarness17TwoProcessesOneOwner(t *testing.T) {
	rounds := 40
	if *long {
		rounds = 1000
	}
	p := newPlace(t)
	saver := p.run()
	rivals := []*rival{p.rival(), p.rival()}
	for range rounds {
		reference := saver.save(false)
		for _, r := range rivals {
			r.ask(reference)
		}
		answers := []string{rivals[0].answer(), rivals[1].answer()}
		require.ElementsMatch(t, []string{"won", "lost"}, answers)
		require.ErrorIs(t, saver.claim(reference), acp.ErrNoSession, "it is used up")
	}
	for _, r := range rivals {
		r.end()
	}
}

// rival is another process that claims whatever it is told to.
type rival struct {
	p   *place
	cmd *exec.Cmd
	in  interface {
		Write([]byte) (int, error)
		Close() error
	}
	out *bufio.Reader
}

func (p *place) rival() *rival {
	p.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RETAIN_TEST_RIVAL="+p.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(p, err)
	out, err := cmd.StdoutPipe()
	require.NoError(p, err)
	require.NoError(p, cmd.Start())
	p.Cleanup(func() { // it ends with its input
		in.Close()
		_ = cmd.Wait()
	})
	return &rival{p, cmd, in, bufio.NewReader(out)}
}

func (r *rival) ask(reference string) {
	r.p.Helper()
	_, err := fmt.Fprintln(r.in, reference)
	require.NoError(r.p, err)
}

func (r *rival) answer() string {
	r.p.Helper()
	line, err := r.out.ReadString('\n')
	require.NoError(r.p, err)
	return strings.TrimSpace(line)
}

func (r *rival) end() {
	r.p.Helper()
	require.NoError(r.p, r.in.Close())
	require.NoError(r.p, r.cmd.Wait())
}

// rivalry is what a rival does: a run of its own for every claim.
func rivalry(dir string) {
	d, err := state.Open(dir)
	must(err)
	references := bufio.NewScanner(os.Stdin)
	for references.Scan() {
		r, err := begin(d, time.Hour)
		must(err)
		_, err = New(d, r).Claim(context.Background(), scope, references.Text())
		switch {
		case err == nil:
			fmt.Println("won")
		case errors.Is(err, acp.ErrNoSession):
			fmt.Println("lost")
		default:
			must(err)
		}
		must(r.Finish(time.Now(), state.Terminal{Status: "succeeded", Record: []byte("{}")}, Settle))
	}
}
