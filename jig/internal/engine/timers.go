package engine

import (
	"container/heap"
	"time"
)

// timers are those of one Flow. The zero value holds none.
type timers struct {
	heap   timerHeap
	by     map[int]*timer
	serial int
}

type timer struct {
	n      int
	at     time.Time
	every  time.Duration
	repeat bool
	unref  bool // it keeps nothing alive
	order  int  // among those due at one moment
	index  int  // in the heap
}

func (t *timers) start(n int, after time.Duration, repeat bool) {
	if t.by == nil {
		t.by = map[int]*timer{}
	}
	t.serial++
	x := &timer{n: n, at: time.Now().Add(after), every: after, repeat: repeat, order: t.serial}
	t.by[n] = x
	heap.Push(&t.heap, x)
}

func (t *timers) stop(n int) {
	if x := t.by[n]; x != nil {
		delete(t.by, n)
		heap.Remove(&t.heap, x.index)
	}
}

func (t *timers) refresh(n int) {
	if x := t.by[n]; x != nil {
		t.serial++
		x.at, x.order = time.Now().Add(x.every), t.serial
		heap.Fix(&t.heap, x.index)
	}
}

func (t *timers) ref(n int, ref bool) {
	if x := t.by[n]; x != nil {
		x.unref = !ref
	}
}

func (t *timers) hasRef(n int) bool { return t.by[n] != nil && !t.by[n].unref }

// alive says whether some timer keeps the process.
func (t *timers) alive() bool {
	for _, x := range t.by {
		if !x.unref {
			return true
		}
	}
	return false
}

func (t *timers) clear() { *t = timers{} }

// next gives a channel on which the next timer will be heard, and what to do once
// nobody listens any more.
func (t *timers) next() (<-chan time.Time, func()) {
	if len(t.heap) == 0 {
		return nil, func() {}
	}
	x := time.NewTimer(time.Until(t.heap[0].at))
	return x.C, func() { x.Stop() }
}

// due takes the timers whose time has come, in their order.
func (t *timers) due(now time.Time) (out []int) {
	var again []*timer
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		x := heap.Pop(&t.heap).(*timer)
		out = append(out, x.n)
		if x.repeat {
			again = append(again, x)
		} else {
			delete(t.by, x.n)
		}
	}
	for _, x := range again {
		t.serial++
		x.at, x.order = now.Add(max(x.every, time.Millisecond)), t.serial
		heap.Push(&t.heap, x)
	}
	return out
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].order < h[j].order
	}
	return h[i].at.Before(h[j].at)
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
