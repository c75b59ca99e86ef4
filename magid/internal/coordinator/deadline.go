package coordinator

import (
	"container/heap"
	"time"
)

// deadline is one thing that happens by itself when its time comes.
type deadline struct {
	at     time.Duration
	serial uint64 // among equal times the one armed first comes first
	index  int    // place in the heap; -1 when it is not armed
	fire   func()
}

// deadlines is a heap of what is armed.
type deadlines struct {
	heap   deadlineHeap
	serial uint64
}

// arm makes fire happen at the instant at.
func (d *deadlines) arm(at time.Duration, fire func()) *deadline {
	d.serial++
	item := &deadline{at: at, serial: d.serial, fire: fire}
	heap.Push(&d.heap, item)
	return item
}

// disarm takes a deadline back; one that fired, or nil, is let be.
func (d *deadlines) disarm(item *deadline) {
	if item != nil && item.index >= 0 {
		heap.Remove(&d.heap, item.index)
	}
}

// due takes out the first deadline that is not after now, or gives nil.
func (d *deadlines) due(now time.Duration) *deadline {
	if len(d.heap) == 0 || d.heap[0].at > now {
		return nil
	}
	return heap.Pop(&d.heap).(*deadline)
}

// next is the earliest deadline, or false where none is armed.
func (d *deadlines) next() (time.Duration, bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

type deadlineHeap []*deadline

func (h deadlineHeap) Len() int { return len(h) }

func (h deadlineHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].serial < h[j].serial
}

func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *deadlineHeap) Push(x any) {
	item := x.(*deadline)
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *deadlineHeap) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	item.index = -1
	return item
}
