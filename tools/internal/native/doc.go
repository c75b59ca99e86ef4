// Package native installs the real agents that tests run: Codex in two versions,
// Claude Code, Pi, and the published ACP adapter of Codex, whose answers the
// tests compare with ours.
//
// What is installed, and at which versions, stands in tools/native/package.json
// and its lock file, which holds the digest of every package. npm fetches them
// into tools/native/node_modules without running a script of theirs. Below
// tools/native/installed each agent then gets a folder of its own, as if it had
// been installed alone:
//
//	codex/node_modules/.bin/codex          the pinned Codex
//	codex-later/node_modules/.bin/codex    a later one, which nests its platform package
//	claude/node_modules/.bin/claude        Claude Code
//	pi/pi                                  Pi, built with bun into one program and its files
//	codex-acp/node_modules/.bin/codex-acp  the adapter; it has no Codex and takes CODEX_PATH
//
// Files are links to those of node_modules, so that nothing lies on the disk
// twice. Each agent is asked for its version before any of it is put in place.
// Tests read what is installed and copy what they change.
//
// Both folders are made beside their places and moved there at the end: an
// installation that was interrupted leaves the one before it. One that is there
// is recognised by the digest of the pins and costs nothing.
//
// # Limits
//
// The agents are pinned for Linux on x86-64; elsewhere only node_modules is
// made. npm gets 15 minutes, the build of Pi and each question for a version
// 2 minutes.
//
// # Errors
//
// An error says what is missing or what a command printed, at most its last
// 4 KiB.
//
// # Concurrency
//
// [Install] is safe for concurrent use, also by several processes: a lock on
// tools/native/.lock lets one work at a time.
package native
