// Package sandbox runs one program in a bubblewrap scope and proves its end.
//
// A scope has its own user, mount, pid, ipc, uts and cgroup namespaces, no
// capability, its own terminal session, a private /proc, a minimal /dev, a
// read-only root of empty memory, and nothing of the host but the files its
// [Spec] names (jig.md 6). A Flow scope has no network. Bubblewrap 0.8.0 is
// enough and no newer option is used; its options travel through a memory file
// and never stand in a command line.
//
// # Root
//
// No contained process has host uid 0. Run by root, bubblewrap's child could
// write host sysctls and remount read-only binds. So where jig is root,
// [Launcher.Start] makes a stage: a thread of its own in a private mount
// namespace, which bind-mounts the sources below a 0755 tmpfs, forbids new
// privileges, and starts bubblewrap as an ordinary user. If that cannot be done
// the start fails; there is no weaker way.
//
// # The fence
//
// The host opens a pidfd on the init of the scope's pid namespace, checks that
// it still is bubblewrap's child, and kills through it. The pidfd turning
// readable proves that nothing of the scope is alive: the kernel ends a pid
// namespace with its init. SIGTERM is never sent and never counts. Where the
// proof does not come within [FenceTimeout], the fence is [ErrUnconfirmed] and
// the caller has to treat the run as uncertain.
//
// # Limits
//
// Every tmpfs has a size. With a delegated cgroup v2 the memory and task bounds
// of [Limits] hold for the whole scope. Without one, the program inside limits
// itself before it reads anything foreign ([ApplyRlimits]) and the host watches
// the scope's resident memory every [WatchInterval]; what grows past the bound
// is killed and its [Exit] names the limit. [Launcher.Bounds] says which holds.
//
// # Errors
//
// [ErrUnavailable] wraps whatever keeps bubblewrap from working, with a sentence
// for a person in [UnavailableError]; [ErrUnconfirmed] is a fence without proof.
//
// # Concurrency
//
// A [Launcher] and a [Process] are safe for concurrent use. Every bubblewrap is
// started from one thread that lives as long as the process does, and a root's
// from a stage that lives as long as its bubblewrap, because the kernel ties "die
// with parent" to the thread that forked.
package sandbox
