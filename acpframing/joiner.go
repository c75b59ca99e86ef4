package acpframing

// Joiner makes frames of fragments: one direction of one stream, at its receiving
// end.
//
// A Joiner is not safe for concurrent use.
type Joiner struct {
	meter   meter
	partial *Frame // nil between frames
	scratch []byte // one decoded text
}

// NewJoiner makes a joiner for a direction.
func NewJoiner(d Direction, l Limits) (*Joiner, error) {
	m, err := newMeter(d, l)
	if err != nil {
		return nil, err
	}
	return &Joiner{meter: m, scratch: make([]byte, m.limits.FragmentBytes+8)}, nil
}

// Add takes one channel item, as JSON. It returns the frame that the item
// completes, or nil if the frame goes on. The item is not kept.
func (j *Joiner) Add(item []byte) (*Frame, error) {
	if err := j.meter.open(); err != nil {
		return nil, err
	}
	n, end, broken := readItem(j.scratch, item, j.meter.limits.FragmentBytes)
	if broken != "" {
		return nil, j.poison(broken)
	}
	return j.keep(j.scratch[:n], end)
}

// AddText takes one fragment whose item was decoded elsewhere. The text is not
// kept.
func (j *Joiner) AddText(text []byte, end bool) (*Frame, error) {
	if err := j.meter.open(); err != nil {
		return nil, err
	}
	if broken := checkText(text, j.meter.limits.FragmentBytes); broken != "" {
		return nil, j.poison(broken)
	}
	return j.keep(text, end)
}

// Finish takes the end of the stream. It is a violation inside a frame, and a
// second time.
func (j *Joiner) Finish() error {
	err := j.meter.finish()
	if err != nil {
		j.drop()
	}
	return err
}

// Held returns how many bytes of storage the joiner occupies now: those of the
// partial frame and at most 64 KiB besides.
func (j *Joiner) Held() int {
	n := cap(j.scratch)
	if j.partial != nil {
		n += j.partial.held()
	}
	return n
}

func (j *Joiner) keep(text []byte, end bool) (*Frame, error) {
	if broken := j.meter.count(len(text), end); broken != "" {
		return nil, j.poison(broken)
	}
	if j.partial == nil {
		j.partial = new(Frame)
	}
	j.partial.append(text, end)
	if !end {
		return nil, nil
	}
	f := j.partial
	j.partial = nil
	return f, nil
}

func (j *Joiner) poison(r Rule) error {
	j.drop()
	return j.meter.poison(r)
}

func (j *Joiner) drop() { j.partial, j.scratch = nil, nil }
