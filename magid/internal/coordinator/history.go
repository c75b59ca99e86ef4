package coordinator

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	maxRecordsRead = 200
	// historyOverhead is the reply around its records, with the longest next_after.
	historyOverhead = len(`{"records":[],"next_after":9223372036854775807}`)
)

// history is session.history: a page of what is durable.
func (k *core) history(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionHistoryRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	view := journal.View{
		Limit:    maxRecordsRead,
		MaxBytes: maxHistoryBytes - historyOverhead,
		Ordinary: !a.conn.selected,
	}
	if q.After != nil {
		view.After = *q.After
	}
	if q.Limit != nil {
		view.Limit = int(*q.Limit)
	}
	return func() {
		if k.needLease(a) {
			k.await(a)
			k.do(readHistory{a, a.session.journal, view})
		}
	}, nil
}

// historyRead comes back from readHistory.
func (k *core) historyRead(a *ask, page journal.Page, err error) {
	switch {
	case a.decided:
	case err != nil && a.session.grant != a.grant:
		k.fail(a, stale()) // the journal was closed under the read
	case err != nil:
		k.refuse(a, wirev2.CodeInternal, "the history could not be read; the log says why")
	default:
		reply := wirev2.SessionHistoryReply{Records: page.Records}
		if reply.Records == nil {
			reply.Records = []jsontext.Value{}
		}
		if page.NextAfter != 0 {
			reply.NextAfter = &page.NextAfter
		}
		k.answer(a, reply, nil)
	}
}
