// Package coordinator is the heart of the daemon: it owns sessions, grants,
// operations and turns, and decides every request that a connection hands on.
//
// The server has checked a request's record, envelope, method and envelope
// members when it calls [Coordinator.Handle]; everything from the freshness of
// the operation on is decided here, in the order of wire-v2 5. A request is
// answered through the connection's [Outbox], once, in the order in which things
// were decided.
//
// # How it is made
//
// The package has two halves. The core is a state machine: one verb for each
// method, for each thing that I/O brings back and for the end of a connection,
// each of which takes the state from one consistent point to the next and leaves
// a list of effects. It knows no clock, goroutine, lock or disk; time is told to
// it before each verb, and what is due then happens first, so that expiry wins
// over whatever comes at the same instant (magid: Ties). The host is
// [Coordinator]: it holds the lock, the timer and the goroutines, and does the
// effects. Records are queued under the lock, which never waits for anything;
// disks and providers are waited for in goroutines without it.
//
// A turn has one goroutine, which is all that writes to its session's journal, so
// that what is durable and what is reported follow each other by themselves: the
// user record before the answer of turn.start, a tool call before it runs, a
// result before it is reported, the terminal before turn.terminal.
//
// # Applications
//
// A session's registry is package appresources', an executor's proof is package
// executorauth'; this package decides who may reach them, captures a turn's
// snapshot before the turn is prepared, asks again for authority in the step that
// admits it, and stamps there, for good, what was accepted and by whom.
//
// A call of an application's tool is dispatched at most once. It is dispatched
// when its record is in the queue of the connection that holds the executor; from
// then on its effects are uncertain, whatever becomes of that queue, and it is
// never sent again. A call that found no executor, or no room, waits at most 60 s;
// it is marked on the disk as waiting, and the mark is taken back before the call
// may be dispatched, so that a crash can tell the two apart. Whatever ends a call
// gives it one result: the executor's, or one that the daemon makes and that says
// whether the tool may have run.
//
// # What it refuses
//
// Anything that is not proved: a token on another connection than its own, a
// second use of an operation, a turn beside another. An illegal step of the state
// machine is an error for whoever asked, never a panic.
//
// # Limits
//
// At most 4,096 operations are retained, of which 512 places are kept for
// turn.stop, session.claim, session.release, turn.application_tool_result,
// executor.resume and executor.release. Outcomes and terminals live 600 s after
// they settle. A prompt has at most 24,576 bytes, raw and encoded; assistant text
// at most 20,000 encoded bytes, the manifest included. What the daemon remembers
// of a session is kept until it ends: a few hundred bytes for each session that
// somebody used.
//
// Of a turn's application: a manifest of 18,000 bytes; evidence of 30,720 bytes a
// turn, its manifest and every call at its longest included, for 256 turns; 32
// calls of active turns, settled ones counted; 30,720 bytes of what one executor
// may have pending. Each refusal names its limit.
//
// # Errors
//
// Refusals are the closed codes of wire-v2 5 with one line for a person, without
// token, secret, source body or path. What a disk said is in the log.
//
// # Concurrency
//
// A [Coordinator] is safe for concurrent use. Its lock is never held over I/O.
//
// # Time
//
// Deadlines are monotonic: a wall clock that jumps changes none of them. Time
// asleep counts as the kernel's CLOCK_MONOTONIC counts it: on Linux it stands
// still while the machine is suspended.
//
// # Choices
//
// Where the specifications are silent:
//
//   - The events of a turn carry the operation of its turn.start;
//     session.control_lost carries none.
//   - The folder of session.create is looked at in the state step: a missing one
//     is a rejected operation.
//   - A prompt over its size is the first of turn.start's budgets.
//   - A claim by the connection that already controls the session ends the old
//     grant: what it had under way and undecided is refused like after a takeover.
//   - The reply of session.release leaves when the writer lease is given back,
//     unless a turn keeps it.
//   - turn.stop knows the turns whose outcome is retained; others are
//     unknown_turn. While the user record of a turn is on its way to the disk,
//     turn.stop waits for it.
//   - When a journal cannot be written the turn ends as journal_failed, also if
//     stopping was promised, and the journal is opened again, which repairs it.
//   - A daemon that is shut down ends its turns as failed/internal, the code that
//     the recovery after a crash gives.
//   - The checks of turn.start that concern the executor stand in the order
//     in which wire-v2 4 lists them: an unknown executor answers before one that
//     was given for a snapshot without tools.
//   - A turn accepted without application has evidence too: a null manifest and no
//     calls. Only turns with application count among the 256.
//   - A result from a connection that holds another executor than the call's is
//     stale_connection. A result for a call that waits, and so was never
//     dispatched, is unknown_turn: whoever sends it has not been asked.
//   - remaining_ms is rounded up, so that a call that still waits never shows 0.
//   - While the mark of a waiting call cannot be taken back from a failing disk
//     the call is not dispatched; the next resume tries again, and its deadline
//     ends it.
//   - daemon.status counts the capture slot's reservation among the retained bytes.
//   - daemon.status counts initialised connections, every session on disk, and as
//     active the turns that prepare or run.
package coordinator
