package adapter

import "io"

// queue writes lines to a program that may not read. It is for one goroutine.
type queue struct {
	lines   chan []byte
	stuck   chan struct{} // closed when there are more lines than may wait
	written chan struct{} // closed when all is written, after close
	closed  bool
	full    bool
}

func newQueue(w io.WriteCloser) *queue {
	q := &queue{lines: make(chan []byte, maxQueued), stuck: make(chan struct{}), written: make(chan struct{})}
	go func() {
		// A program that is gone takes nothing; its end is reported elsewhere.
		var failed error
		for line := range q.lines {
			if failed == nil {
				_, failed = w.Write(line)
			}
			clear(line)
		}
		w.Close()
		close(q.written)
	}()
	return q
}

// add takes one line over.
func (q *queue) add(line []byte) {
	if q.closed || q.full {
		clear(line)
		return
	}
	whole := append(line, '\n')
	if cap(whole) != cap(line) {
		clear(line) // it was copied
	}
	select {
	case q.lines <- whole:
	default:
		clear(whole)
		q.full = true
		close(q.stuck)
	}
}

// close ends the program's input once everything is written.
func (q *queue) close() {
	if !q.closed {
		q.closed = true
		close(q.lines)
	}
}
