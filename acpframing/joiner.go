package acpframing

// Joiner makes frames of fragments: one direction of one stream, at its receiving
// end.
//
// A Joiner is not safe for concurrent use.
type Joiner struct {
	meter   meter
	partial *Frame // nil between frames
	scratch []byte // one decoded text
	spare   *Frame // storage that came back, pieces of pieceBytes
}

// NewJoiner makes a joiner for a direction.
func NewJoiner(d Direction, l Limits) (*Joiner, error) {
	m, err := newMeter(d, l)
	if err != nil {
		return nil, err
	}
	return &Joiner{meter: m, scratch: make([]byte, m.limits.FragmentBytes+spare)}, nil
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
	j.drop()
	return j.meter.finish()
}

// Recycle takes a frame's storage back for the frames to come. The frame is empty
// then, and what its Bytes and Pieces returned is not the caller's any more.
// Without it a Joiner allocates anew for each frame, and holds nothing between
// two frames.
func (j *Joiner) Recycle(f *Frame) {
	if f == nil || j.meter.broken != nil || j.meter.finished {
		return
	}
	if j.spare == nil {
		j.spare = new(Frame)
	}
	for i, p := range f.pieces {
		if cap(p) == pieceBytes {
			j.spare.pieces = append(j.spare.pieces, p[:0])
		}
		f.pieces[i] = nil
	}
	f.pieces, f.size = nil, 0
}

// Held returns how many bytes of storage the joiner occupies now: those of the
// partial frame, at most 64 KiB besides, and what was recycled.
func (j *Joiner) Held() int {
	n := cap(j.scratch)
	for _, f := range []*Frame{j.partial, j.spare} {
		if f != nil {
			n += f.held()
		}
	}
	return n
}

// keep counts a text and keeps it.
func (j *Joiner) keep(text []byte, end bool) (*Frame, error) {
	if broken := j.meter.count(len(text), end); broken != "" {
		return nil, j.poison(broken)
	}
	if j.partial == nil {
		j.partial = new(Frame)
	}
	f := j.partial
	f.size += len(text)
	if last := len(f.pieces) - 1; last >= 0 {
		p := f.pieces[last]
		n := min(len(text), cap(p)-len(p))
		f.pieces[last] = append(p, text[:n]...)
		text = text[n:]
	}
	if len(text) > 0 {
		f.pieces = append(f.pieces, append(j.piece(len(text), end), text...))
	}
	if !end {
		return nil, nil
	}
	j.partial = nil
	return f, nil
}

// piece returns empty storage for a text: the last one of a frame gets no more
// than it needs, unless there is a spare piece.
func (j *Joiner) piece(size int, end bool) []byte {
	if j.spare != nil && len(j.spare.pieces) > 0 {
		last := len(j.spare.pieces) - 1
		p := j.spare.pieces[last]
		j.spare.pieces[last] = nil
		j.spare.pieces = j.spare.pieces[:last]
		return p
	}
	if !end {
		size = pieceBytes
	}
	return make([]byte, 0, size)
}

func (j *Joiner) poison(r Rule) error {
	j.drop()
	return j.meter.poison(r)
}

func (j *Joiner) drop() { j.partial, j.scratch, j.spare = nil, nil, nil }
