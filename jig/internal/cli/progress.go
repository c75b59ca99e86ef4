package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// progress shows on a terminal how a long run is getting on: one line that is
// written over, below everything else, and above it the line that an assistant has
// not ended. Where assistants speak at the same time, it is that of the last one; the
// lines of the others are shown when they end. It is safe for concurrent use.
type progress struct {
	a        *app
	target   string
	deadline time.Time
	stop     chan struct{}
	stopped  chan struct{}

	live bool // somebody watches
	flat bool // on a terminal that does not move up: no unfinished line

	mu       sync.Mutex
	rows     int    // that are shown and will be written over; guarded by mu
	over     bool   // nothing is drawn any more; guarded by mu
	phase    string // of what takes the time; empty: nothing in particular; guarded by mu
	turn, of int    // guarded by mu
	speaker  string // whose line is unfinished; guarded by mu
	open     string // that line; guarded by mu
}

func startProgress(a *app, target string, deadline time.Time) *progress {
	p := &progress{a: a, target: target, deadline: deadline, stop: make(chan struct{}), stopped: make(chan struct{})}
	if !isTerminal(a.stderr) {
		close(p.stopped)
		return p
	}
	p.live, p.flat = true, a.env.Get("TERM") == "dumb"
	go func() {
		defer close(p.stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				p.clear()
				return
			case <-tick.C:
				p.mu.Lock()
				p.draw()
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// draw writes what is below everything else again. The caller holds mu.
func (p *progress) draw() {
	if p.over {
		return
	}
	s := p.a.errStyle
	text := p.wipe()
	if p.open != "" && !p.flat {
		text += s.fit(p.open) + "\n"
		p.rows++
	}
	phase, turn := "running", p.turn
	if p.phase != "" {
		phase = p.phase
	}
	if p.a.interrupted.Load() {
		phase, turn = "stopping", 0
	}
	line := progressLine(s.columns(), escape(p.target), phase, turn, p.of, time.Since(p.a.started), time.Until(p.deadline))
	p.rows++
	fmt.Fprint(p.a.stderr, text+s.paint(dim, s.narrow(line)))
}

// progressLine says how a run is getting on in less than width columns: the less
// room, the less of it, the time to the last.
func progressLine(width int, target, phase string, turn, of int, elapsed, left time.Duration) string {
	gone, rest := seconds(elapsed), seconds(left)+" left"
	turns, short := "", ""
	if turn > 0 {
		turns, short = fmt.Sprintf("turn %d of %d, ", turn, of), fmt.Sprintf("turn %d/%d, ", turn, of)
	}
	long := phase + ", " + turns + gone + " elapsed, " + rest
	for _, line := range []string{
		target + " " + long, long, phase + ", " + short + gone + ", " + rest, short + gone + ", " + rest, short + rest,
	} {
		if cells(line) < width {
			return line
		}
	}
	return rest
}

// doing says what the run is about now, and in which of its turns; 0: in none.
func (p *progress) doing(phase string, turn, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.turn, p.of = phase, turn, of
	p.draw()
}

func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// says shows a line that a speaker has not ended yet; empty: there is none.
func (p *progress) says(speaker, open string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open == "" && p.speaker != speaker {
		return
	}
	p.speaker, p.open = speaker, open
	p.draw()
}

// above writes a line above all that is written over.
func (p *progress) above(line string) {
	p.aside(func() { fmt.Fprintf(p.a.stderr, "%s\n", p.a.errStyle.narrow(line)) })
}

// ended is above for the end of the line that a speaker had begun.
func (p *progress) ended(speaker, line string) {
	p.mu.Lock()
	if p.speaker == speaker {
		p.open = ""
	}
	p.mu.Unlock()
	p.above(line)
}

// aside lets write have the terminal.
func (p *progress) aside(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := p.rows > 0
	p.erase()
	write()
	if shown {
		p.draw()
	}
}

// wipe is what takes away all that is written over. The caller holds mu.
func (p *progress) wipe() string {
	if p.rows == 0 {
		return ""
	}
	text := "\r\x1b[K" + strings.Repeat("\x1b[A\x1b[K", p.rows-1)
	p.rows = 0
	return text
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.erase()
}

// erase wipes. The caller holds mu.
func (p *progress) erase() {
	if text := p.wipe(); text != "" {
		fmt.Fprint(p.a.stderr, text)
	}
}

func (p *progress) end() {
	close(p.stop)
	<-p.stopped
}
