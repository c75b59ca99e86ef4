package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// The examples talk to a small daemon that answers every prompt with "Hello." and hangs up on the prompt "crash".

func Example() {
	path, stop := startDaemon()
	defer stop()
	ctx := context.Background()

	c, err := client.Dial(ctx, path, client.Options{Name: "example", Version: "1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	session, err := c.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: "/tmp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	control, err := c.Claim(ctx, "", session, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err = control.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: "Hi!"}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		event, err := control.Events().Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := event.Decode()
		if err != nil {
			fmt.Println(err)
			return
		}
		switch body := body.(type) {
		case *wirev2.TurnTextEvent:
			fmt.Println("text:", body.Text)
		case *wirev2.Terminal:
			fmt.Println("terminal:", body.Status, body.Text)
			return
		}
	}
	// Output:
	// text: Hello.
	// terminal: completed Hello.
}

// A lost reply is looked up on another connection under the operation ID that was chosen before.
func Example_reconnect() {
	path, stop := startDaemon()
	defer stop()
	ctx := context.Background()
	options := client.Options{Name: "example", Version: "1.0"}

	first, err := client.Dial(ctx, path, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()
	session, _ := first.CreateSession(ctx, "", wirev2.SessionCreateRequest{Workspace: "/tmp"})
	control, err := first.Claim(ctx, "", session, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	operation := wirev2.NewID()
	_, err = control.StartTurn(ctx, operation, wirev2.TurnStartRequest{Prompt: "crash"})
	var lost *client.UnansweredError
	if errors.As(err, &lost) {
		fmt.Println("sent:", lost.Sent, "operation known:", lost.OperationID == operation)
	}

	second, err := client.Dial(ctx, path, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()
	fmt.Println("same daemon:", first.InstanceID() == second.InstanceID())
	control, err = second.Claim(ctx, "", session, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fate, err := control.LookupOperation(ctx, operation)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("turn.start:", fate.State)
	// Output:
	// sent: true operation known: true
	// same daemon: true
	// turn.start: completed
}

func ExampleClient_Call() {
	path, stop := startDaemon()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(ctx, path, client.Options{Name: "example", Version: "1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	err = c.Call(ctx, &client.Call{Method: "no.such_method"}, nil, nil)
	var failure *wirev2.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Code)
	}
	// Output:
	// unknown_method
}

// startDaemon serves a socket in a new folder until stop.
func startDaemon() (path string, stop func()) {
	dir, err := os.MkdirTemp("", "wire")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	instance, session := wirev2.NewID(), wirev2.NewID()
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn, instance, session)
			conn.Close()
		}
	}()
	return path, func() {
		listener.Close()
		<-done
		os.RemoveAll(dir)
	}
}

func serve(conn net.Conn, instance, session wirev2.ID) {
	reader, _ := wirev2.NewReader(conn, wirev2.Limits{})
	writer, connection := wirev2.NewWriter(conn), wirev2.NewID()
	for {
		q, err := reader.ReadRequest()
		if err != nil {
			return
		}
		p := wirev2.Response{
			RequestID: q.RequestID, InstanceID: instance, ConnectionID: connection, SessionID: q.SessionID, OperationID: q.OperationID,
		}
		var turn *wirev2.TurnStartRequest
		switch q.Method {
		case wirev2.MethodInitialize:
			p.Body = wirev2.InitializeReply{Capabilities: wirev2.Capabilities{Limits: wirev2.DefaultLimits()}}
		case wirev2.MethodSessionCreate:
			p.Body = wirev2.SessionCreateReply{SessionID: session}
		case wirev2.MethodSessionClaim:
			p.Body, p.GrantGeneration = wirev2.SessionClaimReply{ControlToken: wirev2.NewSecret(), GrantGeneration: 1}, 1
		case wirev2.MethodOperationLookup:
			p.Body = wirev2.OperationLookupReply{OperationID: session, Method: wirev2.MethodTurnStart, State: wirev2.OperationCompleted}
		case wirev2.MethodTurnStart:
			turn = new(wirev2.TurnStartRequest)
			if wirev2.DecodePayload(q.Payload, turn) != nil || turn.Prompt == "crash" {
				return
			}
			p.Body = wirev2.TurnStartReply{TurnID: q.OperationID}
		default:
			p.Error = wirev2.Errorf(wirev2.CodeUnknownMethod, "there is no method %q", q.Method)
		}
		if writer.WriteResponse(&p) != nil {
			return
		}
		if turn == nil {
			continue
		}
		for i, body := range []any{
			wirev2.TurnStartedEvent{TurnID: q.OperationID},
			wirev2.TurnTextEvent{TurnID: q.OperationID, Text: "Hello."},
			wirev2.Terminal{TurnID: q.OperationID, OperationID: q.OperationID, Status: wirev2.TerminalCompleted, Text: "Hello."},
		} {
			name := []wirev2.EventName{wirev2.EventTurnStarted, wirev2.EventTurnText, wirev2.EventTurnTerminal}[i]
			if writer.WriteEvent(&wirev2.Event{
				Event: name, InstanceID: instance, ConnectionID: connection, SessionID: session, GrantGeneration: 1,
				LiveSequence: int64(i + 1), Body: body,
			}) != nil {
				return
			}
		}
	}
}
