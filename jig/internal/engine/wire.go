package engine

import (
	"bufio"
	"errors"
	"io"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/component"
)

// read is one frame, or the end of all.
type read struct {
	bytes  []byte
	err    error
	broken bool // err breaks the protocol; otherwise it is the end
}

// readFrames reads LF-terminated frames until stop is closed or there are no
// more. It holds one frame at a time.
func readFrames(in io.Reader, stop <-chan struct{}) <-chan read {
	out := make(chan read)
	go func() {
		b := bufio.NewReaderSize(in, 64<<10)
		for {
			r := nextFrame(b)
			select {
			case out <- r:
			case <-stop:
				return
			}
			if r.err != nil {
				return
			}
		}
	}()
	return out
}

func nextFrame(b *bufio.Reader) read {
	var frame []byte
	for {
		part, err := b.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		if len(frame)+len(part) > json0.MaxBytes {
			return read{err: errors.New("a frame of the host is longer than a frame may be"), broken: true}
		}
		frame = append(frame, part...)
		switch {
		case err == nil:
			return read{bytes: frame}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(frame) > 0:
			return read{err: errors.New("the host's output ended inside a frame"), broken: true}
		default:
			return read{err: err}
		}
	}
}

// writer carries frames to the host, one at a time, so that what has to go first
// can still go ahead of what waits.
type writer struct {
	frames chan []byte
	broken chan error // gets what ended the output
	done   chan struct{}
	held   []byte // taken out of the component and not yet given away
}

func newWriter(out io.Writer) *writer {
	w := &writer{frames: make(chan []byte), broken: make(chan error, 1), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var failed bool
		for frame := range w.frames {
			if failed {
				continue
			}
			if _, err := out.Write(append(frame, '\n')); err != nil {
				failed = true
				w.broken <- err
			}
		}
	}()
	return w
}

// offer gives what a select needs to write the next frame: nothing where there is
// none.
func (w *writer) offer(c *component.Component) (chan<- []byte, []byte) {
	if w.held == nil {
		w.held = c.Output()
	}
	if w.held == nil {
		return nil, nil
	}
	return w.frames, w.held
}

func (w *writer) taken() { w.held = nil }

// flush writes everything that is left and ends the writer.
func (w *writer) flush(c *component.Component) {
	for send, frame := w.offer(c); send != nil; send, frame = w.offer(c) {
		send <- frame
		w.taken()
	}
	close(w.frames)
	<-w.done
}
