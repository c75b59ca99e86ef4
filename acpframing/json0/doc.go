// Package json0 reads and writes JSON/0, the profile of JSON in which FLOW peers
// speak: RFC 8259 over UTF-8, with every bound named and every doubt removed
// (run-0 2).
//
// [Check] says whether bytes are one JSON/0 document, without building anything.
// [Decode] reads a checked document into a Go value, strictly. [Parse] reads it
// into maps, slices, float64, string, bool and nil. [Canonical] writes the one
// canonical form of a document (RFC 8785), [Marshal] that of a Go value.
//
// # What is refused
//
//   - more than one value, an empty document, a byte order mark, comments,
//     anything outside the grammar;
//   - invalid UTF-8, and a surrogate escape without its other half;
//   - two members of one name, compared as decoded: "a" is "\u0061";
//   - a number that is not finite as binary64, and one whose nearest binary64 is
//     an integer beyond ±9,007,199,254,740,991: 9007199254740993 and 1e400, but
//     also 9007199254740991.5, which rounds to 2^53. 1e-400 is 0;
//   - everything beyond [Limits].
//
// Nothing is repaired: a document is what it is, or it is refused.
//
// Numbers are equal by value: 1, 1.0 and 1e0 are the same number, and so are 0
// and -0. Decode therefore takes 1.0 for an integer field, and the canonical form
// of all three is 1.
//
// # Limits
//
// All limits are inclusive; see [Limits]. The depth of the root is 1, and the
// depth of a member's value or an item is one more than that of what holds it,
// for scalars as for containers: 128 brackets pass, and a number inside the
// innermost one does not. Member names are no value nodes. Member names and
// string values are measured in decoded UTF-8 bytes.
//
// # Errors
//
// A refused document gives an [*Error] with the byte at which it failed, that
// wraps one of [ErrSyntax], [ErrUTF8], [ErrDuplicate], [ErrSurrogate],
// [ErrNumber], [ErrLimit] and, from Decode, [ErrShape]. The size is looked at
// first, then the encoding of the whole document, then the rest from left to
// right; two equal names in an object of more than 16 members are found at its
// end. Decode does not know the byte if it had to rewrite an integer. [Marshal] gives [ErrValue]
// for a Go value without a JSON form, and [Limits] that cannot be give
// [ErrConfig]. The texts carry nothing of the document.
//
// # Concurrency
//
// All functions are safe for concurrent use.
package json0
