// Package acp performs the finite ACP resource: one conversation with a native
// coding agent that a review has lent to a Flow (seed: Finite ACP resource; finite-acp 2, 3;
// jig.md 7, 8).
//
// A call begins with a ready record on the responses channel, before anything
// else. Then the requests of the Flow go, frame by frame and only as far as the
// reviewed sequence allows, to the adapter of the client, which runs in a scope
// of its own; what the adapter answers comes back in a closed projection. The
// call ends when both channels have ended, the client has gone, its scope is
// proved dead, and what had to be put away is put away. Its result is what was
// observed of the client's process, and no word of its answer.
//
// # What is refused
//
// A session for a grant that does not retain sessions, or for a client that keeps
// none, before a channel changes hands. Everything that package acpprofile
// refuses, and every breach of the bounds on the adapter's output: each ends the
// conversation and its scope for good. Nothing is tried again.
//
// # Choices
//
// The scope is killed at once when the caller cancels, when the deadline passes
// and when the conversation fails; only a conversation that has settled is given
// time to end by itself. Of a cancellation and the deadline the first one counts,
// however long the end then takes; the cancellation with which a root ends at its
// deadline is the deadline. The dispatch begins just before the scope is started:
// what fails from then on is uncertain, a start that fails included. A client
// that has gone leaves its conversation open: the call ends when the Flow has
// closed its requests too. A request that nobody is left to answer fails the
// call. A permission request that comes after the end of the requests is not
// answered any more.
//
// The time for initialize includes the login, where there is one; close has the
// time that a client has to end by itself. A client whose own end was seen has
// ended as it did, even if its adapter then had to be killed with the scope; only
// nothing is retained of it.
//
// A closed explanation is the message of an UNCERTAIN failure and the member
// "explanation" of its details. A scope that was ended for a bound of its own
// gives none, whatever the conversation looked like. Why a conversation failed is
// told to the operator in more fixed words ([CodeConversation]), with the rule or the
// bound that was broken, and what kind of trouble a client had with its provider too
// ([CodeProvider]); a Flow learns neither.
//
// # Limits
//
// Those of packages acpframing and acpprofile, and [Limits].
//
// # Errors
//
// Every failure is a [*fault.Error] with the codes and the precedence of
// finite-acp 3h.
//
// # Concurrency
//
// A [Resource] is safe for concurrent use; its hooks are called from several
// goroutines.
package acp
