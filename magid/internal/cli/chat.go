package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// maxLineBytes bounds a line that a person types: the longest prompt and its line end.
const maxLineBytes = 24576 + 2

type chatFlags struct {
	session, workspace string
	takeover           bool

	tools, skills, describe []string
	exec                    string
	yes                     bool
}

func (a *app) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the model in this terminal",
		Long: "Talk to the model in this terminal, one line a prompt; a line that ends in \\ goes on in the next. Ctrl-C stops\n" +
			"the turn, a second one leaves, and so does Ctrl-D. The session stays: `--session` takes it up again.\n\n" +
			"The model's text goes to standard output, everything else to standard error, so a pipe gets the text alone.\n\n" +
			"Files can be lent to the model for as long as the chat lasts: a --skill is plain instructions, a --tool a contract\n" +
			"of input_schema, output_schema and timeout_ms. For each call of a tool COMMAND is run by /bin/sh, in the folder where\n" +
			"the chat was started, with the arguments as JSON on its standard input and the tool's name in $MAGI_TOOL (and\n" +
			"$MAGI_SESSION_ID, $MAGI_TURN_ID, $MAGI_CALL_ID); what it prints is the result, as JSON. Ending with 77 it refuses the\n" +
			"call, with any other code but 0 it fails, and the last line on its standard error says why. Each call is shown first\n" +
			"and run only if you agree, unless --yes does.",
		Example: "  magid chat\n" +
			"  magid chat --skill style.md --tool add_note.json --describe 'add_note=Adds a line to the notes.' --exec ./notes.sh",
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.session, "session", "", "the `ID` of the session to take up")
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "the `folder` of a new session (default: this one)")
	cmd.Flags().BoolVar(&f.takeover, "takeover", false, "take the session from another connection that controls it")
	cmd.Flags().StringArrayVar(&f.tools, "tool", nil, "lend the tool whose contract is in `[NAME=]FILE`")
	cmd.Flags().StringArrayVar(&f.skills, "skill", nil, "lend the instructions in `[NAME=]FILE`")
	cmd.Flags().StringArrayVar(&f.describe, "describe", nil, "tell the model what a tool or skill is for: `NAME=TEXT`")
	cmd.Flags().StringVar(&f.exec, "exec", "", "the `COMMAND` that runs the tools' calls")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "run calls without asking")
	return cmd
}

// errLeave ends a chat because the person wants to.
var errLeave = errors.New("leave")

// chat is one conversation.
type chat struct {
	app       *app
	ctx       context.Context // of the whole conversation, for the goroutines that hear its events
	path      string
	workspace string
	takeover  bool
	id        wirev2.ID // "" until the first prompt
	lent      *lender   // nil where nothing is lent
	agreed    bool      // calls are run without asking

	client  *client.Client
	session *client.Session
	events  chan event

	interrupts chan os.Signal
	lines      <-chan line
	// midLine says that the text on standard output has not come to a line end.
	midLine bool
}

type line struct {
	text string
	err  error
}

type event struct {
	wirev2.Event
	err error
}

func (a *app) chat(ctx context.Context, f chatFlags) error {
	ch := &chat{app: a, takeover: f.takeover, interrupts: make(chan os.Signal, 4)}
	err := ch.prepare(ctx, f)
	if err != nil {
		return err
	}
	signal.Notify(ch.interrupts, os.Interrupt)
	defer signal.Stop(ch.interrupts)
	// A reader that goes away ends the chat as Ctrl-D does: what is lent is taken back.
	ctx, stop := a.written.untilLost(ctx)
	defer stop()
	if err := ch.connect(ctx); err != nil {
		return err
	}
	defer ch.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ch.ctx = ctx
	ch.lines = readLines(ctx, a.in)
	err = ch.run(ctx)
	if errors.Is(err, errLeave) || errors.Is(err, io.EOF) {
		err = nil
	}
	if ch.id != "" && a.inTerminal {
		ch.note("The session stays: magid chat --session %s", ch.id)
	}
	return err
}

func (ch *chat) prepare(ctx context.Context, f chatFlags) (err error) {
	offers, err := f.offers(ctx)
	if err != nil {
		return err
	}
	if f.exec != "" && !f.yes && !ch.app.inTerminal {
		return usagef("--exec without a terminal needs --yes: nobody is there to agree to a call")
	}
	if ch.agreed = f.yes; len(offers) > 0 {
		ch.lent = newLender(offers, f.exec)
	}
	if ch.path, err = ch.app.socketPath(); err != nil {
		return err
	}
	if f.session != "" {
		if f.workspace != "" {
			return usagef("--workspace is for a new session, and --session takes up an old one")
		}
		if ch.id, err = wirev2.ParseID(f.session); err != nil {
			return usagef("--session: %q is not the id of a session: `magid sessions` lists them", f.session)
		}
		return nil
	}
	if ch.workspace, err = filepath.Abs(f.workspace); err != nil {
		return fmt.Errorf("--workspace: %w", err)
	}
	return nil
}

func (ch *chat) run(ctx context.Context) error {
	if ch.id != "" {
		if err := ch.claim(ctx, ch.takeover); err != nil {
			return err
		}
		if turn := ch.session.Claimed().Turn; turn != nil {
			ch.note("A turn of this session is running.")
			ch.write(turn.Text)
			if err := ch.follow(ctx, following{turn: turn.TurnID, shown: turn.Text}); err != nil && !ch.goesOn(err) {
				return err
			}
		}
	}
	for {
		prompt, err := ch.ask(ctx)
		if err != nil {
			return err
		}
		if strings.TrimSpace(prompt) == "" {
			continue
		}
		if err := ch.turn(ctx, prompt); err != nil && !ch.goesOn(err) {
			return err
		}
	}
}

// goesOn shows a failure that a person at a terminal can react to. Where nobody is there to react, it ends the chat.
func (ch *chat) goesOn(err error) bool {
	var failed *turnFailure
	var refused *wirev2.Error
	if !errors.As(err, &failed) && !errors.As(err, &refused) || !ch.app.inTerminal {
		return false
	}
	ch.note("%s", ch.app.styled(red, plain(err.Error())))
	return true
}

// ask waits for the next prompt. Lines that end in a backslash are joined to the next.
func (ch *chat) ask(ctx context.Context) (string, error) {
	prompt := ""
	for mark := "› "; ; mark = "… " {
		if ch.app.inTerminal && ch.app.outTerminal {
			_, _ = io.WriteString(ch.app.out, ch.app.styled(bold, mark))
		}
		text, err := ch.nextLine(ctx)
		if err != nil {
			return "", err
		}
		more := strings.HasSuffix(text, `\`)
		prompt += strings.TrimSuffix(text, `\`)
		if !more {
			return prompt, nil
		}
		prompt += "\n"
	}
}

func (ch *chat) nextLine(ctx context.Context) (string, error) {
	events := ch.events
	for {
		select {
		case <-ctx.Done():
			return "", errLeave
		case <-ch.interrupts:
			ch.newline()
			return "", errLeave
		case next := <-ch.lines:
			if next.err != nil && ch.app.inTerminal {
				ch.newline()
			}
			return next.text, next.err
		case e := <-events:
			// Between turns the only news is that the session is no longer ours; the next prompt finds out
			// what to do about a lost connection.
			if e.err != nil {
				events = nil
			} else if e.Event.Event == wirev2.EventSessionControlLost {
				return "", errors.New("another connection has taken the session over")
			}
		}
	}
}

// readLines reads in a goroutine of its own, because a read of a terminal cannot be interrupted.
func readLines(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		scanner := bufio.NewScanner(r)
		scanner.Buffer(make([]byte, 0, 4096), maxLineBytes)
		for {
			next := line{err: io.EOF}
			if scanner.Scan() {
				next = line{text: scanner.Text()}
			} else if errors.Is(scanner.Err(), bufio.ErrTooLong) {
				next.err = fmt.Errorf("a prompt has at most %d bytes", maxLineBytes-2)
			} else if scanner.Err() != nil {
				next.err = scanner.Err()
			}
			select {
			case lines <- next:
			case <-ctx.Done():
				return
			}
			if next.err != nil {
				return
			}
		}
	}()
	return lines
}

// note says something about the conversation, beside its text.
func (ch *chat) note(format string, args ...any) {
	ch.newline()
	_, _ = fmt.Fprintf(ch.app.err, format+"\n", args...)
}

// write shows a piece of the model's text.
func (ch *chat) write(text string) {
	if text == "" {
		return
	}
	_, _ = io.WriteString(ch.app.out, plain(text))
	ch.midLine = !strings.HasSuffix(text, "\n")
}

func (ch *chat) newline() {
	if ch.midLine {
		_, _ = io.WriteString(ch.app.out, "\n")
		ch.midLine = false
	}
}
