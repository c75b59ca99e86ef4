package acpframing

// Ready is the record that a host sends before every fragment: what it has
// reviewed and will enforce, whatever the adapter does with the record
// (seed: One invocation, two direct channels).
type Ready struct {
	MaxTurns         int       // prompts the grant allows; 1 to 8
	Configuration    []Setting // at most 16, with different IDs, in the order of their confirmation
	ModeID           string    // optional
	RestoreSessionID string    // optional; the native session to be resumed
}

// Setting is one entry of a ready record's configuration.
type Setting struct {
	ConfigID string
	Value    string // unless Boolean
	Boolean  bool   // the setting is a Boolean one
	On       bool   // its value, if Boolean
}
