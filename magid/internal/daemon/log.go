package daemon

import (
	"io"
	"log/slog"
)

// NewLog makes the daemon's log: text for a person at a terminal, JSON for everything else
// (magid: Process hygiene). Nothing in the daemon logs a body, a prompt, a text, an argument
// or a secret.
func NewLog(w io.Writer, terminal bool) *slog.Logger {
	if terminal {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}
