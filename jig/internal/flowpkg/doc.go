// Package flowpkg captures Flow packages: one immutable tree of plain files with
// exactly one FLOW.<ext> at its root (run-0 5.1). A package is read once, into a
// store where its digest is its name; everything later reads the captured bytes
// and nothing reads the source again.
//
// It refuses links, special files, hard links that reach outside the tree, names
// that are not NFC or that differ only in case or form, and the reserved names
// at the root. It never follows a link and never opens what is not a regular
// file.
//
// # Choices
//
// A collision is looked for at every level of the tree, so a folder A beside a
// folder a collides as well. Empty folders are no part of a package. What is
// captured is stored as files of mode 0444 in folders of mode 0755; modes are no
// part of the digest. FLOW.md and extensions without a runtime are packages that
// can be captured and shown and are not executed: [Package.Runtime] says why.
//
// # Limits
//
// The format's own limits are [MaxFiles] files of [MaxFileBytes] and
// [MaxTreeBytes] in all. A [Store] is narrower: [MaxPackageBytes] a package and
// [MaxStoreBytes] in all. A path has at most 64 segments, 255 bytes a segment
// and 1,024 bytes.
//
// # Errors
//
// [*Error] names the path inside the package and, where there is one, the line
// and column. [ErrChanged] is a store whose bytes are not what was captured.
//
// # Concurrency
//
// A [Package] is immutable and safe for concurrent use. A [Store] is safe for
// concurrent use, also by several processes: a package appears whole or not at
// all.
package flowpkg
