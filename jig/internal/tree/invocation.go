package tree

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// invocation is one Flow process and what it owns.
type invocation struct {
	root   *root
	parent *invocation
	target *Target
	party  channel.Party
	depth  int // the root is 1
	ledger *run0.Ledger
	stderr *capture

	tasks sync.WaitGroup // dispatched operations

	mu       sync.Mutex
	children map[*invocation]bool // guarded by mu
	process  Process              // guarded by mu; nil before and after
	acp      bool                 // a native call is under way; guarded by mu
	unproved bool                 // the end of something owned is not proved; guarded by mu
	untidy   bool                 // something owned could not be put away; guarded by mu
	forced   bool                 // killed from above; guarded by mu
}

func (r *root) invocation(parent *invocation, t *Target) *invocation {
	i := &invocation{
		root: r, parent: parent, target: t, party: r.party(), depth: 1,
		ledger: run0.NewLedger(run0.Limits{}), children: map[*invocation]bool{},
	}
	if parent != nil {
		i.depth = parent.depth + 1
	}
	i.stderr = newCapture(r.l.StderrKept)
	return i
}

// label names the invocation for people.
func (i *invocation) label() string {
	if i.parent == nil {
		return i.target.Name
	}
	return i.parent.label() + " > " + i.target.Name
}

func (i *invocation) lineage() []Ancestor {
	var all []Ancestor
	if i.parent != nil {
		all = i.parent.lineage()
	}
	return append(all, Ancestor{i.target.Name, i.target.Request})
}

// run starts the process, moves the channels, and follows the run to its end.
// The input has been checked.
func (i *invocation) run(ctx context.Context, input jsontext.Value, from channel.Party, channels map[string]string) (*contract.Result, *fault.Error) {
	ports := i.target.Package.Contract.Ports
	release, err := i.root.take(&i.root.flows, i.root.l.Processes, "Flow processes")
	if err != nil {
		return nil, err
	}
	defer release()
	if !time.Now().Before(i.root.o.Deadline) {
		return nil, fault.New(fault.DeadlineExceeded, "the deadline has passed")
	}
	p, serr := i.root.o.Launcher.StartFlow(ctx, i.target.Package)
	if serr != nil {
		return nil, i.unstarted(ctx, serr)
	}
	if !i.hold(p) {
		p.Kill()
	}
	grants, err := i.root.broker.Transfer(from, i.party, ports, channels)
	if err != nil {
		return nil, i.putAway(p, err)
	}
	if channels == nil {
		grants = nil
	}
	s, nerr := run0.New(run0.Options{
		In: p.Input(), Out: p.Output(), Handler: i, CheckResult: i.target.Package.Contract.CheckResult,
		Run: run0.Run{Input: input, Settings: i.target.Settings, Scratch: "/scratch", DeadlineUnixMS: i.root.o.Deadline.UnixMilli(), Channels: grants},
	})
	if nerr != nil {
		var f *fault.Error
		if !errors.As(nerr, &f) {
			f = fault.New(fault.ExecutionFailed, nerr.Error())
		}
		f = i.putAway(p, f)
		i.root.broker.Finish(i.party, false)
		return nil, f
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		i.drain(p, s)
	}()
	s.Start()
	i.follow(ctx, p, s)
	exit := i.fence(p)
	// What it wrote last is still in its streams, and tells how it ended.
	<-s.Drained()
	<-drained
	exit.Cleanup = exit.Confirmed && p.Close() == nil
	i.tasks.Wait() // owned work ends before its owner is judged
	i.mu.Lock()
	exit.Confirmed = exit.Confirmed && !i.unproved
	exit.Cleanup = exit.Cleanup && !i.untidy
	i.mu.Unlock()
	ending := s.End(exit)
	i.root.broker.Finish(i.party, false) // a no-op where it answered
	i.report(exit)
	return ending.Result, ending.Err
}

// unstarted is the failure of an invocation whose process did not start.
func (i *invocation) unstarted(ctx context.Context, cause error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.Is(cause, ErrUnproved):
		i.report(run0.Exit{})
		return failedEnd(run0.Exit{})
	case ctx.Err() != nil:
		return fault.New(fault.Cancelled, "the run was cancelled before it started")
	case errors.As(cause, &f):
		return f
	}
	return fault.New(fault.ExecutionFailed, "the Flow process could not be started: "+cause.Error())
}

// report tells the invocation above what it must not succeed over (run-0 6.2).
func (i *invocation) report(x run0.Exit) {
	up := i.parent
	if up == nil {
		return
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	up.unproved = up.unproved || !x.Confirmed
	up.untidy = up.untidy || !x.Cleanup
}

// follow waits until the process is dead, or has to be killed: it returns then,
// and does not wait for a death that may not come. The fence does both.
func (i *invocation) follow(ctx context.Context, p Process, s *run0.Session) {
	deadline := time.NewTimer(time.Until(i.root.o.Deadline))
	defer deadline.Stop()
	grace := time.NewTimer(0)
	<-grace.C
	defer grace.Stop()
	end := i.root.l.Grace - time.Duration(i.depth-1)*i.root.l.GraceStep
	armed := false
	arm := func() { // once: a second cause gives no more time
		if !armed {
			armed = true
			grace.Reset(end)
		}
	}
	kill := func() {
		s.Killed()
		i.killBelow()
		p.Kill()
	}
	cancelled, timeout, silent := ctx.Done(), deadline.C, s.Silent()
	for {
		select {
		case <-p.Ended():
			return
		case <-s.Doomed():
			kill()
			return
		case <-silent:
			silent = nil
			arm()
		case <-i.root.o.Force:
			s.Cancel(fault.New(fault.Cancelled, "the run was stopped"))
			kill()
			return
		case <-cancelled:
			cancelled = nil
			s.Cancel(fault.New(fault.Cancelled, "the run was cancelled"))
			arm()
		case <-timeout:
			timeout = nil
			s.Cancel(fault.New(fault.DeadlineExceeded, "the deadline has passed"))
			arm()
		case <-grace.C:
			kill()
			return
		}
	}
}

// hold remembers the process for kills from above. False means that one came
// before it.
func (i *invocation) hold(p Process) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.process = p
	return !i.forced
}

// killBelow kills everything below the invocation, the lowest first.
func (i *invocation) killBelow() {
	i.mu.Lock()
	children := make([]*invocation, 0, len(i.children))
	for c := range i.children {
		children = append(children, c)
	}
	i.mu.Unlock()
	for _, c := range children {
		c.killBelow()
		c.mu.Lock()
		c.forced = true
		if c.process != nil {
			c.process.Kill()
		}
		c.mu.Unlock()
	}
}

// fence ends the process. Its streams end soon after it.
func (i *invocation) fence(p Process) run0.Exit {
	exit, err := p.Fence()
	i.mu.Lock()
	i.process = nil
	i.mu.Unlock()
	return run0.Exit{Code: exit.Code, Killed: exit.Killed, Limit: exit.Limit, Confirmed: err == nil}
}

// putAway ends a process that never got its run, because of cause: nobody reads
// its streams. An end without proof or without order outweighs the cause.
func (i *invocation) putAway(p Process, cause *fault.Error) *fault.Error {
	x := i.fence(p)
	x.Cleanup = x.Confirmed && p.Close() == nil
	i.report(x)
	if err := failedEnd(x); err != nil {
		return err
	}
	return cause
}

// failedEnd is the failure of a process that never got its run and whose end is
// not as it has to be; nil where it is. What got one is judged by its session.
func failedEnd(x run0.Exit) *fault.Error {
	switch {
	case !x.Confirmed:
		return fault.New(fault.Uncertain, "the end of the process could not be confirmed")
	case !x.Cleanup:
		return fault.New(fault.ExecutionFailed, "what belonged to the process could not be put away")
	}
	return nil
}
