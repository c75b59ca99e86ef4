package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// How long a chat that lost its connection tries to find the daemon again, and to get the session back, which the daemon may
// believe to be the lost connection's for a moment more.
const (
	reconnectTimeout = 20 * time.Second
	reclaimTimeout   = 3 * time.Second
	retryPause       = 100 * time.Millisecond
)

// turnFailure is a turn that did not complete.
type turnFailure struct{ terminal wirev2.Terminal }

func (e *turnFailure) Error() string {
	if e.terminal.Error == nil {
		return "turn " + string(e.terminal.Status)
	}
	return fmt.Sprintf("turn %s: %s", e.terminal.Status, e.terminal.Error)
}

// following is a turn whose text is being shown.
type following struct {
	turn     wirev2.ID
	shown    string // the text that has been shown
	stopping bool
}

// connect finds the daemon, and attaches the executor of what is lent.
func (ch *chat) connect(ctx context.Context) error {
	var tokens []wirev2.Capability
	if ch.lent != nil {
		tokens = append(tokens, wirev2.CapabilityApplicationResources)
	}
	c, err := dial(ctx, ch.path, tokens...)
	if err != nil {
		return err // and the client that was lost stays, for leave to close
	}
	ch.client = c
	if ch.lent == nil {
		return nil
	}
	if !c.Negotiated(wirev2.CapabilityApplicationResources) {
		return errors.Join(errors.New("this daemon takes no tools and skills of applications"), c.Close())
	}
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return ch.lent.attach(asking, c)
}

// leave ends the connection, and takes back what was lent.
func (ch *chat) leave() {
	if ch.lent != nil {
		ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
		defer cancel()
		ch.lent.leave(ctx, ch.session)
	}
	_ = ch.client.Close()
}

// claim takes the session and begins to hear its events.
func (ch *chat) claim(ctx context.Context, takeover bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	session, err := ch.client.Claim(ctx, "", ch.id, takeover)
	if err != nil {
		var refused *wirev2.Error
		if errors.As(err, &refused) && refused.Code == wirev2.CodeSessionClaimed {
			return fmt.Errorf("%w; --takeover takes the session from it", err)
		}
		return err
	}
	ch.session, ch.events = session, hear(ch.ctx, session.Events())
	return nil
}

// hear moves the events of a session into a channel, until the first error, which comes last.
func hear(ctx context.Context, events *client.Subscription) chan event {
	heard := make(chan event, 64)
	go func() {
		for {
			next, err := events.Next(ctx)
			select {
			case heard <- event{next, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return heard
}

// turn asks the model and shows what it answers.
func (ch *chat) turn(ctx context.Context, prompt string) error {
	if err := ch.ready(ctx, prompt); err != nil {
		return err
	}
	operation := wirev2.NewID()
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	q := wirev2.TurnStartRequest{Prompt: prompt}
	if ch.lent != nil {
		var err error
		if q.Application, err = ch.lent.selection(asking, ch.session); err != nil {
			return err
		}
	}
	reply, err := ch.session.StartTurn(asking, operation, q)
	var unanswered *client.UnansweredError
	if errors.As(err, &unanswered) && ctx.Err() == nil {
		return ch.recover(ctx, following{}, operation)
	}
	if err != nil {
		return err
	}
	return ch.follow(ctx, following{turn: reply.TurnID})
}

// ready sees to a connection and a claimed session. A new session is made with the first prompt, so that looking in
// leaves nothing behind.
func (ch *chat) ready(ctx context.Context, prompt string) error {
	if ch.client.Err() != nil {
		ch.note("%s", ch.app.styled(faint, "connection lost, coming back"))
		return ch.reconnect(ctx)
	}
	if ch.id != "" {
		return nil
	}
	title := oneLine(prompt)
	for len(title) > 256 {
		title = string([]rune(title)[:len([]rune(title))-1])
	}
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id, err := ch.client.CreateSession(asking, "", wirev2.SessionCreateRequest{Workspace: ch.workspace, Title: &title})
	if err != nil {
		return err
	}
	ch.id = id
	return ch.claim(ctx, false)
}

// follow shows a turn to its end.
func (ch *chat) follow(ctx context.Context, f following) error {
	var arrived <-chan *lentCall // nothing ever arrives where nothing is lent
	if ch.lent != nil {
		arrived = ch.lent.arrived
		defer ch.lent.forget(f.turn)
	}
	for {
		select {
		case <-ctx.Done():
			return errLeave
		case <-ch.interrupts:
			if f.stopping {
				return errLeave
			}
			f.stopping = true
			ch.note("Stopping. Ctrl-C again leaves; the turn is stopped all the same.")
			if err := ch.stopTurn(ctx, f.turn); err != nil {
				return err
			}
		case call := <-arrived:
			if err := ch.decide(ctx, call); err != nil {
				return err
			}
		case e := <-ch.events:
			if e.err != nil {
				return ch.recover(ctx, f, "")
			}
			done, err := ch.show(&f, e.Event)
			if done || err != nil {
				return err
			}
		}
	}
}

func (ch *chat) stopTurn(ctx context.Context, turn wirev2.ID) error {
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := ch.session.StopTurn(asking, "", turn)
	var unanswered *client.UnansweredError
	if errors.As(err, &unanswered) {
		return nil // the events say what became of the connection
	}
	return err
}

// show shows one event, and says whether it was the turn's last.
func (ch *chat) show(f *following, e wirev2.Event) (done bool, err error) {
	switch e.Event {
	case wirev2.EventTurnText:
		var text wirev2.TurnTextEvent
		if err := wirev2.DecodePayload(e.Payload, &text); err != nil {
			return true, err
		}
		if text.TurnID == f.turn {
			ch.write(text.Text)
			f.shown += text.Text
		}
	case wirev2.EventTurnTool:
		var tool wirev2.TurnToolEvent
		if err := wirev2.DecodePayload(e.Payload, &tool); err != nil {
			return true, err
		}
		own := ch.lent != nil && ch.lent.contract(tool.Name) != nil // shown when it arrived
		if tool.Phase == wirev2.ToolFailed || tool.Phase == wirev2.ToolStarted && !own {
			ch.note("%s", ch.app.styled(faint, fmt.Sprintf("· %s %s", plain(tool.Name), tool.Phase)))
		}
	case wirev2.EventTurnTerminal:
		var terminal wirev2.Terminal
		if err := wirev2.DecodePayload(e.Payload, &terminal); err != nil {
			return true, err
		}
		if terminal.TurnID == f.turn {
			return true, ch.end(*f, terminal)
		}
	case wirev2.EventSessionControlLost:
		return true, errors.New("another connection has taken the session over; the turn goes on there")
	}
	return false, nil
}

// end shows what of the text has not been shown yet, and how the turn ended.
func (ch *chat) end(f following, terminal wirev2.Terminal) error {
	ch.write(strings.TrimPrefix(terminal.Text, f.shown))
	ch.newline()
	switch {
	case terminal.Status == wirev2.TerminalCompleted:
		return nil
	case terminal.Status == wirev2.TerminalCancelled && f.stopping && ch.app.inTerminal:
		ch.note("%s", ch.app.styled(faint, "stopped"))
		return nil
	}
	return &turnFailure{terminal}
}

// reconnect finds the daemon again, or the one that took its place, and claims the session.
func (ch *chat) reconnect(ctx context.Context) error {
	_ = ch.client.Close()
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	for {
		err := ch.connect(ctx)
		if err == nil {
			return ch.reclaim(ctx)
		}
		if over := ch.pause(ctx, err); over != nil {
			return over
		}
	}
}

// reclaim claims the session on a new connection. It takes nothing over: whoever else has claimed it meanwhile keeps it.
func (ch *chat) reclaim(ctx context.Context) error {
	if ch.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reclaimTimeout)
	defer cancel()
	for {
		err := ch.claim(ctx, false)
		var refused *wirev2.Error
		if !errors.As(err, &refused) || refused.Code != wirev2.CodeSessionClaimed {
			return err
		}
		if over := ch.pause(ctx, err); over != nil {
			return over
		}
	}
}

// pause waits before another attempt, and returns err where there is none.
func (ch *chat) pause(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return err
	case <-ch.interrupts:
		return errLeave
	case <-time.After(retryPause):
		return nil
	}
}

// recover goes on with a turn after the connection was lost: the one being followed, or the one that this operation may
// have started.
func (ch *chat) recover(ctx context.Context, f following, operation wirev2.ID) error {
	ch.note("%s", ch.app.styled(faint, "connection lost, coming back"))
	if err := ch.reconnect(ctx); err != nil {
		return err
	}
	snapshot := ch.session.Claimed()
	if turn := snapshot.Turn; turn != nil && (turn.TurnID == f.turn || turn.OperationID == operation) {
		ch.write(strings.TrimPrefix(turn.Text, f.shown))
		return ch.follow(ctx, following{turn: turn.TurnID, shown: turn.Text, stopping: f.stopping})
	}
	if end := snapshot.Terminal; end != nil && (end.TurnID == f.turn || end.OperationID == operation) {
		return ch.end(f, *end)
	}
	// Only the journal remembers a turn that an earlier daemon ran.
	end, err := ch.recorded(ctx, f.turn, operation)
	switch {
	case err != nil:
		return err
	case end == nil:
		return errors.New("the prompt did not reach the daemon: nothing was recorded, say it again")
	}
	return ch.end(f, *end)
}

// recorded looks for the end of a turn in the session's history.
func (ch *chat) recorded(ctx context.Context, turn, operation wirev2.ID) (*wirev2.Terminal, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var page wirev2.SessionHistoryRequest
	for {
		reply, err := ch.session.History(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, raw := range reply.Records {
			record, err := wirev2.DecodeRecord(raw)
			if err != nil {
				return nil, err
			}
			if end, ok := record.(*wirev2.TerminalRecord); ok && (end.TurnID == turn || end.OperationID == operation) {
				return &wirev2.Terminal{
					TurnID: end.TurnID, OperationID: end.OperationID, Status: end.Status, Text: end.Text, Error: end.Error, Usage: end.Usage,
				}, nil
			}
		}
		if reply.NextAfter == nil {
			return nil, nil
		}
		page.After = reply.NextAfter
	}
}
