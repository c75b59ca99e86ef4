package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/magid/internal/socket"
	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// demoTimeout bounds the whole demonstration.
const demoTimeout = 2 * time.Minute

func (a *app) demoCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "demo",
		Short: "Watch a whole conversation, without a key or a network",
		Long: "Watch a whole conversation: a private daemon, a scripted model on loopback, an application that loses its\n" +
			"connection in the middle of a sentence and comes back, and one that lends the model a tool and dies between\n" +
			"doing the work and saying so. Nothing is installed, no key is needed, nothing is left behind.",
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			ctx, cancel := a.written.untilLost(ctx)
			defer cancel()
			return a.demo(ctx)
		},
	})
}

// demo is one demonstration and what has to be cleaned up after it.
type demo struct {
	app    *app
	dir    string // everything is below it
	path   string // of the socket
	state  string
	model  *scripted.Server
	daemon *exec.Cmd
	steps  int
	column int  // 0 where the next piece of text begins a line
	gap    bool // the last line was empty
	checks []check
}

// check is one claim that the demonstration makes and proves.
type check struct {
	Claim string `json:"claim"`
	Holds bool   `json:"holds"`
}

// demoResult is what demo prints with --json.
type demoResult struct {
	OK     bool    `json:"ok"`
	Checks []check `json:"checks"`
}

func (a *app) demo(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	d := &demo{app: a}
	err = d.run(ctx)
	switch lost := a.written.failed(); {
	case lost != nil:
		err = fmt.Errorf("%w; everything that the demonstration made is gone again", lost)
	case ctx.Err() != nil:
		err = errors.New("the demonstration was interrupted; everything it made is gone again")
	}
	if err := errors.Join(err, d.cleanUp(err != nil && a.written.failed() == nil)); err != nil {
		return err
	}
	result := demoResult{OK: true, Checks: d.checks}
	for _, c := range d.checks {
		result.OK = result.OK && c.Holds
	}
	if !result.OK {
		return errors.New("something that must hold does not: this is a bug")
	}
	return a.result(result, func() {
		d.endLine()
		a.say("\nThe daemon has stopped and its folder is gone. To talk to a model of your own:")
		a.say("   export MAGI_BASE_URL=http://localhost:11434/v1 MAGI_MODEL=…   %s", a.styled(faint, "# or [provider] in the configuration file"))
		a.say("   magid start && magid chat")
		a.say("To lend it tools of your own:")
		a.say("   magid chat --tool tool.json --exec ./run-it   %s", a.styled(faint, "# or write a companion: magid/examples"))
	})
}

func (d *demo) run(ctx context.Context) error {
	if err := d.startDaemon(ctx); err != nil {
		return err
	}
	session, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err := d.loseAndComeBack(ctx, session); err != nil {
		return err
	}
	if err := d.readFile(ctx, session); err != nil {
		return err
	}
	return d.lend(ctx, session)
}

// startDaemon makes a folder, a model and a daemon that knows nothing of the person's own.
func (d *demo) startDaemon(ctx context.Context) (err error) {
	d.step("A daemon of its own, and a scripted model on loopback")
	if d.dir, err = os.MkdirTemp("", "magid-demo-"); err != nil {
		return err
	}
	d.path, d.state = filepath.Join(d.dir, "magid.sock"), filepath.Join(d.dir, "state")
	if len(d.path) > socket.MaxPathBytes {
		return fmt.Errorf("the temporary folder's name is too long for a socket: set TMPDIR to a shorter one")
	}
	if err := d.makeWorkspace(); err != nil {
		return err
	}
	if d.model, err = scripted.StartReplies(d.script()...); err != nil {
		return err
	}
	log, err := os.OpenFile(d.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	env := []string{
		"MAGI_SOCKET=" + d.path, "MAGI_STATE=" + d.state, "MAGI_CONFIG=" + filepath.Join(d.dir, "none.toml"),
		"MAGI_BASE_URL=" + d.model.URL(), "MAGI_MODEL=scripted",
	}
	// The daemon dies with us, however we die. That is tied to the thread that starts it, which therefore stays.
	runtime.LockOSThread()
	attr := dyingWithUs()
	if d.daemon, _, err = spawnDaemon(ctx, env, log, attr); err != nil {
		return err
	}
	status, err := ask(ctx, d.path)
	if err != nil {
		return err
	}
	d.text("magid %s serves %s (process %d)", plain(status.Version), d.path, d.daemon.Process.Pid)
	d.text("the model is %s; no key, no configuration of yours", d.model.URL())
	return nil
}

func (d *demo) makeWorkspace() error {
	if err := os.Mkdir(d.workspace(), 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{"log.txt": logOfTheKeeper, toolFile: hornContract, skillFile: keepersManners} {
		if err := os.WriteFile(filepath.Join(d.workspace(), name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) workspace() string { return filepath.Join(d.dir, "lighthouse") }
func (d *demo) logPath() string   { return filepath.Join(d.dir, "magid.log") }

// connect is a new application connecting.
func (d *demo) connect(ctx context.Context, tokens ...wirev2.Capability) (*client.Client, error) {
	return client.Dial(ctx, d.path, options(tokens...))
}

// cuttable connects over a connection that can be cut the way connections are lost: without a word.
func (d *demo) cuttable(ctx context.Context, tokens ...wirev2.Capability) (*client.Client, net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", d.path)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(ctx, conn, options(tokens...))
	return c, conn, err
}

func options(tokens ...wirev2.Capability) client.Options {
	return client.Options{Name: "magid-demo", Version: version(), Capabilities: tokens}
}

// open makes the session that everything happens in.
func (d *demo) open(ctx context.Context) (wirev2.ID, error) {
	d.step("An application connects and opens a session")
	c, err := d.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	title := "demo"
	id, err := c.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: d.workspace(), Title: &title})
	if err != nil {
		return "", err
	}
	d.text("session %s", id)
	d.text("in      %s", d.workspace())
	return id, nil
}

// cleanUp stops the daemon and removes everything. failed shows the daemon's own words first.
func (d *demo) cleanUp(failed bool) error {
	var errs []error
	if d.daemon != nil {
		errs = append(errs, endProcess(d.daemon))
	}
	if d.model != nil {
		errs = append(errs, d.model.Close())
	}
	if d.dir == "" {
		return errors.Join(errs...)
	}
	if failed {
		d.showLog()
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// endProcess asks a child to end, and ends it where it does not.
func endProcess(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func (d *demo) showLog() {
	text, err := os.ReadFile(d.logPath())
	if err != nil || len(text) == 0 {
		return
	}
	lines := strings.Split(strings.TrimSpace(plain(string(text))), "\n")
	_, _ = fmt.Fprintf(d.app.err, "\nThe daemon's log ends with:\n%s\n", strings.Join(lines[max(0, len(lines)-10):], "\n"))
}

// step begins a part of the story.
func (d *demo) step(title string) {
	d.endLine()
	d.steps++
	d.app.say("\n%s", d.app.styled(bold, fmt.Sprintf("%d  %s", d.steps, title)))
}

func (d *demo) text(format string, args ...any) {
	d.endLine()
	d.app.say("   "+format, args...)
}

// prove shows a claim with a tick, or a cross.
func (d *demo) prove(claim string, holds bool) {
	d.checks = append(d.checks, check{claim, holds})
	mark := d.app.styled(green, "✓")
	if !holds {
		mark = d.app.styled(red, "✗")
	}
	d.text("%s %s", mark, claim)
}
