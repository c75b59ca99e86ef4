package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/component"
	"github.com/magi-jig/magi-jig/jig/internal/engine/realm"
	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// runner is one Flow while it runs: the loop between the realm, the component
// and the host. Everything of it but the reader and the writer happens on one
// goroutine.
type runner struct {
	Flow
	realm    *realm.Realm
	comp     *component.Component
	modules  *modules
	prepared <-chan prepared
	files    files
	started  time.Time

	timers timers
	frames <-chan read   // from the host, once handle was called
	stdin  *stdin        // raw, for a Flow with an SDK of its own
	out    *writer       // to the host
	stop   chan struct{} // closed at the end

	loaded   bool // the entry has been evaluated
	handling bool // handle was called
	answered bool
	outEnded bool   // the author has ended standard output
	numb     bool   // a limit was reached: the realm hears nothing any more
	reached  string // the limit that was named last
	exiting  bool
	status   int
}

func newRunner(f Flow) (*runner, error) {
	f.heapBytes = cmp.Or(f.heapBytes, HeapBytes)
	root, err := os.OpenRoot(f.Package)
	if err != nil {
		return nil, errors.New("the package cannot be opened")
	}
	scratch, err := os.OpenRoot(f.Scratch)
	if err != nil {
		root.Close()
		return nil, errors.New("the scratch folder cannot be opened")
	}
	r := &runner{Flow: f, comp: component.New(component.Limits{}), started: time.Now(), stop: make(chan struct{})}
	r.files.mounts = []mount{{PackageDir, root, false}, {ScratchDir, scratch, true}}
	pkg := source.NewPackage(root.FS(), PackageDir)
	pkg.Use(f.compiled)
	r.modules = newModules(pkg, r)
	// The parser and the realm both take their time to begin, so they do it side
	// by side.
	ready := make(chan prepared, 1)
	go func() { ready <- prepare(r.modules.Package) }()
	r.prepared = ready
	if r.realm, err = realm.New(r, realm.Limits{HeapBytes: f.heapBytes, Slots: CallDepth}, "globals"); err != nil {
		<-ready
		r.files.close()
		return nil, err
	}
	r.out = newWriter(f.Out)
	return r, nil
}

func (r *runner) close() {
	close(r.stop)
	r.realm.Close()
	r.files.close()
}

// run is the loop. It ends when there is nothing left to wait for.
func (r *runner) run() int {
	entry, ok := r.modules.take(<-r.prepared)
	if !ok {
		r.out.flush(r.comp)
		return exitFailed
	}
	r.tell("load", entry)
	for {
		r.settle()
		if r.exiting || r.finished() {
			break
		}
		r.wait()
	}
	r.out.flush(r.comp)
	return r.status
}

// settle runs everything that is ready, until nothing is.
func (r *runner) settle() {
	for !r.exiting {
		idle, err := r.realm.Drain()
		r.handle(err)
		events := r.comp.Events()
		if idle && len(events) == 0 || r.exiting {
			return
		}
		for _, e := range events {
			r.event(e)
		}
		if !idle {
			r.poll()
		}
	}
}

// poll lets the wire move on while the realm never comes to rest.
func (r *runner) poll() {
	send, frame := r.out.offer(r.comp)
	select {
	case send <- frame:
		r.out.taken()
	case f := <-r.frames:
		r.frame(f)
	default:
	}
}

// finished says whether the process may end by itself.
func (r *runner) finished() bool {
	if r.answered {
		return true // timers do not hold it up
	}
	if r.handling {
		return false
	}
	if r.timers.alive() || r.stdin.alive() {
		return false
	}
	switch {
	case r.status != 0:
	case !r.loaded:
		r.say("the top level of the Flow waits for something that never happens")
		r.status = exitFailed
	case r.stdin == nil:
		r.say("the Flow has ended without a call of handle")
	}
	return true
}

// wait blocks until something happens.
func (r *runner) wait() {
	if r.handling && !r.numb {
		if r.handle(r.realm.Probe()); r.exiting || r.answered {
			return
		}
	}
	due, stop := r.timers.next()
	defer stop()
	send, frame := r.out.offer(r.comp)
	select {
	case <-due:
		r.fire()
	case send <- frame:
		r.out.taken()
	case <-r.out.broken:
		r.comp.Lost()
	case f := <-r.frames:
		r.frame(f)
	case chunk := <-r.stdin.chunks():
		r.tell("stdin", r.stdin.arrived(chunk))
	}
}

// fire runs the timers that are due, each to its end.
func (r *runner) fire() {
	for _, n := range r.timers.due(time.Now()) {
		if r.tell("timer", n); r.exiting {
			return
		}
		if r.settle(); r.exiting || r.answered {
			return
		}
	}
}

func (r *runner) frame(f read) {
	switch {
	case f.err == nil:
		r.comp.Frame(f.bytes)
	case f.broken:
		r.comp.Broken(f.err.Error())
	default:
		r.comp.Lost()
	}
	if f.err != nil {
		r.frames = nil
	}
}

// event tells the author what the component has to say.
func (r *runner) event(e component.Event) {
	switch e.Kind {
	case component.Started:
		r.tell("started", string(e.Value))
	case component.Settled:
		var mistake *component.TypeError
		switch {
		case errors.As(e.Err, &mistake):
			r.tell("mistake", e.N, mistake.Message)
		case e.Err != nil:
			r.tell("fail", e.N, failure(e.Err))
		default:
			r.tell("settle", e.N, string(e.Value))
		}
	case component.Aborted:
		r.tell("aborted", failure(e.Err))
	case component.Answered:
		if e.Err != nil {
			r.say(e.Err.Error())
		}
		r.timers.clear()
		r.tell("answered")
		r.answered = true
	case component.Failed:
		var f *fault.Error
		if errors.As(e.Err, &f) && f.Code == fault.ProtocolError {
			r.diagnose(Diagnostic{Code: CodeProtocol, Message: f.Message})
		}
		r.timers.clear()
		r.tell("failed", failure(e.Err))
		r.answered, r.status = true, exitFailed
	}
}

// failure is a *fault.Error as the scripts read it.
func failure(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		f = component.Executed()
	}
	b, merr := json0.Marshal(struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Details any        `json:"details,omitzero"`
	}{f.Code, f.Message, rawOrNil(f.Details)})
	if merr != nil { // a frame of the host carried it
		return fmt.Sprintf(`{"code":%q,"message":%q}`, f.Code, f.Code)
	}
	return string(b)
}

func rawOrNil[T ~[]byte](raw T) any {
	if raw == nil {
		return nil
	}
	return raw
}

// tell hands the realm a message and takes care of what comes of it.
func (r *runner) tell(name string, args ...any) {
	if r.numb {
		return
	}
	r.handle(r.realm.Tell(name, args...))
}

// handle takes the failure of the engine's own scripts.
func (r *runner) handle(err error) {
	switch {
	case err == nil || r.exiting:
	case errors.Is(err, realm.ErrMemory), err.Error() == "null" && r.full():
		r.exhausted("memory")
	case errors.Is(err, realm.ErrStack):
		r.exhausted("stack")
	default:
		r.diagnose(Diagnostic{Code: CodeEngine, Message: err.Error()})
		r.exit(exitEngine)
	}
}

// exhausted ends the run for a limit that nobody could catch. The realm is not
// asked any more: the answer is written without it.
func (r *runner) exhausted(limit string) {
	r.limit(limit)
	r.numb = true
	r.realm.Widen()
	if !r.handling {
		r.exit(exitFailed)
		return
	}
	r.comp.Fail(component.Executed())
}

// full says whether the heap may have run full. An engine without room for an
// error throws null, as an author may too, but hardly after that.
func (r *runner) full() bool { return residentBytes() > int64(r.heapBytes) }

// limit names a limit that an author's code has reached.
func (r *runner) limit(name string) {
	if name == "null" && r.full() {
		name = "memory"
	}
	if name == r.reached {
		return // it has been named
	}
	r.reached = name
	switch name {
	case "memory":
		r.diagnose(Diagnostic{Code: CodeMemory, Message: fmt.Sprintf("the Flow has used more than the %d MiB of memory that it may", r.heapBytes>>20)})
	case "stack":
		r.diagnose(Diagnostic{Code: CodeStack, Message: fmt.Sprintf("the Flow has nested calls deeper than the %d that it may", CallDepth)})
	}
}

// exit ends the loop at once.
func (r *runner) exit(status int) {
	if r.exiting {
		return
	}
	r.exiting, r.status = true, status
	r.realm.Interrupt()
}
