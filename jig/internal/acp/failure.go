package acp

import "errors"

// ErrNoSession: the session cannot be handed out. Nothing says why.
var ErrNoSession = errors.New("acp: the session is not available")
