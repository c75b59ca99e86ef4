package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// companion is the application of the story's second half: it lends the model a tool and a skill. What it must not lose
// is the executor's proof, the call it took and what came out of it; in the story it dies and finds them where it kept
// them.
type companion struct {
	session wirev2.ID
	turn    wirev2.ID
	proof   wirev2.ExecutorCreateReply
	call    wirev2.TurnApplicationToolCallEvent
	outcome wirev2.Outcome
	sounded int // how often the horn went: the effect that must not happen twice
}

// lend is the heart of the second half: a tool call whose executor dies between the work and the word.
func (d *demo) lend(ctx context.Context, id wirev2.ID) error {
	c, conn, err := d.cuttable(ctx, wirev2.CapabilityApplicationResources)
	if err != nil {
		return err
	}
	defer c.Close()
	app := &companion{session: id}
	before := len(d.model.Requests())
	text, err := d.untilWorkIsDone(ctx, c, conn, app)
	if err != nil {
		return err
	}
	waiting, err := d.askForEvidence(ctx, app)
	if err != nil {
		return err
	}
	later, events, err := d.resumeAndReport(ctx, app)
	if err != nil {
		return err
	}

	d.step("Nothing ran twice, and nothing was hidden")
	requests := d.model.Requests()[before:]
	asked, told := string(requests[0].Body), string(requests[len(requests)-1].Body)
	d.prove("the model saw the skill and the tool's schema", strings.Contains(asked, "Speak as a keeper does") && strings.Contains(asked, `"maximum":30`))
	d.prove("the call left the daemon once; the executor that came back was told of it and not asked again", events == 0)
	d.prove("the horn went once", app.sounded == 1)
	d.prove("while nobody could know, the evidence said uncertain", waiting.ExternalEffects == wirev2.EffectsUncertain)
	d.prove("the model got the executor's own result", strings.Contains(told, hornSounded))
	d.prove("its words before and after the call are one text", text+later == beforeHorn+afterHorn)
	return nil
}

// untilWorkIsDone registers, starts the turn and does what the model asks for, until the connection is cut.
func (d *demo) untilWorkIsDone(ctx context.Context, c *client.Client, conn net.Conn, app *companion) (text string, err error) {
	d.step("An application lends the model a tool and a skill, from files of the workspace")
	session, err := c.Claim(ctx, "", app.session, false)
	if err != nil {
		return "", err
	}
	selection, err := d.register(ctx, session)
	if err != nil {
		return "", err
	}
	if app.proof, err = c.CreateExecutor(ctx, ""); err != nil {
		return "", err
	}
	q := wirev2.ExecutorConfirmRequest{ExecutorID: app.proof.ExecutorID, ResumeSecret: app.proof.ResumeSecret}
	if _, err := c.ConfirmExecutor(ctx, "", q); err != nil {
		return "", err
	}
	d.text("executor %s, generation 1", app.proof.ExecutorID)
	d.text("%s", d.app.styled(faint, "it alone may answer the tool's calls, and proves itself with a secret that was shown once"))
	selection.ExecutorID, selection.ExecutorGeneration = &app.proof.ExecutorID, &app.proof.ExecutorGeneration

	d.step("The model calls the tool, and the application does the work")
	calls := c.Subscribe(client.ForExecutor)
	d.text("you      %s", askedThird)
	reply, err := session.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: askedThird, Application: selection})
	if err != nil {
		return "", err
	}
	app.turn = reply.TurnID
	d.begin("model    ")
	for text != beforeHorn {
		e, err := session.Events().Next(ctx)
		if err != nil {
			return "", err
		}
		piece, err := textOf(e)
		if err != nil {
			return "", err
		}
		text += piece
		d.stream(piece)
	}
	e, err := calls.Next(ctx)
	if err != nil {
		return "", err
	}
	if err := wirev2.DecodePayload(e.Payload, &app.call); err != nil {
		return "", err
	}
	d.text("call     %s %s", app.call.Name, app.call.Arguments)
	app.sound()
	d.text("effect   the horn: %s", hornSounded)
	if err := conn.Close(); err != nil {
		return "", err
	}
	d.text("result   %s", d.app.styled(red, "✂"))
	d.text("%s", d.app.styled(faint, "the executor is gone, after the work and before the word"))
	return text, nil
}

// register registers both files and selects what came of them.
func (d *demo) register(ctx context.Context, session *client.Session) (*wirev2.Application, error) {
	selection := &wirev2.Application{ToolAuthorizations: []wirev2.Authorization{}}
	for _, r := range []wirev2.Resource{
		{Kind: wirev2.KindTool, Name: toolName, Description: toolDescription, Source: fromFile(toolFile)},
		{Kind: wirev2.KindSkill, Name: skillName, Description: "How a keeper speaks.", Source: fromFile(skillFile)},
	} {
		reply, err := session.RegisterResource(ctx, "", wirev2.SessionResourcesRegisterRequest{Resource: r})
		if err != nil {
			return nil, err
		}
		e := reply.Entry
		d.text("%-8s %-10s %s, %d bytes, sha256 %.12s…", e.Kind, e.Name, *r.Source.Path, e.CapturedBytes, e.ContentSHA256)
		selection.ExpectedRegistryRevision = reply.RegistryRevision
		if e.Kind == wirev2.KindTool {
			selection.ToolAuthorizations = append(selection.ToolAuthorizations, wirev2.Authorization{
				ResourceID: e.ResourceID, RevisionID: e.RevisionID, RevisionSHA256: e.RevisionSHA256,
			})
		}
	}
	return selection, nil
}

func fromFile(path string) wirev2.Source {
	return wirev2.Source{Kind: wirev2.SourceWorkspaceFile, Path: &path}
}

// sound does the work, and keeps what came out of it before anything else.
func (app *companion) sound() {
	app.sounded++
	app.outcome = wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{"sounded":"` + hornSounded + `"}`)}
}

// askForEvidence is another connection that asks what is known.
func (d *demo) askForEvidence(ctx context.Context, app *companion) (wirev2.CallEvidence, error) {
	d.step("Somebody asks what is known of the call")
	c, err := d.connect(ctx, wirev2.CapabilityApplicationResources)
	if err != nil {
		return wirev2.CallEvidence{}, err
	}
	defer c.Close()
	// A takeover, because the daemon may not have seen yet that the executor's connection is gone.
	session, err := c.Claim(ctx, "", app.session, true)
	if err != nil {
		return wirev2.CallEvidence{}, err
	}
	call, err := d.evidence(ctx, session, app.turn)
	if err != nil {
		return call, err
	}
	d.text("%s", d.app.styled(faint, "it was sent and not answered, so it may have happened: the daemon neither hides that nor sends it again"))
	return call, session.Release(ctx, "")
}

// evidence shows what is known of the turn's one call.
func (d *demo) evidence(ctx context.Context, session *client.Session, turn wirev2.ID) (wirev2.CallEvidence, error) {
	reply, err := session.Evidence(ctx, turn)
	if err != nil {
		return wirev2.CallEvidence{}, err
	}
	if len(reply.Calls) != 1 {
		return wirev2.CallEvidence{}, fmt.Errorf("the evidence has %d calls where there was one", len(reply.Calls))
	}
	call := reply.Calls[0]
	line := fmt.Sprintf("evidence %s %s, effects %s", call.Name, call.Status, call.ExternalEffects)
	if call.RemainingMS != nil {
		line += fmt.Sprintf(", %d s left to answer", *call.RemainingMS/1000)
	}
	d.text("%s", line)
	return call, nil
}

// resumeAndReport is the application coming back: it proves itself, learns what is open and hands in what it kept. It
// returns the rest of the text, and how many calls the daemon sent again.
func (d *demo) resumeAndReport(ctx context.Context, app *companion) (text string, events int, err error) {
	d.step("The application comes back, proves itself and hands in the original result")
	c, err := d.connect(ctx, wirev2.CapabilityApplicationResources)
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	calls := c.Subscribe(client.ForExecutor)
	q := wirev2.ExecutorResumeRequest{ExecutorID: app.proof.ExecutorID, ResumeSecret: app.proof.ResumeSecret}
	resumed, err := c.ResumeExecutor(ctx, "", q)
	if err != nil {
		return "", 0, err
	}
	if len(resumed.PendingCalls) != 1 || resumed.PendingCalls[0].CallID != app.call.CallID {
		return "", 0, errors.New("the executor that came back is not told of its call")
	}
	d.text("executor %s, generation %d: whoever has the old one has nothing", app.proof.ExecutorID, resumed.ExecutorGeneration)
	d.text("open     %s, the call it knows", resumed.PendingCalls[0].Name)
	session, err := c.Claim(ctx, "", app.session, false)
	if err != nil {
		return "", 0, err
	}
	_, err = c.SubmitResult(ctx, "", app.session, wirev2.TurnApplicationToolResultRequest{
		TurnID: app.call.TurnID, CallID: app.call.CallID,
		ExecutorID: app.proof.ExecutorID, ExecutorGeneration: resumed.ExecutorGeneration,
		ResourceID: app.call.ResourceID, RevisionID: app.call.RevisionID, RevisionSHA256: app.call.RevisionSHA256,
		Outcome: app.outcome,
	})
	if err != nil {
		return "", 0, err
	}
	d.text("result   %s", app.outcome.Value)
	d.begin("model    ")
	text, _, err = d.listen(ctx, session, app.turn)
	if err != nil {
		return "", 0, err
	}
	call, err := d.evidence(ctx, session, app.turn)
	if err != nil {
		return "", 0, err
	}
	d.prove("the evidence now says reported", call.ExternalEffects == wirev2.EffectsReported && call.Status == wirev2.CallSucceeded)
	// What came before the turn's end is in the subscription: it is counted, and not waited for.
	over, cancel := context.WithCancel(ctx)
	cancel()
	for ; err == nil; events++ {
		_, err = calls.Next(over)
	}
	return text, events - 1, nil
}
