package acpframing

import "unicode/utf8"

// Splitter makes fragments of frames: one direction of one stream, at its sending
// end.
//
//	err := s.Begin(frame)
//	for s.More() {
//		item, err = s.Next(item[:0])
//		// send item
//	}
//
// A Splitter is not safe for concurrent use.
type Splitter struct {
	meter meter
	rest  []byte // of the frame
}

// NewSplitter makes a splitter for a direction.
func NewSplitter(d Direction, l Limits) (*Splitter, error) {
	m, err := newMeter(d, l)
	if err != nil {
		return nil, err
	}
	return &Splitter{meter: m}, nil
}

// Begin takes a complete frame. It must not change until its last fragment is
// made. Begin checks it whole and counts all its fragments, so that a frame that
// cannot be sent to its end is not begun. A frame before the last one has ended,
// an empty one and one that is not UTF-8 are violations too.
func (s *Splitter) Begin(frame []byte) error {
	if err := s.meter.open(); err != nil {
		return err
	}
	switch {
	case s.More():
		return s.poison(RuleUnfinished)
	case len(frame) == 0:
		return s.poison(RuleEmpty)
	case !utf8.Valid(frame):
		return s.poison(RuleUnicode)
	}
	for rest := frame; len(rest) > 0; {
		n := cut(rest, s.meter.limits.FragmentBytes)
		rest = rest[n:]
		if broken := s.meter.count(n, len(rest) == 0); broken != "" {
			return s.poison(broken)
		}
	}
	s.rest = frame
	return nil
}

// More says whether the frame has fragments left.
func (s *Splitter) More() bool { return len(s.rest) > 0 }

// Next appends the next fragment of the frame to dst, as one canonical JSON item.
// Without a frame it is a violation.
func (s *Splitter) Next(dst []byte) ([]byte, error) {
	if err := s.meter.open(); err != nil {
		return dst, err
	}
	if !s.More() {
		return dst, s.poison(RuleEmpty)
	}
	n := cut(s.rest, s.meter.limits.FragmentBytes)
	dst = appendItem(dst, s.rest[:n], n == len(s.rest))
	s.rest = s.rest[n:]
	return dst, nil
}

// Finish takes the end of the stream. It is a violation inside a frame, and a
// second time.
func (s *Splitter) Finish() error {
	if s.meter.broken == nil && !s.meter.finished && s.More() {
		return s.poison(RuleUnfinished)
	}
	return s.meter.finish()
}

func (s *Splitter) poison(r Rule) error {
	s.rest = nil
	return s.meter.poison(r)
}
