package worker

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Bounds of the calls of a turn.
const (
	MaxCalls         = 64  // calls of one reply
	MaxCallIDBytes   = 128 // bytes of a provider's call id
	MaxToolNameBytes = 128 // bytes of a tool's name
	maxValueBytes    = 16384
	maxQuoteBytes    = 1024
	maxInvalid       = 8 // invalid calls a turn; the next one fails it
)

// call is one call of the model.
type call struct {
	id         wirev2.ID
	providerID string
	minted     bool
	name       string
	tool       tool           // of a name that there is
	written    string         // arguments as the model wrote them
	arguments  jsontext.Value // compact; nil where they are invalid
	result     *wirev2.ToolResultRecord
}

// execute runs the calls of one reply and adds them and their results to the
// conversation.
func (r *run) execute(ctx context.Context, asked []provider.Call) *wirev2.TurnError {
	calls, failed := r.admit(asked)
	if failed != nil {
		return failed
	}
	var records []wirev2.Record
	for _, c := range calls {
		if c.tool.application != nil {
			records = append(records, r.contract(c.tool.application)...)
		}
	}
	records = append(records, &wirev2.AssistantRecord{TurnID: r.job.Turn, Text: string(r.replyText), ToolCalls: ids(calls)})
	var valid, refused []*call
	for _, c := range calls {
		records = append(records, r.callRecord(c))
		if c.result == nil {
			valid = append(valid, c)
			continue
		}
		refused = append(refused, c)
	}
	if r.invalid > maxInvalid {
		failed = failure(wirev2.TurnToolFailed, "the model made more than %d calls with invalid arguments", maxInvalid)
		for _, c := range valid {
			c.result = r.synthetic(c, wirev2.ToolCancelled, "the turn ended before the call ran")
		}
		refused, valid = calls, nil
	}
	for _, c := range refused {
		records = append(records, c.result)
	}
	if !r.append(records...) {
		return failed
	}
	text := string(r.replyText)
	r.replyText = nil // recorded
	r.open = append(r.open, valid...)
	for _, c := range refused {
		r.report(c)
	}
	if failed == nil {
		failed = r.runAll(ctx, valid)
	}
	r.converse(text, calls)
	return failed
}

// admit gives the calls of a reply their ids and checks what can be checked
// before any of them is recorded.
func (r *run) admit(asked []provider.Call) ([]*call, *wirev2.TurnError) {
	if len(asked) > MaxCalls {
		return nil, failure(wirev2.TurnProviderError, "the model called more than %d tools at once", MaxCalls)
	}
	given := make(map[string]struct{}, len(asked))
	for _, q := range asked {
		_, before := r.seen[q.ID]
		_, twice := given[q.ID]
		switch {
		case q.ID == "":
			continue
		case before || twice:
			return nil, failure(wirev2.TurnProviderError, "the provider gave two calls of the turn one id")
		case len(q.ID) > MaxCallIDBytes:
			return nil, failure(wirev2.TurnProviderError, "the provider gave a call an id of more than %d bytes", MaxCallIDBytes)
		}
		given[q.ID] = struct{}{}
	}
	var calls []*call
	for _, q := range asked {
		if q.Name == "" || len(q.Name) > MaxToolNameBytes {
			return nil, failure(wirev2.TurnProviderError, "the model called a tool whose name has not 1 to %d bytes", MaxToolNameBytes)
		}
		c := &call{id: wirev2.NewID(), providerID: q.ID, name: q.Name, written: q.Arguments}
		if c.providerID == "" {
			c.providerID, c.minted = r.mint(given, len(calls)), true
		}
		calls = append(calls, c)
	}
	for id := range given {
		r.seen[id] = struct{}{}
	}
	for _, c := range calls {
		r.check(c)
	}
	r.calls += len(calls)
	return calls, nil
}

// mint makes an id for a call that the provider gave none: from the turn's place
// in the session and the call's place in the turn (magid: Provider rules). The
// provider may use such an id itself, and then a mark is added.
func (r *run) mint(given map[string]struct{}, position int) string {
	id := fmt.Sprintf("call_%d_%d", r.job.History.ordinal, r.calls+position+1)
	for {
		_, before := r.seen[id]
		_, taken := given[id]
		if !before && !taken {
			given[id] = struct{}{}
			return id
		}
		id += "x"
	}
}

// check reads the arguments strictly; a call that fails gets its result here.
func (r *run) check(c *call) {
	arguments, err := r.fit(c)
	if err == nil {
		c.arguments = arguments
		return
	}
	r.invalid++
	message := err.Error() + "; nothing was run. The arguments were: " + quote(c.written)
	c.result = r.synthetic(c, wirev2.ToolInvalidArguments, message)
}

// callRecord is the durable form of a call.
func (r *run) callRecord(c *call) *wirev2.ToolCallRecord {
	record := &wirev2.ToolCallRecord{
		TurnID:         r.job.Turn,
		CallID:         c.id,
		ProviderCallID: c.providerID,
		Minted:         c.minted,
		Name:           c.name,
		Arguments:      c.arguments,
	}
	if t := c.tool.application; t != nil {
		resource, revision, sum := wirev2.ID(t.ResourceID), wirev2.ID(t.RevisionID), t.RevisionSHA256
		record.ResourceID, record.RevisionID, record.RevisionSHA256 = &resource, &revision, &sum
	}
	if c.arguments == nil {
		text := quote(c.written)
		record.Arguments, record.ArgumentsText = jsontext.Value("null"), &text
	}
	return record
}

// synthetic is a result that the daemon makes itself.
func (r *run) synthetic(c *call, code wirev2.ToolCode, message string) *wirev2.ToolResultRecord {
	return &wirev2.ToolResultRecord{
		TurnID:          r.job.Turn,
		CallID:          c.id,
		Status:          wirev2.OutcomeError,
		Code:            &code,
		Message:         &message,
		Synthetic:       true,
		ExternalEffects: wirev2.EffectsNotDispatched,
	}
}

// settle makes results durable, then reports them.
func (r *run) settle(done []*call) bool {
	if len(done) == 0 {
		return true
	}
	records := make([]wirev2.Record, len(done))
	for i, c := range done {
		records[i] = c.result
	}
	if !r.append(records...) {
		return false
	}
	var open []*call
	for _, c := range r.open {
		if c.result == nil {
			open = append(open, c)
		}
	}
	r.open = open
	for _, c := range done {
		r.report(c)
	}
	return true
}

// report tells how a call ended, once its result is durable.
func (r *run) report(c *call) {
	phase := wirev2.ToolFailed
	if c.result.Status == wirev2.OutcomeSuccess {
		phase = wirev2.ToolSucceeded
	}
	r.job.Listener.Tool(c.id, c.name, phase)
}

// converse adds a reply, its calls and their results to the conversation, the
// results in the model's order whatever order they came in.
func (r *run) converse(text string, calls []*call) {
	assistant := provider.Message{Role: provider.RoleAssistant, Text: text}
	var results []provider.Message
	for _, c := range calls {
		arguments := "{}"
		if c.arguments != nil {
			arguments = string(c.arguments)
		}
		assistant.Calls = append(assistant.Calls, provider.Call{ID: c.providerID, Name: c.name, Arguments: arguments})
		results = append(results, toolMessage(c.providerID, c.result))
	}
	for _, m := range append([]provider.Message{assistant}, results...) {
		r.own += messageSize(m)
		r.messages = append(r.messages, m)
	}
}

func ids(calls []*call) []wirev2.ID {
	out := make([]wirev2.ID, len(calls))
	for i, c := range calls {
		out[i] = c.id
	}
	return out
}

// quote cuts what the model wrote to what may be quoted, at a character.
func quote(written string) string {
	if len(written) <= maxQuoteBytes {
		return written
	}
	end := maxQuoteBytes
	for !utf8.RuneStart(written[end]) {
		end--
	}
	return written[:end]
}
