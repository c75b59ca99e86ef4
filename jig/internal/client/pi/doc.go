// Package pi speaks the protocol of `pi --mode rpc`, as a [adapter.Client] (jig.md 7;
// native-clients 5).
//
// The credential and the settings are files in Pi's own folder, which the adapter
// makes before Pi starts: auth.json with the credential alone, settings.json that
// switches off what has no argument. Provider and model are arguments; what Pi made
// of them is asked before the session and again when the host sets the model, and
// only the same counts as confirmed: Pi finds a model for a name in other letters, and
// takes a name behind a colon for an effort. A name that it does not know it passes on.
//
// # What it refuses
//
// A question of an extension is answered as cancelled: there are none. A turn whose
// last message failed is a failed request; what Pi says about it stays here.
//
// # Model requests
//
// A turn is one request: retries and compaction are off. Where a model calls a tool
// although none is offered, Pi would tell it so in another request, and again as
// often as the model likes: the turn is aborted as soon as the call begins, and ends
// as max_turn_requests. By then Pi may have sent that other request. Measured with
// version 0.84.4.
//
// # A turn after an aborted one
//
// Pi's runtime now and then sends a request over a connection that an abort has just
// dropped. The turn then fails, with the category network, and nothing is sent again.
//
// # Limits
//
// Those of package adapter. An answer's text is forwarded as it comes and not kept.
//
// # Errors
//
// An error of [Client.Line] is a breach of the protocol. No text of the program is in
// any error.
//
// # Concurrency
//
// A [Client] is for one goroutine.
package pi
