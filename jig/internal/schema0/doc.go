// Package schema0 compiles and applies Schema/0, the closed subset of JSON
// Schema 2020-12 that Flow contracts and settings are written in (run-0 5.6).
//
// A schema is pure: it fills in no default, coerces nothing and changes no
// value. Everything it does not know is refused when it is compiled, wherever
// it stands, also in a definition that nothing uses. References are to
// "#/$defs/NAME" alone, exist, and never go round.
//
// # Choices
//
// The specification leaves open how some things count. A keyword that does not
// apply to an instance's type charges nothing; then and else without if charge
// nothing and do nothing; a boolean schema charges its pair and no more. A
// failure of anyOf, oneOf, not or contains is reported at that keyword; any
// other at the innermost keyword that failed. Keywords are looked at in one
// fixed order and members in byte order, so the same value fails the same way
// every time.
//
// # Limits
//
// A [Set] holds at most [MaxBytes] bytes of schemas, [MaxDepth] levels and
// [MaxNodes] schema nodes over all its schemas together. One validation does at
// most [MaxWork] units of work. Values have the limits of JSON/0, which the
// caller has checked.
//
// # Errors
//
// [*CompileError] with one of the five compile codes; [*InvalidError] where a
// value does not fit; [ErrLimit] where the work is too much, which wins over
// [*InvalidError].
//
// # Concurrency
//
// A [Set] is for one goroutine until it is sealed. A [Schema] is immutable and
// safe for concurrent use.
package schema0
