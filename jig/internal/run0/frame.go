package run0

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Ways a frame can be broken without a reply.
var (
	errTooLong    = errors.New("a frame is longer than a frame may be")
	errIncomplete = errors.New("the output ended inside a frame")
	errUTF8       = errors.New("a frame is not UTF-8")
	errStdout     = errors.New("the component wrote more than it may")
)

// frames reads LF-terminated frames. It never holds more than one frame and one
// buffer.
type frames struct {
	r     *bufio.Reader
	limit int
	left  int64 // of all output
}

func newFrames(r io.Reader, l Limits) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), limit: l.FrameBytes, left: l.StdoutBytes}
}

// next returns one frame without its LF. io.EOF is the end on a boundary. The
// frame is the caller's to keep.
func (f *frames) next() ([]byte, error) {
	var frame []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if f.left -= int64(len(part)); f.left < 0 {
			return nil, errStdout
		}
		end := err == nil
		if end {
			part = part[:len(part)-1]
		}
		if len(frame)+len(part) > f.limit {
			return nil, errTooLong
		}
		frame = append(frame, part...)
		switch {
		case end:
			if !utf8.Valid(frame) {
				return nil, errUTF8
			}
			if frame == nil {
				frame = []byte{}
			}
			return frame, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(frame) > 0:
			return frame, errIncomplete
		default:
			return nil, err
		}
	}
}

// head is the beginning of what a component wrote, for a person: one line,
// printable, bounded.
func head(b []byte) string {
	const most = 80
	b = bytes.ToValidUTF8(b[:min(len(b), 4*most)], []byte("?"))
	out := make([]rune, 0, most)
	for _, r := range string(b) {
		if r < ' ' || r == 0x7f || r >= 0x80 {
			r = '?'
		}
		if out = append(out, r); len(out) == most {
			break
		}
	}
	return string(out)
}
