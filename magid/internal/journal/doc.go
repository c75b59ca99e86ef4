// Package journal keeps the durable state of sessions: one append-only file a session, one JSON record a line.
package journal
