// Package httpres performs the HTTP Request resource: one exact request that a
// reviewed grant describes, by the host, for a Flow that has no network (jig.md
// 9).
//
// Nothing is followed and nothing is tried again: a redirect is a status like
// any other. The host speaks https, and http to loopback alone. It refuses an
// address that is not public, unless the grant's URL itself names one, and looks
// at the addresses a name resolves to before it connects to exactly those. The
// trust is the system's, or that of SSL_CERT_FILE, the proxy the reviewed one or
// none. The bearer is read from the operator's environment at the call and is
// never part of a message.
//
// # Choices
//
// A body is sent as JSON. A grant for GET takes no body. An answer longer than
// the bound is no complete answer and so UNCERTAIN. Behind a proxy it is the
// proxy that resolves the name, and only its own address is judged.
//
// # Limits
//
// Those of the [Policy].
//
// # Errors
//
// [*fault.Error]: INVALID_INPUT and UNAVAILABLE before anything was sent,
// EXECUTION_FAILED where no connection came about, UNCERTAIN from then on
// without a complete answer, INVALID_RESULT for an answer that is not what was
// asked for, RESOURCE_EXHAUSTED for a body above the bound and for an answer that
// is JSON/0 and yet fits no frame of Run/0, such as one nested deeper than 125.
//
// # Concurrency
//
// A [Resource] is safe for concurrent use.
package httpres
