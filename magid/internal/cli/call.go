package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// maxPayloadBytes is the longest payload a record takes.
const maxPayloadBytes = 32768

type callFlags struct {
	session  string
	takeover bool
	deadline time.Duration
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call METHOD [JSON]",
		Short: "Call one method of the wire and print its reply",
		Long: "Call one method of the wire and print the payload of its reply. JSON is the request's payload, {} if left\n" +
			"out, - to read it from standard input.\n\n" +
			"With --session the session is claimed, the method called and the session released again, all on one\n" +
			"connection. Operation ids are filled in. A turn that was started goes on: see `magid chat` and `magid history`.",
		Example: "  magid call daemon.status\n" +
			"  magid call session.create '{\"workspace\":\"/home/me/project\"}'\n" +
			"  magid call turn.start '{\"prompt\":\"Hello\"}' --session 5f6d2f2e-5a0e-4a6e-9c37-0d1f5b8f6f0a",
		Args: takes(1, 2, "a method and at most one JSON object"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.call(cmd.Context(), args, f) },
	}
	cmd.Flags().StringVar(&f.session, "session", "", "the `ID` of the session to call the method in")
	cmd.Flags().BoolVar(&f.takeover, "takeover", false, "take the session from another connection that controls it")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 0, "how long the daemon may take to decide (default 30s)")
	return a.withJSON(cmd)
}

func (a *app) call(ctx context.Context, args []string, f callFlags) error {
	payload, err := a.payload(ctx, args[1:])
	if err != nil {
		return err
	}
	call := client.Call{Method: wirev2.Method(args[0]), Deadline: f.deadline}
	if f.deadline < 0 || f.deadline > 600*time.Second {
		return usagef("--deadline is from 1ms to 600s")
	}
	if f.session != "" {
		if call.SessionID, err = wirev2.ParseID(f.session); err != nil {
			return usagef("--session: %q is not the id of a session: `magid sessions` lists them", f.session)
		}
	} else if f.takeover {
		return usagef("--takeover goes with --session")
	}
	var tokens []wirev2.Capability
	info, known := call.Method.Lookup()
	if known && info.Session == wirev2.Required && f.session == "" {
		return usagef("%s takes a session: add --session ID; `magid sessions` lists them", call.Method)
	}
	if info.Profile {
		tokens = append(tokens, wirev2.CapabilityApplicationResources)
	}
	c, err := a.connect(ctx, tokens...)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	var session *client.Session
	if known && f.session != "" && info.Control != wirev2.Null {
		if session, err = c.Claim(ctx, "", call.SessionID, f.takeover); err != nil {
			return err
		}
		call.ControlToken = session.Token()
	}
	if call.Method == wirev2.MethodSessionClaim && f.takeover && len(args) == 1 {
		payload = jsontext.Value(`{"takeover":true}`)
	}
	var reply jsontext.Value
	err = c.Call(ctx, &call, payload, &reply)
	if session != nil && call.Method != wirev2.MethodSessionRelease {
		err = errors.Join(err, session.Release(ctx, ""))
	}
	if err != nil {
		return err
	}
	return a.result(reply, func() {
		if err := reply.Indent(jsontext.WithIndent("  ")); err == nil {
			a.say("%s", reply)
		}
	})
}

// payload is the JSON argument, checked before a daemon is bothered with it.
func (a *app) payload(ctx context.Context, args []string) (jsontext.Value, error) {
	text := "{}"
	if len(args) > 0 {
		text = args[0]
	}
	if text == "-" {
		read, err := readAll(ctx, maxPayloadBytes+1, func() (io.ReadCloser, error) { return io.NopCloser(a.in), nil })
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		text = string(read)
	}
	value := jsontext.Value(text)
	if len(value) > maxPayloadBytes {
		return nil, usagef("the payload is longer than %d bytes", maxPayloadBytes)
	}
	if !value.IsValid() || value.Kind() != '{' {
		return nil, usagef("the payload is not one JSON object")
	}
	return value, nil
}
