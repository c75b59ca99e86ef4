package acp

import (
	"errors"
	"time"
)

// Limits bounds a conversation beyond what its contract does. 0 means the default.
type Limits struct {
	LineBytes   int // one line of the adapter; default 16,777,216
	OutputBytes int // all of them, newlines included; default 33,554,432
	Lines       int // default 8,192
	ErrorBytes  int // of standard error, which nobody reads; default 65,536

	Initialize    time.Duration // until initialize is answered; default 20 s
	Login         time.Duration // more, where the client has to log in; default 10 s
	Start         time.Duration // until a session is there; default 20 s
	Configuration time.Duration // until a setting or the mode is confirmed; default 5 s
	Cancel        time.Duration // until a cancelled prompt has settled; default 5 s
	Close         time.Duration // until close is answered, and until a client ends by itself; default 3 s
	Terminate     time.Duration // until a client that was told to end has; default 3 s
}

func (l Limits) withDefaults() (Limits, error) {
	for _, f := range []struct {
		at  *int
		def int
	}{{&l.LineBytes, 16 << 20}, {&l.OutputBytes, 32 << 20}, {&l.Lines, 8192}, {&l.ErrorBytes, 65_536}} {
		if *f.at < 0 {
			return l, errors.New("acp: a limit is negative")
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	for _, f := range []struct {
		at  *time.Duration
		def time.Duration
	}{
		{&l.Initialize, 20 * time.Second}, {&l.Login, 10 * time.Second}, {&l.Start, 20 * time.Second}, {&l.Configuration, 5 * time.Second},
		{&l.Cancel, 5 * time.Second}, {&l.Close, 3 * time.Second}, {&l.Terminate, 3 * time.Second},
	} {
		if *f.at < 0 {
			return l, errors.New("acp: a limit is negative")
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	return l, nil
}
