package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// What a command gets to end by itself after the second signal, before jig ends
// without it. A run has to be fenced and recorded meanwhile.
const (
	patience    = 500 * time.Millisecond
	runPatience = 30 * time.Second
	// lastLine is how long whoever reads standard output and error may keep jig
	// from saying that it ends.
	lastLine = 500 * time.Millisecond
)

// signals makes the first signal end the context and the second one close force.
// A command that does not end then is left where it is.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 4)
	// Whatever a terminal sends: nothing of it may end jig without its record.
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	done := make(chan struct{})
	go a.heed(ch, done, cancel)
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel()
	}
}

// heed does what signals ask for, until done is closed.
func (a *app) heed(ch <-chan os.Signal, done <-chan struct{}, cancel func()) {
	late := time.NewTimer(0)
	<-late.C
	defer late.Stop()
	var second time.Time
	for n := 0; ; {
		select {
		case <-done:
			return
		case <-late.C:
			// The run may have begun between the signal and now.
			if left := runPatience - time.Since(second); a.underway() && left > 0 {
				late.Reset(left)
				continue
			}
			a.abandon()
			return
		case <-ch:
			n++
		}
		switch {
		case n == 1:
			a.interrupted.Store(true)
			cancel()
		case n == 2:
			close(a.force)
			second = time.Now()
			late.Reset(patience)
		case !a.underway():
			a.abandon()
			return
		}
	}
}

// underway says that a run is recorded, or about to be, and its end is not: to leave
// it now would lose it.
func (a *app) underway() bool { return a.begun.Load() && !a.ending.Load() }

// abandon ends jig although its command has not ended. Every scope dies with it. What
// keeps the command may be whoever should read of its end: that is tried, and not
// waited for.
func (a *app) abandon() {
	told := make(chan struct{})
	go func() {
		defer close(told)
		if a.ending.Load() {
			return // what it has to say is on its way
		}
		r := &refusal{code: codeInterrupted, message: "the command was interrupted, and did not end by itself"}
		if a.begun.Load() {
			r.message, r.hint = "the run was stopped, and its end could not be recorded", "the next jig command here records what became of it"
		}
		form := a.refused
		if f := a.form.Load(); f != nil {
			form = *f
		}
		a.end(form(r))
	}()
	timer := time.NewTimer(lastLine)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	}
	a.exit(2)
}

// refusing says how a refusal of the command reads, where it is not as most do.
func (a *app) refusing(form func(error) ending) { a.form.Store(&form) }
