package journal

import (
	"errors"
	"maps"
	"slices"

	"github.com/magi-jig/magi-jig/wirev2"
)

// order knows which record may come next. It is pure: the same machine checks what is written and what is read, so a
// journal this package wrote is never damage to it.
//
//	session (turn)*
//	turn   = user (contract | reply)* terminal
//	reply  = assistant call* result*     contracts may stand between them
//
// The calls of a reply come in the order the assistant record lists them. A result waits until all of them are there,
// and so do the next assistant record and an honest terminal; only a synthetic result and a terminal that is not
// completed may follow a list that a crash cut short. A terminal waits until every recorded call has its result.
type order struct {
	session wirev2.ID // "" before the first record
	turn    *activeTurn
}

// activeTurn is what order remembers of the turn between its user and its terminal record.
type activeTurn struct {
	id, operation wirev2.ID
	contracts     map[contract]struct{}
	calls         map[wirev2.ID]call
	providerIDs   map[string]struct{}
	listed        []wirev2.ID // the calls of the last reply
	recorded      int         // how many of listed have their record
	open          int         // recorded calls without a result
}

type contract struct {
	resource, revision wirev2.ID
	sha256             string
}

type call struct {
	position int // among the turn's calls
	// dispatchable: an application's tool and valid arguments, so a dispatch may have followed the record.
	dispatchable bool
	settled      bool
}

// clone lets a batch be tried: the copy is thrown away where one of its records does not fit.
func (o *order) clone() *order {
	c := *o
	if o.turn != nil {
		t := *o.turn
		t.contracts = maps.Clone(t.contracts)
		t.calls = maps.Clone(t.calls)
		t.providerIDs = maps.Clone(t.providerIDs)
		c.turn = &t
	}
	return &c
}

// step admits rec, or says why it cannot come here and changes nothing. Errors hold no content of the record.
func (o *order) step(rec wirev2.Record) error {
	if err := check(rec); err != nil {
		return err
	}
	if r, ok := rec.(*wirev2.SessionRecord); ok {
		if o.session != "" {
			return errors.New("a second session record")
		}
		o.session = r.SessionID
		return nil
	}
	if o.session == "" {
		return errors.New("the first record is no session record")
	}
	if r, ok := rec.(*wirev2.UserRecord); ok {
		if o.turn != nil {
			return errors.New("a user record inside a turn")
		}
		o.turn = &activeTurn{
			id: r.TurnID, operation: r.OperationID,
			contracts: map[contract]struct{}{}, calls: map[wirev2.ID]call{}, providerIDs: map[string]struct{}{},
		}
		return nil
	}
	if o.turn == nil {
		return errors.New("a " + string(rec.RecordType()) + " record outside a turn")
	}
	t := o.turn
	switch r := rec.(type) {
	case *wirev2.ToolContractRecord:
		return t.contract(r)
	case *wirev2.AssistantRecord:
		return t.assistant(r)
	case *wirev2.ToolCallRecord:
		return t.call(r)
	case *wirev2.ToolResultRecord:
		return t.result(r)
	case *wirev2.TerminalRecord:
		if err := t.terminal(r); err != nil {
			return err
		}
		o.turn = nil
		return nil
	}
	return errors.New("unknown type")
}

var errOtherTurn = errors.New("turn_id is not the active turn's")

func (t *activeTurn) contract(r *wirev2.ToolContractRecord) error {
	if r.TurnID != t.id {
		return errOtherTurn
	}
	key := contract{r.ResourceID, r.RevisionID, r.RevisionSHA256}
	if _, ok := t.contracts[key]; ok {
		return errors.New("a second tool_contract record for one revision")
	}
	t.contracts[key] = struct{}{}
	return nil
}

func (t *activeTurn) assistant(r *wirev2.AssistantRecord) error {
	switch {
	case r.TurnID != t.id:
		return errOtherTurn
	case t.recorded < len(t.listed):
		return errors.New("an assistant record before the last one's calls")
	case t.open > 0:
		return errors.New("an assistant record before all results")
	}
	seen := make(map[wirev2.ID]struct{}, len(r.ToolCalls))
	for _, id := range r.ToolCalls {
		_, twice := seen[id]
		if _, before := t.calls[id]; twice || before {
			return errors.New("tool_calls names a call twice")
		}
		seen[id] = struct{}{}
	}
	t.listed, t.recorded = r.ToolCalls, 0
	return nil
}

func (t *activeTurn) call(r *wirev2.ToolCallRecord) error {
	switch {
	case r.TurnID != t.id:
		return errOtherTurn
	case t.recorded == len(t.listed) || t.listed[t.recorded] != r.CallID:
		return errors.New("a tool_call record that no assistant record lists here")
	}
	if _, ok := t.providerIDs[r.ProviderCallID]; ok {
		return errors.New("provider_call_id is used twice in the turn")
	}
	if r.ResourceID != nil {
		if _, ok := t.contracts[contract{*r.ResourceID, *r.RevisionID, *r.RevisionSHA256}]; !ok {
			return errors.New("a tool_call record before its tool_contract")
		}
	}
	t.calls[r.CallID] = call{position: len(t.calls), dispatchable: r.ResourceID != nil && !isNull(r.Arguments)}
	t.providerIDs[r.ProviderCallID] = struct{}{}
	t.recorded++
	t.open++
	return nil
}

func (t *activeTurn) result(r *wirev2.ToolResultRecord) error {
	c, ok := t.calls[r.CallID]
	switch {
	case r.TurnID != t.id:
		return errOtherTurn
	case !ok:
		return errors.New("a tool_result record without its call")
	case c.settled:
		return errors.New("a second tool_result record for one call")
	case !r.Synthetic && t.recorded < len(t.listed):
		return errors.New("a tool_result record before all calls of the reply")
	}
	c.settled = true
	t.calls[r.CallID] = c
	t.open--
	return nil
}

func (t *activeTurn) terminal(r *wirev2.TerminalRecord) error {
	switch {
	case r.TurnID != t.id:
		return errOtherTurn
	case r.OperationID != t.operation:
		return errors.New("operation_id is not the turn's")
	case t.open > 0:
		return errors.New("a terminal record before all results")
	case r.Status == wirev2.TerminalCompleted && t.recorded < len(t.listed):
		return errors.New("a completed turn with calls that were not recorded")
	}
	return nil
}

// openCall is a call without a result. dispatched says that it may have been dispatched as far as the journal alone can
// tell.
type openCall struct {
	id         wirev2.ID
	position   int
	dispatched bool
}

// openCalls are the calls without a result, in the order of their records; all belong to the last reply. Calls are
// dispatched only after their whole reply is durable (wire-v2 4: Tool calls), so none of a reply that was cut short was.
func (t *activeTurn) openCalls() []openCall {
	calls := make([]openCall, 0, t.open)
	for id, c := range t.calls {
		if !c.settled {
			calls = append(calls, openCall{id, c.position, c.dispatchable && t.recorded == len(t.listed)})
		}
	}
	slices.SortFunc(calls, func(a, b openCall) int { return a.position - b.position })
	return calls
}
