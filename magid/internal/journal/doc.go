// Package journal is the daemon's durable state: what was said, called and answered in each session, in one append-only
// file a session, one JSON record a line. The records are those of wire-v2 6, spelled in package wirev2.
//
// A [Store] is the folder of all sessions: $MAGI_STATE, else $XDG_STATE_HOME/magi, else $HOME/.local/state/magi
// ([StateDir]), and in it sessions/<session_id>/journal.jsonl. Folders are 0700 and files 0600 whatever the umask. A
// state folder that is open to others is closed where it is plainly the daemon's (empty, or with sessions in it that
// nobody else could have put there) and refused otherwise, because it may be a person's own folder, named by mistake.
//
// A [Session] is one session with its writer lease. It alone appends; [Session.Append] returns once its records are
// synced to the disk, so whatever a reply or an event reports afterwards is durable (wire-v2 6). Readers need no lease:
// [Store.List] and [Store.Entries] read what is there.
//
// # The lease
//
// The writer lease is an exclusive flock(2) on the journal file. It belongs to the open file, so two daemons exclude each
// other, two Sessions of one daemon do too, and the kernel gives it back when a process dies. A lock file beside the
// journal would be one more thing that can be left over. A [Session] holds it from Open or Create to Close.
//
// # What a crash leaves
//
// Open repairs three things and nothing else:
//
//   - A torn last line is cut off: it was never acknowledged, because Append writes the LF of its last record in the same
//     write and syncs it before it returns. A line is torn when it has no LF, even if what stands there is whole JSON.
//   - What a process had written and not synced is synced, before anybody is shown it.
//   - A turn that was active is closed: each open call gets a synthetic result of code cancelled, then comes a terminal
//     failed/internal with the text that the assistant records hold. Nothing is dispatched or executed again.
//
// Records that one Append wrote can survive a crash in part, from the first on: each was whole on the disk, and none was
// acknowledged. A reply whose calls were cut off that way is not offered to a provider with calls it lacks: [Turn] shows
// the calls that have a record.
//
// Anything else that does not fit is damage: a line that is no strict JSON, an unknown type, a missing, unknown or
// mistyped member, a gap in n, a record where the order admits none (a result without its call, a second session record).
// Open then returns a *DamageError with the number of the line and leaves the journal byte for byte as it is; the other
// sessions are not concerned (wire-v2 6). What a person's tool rewrote without changing it, with other white space or
// another order of members, is no damage.
//
// # What is known of effects after a crash
//
// The synthetic result of a call says uncertain where the call may have been dispatched and not_dispatched where it
// cannot have been (wire-v2 6). A journal has no record of the dispatch itself: one more sync between a call's record and
// its dispatch would cost every call what only a crash needs. What can be told without it, is:
//
//   - A built-in call (resource_id is null) is never dispatched, and it only reads: not_dispatched.
//   - Invalid arguments (arguments is null) are never dispatched: not_dispatched.
//   - The calls of one reply are dispatched only after all of them are durable. Where the last of them has no record,
//     none of them was dispatched: not_dispatched.
//   - A call that waits for its executor has been marked by [Session.MarkWaiting]: an empty file waiting-<call_id> beside
//     the journal, synced. [Session.MarkDispatching] takes the mark away, synced, before the call may be dispatched. Where
//     the mark is there: not_dispatched. The path of a call whose executor is there pays nothing for it.
//   - Every other application call counts as dispatched: uncertain. That is so also for one that the crash caught in the
//     instant between its record and its dispatch. Saying "uncertain" of what did not happen is honest, saying
//     "not_dispatched" of what did would not be.
//
// # What it refuses
//
// Append checks each record, and its place, by the same rules as Open does, so what it wrote is never damage. A record
// that does not fit, or whose line would be longer than [MaxRecordBytes], is ErrRefused and nothing is written.
//
// A write or sync that fails poisons the session: what reached the disk is unknown, and a later record glued to half of
// an earlier one would be damage. Append takes back what it can at once; the session has to be closed and opened again,
// and Open decides what is left. A journal that grew by another hand in spite of the lease poisons it too.
//
// # Limits
//
// A line is at most 49,088 bytes ([MaxRecordBytes]) without its LF, so that every record fits a session.history reply
// (49,152 bytes) alone. A page is read from the nearest of the offsets that are kept for every 64th record; a turn is
// read whole, one at a time. An open session keeps 8 bytes a turn and 8 bytes for 64 records in memory, and nothing of
// what they say.
//
// # Errors
//
// [ErrUnknown], [ErrLocked], [ErrPoisoned], [ErrRefused], [ErrReadOnly], *[DamageError]; anything else is the file
// system's. No text holds a path or content of a record: they may end in a session_locked or in a log.
//
// # Concurrency
//
// [Store] and [Session] are safe for concurrent use. Appends of one session follow one another; readers do not wait for
// a disk, and see a batch of records whole or not at all. Entries, which goes by the file alone, may see the first
// records of a batch that is being written.
package journal
