// Package attempt sends one request of a model provider's format and hands the
// events of its reply to the format. It owns what the formats share: where a
// request may go, how long each phase may take, what is tried again, and what is
// shown of a refusal. A format adds its path, its header and a [Sink].
//
// Each attempt has a connection of its own over HTTP/1.1, closed when the attempt
// ends. So no attempt meets a connection that has gone stale while idle, which
// could not be told from a request that was lost on its way, and cancelling leaves
// nothing behind.
//
// # Repeating
//
// A request is tried again at most [MaxRetries] times, and only before a byte of a
// reply's body has come (magid: Provider rules): after a connection failure, 429
// and 5xx. The wait is full jitter over 500 ms, doubled with each try, at most
// 4 s; a Retry-After asks for at least that long, and one over 60 s ends the
// attempts at once. Its date is compared with the reply's own Date where there is
// one, so that the two clocks need not agree. Not tried again: a header or a first
// event that did not come in time (the provider may be at work on the request, and
// every repetition would leave it one more), a 429 that says the quota is used up,
// a certificate that was not accepted, any other refusal.
//
// A request has no Idempotency-Key and no GetBody, and its connection is new, so
// that net/http repeats nothing by itself.
//
// # What it refuses
//
// Plain http to a host that is not loopback, unless that is allowed; loopback is
// localhost, 127.0.0.0/8 and ::1, and for it the address dialed is checked too.
// Redirects. Replies in JSON or HTML where events were asked for. Compressed
// replies. A base URL with credentials, a query or a fragment.
//
// # Limits
//
// Time: [provider.Timeouts], each per attempt. Events: [provider.Limits]. A
// refusal's body is read to 64 KiB and for at most 5 s; what came by then is used.
// A reply's header is at most 256 KiB.
//
// # Errors
//
// See package provider. Connection failures, timeouts of the phases up to the
// first event, 429 and 5xx are provider_unavailable; everything else is
// provider_error.
//
// # Concurrency
//
// A [Client] is safe for concurrent use.
package attempt
