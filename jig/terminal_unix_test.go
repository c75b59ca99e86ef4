//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal and what was shown on it.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	shown  *watched
}

func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	x := &terminal{t: t, master: master, slave: slave, shown: newWatched()}
	t.Cleanup(func() {
		slave.Close()
		master.Close()
	})
	go func() {
		b := make([]byte, 4096)
		for {
			k, err := master.Read(b)
			if k > 0 {
				x.shown.Write(b[:k])
			}
			if err != nil {
				return
			}
		}
	}()
	return x
}

// start runs jig with all its streams on the terminal.
func (x *terminal) start(p *place, args ...string) *running {
	x.t.Helper()
	cmd := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.slave, x.slave, x.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return p.start(cmd)
}

func (x *terminal) waitFor(text string) {
	x.t.Helper()
	require.True(x.t, x.shown.holds(text, 30*time.Second), "%q on %q", text, x.shown.String())
}

func (x *terminal) enter(text string) {
	x.t.Helper()
	_, err := x.master.WriteString(text)
	require.NoError(x.t, err)
}

// complaint: B6.53 openclaw/openclaw#124738 - what was changed while somebody looked at the question ran instead of what was shown
// rule: P-173, P-174
func TestComplaintB6_53Openclaw124738WhatIsApprovedIsWhatWasShown(t *testing.T) {
	p := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello})
	x := newTerminal(t, 100)
	r := x.start(p, "review")
	x.waitFor("Approve? [y/N]")
	p.write(map[string]string{"flows/hello/FLOW.ts": strings.Replace(hello, "Hello", "Goodbye", 1), "jig.json": `{"flows":[]}`})
	x.enter("y\n")
	require.Equal(t, 0, r.wait().exit)
	x.waitFor("approved as generation 1")
	o := p.jig("run", "flow:flows/hello").is(0, "output", `"Hello, world!"`)
	require.Contains(t, o.stderr, "the source differs")
}

func TestTheEndOfTheTerminalDeclinesOnALineOfItsOwn(t *testing.T) {
	p := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello})
	x := newTerminal(t, 100)
	r := x.start(p, "review")
	x.waitFor("Approve? [y/N]")
	x.enter("\x04")
	require.Equal(t, 1, r.wait().exit)
	x.waitFor("JIG_CHANGES_DECLINED")
	require.Contains(t, ownSequences.Replace(x.shown.String()), "Approve? [y/N] \r\njig: ")
}

func TestAQuestionIsAnsweredByASignalToo(t *testing.T) {
	p := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello})
	x := newTerminal(t, 100)
	r := x.start(p, "review")
	x.waitFor("Approve? [y/N]")
	x.enter("\x03")
	require.Equal(t, 2, r.wait().exit)
	x.waitFor("JIG_COMMAND_INTERRUPTED")
	p.jig("run", "flow:flows/hello").is(2, "code", `"ADMISSION_MISSING"`)
}

// hostile names what a project may be full of.
const hostile = "flows/\x1b[2Kx\u202ey\u200bz\u2028\x07\nend"

// complaint: B6.56 kovyrin/agent-secret#66 - control characters of a project rewrite what a person approves
// rule: J-018, J-019, J-020
func TestComplaintB6_56AgentSecret66NothingOfAProjectActsOnTheTerminal(t *testing.T) {
	p := newPlace(t, map[string]string{hostile + "/FLOW.ts": hello, "flows/" + strings.Repeat("long", 60) + "/FLOW.ts": hello})
	x := newTerminal(t, 120)
	r := x.start(p, "review")
	x.waitFor("Approve? [y/N]")
	x.enter("y\n")
	require.Equal(t, 0, r.wait().exit)
	r = x.start(p, "run", "flow:"+hostile)
	require.Equal(t, 0, r.wait().exit)
	r = x.start(p, "status")
	require.Equal(t, 0, r.wait().exit)
	r = x.start(p, "run", "flow:none")
	require.Equal(t, 1, r.wait().exit)
	x.waitFor("JIG_RUN_TARGET_NOT_FOUND")
	own := ownSequences.Replace(x.shown.String())
	for _, bad := range []string{"\x1b", "\u202e", "\u200b", "\u2028", "\x07"} {
		require.NotContains(t, own, bad)
	}
	require.Contains(t, own, `flow:flows/\u{1b}[2Kx\u{202e}y\u{200b}z\u{2028}\u{7}\nend`)
}

// ownSequences are the colours that jig itself writes.
var ownSequences = strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "", "\r\x1b[K", "")

// complaint: B6.56 CWE-CAPEC/CWE-Content-Development-Repository#112 - a transcript with escape sequences takes the reader's terminal over
func TestComplaintB6_56CWE112WhatAFlowSaysOnATerminalIsEscaped(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/evil/FLOW.ts": flow(`
		console.log("\x1b]52;c;aGk=\x07")
		return { outcome: "done", output: "\x1b]0;title\x07 two\nlines \u202e" }`)})
	x := newTerminal(t, 100)
	require.Equal(t, 0, x.start(p, "run", "flow:flows/evil").wait().exit)
	x.waitFor("lines")
	own := ownSequences.Replace(x.shown.String())
	require.NotContains(t, own, "\x1b")
	require.NotContains(t, own, "\x07")
	require.Contains(t, own, "two\r\nlines", "a result of several lines is shown as such")
}

// rule: J-019
func TestARecordOnATerminalIsEscapedAndHasTheSameValue(t *testing.T) {
	files := map[string]string{"flows/evil/FLOW.ts": flow(`
		await run.channels.news?.send("left \u202e zero \u200b joined \u200d")
		return { outcome: "done", output: "left \u202e zero \u200b joined \u200d" }`), "flows/evil/FLOW.contract.json": `{
		"$schema": "https://flow.jig.md/schemas/invocation-contract-0.schema.json",
		"channels": { "news": { "direction": "send", "required": false } } }`}
	p := reviewed(t, files)
	const canonical, shown = "left \u202e zero \u200b joined \u200d", `left \u202e zero \u200b joined \u200d`
	for _, option := range []string{"--json", "--receive=news"} {
		x := newTerminal(t, 100)
		require.Equal(t, 0, x.start(p, "run", "flow:flows/evil", option).wait().exit)
		x.waitFor(`"output":"` + shown + `"`)
		require.NotContains(t, x.shown.String(), "\u202e")
		require.NotContains(t, x.shown.String(), "\u200b")
		if option != "--json" {
			x.waitFor(`"value":"` + shown + `"`)
		}
		require.Contains(t, p.jig("run", "flow:flows/evil", option).stdout, `"output":"`+canonical+`"`)
	}
}

func TestOnATerminalALongRunShowsHowItIsGettingOn(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"]})
	x := newTerminal(t, 100)
	r := x.start(p, "run", "flow:flows/wait", "--timeout", "1h")
	x.waitFor("| waiting")
	x.waitFor("flow:flows/wait running, ")
	require.Contains(t, x.shown.String(), "s elapsed, ")
	require.Contains(t, x.shown.String(), " left")
	x.enter("\x03")
	require.Equal(t, 2, r.wait().exit)
	x.waitFor("[CANCELLED]")
	lines := strings.Split(strings.TrimSpace(x.shown.String()), "\n")
	require.Contains(t, lines[len(lines)-1], "the run was cancelled", "nothing of the progress is left below")
}

// complaint: B8.68 chainloop-dev/chainloop#3228 - escape sequences where no terminal is, none where somebody asks for them
func TestComplaintB8_68Chainloop3228ColourIsWhereItIsWanted(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	colored := func(onTerminal bool, option string, env ...string) bool {
		q := &place{t: t, dir: p.dir, env: append(append([]string{}, p.env...), env...)}
		args := []string{"status"}
		if option != "" {
			args = append(args, "--color", option)
		}
		if onTerminal {
			x := newTerminal(t, 100)
			require.Equal(t, 0, x.start(q, args...).wait().exit)
			x.waitFor("flow:flows/hello")
			return strings.Contains(x.shown.String(), "\x1b[")
		}
		args[0] = "review"
		o := q.jig(args...)
		require.Equal(t, 0, o.exit, "%s", o)
		require.NotContains(t, o.stdout, "\x1b[", "a record never has colour")
		return strings.Contains(o.stderr, "\x1b[")
	}
	for _, tc := range []struct {
		terminal bool
		option   string
		env      []string
		want     bool
	}{
		{true, "", []string{"TERM=xterm"}, true},
		{false, "", []string{"TERM=xterm"}, false},
		{true, "", []string{"TERM=dumb"}, false},
		{true, "", []string{"TERM=xterm", "NO_COLOR=1"}, false},
		{false, "", []string{"CLICOLOR_FORCE=1"}, true},
		{false, "", []string{"FORCE_COLOR=1"}, true},
		{false, "", []string{"FORCE_COLOR=0"}, false},
		{false, "", []string{"FORCE_COLOR=1", "NO_COLOR=1"}, false},
		{false, "", []string{"FORCE_COLOR=1", "TERM=dumb"}, true},
		{false, "always", []string{"NO_COLOR=1"}, true},
		{true, "never", []string{"FORCE_COLOR=1", "TERM=xterm"}, false},
	} {
		require.Equal(t, tc.want, colored(tc.terminal, tc.option, tc.env...), "%+v", tc)
	}
}

// complaint: B8.68 kucherenko/jscpd#893 - what a plain terminal cannot show comes out as rubbish
func TestComplaintB8_68Jscpd893ANarrowPlainTerminalIsServedToo(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/slot/FLOW.ts": hello, "flows/slot/FLOW.meta.json": `{"uses":{"any":{}}}`, "flows/hello/FLOW.ts": hello})
	p.env = append(p.env, "LANG=C", "TERM=dumb")
	x := newTerminal(t, 40)
	require.Equal(t, 0, x.start(p, "status").wait().exit)
	x.waitFor("flow:flows/slot")
	require.Equal(t, 1, x.start(p, "run", "flow:flows/slot").wait().exit)
	x.waitFor("[JIG_RUN_TARGET_INVALID]")
	for line := range strings.SplitSeq(x.shown.String(), "\r\n") {
		require.LessOrEqual(t, len(line), 40, "%q", line)
		for _, r := range line {
			require.Less(t, r, rune(0x80), "%q", line)
		}
	}
}
