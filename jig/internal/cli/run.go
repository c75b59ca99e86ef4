package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/retain"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

type runOptions struct {
	target  string
	input   string
	given   bool // an input was given
	timeout string
	receive []string
}

// Statuses of a run.
const (
	statusSucceeded = "succeeded"
	statusLost      = state.StatusLost
)

func (a *app) runCommand(end func(ending)) *cobra.Command {
	o := runOptions{timeout: defaultTimeout}
	var c *cobra.Command
	c = a.command("run TARGET", "Run a target that was reviewed", atMost(1), func(ctx context.Context, args []string) ending {
		if len(args) == 1 {
			o.target = args[0]
		}
		o.given = c.Flags().Changed("input")
		return a.run(ctx, o)
	}, end)
	f := c.Flags()
	word(f, &o.input, "input", "JSON, @FILE, or @- for standard input; without it {}")
	word(f, &o.timeout, "timeout", "a number with ms, s, m or h; without it 30s")
	f.Var(&words{into: &o.receive, most: maxReceive}, "receive", "print what the target sends on this channel; may be repeated")
	c.ValidArgsFunction = a.completeTargets
	return c
}

func (a *app) run(ctx context.Context, o runOptions) ending {
	a.refusing(func(err error) ending { return a.receiving(o, a.refused(err)) })
	p, err := a.prepare(ctx, o)
	if err != nil {
		return a.receiving(o, a.refused(err))
	}
	return a.receiving(o, a.perform(ctx, p))
}

// receiving puts the record of a command that prints items into the last line.
func (a *app) receiving(o runOptions, e ending) ending {
	if len(o.receive) == 0 {
		return e
	}
	e.line = true
	b, err := e.record.encode()
	if err != nil {
		return e
	}
	e.record = record{"type": "terminal", "result": encoded(b)}
	return e
}

// prepared is a run that can begin.
type prepared struct {
	o        runOptions
	d        *state.Dir
	content  *review.Content
	closure  *project.Closure
	input    jsontext.Value
	timeout  time.Duration
	launcher *sandbox.Launcher
	jig      string
	compiled map[string][]byte
	reach    *project.Reach
	natives  *natives             // nil: no acp grant
	warnings []project.Diagnostic // found before the run began
	run      *state.Run
	deadline time.Time
}

// prepare does everything that can be refused without a run being recorded.
func (a *app) prepare(ctx context.Context, o runOptions) (_ *prepared, err error) {
	p := &prepared{o: o}
	if p.timeout, err = parseTimeout(o.timeout); err != nil {
		return nil, err
	}
	if p.d, err = state.Open(a.dir); err != nil {
		return nil, a.nothingHere(err)
	}
	var number int64
	var known state.KnownBinary
	var forms state.KnownCompiled
	unsettled := false
	err = p.d.View(func(t *state.Tx) error {
		if err := t.Own(); err != nil {
			return err
		}
		if unsettled, err = t.Unsettled(); err != nil {
			return err
		}
		if known, err = t.KnownBinary(); err != nil {
			return err
		}
		if forms, err = t.KnownCompiled(); err != nil {
			return err
		}
		number, p.content, err = admitted(t)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = overtaken(p.d, number, err) }()
	if unsettled {
		if err := a.recover(ctx, p.d); err != nil {
			return nil, err
		}
	}
	if err := a.choose(p); err != nil {
		return nil, err
	}
	if p.input, err = a.readInput(ctx, o.input, o.given); err != nil {
		return nil, err
	}
	if p.closure, err = project.Build(p.content.Meaning, o.target, p.d.Packages()); err != nil {
		return nil, err
	}
	if err := p.closure.Root.Package.Contract.CheckInput(p.input); err != nil {
		return nil, inputError(p.input, err)
	}
	if err := checkReceive(p); err != nil {
		return nil, err
	}
	if err := fitsFrame(p); err != nil {
		return nil, err
	}
	if err := a.surroundings(p); err != nil {
		return nil, err
	}
	digest := ""
	if p.jig, digest, err = p.d.Binary(a.self, known); err != nil {
		return nil, err
	}
	if p.compiled, err = compiledForms(p.d, forms, digest, p.closure.Packages, formBytes); err != nil {
		return nil, err
	}
	if p.native() {
		opener, err := a.opener(p.jig, digest)
		if err != nil {
			return nil, err
		}
		p.natives = &natives{a: a, p: p, opener: opener}
		if err := p.natives.check(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.begun.Store(true)
	now := time.Now()
	p.deadline = now.Add(p.timeout)
	if p.natives != nil {
		p.natives.deadline = p.deadline
	}
	p.run, err = p.d.StartRun(now, p.deadline, func(t *state.Tx) (state.RunRecord, error) {
		current, _, err := admitted(t)
		if err == nil && current != number {
			err = anotherGeneration()
		}
		return state.RunRecord{Target: o.target, Generation: number, Packages: p.closure.Packages}, err
	})
	return p, err
}

func anotherGeneration() error {
	return &refusal{code: codeReviewRequired, message: "another generation was admitted while the run began", hint: "run it again"}
}

// overtaken finds out why a run that began with the generation number misses what
// was stored: a review that admitted another one sweeps away what only the earlier
// needed, which is no damage.
func overtaken(d *state.Dir, number int64, err error) error {
	if !errors.Is(err, state.ErrInvalid) && !errors.Is(err, flowpkg.ErrChanged) && !errors.Is(err, project.ErrChanged) {
		return err
	}
	current := number
	unread := d.View(func(t *state.Tx) (err error) {
		current, _, err = admitted(t)
		return err
	})
	if unread == nil && current != number {
		return anotherGeneration()
	}
	return err
}

func admitted(t *state.Tx) (int64, *review.Content, error) {
	a, err := t.Admission()
	if err != nil {
		return 0, nil, err
	}
	c, err := review.ReadContent(a)
	if err == nil && c == nil {
		err = &refusal{code: codeAdmissionMissing, message: "nothing has been approved here yet", hint: "run jig review"}
	}
	return a.Number, c, err
}

// choose finds the target. Nothing is guessed.
func (a *app) choose(p *prepared) error {
	targets := p.content.Meaning.Targets
	name := p.o.target
	if name == "" {
		r := refuse(codeTargetInvalid, "a target is needed")
		r.hint = "targets: " + targetNames(targets)
		r.details = map[string]any{"targets": slices.Sorted(maps.Keys(targets))}
		return r
	}
	if strings.HasPrefix(name, "npm:") {
		return refuse(codeFeature, "npm: targets are not offered")
	}
	t, ok := targets[name]
	switch {
	case ok && t.Unavailable:
		return refuse(codeUnavailable, t.Reason)
	case ok && !t.Ready:
		return refuse(codeTargetInvalid, "the target is not runnable: "+t.Reason)
	case ok:
		return nil
	}
	r := refuse(codeTargetNotFound, "there is no such target")
	r.hint = "targets: " + targetNames(targets)
	if kind, _, ok := strings.Cut(name, ":"); !ok || kind != "flow" && kind != "binding" {
		r.code, r.message = codeTargetInvalid, "a target is flow:<path> or binding:<name>"
	}
	return r
}

func targetNames(targets map[string]project.Target) string {
	if len(targets) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(targets))
	for i, n := range names {
		if !targets[n].Ready {
			names[i] += " (not runnable)"
		}
	}
	return strings.Join(names, ", ")
}

func checkReceive(p *prepared) error {
	ports := p.closure.Root.Package.Contract.Ports
	for _, name := range p.o.receive {
		if port, ok := ports[name]; !ok || port.Direction != "send" {
			return refuse(codeInputInvalid, "the target sends nothing on a channel "+name+"; "+sending(ports))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		if ports[name].Required && !slices.Contains(p.o.receive, name) {
			return refuse(codeInputInvalid, fmt.Sprintf("the target needs its channel %s; a command can only receive, with --receive", name))
		}
	}
	return nil
}

// fitsFrame refuses an input that no frame could carry, beside the settings and
// the channels of the run.
func fitsFrame(p *prepared) error {
	run := run0.Run{
		Input: p.input, Settings: p.closure.Root.Settings, Scratch: engine.ScratchDir, DeadlineUnixMS: time.Now().Add(p.timeout).UnixMilli(),
		Channels: map[string]channel.Grant{},
	}
	broker := channel.New(channel.Limits{}) // its grants are as large as those of the run
	for _, name := range p.o.receive {
		made, err := broker.Create(0, channel.Options{Delivery: contract.Direct, Contract: p.closure.Root.Package.Contract.Ports[name].Contract})
		if err != nil {
			return err
		}
		run.Channels[name] = made.Send
	}
	err := run.Check()
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return refuse(codeInputInvalid, f.Message)
	}
	return err
}

// surroundings compares the machine with what was reviewed.
func (a *app) surroundings(p *prepared) error {
	var bwrap string
	var err error
	if p.launcher, bwrap, err = a.launcher(); err != nil {
		return err
	}
	reviewed := p.content.Meaning.Environment
	var changed []string
	if bwrap != reviewed.Bwrap {
		changed = append(changed, "bwrap")
	}
	if len(p.closure.Grants) > 0 {
		if p.reach, err = project.NewReach(a.env); err != nil {
			return &refusal{code: project.CodeHTTPUnavailable, message: err.Error()}
		}
		facts, was := p.reach.Facts(), project.ReachFacts{}
		if reviewed.Reach != nil {
			was = *reviewed.Reach
		}
		for _, f := range []struct {
			name string
			a, b *string
		}{{"proxy", was.Proxy, facts.Proxy}, {"no-proxy", was.NoProxy, facts.NoProxy}, {"ca", was.CA, facts.CA}} {
			if (f.a == nil) != (f.b == nil) || f.a != nil && *f.a != *f.b {
				changed = append(changed, f.name)
			}
		}
	}
	if len(changed) > 0 {
		return &refusal{
			code: codeReviewRequired, message: "this machine is not as it was reviewed: " + strings.Join(changed, ", "), hint: "run jig review",
			details: map[string]any{"reason": "EXECUTION_ENVIRONMENT_CHANGED", "changed": changed, "flowStarted": false},
		}
	}
	return a.ready(p)
}

// perform runs what was prepared and records its end.
func (a *app) perform(ctx context.Context, p *prepared) ending {
	look := a.lookForDrift(p)
	show := newShow(a, p)
	launcher := &launcher{l: p.launcher, jig: p.jig, lock: p.run.ScopeLock(), compiled: p.compiled}
	resources, err := a.resources(p)
	scopes := &acp.Scopes{Launcher: p.launcher, Lock: p.run.ScopeLock()}
	if err == nil && p.native() {
		resources[project.KindACP], err = a.lend(p, show, scopes)
	}
	result := tree.Result{}
	if err != nil {
		result.Err = fault.New(fault.Unavailable, err.Error())
	} else {
		result = tree.Run(ctx, tree.Options{
			Target: p.closure.Root, Input: p.input, Deadline: p.deadline, Receive: p.o.receive,
			Launcher: launcher, Resources: resources, Force: a.force, Stderr: show.stderr, Item: show.item,
		})
	}
	show.end()
	look()
	rec, status := a.runRecord(p, result, show, launcher.unclean() || scopes.Unclean())
	line, err := rec.encode()
	if err == nil {
		err = p.run.Finish(time.Now(), state.Terminal{Status: status, Record: line, Stderr: onlyText(result.Stderr)}, retain.Settle)
	}
	if err != nil {
		r := refusalOf(err)
		a.complain(r)
		rec["cleanup"] = map[string]string{"status": "failed", "code": codeCloseFailed}
	}
	return a.runEnding(rec, status)
}

// runRecord is what is told of a run that ended.
func (a *app) runRecord(p *prepared, result tree.Result, show *show, unclean bool) (record, string) {
	rec := record{"runId": p.run.ID, "diagnostics": slices.Concat([]project.Diagnostic{}, p.warnings, show.diagnostics())}
	status := statusSucceeded
	if result.Err != nil {
		status = statusFailed
		rec["code"], rec["message"] = string(result.Err.Code), result.Err.Message
		if result.Err.Details != nil {
			rec["details"] = result.Err.Details
		}
	} else {
		rec["outcome"], rec["output"] = result.Result.Outcome, result.Result.Output
	}
	rec["status"] = status
	if a.interrupted.Load() {
		rec["command"] = map[string]string{"status": "interrupted"}
	}
	if unclean {
		rec["cleanup"] = map[string]string{"status": "failed", "code": codeCloseFailed}
	}
	return rec, status
}

// runEnding is the ending of a run that was recorded.
func (a *app) runEnding(rec record, status string) ending {
	e := ending{record: rec}
	switch status {
	case statusFailed:
		e.exit = 1
	case statusLost:
		e.exit = 2
	}
	if rec["cleanup"] != nil || rec["command"] != nil {
		e.exit = 2
	}
	if status == statusSucceeded {
		e.human = fmt.Sprintf("%s\n", a.resultText(rec))
		return e
	}
	a.say("%s %s", a.errStyle.paint(red, "failed:"), a.errStyle.wrap(escape(fmt.Sprint(rec["message"]))+" ["+escape(fmt.Sprint(rec["code"]))+"]", 8))
	for _, d := range rec["diagnostics"].([]project.Diagnostic) {
		if !fromConversation(d) {
			a.diagnose(d)
		}
	}
	return e
}

// resultText is a result for a person: the outcome, and the output, whole.
func (a *app) resultText(rec record) string {
	a.say("%s %s", a.errStyle.paint(green, "Execution:"), "completed")
	return "Outcome: " + escape(fmt.Sprint(rec["outcome"])) + "\n" + wholeText(rec["output"].(jsontext.Value))
}

// wholeText is a value that a person asked for, whole: a string without quotes and
// on its own lines, everything else as JSON on one.
func wholeText(v jsontext.Value) string {
	var text string
	if v.Kind() != '"' || json0.Decode(v, &text) != nil {
		return string(escapeJSON(v))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeText(line)
	}
	return strings.Join(lines, "\n")
}
