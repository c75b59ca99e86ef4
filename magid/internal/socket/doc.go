// Package socket gives the daemon its private Unix socket, and the process
// around it its manners: who may connect, which of several daemons serves, what
// a crash leaves behind, and what the kernel may tell about us.
//
// The socket is born private. The folder must be ours and closed to everybody
// else; the socket is bound there under a short-lived name, its mode is set and
// read back, and only then it takes its final name. Nobody can connect to it
// under the final name while it is open to others (wire-v2 1; magid: Process
// hygiene).
//
// A lock on the file `<socket>.lock` decides which daemon serves. The socket file itself
// decides nothing: one that a crash left behind is replaced. The lock file stays when
// the daemon ends, because removing it would let two daemons each hold a lock
// on a file of that name.
//
// # Refusals
//
// A folder that belongs to somebody else or is open to group or others, a path
// that is not absolute or is longer than [MaxPathBytes], a path at which
// something other than a socket lies, and a socket on which some other program
// listens without holding the lock. Nothing is changed in any of these cases:
// no mode is repaired, no file is removed.
//
// A peer whose user is not ours is closed before a byte is written to it.
//
// # Limits
//
// A socket path is at most 107 bytes, which is what the kernel takes. One
// descriptor is accepted from a service manager.
//
// # Errors
//
// [ErrServed] says that another daemon holds the lock. Every other error is a
// sentence for the person who started the daemon.
//
// # Concurrency
//
// A [Listener] is safe for concurrent use. The functions that change the
// process ([Harden], [Activated]) are called once, before other goroutines start.
package socket
