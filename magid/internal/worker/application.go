package worker

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// Application is what an application lends to a turn.
type Application struct {
	// Instructions is the combined text of its skills; it follows the system
	// prompt.
	Instructions string
	// Tools is its tools, by name.
	Tools []appresources.Tool
	// Host executes them; required where there are tools.
	Host Host
}

// Host has an application's tools executed by the application.
type Host interface {
	// Need hands a durable call over. deliver is called once, with the call's
	// result, by any goroutine, perhaps before Need returns; it does not wait. An
	// error says why the call is not dispatched and never will be; then deliver is
	// not called.
	Need(call Call, deliver func(Result)) error
	// Cancel ends every call of the turn that is open; each gets its result
	// before Cancel returns.
	Cancel()
}

// Call is a call of an application's tool whose arguments fit its contract.
type Call struct {
	ID         wirev2.ID
	ProviderID string
	Tool       string
	Arguments  jsontext.Value // compact
}

// Result is how such a call ended. An empty Code is success.
type Result struct {
	Value     jsontext.Value
	Code      wirev2.ToolCode
	Message   string
	Effects   wirev2.Effects
	Synthetic bool
	// Fatal says that the turn cannot go on: the executor was not there or did
	// not answer.
	Fatal bool
}

// tool is what a call's name stands for in this turn.
type tool struct {
	builtin     bool
	application *appresources.Tool // nil for a built-in one
}

// lend offers the application's tools and instructions to the model.
func (r *run) lend(app *Application) {
	r.application = map[string]*appresources.Tool{}
	r.contracts = map[appresources.Tuple]bool{}
	r.system = systemPrompt
	if app == nil {
		return
	}
	if app.Instructions != "" {
		r.system += "\n\n" + app.Instructions
	}
	for _, t := range app.Tools {
		r.application[t.Name] = &t
		r.tools = append(r.tools, provider.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Contract.Input.Encoded(),
		})
	}
}

// find gives the tool of a name. Registration keeps the two kinds apart.
func (r *run) find(name string) (tool, bool) {
	if t, ok := r.application[name]; ok {
		return tool{application: t}, true
	}
	return tool{builtin: true}, r.catalog.Has(name)
}

// fit reads a call's arguments for its tool; the error's text goes to the model.
func (r *run) fit(c *call) (jsontext.Value, error) {
	t, ok := r.find(c.name)
	if !ok {
		return nil, errors.New("there is no tool of this name")
	}
	c.tool = t
	if t.application != nil {
		return t.application.Contract.Input.AppendNormalized(nil, []byte(c.written))
	}
	arguments, err := object(c.written)
	if err != nil {
		return nil, err
	}
	if refusal := r.catalog.CheckArguments(c.name, arguments); refusal != nil {
		return nil, errors.New(refusal.Message)
	}
	return arguments, nil
}

// contract gives the record of a tool's contract before the first call that
// needs it (wire-v2 6).
func (r *run) contract(t *appresources.Tool) []wirev2.Record {
	tuple := t.Tuple()
	if r.contracts[tuple] {
		return nil
	}
	r.contracts[tuple] = true
	return []wirev2.Record{&wirev2.ToolContractRecord{
		TurnID:         r.job.Turn,
		ResourceID:     wirev2.ID(tuple.ResourceID),
		RevisionID:     wirev2.ID(tuple.RevisionID),
		RevisionSHA256: tuple.RevisionSHA256,
		Name:           t.Name,
		Description:    t.Description,
		InputSchema:    t.Contract.Input.Encoded(),
		OutputSchema:   t.Contract.Output.Encoded(),
		TimeoutMS:      t.Contract.Timeout.Milliseconds(),
	}}
}

// need hands a call of the application's over; its result comes to results, which
// has room for it. What the host has no room for is a tool error (wire-v2 4: Tool
// calls).
func (r *run) need(c *call, results chan<- settled) {
	err := r.job.Application.Host.Need(Call{
		ID: c.id, ProviderID: c.providerID, Tool: c.name, Arguments: c.arguments,
	}, func(result Result) { results <- settled{call: c, result: r.reported(c, result), fatal: result.fatal()} })
	if err != nil {
		results <- settled{call: c, result: r.synthetic(c, wirev2.ToolLimitExceeded, err.Error())}
	}
}

// fatal is why a result ends the turn, nil for one that does not.
func (result Result) fatal() *wirev2.TurnError {
	if !result.Fatal {
		return nil
	}
	return failure(wirev2.TurnToolFailed, "%s", result.Message)
}

// reported is the record of an application's result.
func (r *run) reported(c *call, result Result) *wirev2.ToolResultRecord {
	record := &wirev2.ToolResultRecord{
		TurnID:          r.job.Turn,
		CallID:          c.id,
		Status:          wirev2.OutcomeSuccess,
		Value:           result.Value,
		Synthetic:       result.Synthetic,
		ExternalEffects: result.Effects,
	}
	if result.Code != "" {
		record.Status, record.Value = wirev2.OutcomeError, nil
		record.Code, record.Message = &result.Code, &result.Message
	}
	return record
}
