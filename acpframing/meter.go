package acpframing

// meter is the accounting of one direction, the same for both ends.
type meter struct {
	direction Direction
	limits    Limits
	frame     int // bytes of the partial frame
	total     int
	frames    int
	fragments int
	inside    bool // a frame has begun and not ended
	finished  bool
	broken    *Violation
}

func newMeter(d Direction, l Limits) (meter, error) {
	l, err := l.withDefaults(d)
	return meter{direction: d, limits: l}, err
}

// open says why nothing more is accepted, if so.
func (m *meter) open() error {
	if m.broken == nil && m.finished {
		m.broken = &Violation{m.direction, RuleFinished}
	}
	if m.broken != nil {
		return m.broken
	}
	return nil
}

// poison records the first violation.
func (m *meter) poison(r Rule) error {
	m.broken = &Violation{m.direction, r}
	return m.broken
}

// count takes one fragment of n bytes and returns the bound it exceeds, or "".
func (m *meter) count(n int, end bool) Rule {
	m.fragments++
	m.frame += n
	m.total += n
	switch {
	case m.fragments > m.limits.Fragments:
		return RuleFragments
	case m.frame > m.limits.FrameBytes:
		return RuleFrameBytes
	case m.total > m.limits.TotalBytes:
		return RuleTotalBytes
	}
	m.inside = !end
	if end {
		m.frame = 0
		if m.frames++; m.frames > m.limits.Frames {
			return RuleFrames
		}
	}
	return ""
}

// finish takes the end of the stream.
func (m *meter) finish() error {
	if err := m.open(); err != nil {
		return err
	}
	if m.inside {
		return m.poison(RuleUnfinished)
	}
	m.finished = true
	return nil
}
