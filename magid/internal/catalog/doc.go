// Package catalog is what the daemon brings along itself: three read-only tools for the model, and the names that an
// application cannot register because they are, or may become, the daemon's.
//
// The tools are read_file, list_files and find_text. They read the workspace of the session, give the model JSON
// objects, and write nothing anywhere. A refusal or a failure is a *ToolError with one line for the model: the turn goes
// on (magid: Catalog).
//
// # What it refuses
//
//   - Absolute paths and paths with "..", by their text, before anything is opened.
//   - What a link leads to outside the workspace. Links inside the workspace are followed, because projects link files
//     of their own; the search follows none, so it ends. What was opened is judged by where the kernel says that it lies,
//     so a link under a harmless name opens no credential, and a folder swapped for a link meanwhile opens nothing
//     outside.
//   - Credential-like paths, by [CredentialPath], and the daemon's own state folder, wherever it lies. Folders do not
//     list such entries; list_files says how many were withheld. A hard link is judged by its own name, because the
//     file system knows no other.
//   - Whatever is neither a regular file nor a folder. FIFOs, sockets and devices are not opened, and every open is one
//     that does not wait.
//   - Binary files: a file with a NUL byte in what is read. Other bytes that are not UTF-8 become U+FFFD, and the result
//     says so.
//
// Error texts show no path: the model knows what it asked for, and where a workspace lies is nobody's business.
//
// # Names
//
// Reserved are the four built-in names, delegate included although it is not implemented yet; everything that begins
// with mcp_; and every name under [tools] disabled and [skills] disabled. All are compared without case. A disabled tool
// is not offered to the model and its call is one of an unknown tool.
//
// # Limits
//
// A result is at most 16 KiB as the daemon encodes it ([MaxResultBytes]), and its member truncated is true where
// something was left out. Lines are the unit of read_file: offset is a line from 1, limit a number of lines, and
// next_offset goes on where the result stopped; a single line that does not fit is cut and a note says so.
//
// Arguments are at most 16,384 bytes, a path 4,096, a searched text 1,024. Of a folder 10,000 entries are read. A search
// looks at 50,000 files and folders, 256 MiB and folders 64 deep; read_file reads past at most 256 MiB to reach its
// first line. All of them look at the context between reads; a read that waits in the kernel (a file system that hangs)
// is not interrupted.
//
// # Errors
//
// Code says which of four kinds a *ToolError is: arguments that do not fit the schema, a place that is refused, a
// failure, a context that ended.
//
// # Concurrency
//
// A [Catalog] does not change after [New]; all of it is safe for concurrent use.
package catalog
