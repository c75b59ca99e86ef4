// Package capture reads one file of a workspace once, and nothing else.
//
// [Read] takes a path relative to a workspace folder and returns the file's
// bytes if, and only if, every component was opened from its own folder
// without following a link, the file is regular, has one name, is valid UTF-8
// without NUL, is no larger than asked, and did not change while it was read.
// On Linux components are opened with openat2(2) where the kernel has it;
// elsewhere, and where it is missing or forbidden, with openat(2) and
// O_NOFOLLOW, component by component as well. Both ways keep the same rules
// (seed: Captured sources).
//
// # What it refuses
//
// Symbolic links in any component, files with more than one hard link, FIFOs,
// devices, sockets and folders; paths that look like credentials
// ([CredentialPath]); everything inside the folders that the caller excludes,
// whatever path leads there; invalid UTF-8, NUL, and a file over the limit. A
// FIFO is never opened, so nothing waits for its writer. A file whose device,
// inode, link count, size, modification or change time differs before and
// after the reading, or from what the path names afterwards, is refused too.
//
// # What it does not promise
//
// Neither is it an atomic snapshot of the file: a writer who changes bytes in
// place and restores both times can mix old and new. Mount points inside the
// workspace are entered: nobody who can only write files there can make one.
// The workspace path itself is opened as it is given, links and all, since its
// owner named it.
//
// # Limits
//
// A path has at most [MaxPathBytes] bytes. [Request.MaxBytes] bounds the file;
// reading stops one byte after it. No call is interrupted while the
// filesystem makes it wait.
//
// # Errors
//
// Every refusal is an [*Error] with the [Rule] that was broken. Its text names
// the rule and no path. The system's error, where there is one, is behind
// Unwrap as a bare errno.
//
// # Concurrency
//
// All functions are safe for concurrent use. Nothing is kept between calls.
package capture
