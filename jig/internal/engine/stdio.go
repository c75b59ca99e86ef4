package engine

// stdin is the host's raw output, for a Flow that brings an SDK of its own.
type stdin struct{}

func (s *stdin) alive() bool           { return false }
func (s *stdin) chunks() <-chan []byte { return nil }
func (s *stdin) arrived([]byte) string { return "" }
