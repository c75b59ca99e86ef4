package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/retain"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// app is one execution of jig.
type app struct {
	env     project.Environment
	dir     string // the working folder, absolute
	self    string // jig's own program
	started time.Time
	stdin   *os.File
	out     *output
	stderr  io.Writer
	json    bool // standard output carries a record
	asked   bool // --json was given
	color   string

	errStyle style
	outStyle style

	interrupted atomic.Bool
	force       chan struct{}                      // closed at the second signal
	begun       atomic.Bool                        // a run is recorded, or about to be
	ending      atomic.Bool                        // the command has ended, and is saying so
	form        atomic.Pointer[func(error) ending] // how a refusal reads; nil: as most do
	exit        func(int)                          // ends the process
}

// Main is the jig command. It returns the exit status.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	a := &app{
		env: project.NewEnvironment(os.Environ()), started: time.Now(),
		stdin: stdin, out: &output{w: stdout, seen: isTerminal(stdout)}, stderr: &lockedWriter{f: stderr}, self: "/proc/self/exe", force: make(chan struct{}), exit: os.Exit,
	}
	a.asked = wantsJSON(args)
	a.json = a.asked || !isTerminal(stdout)
	a.errStyle, a.outStyle = newStyle(stderr, "", a.env), newStyle(stdout, "", a.env)
	// A reader that went away is a failure to deliver, not an end by a signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	a.dir = dir
	ctx, stop := a.signals()
	defer stop()
	if err != nil {
		return a.end(a.refused(refuse(codeNotFound, "the working folder is gone")))
	}
	return a.execute(ctx, args)
}

// wantsJSON looks for --json before the options are understood: a wrong option
// is reported in the form that was asked for.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// ending is how a command ends: its record, what a person reads on standard
// output instead, and the exit status.
type ending struct {
	record record
	human  string
	exit   int
	line   bool // the record is printed even where a person reads
}

// end prints e and returns the exit status.
func (a *app) end(e ending) int {
	a.ending.Store(true)
	switch {
	case (a.json || e.line) && e.record != nil:
		b, err := e.record.encode()
		if err != nil {
			b, _ = record{"status": "failed", "code": codeInternal, "message": "the record cannot be written", "diagnostics": []project.Diagnostic{}}.encode()
			e.exit = 2
		}
		a.out.last(b)
	case e.human != "":
		a.out.text(e.human)
	}
	if a.out.failed() {
		fmt.Fprintln(a.stderr, "jig: standard output could not be written")
		return 2
	}
	return e.exit
}

// refused is the ending of a command that was refused.
func (a *app) refused(err error) ending {
	r := a.refusal(err)
	a.complain(r)
	rec := record{"status": "failed", "code": r.code, "message": r.message, "diagnostics": diagnostics(r)}
	if r.details != nil {
		rec["details"] = r.details
	}
	return ending{record: rec, exit: exitOf(r.code)}
}

// refusal is the refusal that err is. What fails because of a signal was
// interrupted.
func (a *app) refusal(err error) *refusal {
	if a.interrupted.Load() && errors.Is(err, context.Canceled) {
		return refuse(codeInterrupted, "the command was interrupted")
	}
	return refusalOf(err)
}

// diagnostics are those of r, and its hint, which a record has no other place
// for.
func diagnostics(r *refusal) []project.Diagnostic {
	list := r.diagnostics
	if r.hint != "" {
		list = append([]project.Diagnostic{{Code: r.code, Message: r.message, Hint: r.hint}}, list...)
	}
	if list == nil {
		return []project.Diagnostic{}
	}
	return list
}

// complain tells a person why.
func (a *app) complain(r *refusal) {
	a.say("%s %s", a.errStyle.paint(red, "jig:"), a.errStyle.wrap(escape(r.message)+" ["+r.code+"]", 5))
	for _, d := range r.diagnostics {
		a.diagnose(d)
	}
	if r.hint != "" {
		a.say("  %s", a.errStyle.wrap(escape(r.hint), 2))
	}
}

// diagnose shows one diagnostic, its place first.
func (a *app) diagnose(d project.Diagnostic) {
	place := ""
	if d.Path != "" {
		place = escape(d.Path)
		if d.Line > 0 {
			place += fmt.Sprintf(":%d:%d", d.Line, d.Column)
		}
		place += ": "
	}
	a.say("  %s", a.errStyle.wrap(place+escape(d.Message)+" ["+escape(d.Code)+"]", 2))
	if d.Hint != "" {
		a.say("    %s", a.errStyle.wrap(escape(d.Hint), 4))
	}
}

// say writes one line for a person on standard error.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

// warn is one line about something that does not stop the command.
func (a *app) warn(format string, args ...any) {
	a.say("%s %s", a.errStyle.paint(yellow, "warning:"), a.errStyle.wrap(fmt.Sprintf(format, args...), 9))
}

// launcher finds bubblewrap and makes scopes startable.
func (a *app) launcher() (*sandbox.Launcher, string, error) {
	override, set := a.env.Lookup(project.BwrapVariable)
	bwrap, _, err := sandbox.FindBwrap(sandbox.Search{Path: a.env.Get(project.PathVariable), Override: override, Set: set, Project: a.dir})
	if err != nil {
		return nil, "", err
	}
	uid, gid := sandbox.Identity(a.env.Get("SUDO_UID"), a.env.Get("SUDO_GID"), a.dir)
	l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: bwrap, UID: uid, GID: gid})
	return l, bwrap, err
}

// open opens the project's state and records what became of dead runs.
func (a *app) open(ctx context.Context) (*state.Dir, error) {
	d, err := state.Open(a.dir)
	if err != nil {
		return nil, a.nothingHere(err)
	}
	return d, a.recover(ctx, d)
}

// nothingHere tells a folder that is no project from one that was not reviewed.
func (a *app) nothingHere(err error) error {
	if errors.Is(err, state.ErrNone) && !project.Is(a.dir) {
		return project.ErrNotFound
	}
	return err
}

func (a *app) recover(ctx context.Context, d *state.Dir) error {
	lost, err := d.Recover(ctx, lostRecord, retain.Settle)
	for _, r := range lost {
		a.warn("run %s was lost: its jig ended before it did", escape(r.ID))
	}
	return err
}

func lostRecord(r state.RunRecord) ([]byte, error) {
	return record{
		"status": "lost", "code": codeCoordinatorLost, "message": "the jig that ran it ended before the run did",
		"diagnostics": []project.Diagnostic{}, "runId": r.ID,
	}.encode()
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") + "\n" }
