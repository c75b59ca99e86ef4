// Package wirev2 is wire v2: what a magid daemon and the applications on its machine say to each other over a Unix
// stream socket, one JSON object a line. It has the vocabulary (methods, payloads, events, error codes, capabilities,
// limits, journal records), a strict Reader for either side, and a Writer. It does no I/O of its own; package client
// dials and calls.
//
// # Records
//
// A record is one JSON object and an LF, at most 65,536 bytes. Reader checks it in one pass as it is read: syntax,
// duplicate names at any depth after unescaping, UTF-8, lone surrogates, depth, no byte order mark, nothing behind the
// object. The payload stays raw until DecodePayload, which is strict about every member. The three outcomes that the
// protocol tells apart are three results: *RecordError (answer and close), *RequestError with what can be echoed
// (answer and go on), and a Request. (wire-v2 1, 2)
//
// # Payloads
//
// Each method has a type <Method>Request and a type <Method>Reply, each event a type <Event>Event, and turn.terminal is
// a Terminal. A member that may be absent has omitzero in its tag, one that may be null is a pointer without omitzero
// (or a jsontext.Value), and application_manifest, which may be both, is a ManifestMember. DecodePayload also refuses
// what makes a request malformed by itself: lengths, names, path forms, members that exclude each other. Budgets that
// answer limit_exceeded, and all that depends on state, are the daemon's. (wire-v2 5: payload shape)
//
// # Form
//
// The writer's form is exact, because budgets count its bytes: no white space, members in the order of the
// specification, non-ASCII as it is, escapes for U+0000 to U+001F, U+007F, quote, backslash, U+2028 and U+2029 only. The
// specification leaves open which escape: it is the two-character one where JSON has one (\b \f \n \r \t \" \\) and
// \u00xx in lower case otherwise, so a line break costs two bytes and U+001F six. Numbers in raw values stay as they are
// written. EncodedStringLen counts without encoding.
//
// # What it refuses
//
// Beyond malformed JSON: null for a member that is not nullable, a number with fraction, exponent or as -0 where an
// integer is due, names in another case, an ID that is not a canonical lowercase UUID, an error code outside the closed
// list (writing), a payload over its budget (both ways), text that is not UTF-8 (writing). A reader keeps the words of
// the other lists (states, reasons, kinds in replies, error codes) as they stand, so that a newer peer can be shown; the
// closed words of requests are checked. A last line without LF is a disconnect and not a broken record.
//
// # Secrets
//
// Control tokens and resume secrets are of type Secret, which prints as [redacted] everywhere but in the records this
// package writes. Messages name members of the protocol and byte positions, never content; an unknown member is named
// only where its name could be one of the protocol's.
//
// # Limits
//
// Limits has them, with their defaults; the zero value of a field means its default and a negative one is an error.
// Reader uses MaxRecordBytes, MaxPayloadBytes, MaxDepth, DefaultDeadlineMS and MaxDeadlineMS. A Reader holds one buffer
// that never exceeds MaxRecordBytes, and an index of names while a record with many of them is checked. Replies of
// session.history may take MaxHistoryPayloadBytes, those of turn.application_evidence MaxEvidencePayloadBytes, and an
// error's message MaxErrorMessageBytes.
//
// # Errors
//
// ErrInvalidRecord, ErrInvalidEnvelope and ErrTooLarge are the sentinels; *RecordError and *RequestError carry the reason
// and the echo; *Error is the error of a response, and what DecodePayload returns for a bad payload.
//
// # Concurrency
//
// Functions and types without a pointer receiver are safe for concurrent use. A Reader and a Writer are not.
package wirev2
