package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

type app struct {
	workspace  string
	file       string // of what is kept
	crash      string
	kept       kept
	c          *client.Client
	session    *client.Session
	generation int64 // of the executor on this connection
}

func newApp(workspace, file, crash string) (*app, error) {
	workspace, err := filepath.Abs(workspace)
	if err != nil {
		return nil, err
	}
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		file = filepath.Join(home, ".local", "state", "magi-companion.json")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	a := &app{workspace: workspace, file: file, crash: crash}
	a.kept, err = load(file)
	return a, err
}

// start begins a session, an executor and a turn that lends both files to the model.
func (a *app) start(ctx context.Context, prompt string) (err error) {
	a.kept.Instance = a.c.InstanceID()
	if a.kept.Session, err = a.c.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: a.workspace}); err != nil {
		return err
	}
	if a.session, err = a.c.Claim(ctx, "", a.kept.Session, false); err != nil {
		return err
	}
	selected, err := a.register(ctx)
	if err != nil {
		return err
	}
	made, err := a.c.CreateExecutor(ctx, "")
	if err != nil {
		return err
	}
	a.kept.Executor, a.kept.Proof, a.kept.Operation = made.ExecutorID, made.ResumeSecret.Reveal(), wirev2.NewID()
	if err := a.kept.save(a.file); err != nil { // before it is confirmed: the secret is never shown again
		return err
	}
	q := wirev2.ExecutorConfirmRequest{ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret}
	if _, err := a.c.ConfirmExecutor(ctx, "", q); err != nil {
		return err
	}
	a.generation = made.ExecutorGeneration
	selected.ExecutorID, selected.ExecutorGeneration = &made.ExecutorID, &made.ExecutorGeneration
	reply, err := a.session.StartTurn(ctx, a.kept.Operation, wirev2.TurnStartRequest{Prompt: prompt, Application: selected})
	if err != nil {
		return err
	}
	return a.follow(ctx, reply.TurnID)
}

// register has both files captured, and authorizes what the daemon captured.
func (a *app) register(ctx context.Context) (*wirev2.Application, error) {
	selected := &wirev2.Application{ToolAuthorizations: []wirev2.Authorization{}}
	for _, r := range []wirev2.Resource{
		{Kind: wirev2.KindTool, Name: "add_note", Description: "Adds one line to the person's notes.", Source: inWorkspace("add_note.json")},
		{Kind: wirev2.KindSkill, Name: "manners", Description: "How the notes are kept.", Source: inWorkspace("manners.md")},
	} {
		reply, err := a.session.RegisterResource(ctx, "", wirev2.SessionResourcesRegisterRequest{Resource: r})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		selected.ExpectedRegistryRevision = reply.RegistryRevision
		if e := reply.Entry; e.Kind == wirev2.KindTool {
			selected.ToolAuthorizations = append(selected.ToolAuthorizations, wirev2.Authorization{
				ResourceID: e.ResourceID, RevisionID: e.RevisionID, RevisionSHA256: e.RevisionSHA256,
			})
		}
	}
	return selected, nil
}

func inWorkspace(path string) wirev2.Source {
	return wirev2.Source{Kind: wirev2.SourceWorkspaceFile, Path: &path}
}

// resume goes on with the turn that an earlier run started.
func (a *app) resume(ctx context.Context) (err error) {
	if a.c.InstanceID() != a.kept.Instance {
		return errors.Join(errors.New("the daemon was started anew: executor and evidence are gone, `magid history` has what is durable"), os.Remove(a.file))
	}
	// The connection of the earlier run may not have been missed yet. Events come from the claim on, calls among them.
	if a.session, err = a.c.Claim(ctx, "", a.kept.Session, true); err != nil {
		return err
	}
	resumed, err := a.c.ResumeExecutor(ctx, "", wirev2.ExecutorResumeRequest{
		ExecutorID: a.kept.Executor, ResumeSecret: wirev2.Secret(a.kept.Proof),
	})
	if err != nil {
		return err
	}
	a.generation = resumed.ExecutorGeneration
	for _, p := range resumed.PendingCalls {
		if p.Status != wirev2.CallPending {
			continue // it was never sent, and now will be
		}
		outcome := failed(wirev2.ToolExecutionFailed, "the companion died before the tool acted: nothing was done")
		if call := a.kept.Calls[p.CallID]; call != nil && call.Outcome == nil {
			outcome = failed(wirev2.ToolExecutionFailed, "the companion died while the tool acted: the note may be there or not")
		} else if call != nil {
			outcome = *call.Outcome
		}
		err := a.submit(ctx, wirev2.TurnApplicationToolResultRequest{
			TurnID: p.TurnID, CallID: p.CallID,
			ResourceID: p.ResourceID, RevisionID: p.RevisionID, RevisionSHA256: p.RevisionSHA256, Outcome: outcome,
		})
		if err != nil {
			return err
		}
		a.say("handed in what was kept of %s", p.Name)
	}
	switch s := a.session.Claimed(); {
	case s.Turn != nil && s.Turn.OperationID == a.kept.Operation:
		fmt.Print(s.Turn.Text)
		return a.follow(ctx, s.Turn.TurnID)
	case s.Terminal != nil && s.Terminal.OperationID == a.kept.Operation:
		fmt.Print(s.Terminal.Text)
		return a.end(ctx, s.Terminal)
	}
	a.say("the prompt had not reached the daemon")
	return a.leave(ctx)
}

// follow shows a turn to its end and runs its calls.
func (a *app) follow(ctx context.Context, turn wirev2.ID) error {
	for {
		e, err := a.session.Events().Next(ctx)
		if err != nil {
			return err
		}
		body, err := e.Decode()
		if err != nil {
			return err
		}
		switch body := body.(type) {
		case *wirev2.TurnTextEvent:
			fmt.Print(body.Text)
		case *wirev2.TurnApplicationToolCallEvent:
			if err := a.execute(ctx, body); err != nil {
				return err
			}
		case *wirev2.Terminal:
			if body.TurnID == turn {
				return a.end(ctx, body)
			}
		}
	}
}

// execute runs one call. It is written down that it begins, then the tool acts, then what came of it is written down,
// and only then it is handed in.
func (a *app) execute(ctx context.Context, call *wirev2.TurnApplicationToolCallEvent) error {
	if a.kept.Calls[call.CallID] != nil {
		return nil // a call is never run twice
	}
	a.say("%s %s", call.Name, call.Arguments)
	record := &keptCall{}
	a.kept.Calls[call.CallID] = record
	if err := a.kept.save(a.file); err != nil {
		return err
	}
	a.dieIf("before")
	outcome := a.addNote(call.Arguments)
	record.Outcome = &outcome
	if err := a.kept.save(a.file); err != nil {
		return err
	}
	a.dieIf("after")
	return a.submit(ctx, wirev2.TurnApplicationToolResultRequest{
		TurnID: call.TurnID, CallID: call.CallID,
		ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256, Outcome: outcome,
	})
}

// submit hands in an outcome. That the call is not open any more is no failure: it was answered, or it was too late, and
// the evidence tells which.
func (a *app) submit(ctx context.Context, q wirev2.TurnApplicationToolResultRequest) error {
	q.ExecutorID, q.ExecutorGeneration = a.kept.Executor, a.generation
	_, err := a.c.SubmitResult(ctx, "", a.kept.Session, q)
	var answer *wirev2.Error
	if errors.As(err, &answer) && answer.Code == wirev2.CodeUnknownTurn {
		return nil
	}
	return err
}

func (a *app) dieIf(moment string) {
	if a.crash == moment {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // nothing more happens
	}
}

// end shows how the turn ended and what is known of its calls.
func (a *app) end(ctx context.Context, t *wirev2.Terminal) error {
	fmt.Println()
	evidence, err := a.session.Evidence(ctx, t.TurnID)
	if err != nil {
		return err
	}
	for _, call := range evidence.Calls {
		a.say("%s: %s, effects %s", call.Name, call.Status, call.ExternalEffects)
	}
	if err := a.leave(ctx); err != nil {
		return err
	}
	if t.Error != nil {
		return t.Error
	}
	return nil
}

// leave gives back what is not needed any more.
func (a *app) leave(ctx context.Context) error {
	_, err := a.c.ReleaseExecutor(ctx, "", wirev2.ExecutorReleaseRequest{ExecutorID: a.kept.Executor, ExecutorGeneration: a.generation})
	return errors.Join(err, a.session.Release(ctx, ""), os.Remove(a.file))
}

func (a *app) say(format string, args ...any) { fmt.Fprintf(os.Stderr, "· "+format+"\n", args...) }
