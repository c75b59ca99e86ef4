package client

import "strings"

// Parts of an admitted client that may differ at a run, as they are named to the
// operator.
const (
	PartClient     = "client"
	PartExecutable = "executable"
	PartSupport    = "support files"
	PartHelper     = "helper"
	PartAdapter    = "adapter"
	PartEndpoint   = "endpoint"
	PartModel      = "model"
	PartMode       = "mode"
	PartProxy      = "proxy"
	PartCA         = "ca"
	PartLaunch     = "launch profile"
)

// ChangedError names what of a client is not as it was admitted.
type ChangedError struct {
	Client string
	Parts  []string // in the order of the constants, each once; never empty
	Why    string   // what is known about the first of them; may be empty
}

// Error says which client differs, and in what.
func (e *ChangedError) Error() string {
	text := e.Client + " is not as it was reviewed: " + strings.Join(e.Parts, ", ")
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}
