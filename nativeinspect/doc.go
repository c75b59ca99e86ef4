// Package nativeinspect finds a native coding agent on this machine and says what
// it is, without running anything.
//
// [Inspect] takes the operator's environment and a client, and returns an
// [Installation]: the executable that would be launched, every file it needs, with
// path, role and SHA-256 digest, the sandbox helper that Codex would use, how each
// was found, and each candidate that was passed over with the reason. [Open] does
// the same for an installation that somebody has approved, without searching PATH
// again. [Installation.Recheck] tells before a launch whether a byte or a path has
// changed; [Installation.Why] names the entry that brought a file. [FindOuter]
// finds the bubblewrap that contains the client.
//
// # What is read
//
// Of an ELF file: the header, the program headers, the interpreter's name, the
// dynamic section and the names it refers to. Of a Mach-O file: the headers and
// load commands. Of npm and Volta installations: three JSON records. Then the whole
// file is hashed through the same descriptor, and the bytes that were looked at have
// to be among the hashed ones (finite-acp 5h). No loader, launcher, shim or client
// is executed, and no loader variable of the environment is looked at (seed: Native
// client profiles).
//
// # What is refused
//
// A client, launcher or library inside the project, or in a node_modules of one of
// its ancestors, also when a link leads there; folders are compared by inode too, so
// that a bind mount is no way round (finite-acp 5a). Only an override such as
// CODEX_PATH may itself lie there. Set-id files. Scripts, shims and wrappers other
// than the declarative form of makeBinaryWrapper. Files that are not regular; a FIFO
// is never waited for. A path that is not UTF-8, which no review could name. Every malformed table. A library that is not where the search
// looks; the first entry of that name decides, and nothing falls back to another
// copy.
//
// # Choices where the rules are silent
//
// A variable that is set but empty is an override, and a refused one. The executable
// is not among the 128 destinations of its walk; a wrapper and what it wraps share
// one walk. A search entry that starts with $ORIGIN may hold "..", taken lexically,
// because inside the scope every folder of a destination is a real one; all others
// have to be normalised. An object with RUNPATH does not search its ancestors'
// RPATH, as the loader does not. DT_AUDIT, DT_DEPAUDIT, DT_AUXILIARY, DT_FILTER and
// DF_1_NODEFLIB are unsupported. The dynamic section has to be where the load
// segments put it. An executable without interpreter is complete only if it needs no
// library. The launcher's folder is the first of its 32 ancestors. A helper found on
// PATH keeps the name bwrap in its real folder. Of a record with two members of one
// name nothing is believed.
//
// # Limits
//
// See [Limits]; the bounds that the rules fix are constants: [MaxLinks],
// [MaxDestinations], [MaxAncestors], [MaxRecordBytes]. One inspection holds a buffer
// of 128 KiB. Of a file it holds what it looked at until that is hashed: a few KiB,
// never more than 4 MiB, and the whole file only if that has at most 1 MiB, because
// a wrapper's declaration may be anywhere in it. The paths that the search for one
// program's libraries tries are bounded, so hostile search paths end too. Time is
// bounded by the context, which is looked at between files and between pieces of
// one.
//
// # Errors
//
// A [*Refusal] says why a client cannot be had: its stage is one of a closed list,
// its text is for people and holds no path and nothing of a file. A [*Change] is what
// Recheck found. [ErrConfig] is a mistake in the arguments. The context's error is
// returned as it is. Paths and names in fields are as the machine has them: whoever
// prints them escapes them.
//
// # Concurrency
//
// The functions are safe for concurrent use. An Installation is immutable and safe
// for concurrent use as long as nobody writes to its fields.
package nativeinspect
