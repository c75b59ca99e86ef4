package cli

import (
	"context"
	"strings"

	"github.com/magi-jig/magi-jig/wirev2"
)

// decide shows a call and has it run, if the person agrees. The person's interrupt is a no, and is for the turn too.
func (ch *chat) decide(ctx context.Context, call *lentCall) error {
	if call.ctx.Err() != nil {
		return nil // it is no longer wanted
	}
	ch.note("%s %s", ch.app.styled(bold, "· "+call.Name), plain(string(call.Arguments)))
	if ch.agreed {
		ch.lent.run(call)
		return nil
	}
	yes, err := ch.agrees(ctx, call)
	if yes {
		ch.lent.run(call)
		return nil
	}
	// Also where the person leaves: the model is not to wait for somebody who is gone.
	ch.lent.settle(call, refused(wirev2.ToolPermissionDenied, "the person did not agree to this call"))
	return err
}

// agrees asks the person, for as long as the call is wanted.
func (ch *chat) agrees(ctx context.Context, call *lentCall) (bool, error) {
	for {
		ch.note("  run it? y(es), n(o), a(ll of this chat)")
		select {
		case <-ctx.Done():
			return false, errLeave
		case <-call.ctx.Done():
			ch.note("%s", ch.app.styled(faint, "· "+call.Name+" is no longer wanted"))
			return false, nil
		case s := <-ch.interrupts:
			select {
			case ch.interrupts <- s: // for follow, which stops the turn
			default: // there are more of them
			}
			return false, nil
		case next := <-ch.lines:
			switch strings.ToLower(strings.TrimSpace(next.text)) {
			case "y", "yes":
				return true, nil
			case "a", "all":
				ch.agreed = true
				return true, nil
			case "n", "no":
				return false, nil
			}
			if next.err != nil {
				return false, next.err
			}
		}
	}
}
