package tree

import (
	"sync"

	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// capture keeps the first bytes of what a process complains about.
type capture struct {
	mu   sync.Mutex
	most int
	b    []byte // guarded by mu
}

func newCapture(most int) *capture { return &capture{most: most} }

func (c *capture) add(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b = append(c.b, b[:min(len(b), c.most-len(c.b))]...)
}

func (c *capture) kept() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.b...)
}

// drain reads standard error all the time, so that nobody who writes there ever
// waits, and ends a run that writes too much.
func (i *invocation) drain(p Process, s *run0.Session) {
	label := i.label()
	left := i.root.l.StderrBytes
	buffer := make([]byte, 16<<10)
	for {
		n, err := p.Errors().Read(buffer)
		if n > 0 && left >= 0 {
			if left -= int64(n); left < 0 {
				s.Exhausted("standard error")
			}
			i.stderr.add(buffer[:n])
			if i.root.o.Stderr != nil {
				i.root.hooks.Lock()
				i.root.o.Stderr(label, buffer[:n])
				i.root.hooks.Unlock()
			}
		}
		if err != nil {
			return
		}
	}
}
