package run0

import (
	"io"
	"sync"
)

// writer carries frames to a component that may read slowly. Its queue is
// bounded in bytes; one that is full calls breach and takes nothing more. Where a
// frame cannot be written it calls lost, and takes nothing more either.
type writer struct {
	out    io.WriteCloser
	limit  int
	breach func()
	lost   func()

	mu     sync.Mutex
	wake   sync.Cond
	queue  [][]byte // guarded by mu
	bytes  int      // guarded by mu
	closed bool     // no more frames; guarded by mu
	dead   bool     // the pipe is gone, or the queue overflowed; guarded by mu
}

func newWriter(out io.WriteCloser, limit int, breach, lost func()) *writer {
	w := &writer{out: out, limit: limit, breach: breach, lost: lost}
	w.wake.L = &w.mu
	go w.run()
	return w
}

// put queues one frame, to which it adds the LF.
func (w *writer) put(frame []byte) {
	w.mu.Lock()
	if w.closed || w.dead {
		w.mu.Unlock()
		return
	}
	if w.bytes+len(frame)+1 > w.limit {
		w.dead = true
		w.mu.Unlock()
		w.wake.Signal()
		go w.breach() // it may come back here, so not from under the caller
		return
	}
	w.queue = append(w.queue, append(frame, '\n'))
	w.bytes += len(frame) + 1
	w.mu.Unlock()
	w.wake.Signal()
}

// close ends the component's input once what is queued has been written.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wake.Signal()
}

func (w *writer) run() {
	defer w.out.Close()
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closed && !w.dead {
			w.wake.Wait()
		}
		if w.dead || len(w.queue) == 0 {
			w.mu.Unlock()
			return
		}
		frame := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		_, err := w.out.Write(frame)
		w.mu.Lock()
		w.bytes -= len(frame)
		w.dead = w.dead || err != nil
		w.mu.Unlock()
		if err != nil {
			w.lost()
		}
	}
}
