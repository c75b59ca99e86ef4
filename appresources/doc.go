// Package appresources keeps the tools and skills that an application lends to
// the turns of its session.
//
// A [Set] holds one registry a session. A registry lists resources (tools with
// a closed contract, skills of plain text), gives every change a fresh
// revision, and refuses a change that was made against an old one. A turn
// takes one immutable [Snapshot] of the whole registry: later changes never
// reach it, and it stays charged to the daemon's budgets until its last holder
// lets go. A [Manifest] is what a snapshot shows of itself: descriptors and
// tool identities, no body, no path, no secret.
//
// A contract ([ParseContract]) and the values that must fit it ([Schema.Check],
// [Schema.AppendNormalized]) are read strictly: one closed schema subset, no
// duplicate or unknown member, integers written as integers.
//
// The package refuses to guess. It stores nothing on disk, opens no file
// (package capture does), knows no clock ("now" is an argument), starts no
// goroutine, and checks no controller: who may call is decided before, by its
// caller. It never evicts: a full budget answers, and what was accepted stays.
//
// # Life of a registry
//
// The first [Set.List] or registration of a claimed session creates its
// registry. An empty one vanishes when the session is unclaimed. Any other
// expires [Limits.IdleTimeout] after the last of its protections ended: a
// controller ([Set.Claim]) or a [Hold] of a turn. At the deadline expiry wins
// over a claim (seed: Captured sources; magid: Ties).
//
// # Accounting
//
// A resource is charged with the encoded bytes of its descriptor, its captured
// bytes and, for a tool, the compact encoding of its two schemas. A snapshot
// is charged with its resources and its combined instruction text, once,
// however many hold it (seed: Bounds; magid: Shapes). An empty snapshot costs
// nothing. A registration that replaces a resource must find room for the
// whole new snapshot beside the previous one. A registration that adds one,
// and a removal, take the place of the previous snapshot where nobody else
// holds it, so a removal can only be refused while a turn holds the previous
// snapshot; clearing is never refused. Sources being captured hold
// [Limits.CaptureBytes] of the same budget.
//
// # Limits
//
// [Limits] holds every bound with its unit; zero means the documented default,
// a negative value is refused by [New]. The bounds of the contract language
// are constants, since they are part of its grammar.
//
// # Errors
//
// A refusal is an [*Error]. Its [Code] is the wire's error code and its text is
// one line for a person, without body, path or value; [CodeOf] reads the code
// of any error. A limit names its [Budget]. A value that does not fit a schema
// gives a [*ValueError], which names the member and the rule. [ErrUnclaimed]
// marks a caller's mistake. A refused change leaves revisions, entries and
// budgets as they were.
//
// # Concurrency
//
// A [Set] is not safe for concurrent use; its caller serialises. A [Snapshot],
// [Contract], [Schema] and [Manifest] never change and may be shared freely.
package appresources
