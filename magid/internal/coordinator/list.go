package coordinator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	maxListed = 100
	// listOverhead is the reply around its sessions, with the longest cursor.
	listOverhead = len(`{"sessions":[],"next_cursor":"2026-01-02T03:04:05.678Z_00000000-0000-4000-8000-000000000000"}`)
)

// list is session.list. Where the sessions stop, the cursor is the place of the
// last one listed, so that a session made later moves nothing.
func (k *core) list(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionListRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	limit := maxListed
	if q.Limit != nil {
		limit = int(*q.Limit)
	}
	var after place
	if q.Cursor != nil {
		var ok bool
		if after, ok = parsePlace(*q.Cursor); !ok {
			return nil, invalid("cursor must be a next_cursor of session.list")
		}
	}
	return func() {
		k.await(a)
		k.do(listSessions{a, func(all []journal.Summary, err error) { k.listed(a, all, err, after, limit) }})
	}, nil
}

// listed comes back from listSessions.
func (k *core) listed(a *ask, all []journal.Summary, err error, after place, limit int) {
	if a.decided {
		return
	}
	if err != nil {
		k.refuse(a, wirev2.CodeInternal, "the sessions could not be listed; the log says why")
		return
	}
	slices.SortFunc(all, func(x, y journal.Summary) int { return placeOf(y).compare(placeOf(x)) })
	reply := wirev2.SessionListReply{Sessions: []wirev2.SessionInfo{}}
	size := listOverhead
	for _, summary := range all {
		if after != (place{}) && placeOf(summary).compare(after) >= 0 {
			continue
		}
		info := k.info(summary)
		raw, err := wirev2.EncodePayload(info)
		if err != nil {
			k.refuse(a, wirev2.CodeInternal, "a session could not be encoded")
			return
		}
		if size += len(raw) + len(","); len(reply.Sessions) == limit || size > maxPayloadBytes && len(reply.Sessions) > 0 {
			last := reply.Sessions[len(reply.Sessions)-1]
			cursor := place{last.CreatedAt, last.SessionID}.String()
			reply.NextCursor = &cursor
			break
		}
		reply.Sessions = append(reply.Sessions, info)
	}
	k.answer(a, reply, nil)
}

func (k *core) info(summary journal.Summary) wirev2.SessionInfo {
	info := wirev2.SessionInfo{
		SessionID: summary.SessionID,
		Workspace: summary.Workspace,
		Title:     summary.Title,
		CreatedAt: wirev2.NewTimestamp(summary.CreatedAt),
		UpdatedAt: wirev2.NewTimestamp(summary.UpdatedAt),
	}
	if s := k.sessions[summary.SessionID]; s != nil {
		info.Claimed = s.holder != nil
		if s.turn != nil {
			info.ActiveTurn = s.turn.id.Ptr()
		}
	}
	return info
}

// place is where a session stands in the list. Timestamps sort as text.
type place struct {
	created wirev2.Timestamp
	id      wirev2.ID
}

func placeOf(s journal.Summary) place { return place{wirev2.NewTimestamp(s.CreatedAt), s.SessionID} }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.created, q.created), cmp.Compare(p.id, q.id))
}

func (p place) String() string { return string(p.created) + "_" + string(p.id) }

func parsePlace(cursor string) (place, bool) {
	created, id, ok := strings.Cut(cursor, "_")
	p := place{wirev2.Timestamp(created), wirev2.ID(id)}
	moment, err := p.created.Time()
	return p, ok && err == nil && wirev2.NewTimestamp(moment) == p.created && p.id.Valid()
}
