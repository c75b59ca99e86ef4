// Package server holds the daemon's connections: it reads records, checks them as far as a
// connection alone can, hands requests to the coordinator in the order they came,
// and sends what the coordinator answers without ever making it wait.
//
// Of the checks of wire-v2 5 it makes those that need no state of the daemon:
// record, envelope, request_id, initialised, method known, method open to this
// connection, members the method does not take. It answers `initialize` and
// `capabilities` itself. Everything from the freshness of the operation on is the
// coordinator's.
//
// A connection has one goroutine that reads and one that writes. Between the
// coordinator and the socket stands a queue that is bounded in records and
// bytes. Whoever has queued something writes it itself, without ever waiting and
// when the coordinator's lock is free again; what the socket does not take at
// once is the writer's. So a quick answer costs no change of goroutines, and a
// peer that stops reading costs nobody else anything. A connection whose queue is full, or that does
// not take one record in [writeTimeout], is cut, with the reason in the log. What an
// accepted request gets is an answer or the end of the connection, never silence
// (wire-v2 2).
//
// # Refusals
//
// A broken record gets one response and the end of the connection, because
// nobody can say where the next record begins (wire-v2 1). A connection
// that is not initialised in time is closed. The connection after the 512th is closed
// without a byte.
//
// # Limits
//
// At most 512 connections; per connection 64 requests whose answer has not yet
// left the queue (further ones stay unread, in the kernel's buffer), 1,024 queued records and
// 4 MiB of queued bytes, 10 s to initialise, 10 s a record to be written, 1 s of flushing
// after a broken record and 5 s after the end of input.
//
// # Errors
//
// [ErrIdle] is how [Server.Serve] says that nobody needed the daemon for the
// idle time. Faults of single connections are logged and end that connection alone.
//
// # Concurrency
//
// A [Server] is safe for concurrent use.
package server
