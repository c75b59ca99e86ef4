// Package contract reads the descriptors of FLOW: what an invocation takes,
// gives and carries on channels (run-0 5.3), what a channel carries (run-0 5.4),
// and what a package says of itself (run-0 5.2). It computes their identities
// (run-0 5.5) and compares them, offline: no identifier is ever fetched.
//
// A named dependency is satisfied by the exact id, version and digest and by
// nothing else. An anonymous contract never satisfies one. The same id and
// version under another digest is reported as what it is, [ErrEquivocation].
//
// # Choices
//
// semantics is bounded in UTF-8 bytes, every other text in Unicode scalars. A
// contract's schemas share one [schema0.Set], so its limits count over input,
// result, inline channel schemas and $defs together; a channel descriptor has
// one of its own. A definition in $defs that names are too long for is refused
// here, before it is compiled.
//
// # Limits
//
// A descriptor and a metadata file hold at most [MaxBytes] bytes. A contract
// refers to at most [MaxChannels] channel descriptors, and its identity covers
// at most [MaxPreimage] bytes.
//
// # Errors
//
// [*Error] says where a descriptor is wrong. [ErrUnsupported] is under it where
// the descriptor is well-formed and this host does not offer what it asks.
// A value that does not fit is a [*schema0.InvalidError] or [ErrOutcome].
//
// # Concurrency
//
// Everything parsed is immutable and safe for concurrent use.
package contract
