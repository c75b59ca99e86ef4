package cli

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

func (a *app) historyCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "history SESSION",
		Short: "Print what was said in a session",
		Long:  "Print what was said in a session, read from its journal: a daemon may run or not, and nothing is changed.",
		Args:  takes(1, 1, "the id of a session"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.history(args[0]) },
	})
}

func (a *app) history(session string) (err error) {
	id, err := wirev2.ParseID(session)
	if err != nil {
		return usagef("%q is not the id of a session: `magid sessions` lists them", session)
	}
	dir, err := journal.StateDir(a.getenv)
	if err != nil {
		return err
	}
	store, err := journal.OpenReadOnly(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := store.Summary(id); err != nil {
		return err
	}
	if a.json {
		return a.historyObject(id, store.Entries(id))
	}
	return a.showHistory(store.Entries(id))
}

// historyObject writes {"session_id":…,"records":[…]} a record at a time: a journal may be longer than
// memory. A journal that turns out to be damaged still ends in one whole object, which says so.
func (a *app) historyObject(id wirev2.ID, records iter.Seq2[wirev2.Record, error]) error {
	out := bufio.NewWriter(a.out)
	fmt.Fprintf(out, `{"session_id":%q,"records":[`, id)
	separator := ""
	var damage error
	for record, err := range records {
		if err != nil {
			damage = err
			break
		}
		encoded, err := wirev2.EncodeRecord(record)
		if err != nil {
			damage = err
			break
		}
		fmt.Fprintf(out, "%s%s", separator, encoded)
		separator = ","
	}
	if damage == nil {
		fmt.Fprint(out, "]}\n")
		return out.Flush()
	}
	message, err := jsontext.AppendQuote(nil, plain(damage.Error()))
	fmt.Fprintf(out, `],"error":{"code":"failed","message":%s}}`+"\n", message)
	if err := errors.Join(err, out.Flush()); err != nil {
		return err
	}
	a.json = false // the object is written
	return damage
}

func (a *app) showHistory(records iter.Seq2[wirev2.Record, error]) error {
	names := make(map[wirev2.ID]string) // of calls
	for record, err := range records {
		if err != nil {
			return err
		}
		switch r := record.(type) {
		case *wirev2.SessionRecord:
			a.say("%s  %s", a.styled(bold, string(r.SessionID)), a.styled(faint, plain(r.Workspace)))
		case *wirev2.UserRecord:
			a.say("\n%s %s\n%s", a.styled(bold, "you"), a.styled(faint, when(r.At)), indent(r.Prompt))
		case *wirev2.AssistantRecord:
			if r.Text != "" {
				a.say("\n%s\n%s", a.styled(bold, "model"), indent(r.Text))
			}
		case *wirev2.ToolCallRecord:
			names[r.CallID] = r.Name
			a.say("\n  %s %s", a.styled(bold, plain(r.Name)), a.styled(faint, arguments(r)))
		case *wirev2.ToolResultRecord:
			a.say("  %s %s", a.styled(bold, "→"), a.styled(faint, outcome(r)))
		case *wirev2.TerminalRecord:
			a.showEnd(r.Status, r.Error)
		}
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(plain(text), "\n"), "\n", "\n  ")
}

func arguments(r *wirev2.ToolCallRecord) string {
	if r.ArgumentsText != nil {
		return "invalid arguments: " + oneLine(*r.ArgumentsText)
	}
	return oneLine(string(r.Arguments))
}

func outcome(r *wirev2.ToolResultRecord) string {
	switch {
	case r.Message != nil && r.Code != nil:
		return oneLine(string(*r.Code) + ": " + *r.Message)
	case r.Code != nil:
		return oneLine(string(*r.Code))
	default:
		return oneLine(string(r.Value))
	}
}

// oneLine shows the beginning of a long text.
func oneLine(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(plain(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return text
}

// showEnd says how a turn ended where that is more than its text.
func (a *app) showEnd(status wirev2.TerminalStatus, failure *wirev2.TurnError) {
	switch {
	case failure != nil:
		a.say("\n%s", a.styled(red, fmt.Sprintf("turn %s: %s", status, plain(failure.Error()))))
	case status != wirev2.TerminalCompleted:
		a.say("\n%s", a.styled(red, "turn "+string(status)))
	}
}
