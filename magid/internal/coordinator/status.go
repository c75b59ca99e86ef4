package coordinator

import (
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// status is daemon.status: numbers only.
func (k *core) status(a *ask) (func(), *wirev2.Error) {
	var q wirev2.DaemonStatusRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		k.await(a)
		k.do(listSessions{a, func(all []journal.Summary, err error) { k.counted(a, len(all), err) }})
	}, nil
}

func (k *core) counted(a *ask, sessions int, err error) {
	if a.decided {
		return
	}
	if err != nil {
		k.refuse(a, wirev2.CodeInternal, "the sessions could not be counted; the log says why")
		return
	}
	reply := wirev2.DaemonStatusReply{
		InstanceID:  k.instance,
		Version:     k.version,
		UptimeMS:    k.now.Milliseconds(),
		Connections: int64(len(k.conns)),
		Sessions:    int64(sessions),
		ActiveTurns: int64(k.active),
		Executors:   int64(k.executors.Counts(k.now).Executors),
	}
	used := k.resources.Usage()
	reply.Retained = wirev2.Retained{
		Snapshots: int64(used.Snapshots),
		Entries:   int64(used.Entries),
		Bytes:     int64(used.Bytes + used.CaptureBytes),
	}
	for _, c := range k.calls {
		if !c.settled() {
			reply.PendingCalls++
		}
	}
	for _, s := range k.sessions {
		if s.holder != nil {
			reply.ClaimedSessions++
		}
	}
	k.answer(a, reply, nil)
}
