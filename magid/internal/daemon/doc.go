// Package daemon puts the daemon together: configuration, state folder, socket, provider, coordinator
// and connections, and takes it apart again in the right order.
//
// # Start
//
// The configuration is read first. Then the socket is made: its lock decides who serves, and its
// folder is only judged, while the state folder, which may be the same one, is put in order after
// it. A client that comes in between waits until the daemon answers, or is disconnected.
//
// # Stop
//
// A stop (the context of [Serve]) takes the socket away first, then ends the running turns and makes
// their ends durable, then flushes and closes the connections, and gives up the lock last: no other
// daemon takes our place while work is still being ended. What is not finished in
// [stopTimeout] is left to recovery, which closes it as a crash would have left it.
//
// # Idle exit
//
// With [Options.Idle] or under socket activation the daemon ends when no connection, turn or pinned
// executor has needed it for the idle time (magid: Command line). Under activation the service manager
// goes on listening, so a connection that arrives at that moment waits for the next daemon.
//
// # Errors
//
// Errors are sentences for the person who started the daemon. [socket.ErrServed] says that
// another one serves already, and *config.Error where the configuration is wrong.
//
// # Concurrency
//
// [Serve] changes the process (environment, service manager's variables) and is called once.
package daemon
