package adapter

import (
	"errors"
	"io"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// maxQueued is how many lines wait for a program that does not read.
const maxQueued = 1024

// Streams are the two sides of a conversation.
type Streams struct {
	In  io.Reader // the host's lines
	Out io.Writer // to the host

	Stdin  io.WriteCloser // of the native program
	Stdout io.Reader
	Stderr io.Reader
	// Exited is closed when the program has ended; its streams end soon after.
	Exited <-chan struct{}
}

// arrival is what a reader found.
type arrival struct {
	line []byte
	err  error // after the last line
}

// Serve carries one conversation until the host has ended it and the program is
// gone. report gets the kinds of failure, and "" where a kind is not known. It
// returns an error where the host's side failed: then nobody listens any more, and
// the program is the caller's to end.
func Serve(client Client, p Streams, report func(launch.Category)) error {
	done := make(chan struct{})
	defer close(done)
	var (
		failed error // the host does not take what is written
		wake   = make(chan func(), 16)
		input  = feed(newLines(p.In, -1), done)
		output = feed(newLines(p.Stdout, maxStdoutBytes), done)
		flood  = make(chan struct{})
		exited = p.Exited
	)
	go func() {
		if errors.Is(drain(p.Stderr), errBreach) {
			close(flood)
		}
	}()
	queue := newQueue(p.Stdin)
	defer queue.close()
	f := &face{
		client: client, report: report, now: time.Now, permissions: map[string]func(){},
		native: queue.add,
		host: func(line []byte) {
			if failed == nil {
				_, failed = p.Out.Write(append(line, '\n'))
			}
		},
		after: func(d time.Duration, run func()) func() {
			stopped := false
			t := time.AfterFunc(d, func() {
				select {
				case wake <- func() {
					if !stopped {
						run()
					}
				}:
				case <-done:
				}
			})
			return func() { stopped = true; t.Stop() }
		},
	}
	client.Start(f)
	hold := time.NewTimer(time.Hour)
	defer hold.Stop()
	running, reading := true, true
	// A program that is gone before the host has said a word is a failure that the
	// host can only be told when it has.
	for reading || running || input != nil && !f.greeted {
		if due, ok := f.text.due(); ok {
			hold.Reset(time.Until(due))
		} else {
			hold.Stop()
		}
		select {
		case a := <-input:
			switch {
			case a.err == nil:
				if err := f.line(a.line); err != nil {
					return err
				}
			case errors.Is(a.err, io.EOF):
				// The host is done: the program hears it and ends by itself.
				input = nil
				queue.close()
			default:
				return errHost
			}
		case a := <-output:
			if a.err != nil {
				output, reading = nil, false
				if errors.Is(a.err, errBreach) {
					f.Broken("")
				}
				f.ended()
				continue
			}
			if f.over || len(a.line) == 0 {
				continue
			}
			if client.Line(a.line) != nil {
				f.Broken("")
			}
		case <-hold.C:
			f.flush()
		case run := <-wake:
			run()
		case <-flood:
			flood = nil
			f.Broken("")
		case <-queue.stuck:
			queue.stuck = nil
			f.Broken("")
		case <-exited:
			exited, running = nil, false
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// feed reads lines until the first error.
func feed(l *lines, done <-chan struct{}) <-chan arrival {
	c := make(chan arrival)
	go func() {
		for {
			line, err := l.next()
			select {
			case c <- arrival{line, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}
