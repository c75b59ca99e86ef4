// Package apptest drives the shipped program from outside: its tests build magid, start it with a model server of their
// own, and speak to it over its socket with a client of their own, which shares no code with the daemon. What they
// expect is what the specifications say, written down a second time.
//
// It exports nothing.
package apptest
