package coordinator

import "github.com/magi-jig/magi-jig/wirev2"

// snapshot is session.snapshot (wire-v2 4: Snapshot).
func (k *core) snapshot(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionSnapshotRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		k.answer(a, wirev2.SessionSnapshotReply{Snapshot: a.session.snapshot(a.conn.selected)}, nil)
	}, nil
}

// snapshot shows the turn that prepares or runs, else the last one's end while
// that is retained.
func (s *session) snapshot(selected bool) wirev2.Snapshot {
	switch {
	case s.turn != nil:
		return wirev2.Snapshot{Turn: s.turn.view(selected)}
	case s.last != nil:
		terminal := s.last.terminalView(selected)
		return wirev2.Snapshot{Terminal: &terminal}
	}
	return wirev2.Snapshot{}
}

// ordinary is a snapshot as a connection without the profile sees it.
func ordinary(s wirev2.Snapshot) wirev2.Snapshot {
	if s.Turn != nil {
		turn := *s.Turn
		turn.ApplicationManifest = wirev2.ManifestMember{}
		s.Turn = &turn
	}
	if s.Terminal != nil {
		terminal := *s.Terminal
		terminal.ApplicationManifest = wirev2.ManifestMember{}
		s.Terminal = &terminal
	}
	return s
}
