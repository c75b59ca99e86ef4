package acpframing

import "fmt"

// MaxItemBytes is the most that one channel item may have.
const MaxItemBytes = 65_536

// MaxFragmentBytes is the most UTF-8 bytes of text in one fragment.
const MaxFragmentBytes = 8192

// Direction is a direction of the stream between an adapter and its host.
type Direction uint8

const (
	// Requests go from the adapter to the host.
	Requests Direction = iota + 1
	// Responses go from the host to the adapter.
	Responses
)

// String returns "requests" or "responses".
func (d Direction) String() string {
	switch d {
	case Requests:
		return "requests"
	case Responses:
		return "responses"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// Limits bounds one direction of one stream. In each field 0 means the bound of
// the direction (finite-acp 1a); a negative value is an error, and so is one
// beyond the bound.
type Limits struct {
	FragmentBytes int // UTF-8 bytes of text in one fragment; 8,192
	FrameBytes    int // bytes of one reassembled frame; 16,777,216
	TotalBytes    int // bytes of all frames; requests 8,388,608, responses 33,554,432
	Frames        int // complete frames; requests 64, responses 8,192
	Fragments     int // fragments, also of partial frames; 16,384
}

// Limits returns the bounds of the direction.
func (d Direction) Limits() Limits {
	l := Limits{
		FragmentBytes: MaxFragmentBytes,
		FrameBytes:    16 << 20,
		TotalBytes:    32 << 20,
		Frames:        8192,
		Fragments:     16_384,
	}
	if d == Requests {
		l.TotalBytes = 8 << 20
		l.Frames = 64
	}
	return l
}

func (l Limits) withDefaults(d Direction) (Limits, error) {
	if d != Requests && d != Responses {
		return l, fmt.Errorf("%w: no such direction", ErrConfig)
	}
	most := d.Limits()
	for _, f := range []struct {
		field *int
		most  int
		name  string
	}{
		{&l.FragmentBytes, most.FragmentBytes, "FragmentBytes"},
		{&l.FrameBytes, most.FrameBytes, "FrameBytes"},
		{&l.TotalBytes, most.TotalBytes, "TotalBytes"},
		{&l.Frames, most.Frames, "Frames"},
		{&l.Fragments, most.Fragments, "Fragments"},
	} {
		switch {
		case *f.field < 0:
			return l, fmt.Errorf("%w: %s is negative", ErrConfig, f.name)
		case *f.field > f.most:
			return l, fmt.Errorf("%w: %s is beyond the %d of %s", ErrConfig, f.name, f.most, d)
		case *f.field == 0:
			*f.field = f.most
		}
	}
	if l.FragmentBytes < 4 {
		return l, fmt.Errorf("%w: FragmentBytes does not hold every scalar", ErrConfig)
	}
	return l, nil
}
