package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// loseAndComeBack is the heart of the story: a turn whose application loses its connection and comes back.
func (d *demo) loseAndComeBack(ctx context.Context, id wirev2.ID) error {
	turn, generation, err := d.untilCut(ctx, id)
	if err != nil {
		return err
	}
	d.step("Nobody listens, and the turn goes on")
	d.model.Release(holdCut)
	if err := d.waitFor(ctx, holdReturn); err != nil {
		return err
	}
	d.text("the daemon still reads the model: its journal and its memory do not need the application")

	d.step("The application comes back and claims the session again")
	c, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// A takeover, because the daemon may not have seen yet that the first connection is gone.
	session, err := c.Claim(ctx, "", id, true)
	if err != nil {
		return err
	}
	snapshot := session.Claimed()
	if snapshot.Turn == nil || snapshot.Turn.TurnID != turn {
		return errors.New("the turn is not in the snapshot")
	}
	d.text("grant    generation %d", session.Generation())
	d.text("snapshot %s", d.app.styled(faint, "“"+strings.TrimRight(snapshot.Turn.Text, " ")+"”"))
	d.model.Release(holdReturn)
	d.begin("then     ")
	later, terminal, err := d.listen(ctx, session, turn)
	if err != nil {
		return err
	}

	d.step("Nothing is lost")
	whole := beforeCut + whileAlone + afterReturn
	recorded, err := d.recorded(id, turn)
	if err != nil {
		return err
	}
	d.prove("the snapshot's text and the text after it are all that the model said", snapshot.Turn.Text+later == whole)
	d.prove("the turn's end says the same", terminal.Text == whole && terminal.Status == wirev2.TerminalCompleted)
	d.prove("the journal on disk says the same", recorded == whole)
	d.prove("the second claim was a new grant: the first one's token is worth nothing now", session.Generation() == generation+1)
	d.prove("the model was asked once", len(d.model.Requests()) == 1)
	return session.Release(ctx, "")
}

// untilCut starts the turn, shows its first words and loses the connection.
func (d *demo) untilCut(ctx context.Context, id wirev2.ID) (turn wirev2.ID, generation int64, err error) {
	d.step("It claims the session and starts a turn")
	c, conn, err := d.cuttable(ctx)
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	session, err := c.Claim(ctx, "", id, false)
	if err != nil {
		return "", 0, err
	}
	d.text("grant    generation %d", session.Generation())
	d.text("you      %s", askedFirst)
	reply, err := session.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: askedFirst})
	if err != nil {
		return "", 0, err
	}
	d.begin("model    ")
	heard := ""
	for heard != beforeCut {
		e, err := session.Events().Next(ctx)
		if err != nil {
			return "", 0, err
		}
		text, err := textOf(e)
		if err != nil {
			return "", 0, err
		}
		heard += text
		d.stream(text)
	}
	if err := conn.Close(); err != nil {
		return "", 0, err
	}
	d.stream(d.app.styled(red, "✂") + "\n")
	d.text("%s", d.app.styled(faint, "the connection is gone, in the middle of a sentence"))
	return reply.TurnID, session.Generation(), nil
}

// readFile is a turn with a tool call of the daemon's own.
func (d *demo) readFile(ctx context.Context, id wirev2.ID) error {
	d.step("The daemon has tools of its own: read-only, and only in the session's folder")
	c, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	session, err := c.Claim(ctx, "", id, false)
	if err != nil {
		return err
	}
	d.text("you      %s", askedSecond)
	reply, err := session.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: askedSecond})
	if err != nil {
		return err
	}
	d.begin("model    ")
	text, terminal, err := d.listen(ctx, session, reply.TurnID)
	if err != nil {
		return err
	}
	requests := d.model.Requests()
	seen := strings.Contains(string(requests[len(requests)-1].Body), "eleven ships counted")
	d.prove("the model read the file through the tool and got its text back", seen)
	d.prove("its words before and after the call are one text", text == beforeCall+afterCall && terminal.Text == text)
	return session.Release(ctx, "")
}

// listen shows a turn to its end.
func (d *demo) listen(ctx context.Context, session *client.Session, turn wirev2.ID) (text string, end wirev2.Terminal, err error) {
	for {
		e, err := session.Events().Next(ctx)
		if err != nil {
			return "", end, err
		}
		switch e.Event {
		case wirev2.EventTurnText:
			piece, err := textOf(e)
			if err != nil {
				return "", end, err
			}
			text += piece
			d.stream(piece)
		case wirev2.EventTurnTool:
			var tool wirev2.TurnToolEvent
			if err := wirev2.DecodePayload(e.Payload, &tool); err != nil {
				return "", end, err
			}
			d.stream(d.app.styled(faint, fmt.Sprintf("· %s %s", tool.Name, tool.Phase)) + "\n")
		case wirev2.EventTurnTerminal:
			if err := wirev2.DecodePayload(e.Payload, &end); err != nil {
				return "", end, err
			}
			if end.TurnID == turn {
				return text, end, nil
			}
		}
	}
}

func textOf(e wirev2.Event) (string, error) {
	if e.Event != wirev2.EventTurnText {
		return "", nil
	}
	var text wirev2.TurnTextEvent
	err := wirev2.DecodePayload(e.Payload, &text)
	return text.Text, err
}

// recorded is a turn's text as the journal has it.
func (d *demo) recorded(id, turn wirev2.ID) (text string, err error) {
	store, err := journal.OpenReadOnly(d.state)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for record, err := range store.Entries(id) {
		if err != nil {
			return "", err
		}
		if reply, ok := record.(*wirev2.AssistantRecord); ok && reply.TurnID == turn {
			text += reply.Text
		}
	}
	return text, nil
}

// waitFor waits until the model has come to a place of its script.
func (d *demo) waitFor(ctx context.Context, hold string) error {
	select {
	case <-d.model.Held(hold):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin opens a line that stream goes on with.
func (d *demo) begin(label string) {
	d.write("   " + label)
	d.column = column
}

// column is where texts stand.
const column = 12

// stream shows a piece of text as it comes, its lines under each other.
func (d *demo) stream(piece string) {
	for line := range strings.Lines(piece) {
		empty := d.column == 0 && line == "\n"
		switch {
		case empty && d.gap:
			continue // one empty line is gap enough
		case d.column == 0 && !empty:
			d.write(strings.Repeat(" ", column))
		}
		d.gap = empty
		d.write(line)
		d.column = column
		if strings.HasSuffix(line, "\n") {
			d.column = 0
		}
	}
}

// endLine ends the line that stream left open.
func (d *demo) endLine() {
	if d.column > 0 {
		d.write("\n")
		d.column = 0
	}
}

func (d *demo) write(text string) {
	w := d.app.out
	if d.app.json {
		w = d.app.err
	}
	_, _ = fmt.Fprint(w, text)
}
