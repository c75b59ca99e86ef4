package worker

import (
	"slices"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// History is the older turns that go into a turn's requests.
type History struct {
	messages []provider.Message
	ordinal  int // of the turn in its session, from 1
	// Omitted is how many older turns were left out.
	Omitted int
}

// Prepare reads the history for the next turn of a session: the newest whole
// turns that fit the limit, and none older than one that does not, so that the
// history has no hole (magid: Provider rules).
func (w *Worker) Prepare(j Journal) (History, error) {
	h := History{ordinal: j.Turns() + 1}
	var newest [][]provider.Message
	size, taken := 0, 0
	for turn, err := range j.Backward() {
		if err != nil {
			return History{}, err
		}
		messages, bytes := conversation(turn)
		if size += bytes; size > w.limits.MaxHistoryBytes {
			break
		}
		newest = append(newest, messages)
		taken++
	}
	h.Omitted = j.Turns() - taken
	slices.Reverse(newest)
	h.messages = slices.Concat(newest...)
	return h, nil
}

// conversation is a turn as messages, and their size.
func conversation(turn journal.Turn) ([]provider.Message, int) {
	messages := []provider.Message{{Role: provider.RoleUser, Text: turn.User.Prompt}}
	for _, reply := range turn.Replies {
		if reply.Text == "" && len(reply.Calls) == 0 {
			continue // providers refuse a message that says nothing
		}
		assistant := provider.Message{Role: provider.RoleAssistant, Text: reply.Text}
		var results []provider.Message
		for _, call := range reply.Calls {
			arguments := "{}" // what the model got wrong is sent as an empty object
			if call.Call.Arguments.Kind() == '{' {
				arguments = string(call.Call.Arguments)
			}
			assistant.Calls = append(assistant.Calls, provider.Call{
				ID: call.Call.ProviderCallID, Name: call.Call.Name, Arguments: arguments,
			})
			results = append(results, toolMessage(call.Call.ProviderCallID, call.Result))
		}
		messages = append(append(messages, assistant), results...)
	}
	size := 0
	for _, m := range messages {
		size += messageSize(m)
	}
	return messages, size
}

func messageSize(m provider.Message) int {
	size := len(m.Text)
	for _, call := range m.Calls {
		size += len(call.Name) + len(call.Arguments)
	}
	return size
}

// toolMessage is a call's result as the provider gets it.
func toolMessage(callID string, result *wirev2.ToolResultRecord) provider.Message {
	m := provider.Message{Role: provider.RoleTool, CallID: callID}
	switch {
	case result == nil:
		// The journal gives every call a result before a later turn can begin;
		// a request must be well formed even if it did not.
		m.Text, m.IsError = string(wirev2.ToolCancelled), true
	case result.Status == wirev2.OutcomeSuccess:
		m.Text = string(result.Value)
	default:
		m.IsError = true
		m.Text = string(*result.Code) + ": " + *result.Message
	}
	return m
}
