package acp_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

const (
	codex  = `{"kind":"acp","client":"codex"}`
	keeps  = `{"kind":"acp","client":"codex","retainSessions":true}`
	native = "0195f3a2-0000-7000-8000-000000000001" // a native session
	given  = "3f2504e0-4f89-41d3-9a0c-0305e82c3301" // a reference
)

// rig is a resource with a Flow on one side and a peer, which plays the adapter
// and the client, on the other. Everything in it runs in one bubble.
type rig struct {
	testing.TB
	broker    *channel.Broker
	requests  *channel.Sender
	responses *channel.Receiver
	grant     string
	input     string
	plan      client.Plan
	login     *client.Credential // nil: none goes over
	deadline  time.Duration
	limits    acp.Limits
	keeper    *keeper
	sessions  acp.SessionKeeper // where keeper is nil
	starter   acp.Starter       // nil: the rig itself
	refused   error             // of Prepare
	unstarted error             // of StartNative
	peer      func(p *peer)
	greet     bool          // see hangs
	stuck     chan struct{} // who watches hears nothing until it is closed; nil: it does

	resource *acp.Resource
	scope    *scope
	starts   int
	events   []acp.Event
	left     []bool
	joiner   *acpframing.Joiner
	items    [][]byte // every item of either direction
	seen     [][]byte // frames of the responses that were read and not yet asked for
	end      bool     // of the responses

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	result jsontext.Value
	err    *fault.Error
	mu     sync.Mutex
}

// bubble runs a test with a fresh rig in a bubble; when it returns, nothing of it
// may be left.
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t)) })
}

func newRig(t testing.TB) *rig {
	r := &rig{
		TB: t, grant: codex, input: "null", deadline: time.Hour, peer: agent,
		plan: client.Plan{Client: "codex", Native: "/opt/codex", Argv: []string{"app-server"}, Env: map[string]string{"HOME": "/home/agent"}},
	}
	r.ctx, r.cancel = context.WithCancel(t.Context())
	return r
}

// start begins the call with what the rig says.
func (r *rig) start() {
	r.Helper()
	r.broker = channel.New(channel.Limits{})
	ports := finite(r.TB).Ports
	flow, host := channel.Party(1), channel.Party(2)
	create := func(name string) channel.Created {
		c, err := r.broker.Create(flow, channel.Options{Delivery: contract.Direct, Contract: ports[name].Contract})
		require.Nil(r, err)
		return c
	}
	up, down := create("requests"), create("responses")
	grants, err := r.broker.Transfer(flow, host, ports, map[string]string{"requests": up.Receive.Endpoint, "responses": down.Send.Endpoint})
	require.Nil(r, err)
	r.requests, r.responses = r.broker.Sender(flow, up.Send), r.broker.Receiver(flow, down.Receive)
	r.joiner, _ = acpframing.NewJoiner(acpframing.Responses, acpframing.Limits{})
	o := acp.Options{
		Starter: r, Project: "project", Watch: r.watch, Limits: r.limits,
		Prepare: func(context.Context, *tree.Grant) (*client.Prepared, error) {
			if r.refused != nil {
				return nil, r.refused
			}
			return &client.Prepared{Plan: &r.plan, Credential: r.login, Warnings: []project.Diagnostic{{Message: "mind the gap"}}}, nil
		},
	}
	if r.starter != nil {
		o.Starter = r.starter
	}
	if r.sessions != nil {
		o.Sessions = r.sessions
	}
	if r.keeper != nil {
		r.keeper.rig = r
		o.Sessions = r.keeper
	}
	var cerr error
	r.resource, cerr = acp.New(o)
	require.NoError(r, cerr)
	c := r.call()
	c.Receivers = map[string]*channel.Receiver{"requests": r.broker.Receiver(host, grants["requests"])}
	c.Senders = map[string]*channel.Sender{"responses": r.broker.Sender(host, grants["responses"])}
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.result, r.err = r.resource.Call(r.ctx, c)
		r.broker.Finish(host, r.err == nil)
	}()
}

func (r *rig) call() tree.ResourceCall {
	return tree.ResourceCall{
		Grant: &tree.Grant{Kind: "acp", Policy: jsontext.Value(r.grant), Provider: "sha256:provider"}, Input: jsontext.Value(r.input),
		Deadline: time.Now().Add(r.deadline), Slot: "native", Label: "flow:agent > native",
		Lineage: []tree.Ancestor{{Target: "flow:agent", Request: "sha256:request"}},
		Left:    func(alive bool) { r.left = append(r.left, alive) },
	}
}

func finite(t testing.TB) *contract.Invocation {
	c, err := contract.Bundle(contract.FiniteACP)
	require.NoError(t, err)
	return c
}

func (r *rig) watch(e acp.Event) {
	if r.stuck != nil {
		<-r.stuck
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// notes are the sentences that the operator was told.
func (r *rig) notes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		if e.Diagnostic.Message != "" {
			all = append(all, e.Diagnostic.Message)
		}
	}
	return strings.Join(all, "\n")
}

// send sends one frame, in fragments.
func (r *rig) send(frame string) {
	r.Helper()
	require.NoError(r, r.trySend(frame))
}

func (r *rig) trySend(frame string) error {
	s, err := acpframing.NewSplitter(acpframing.Requests, acpframing.Limits{})
	require.NoError(r, err)
	require.NoError(r, s.Begin([]byte(frame)))
	for s.More() {
		item, err := s.Next(nil)
		require.NoError(r, err)
		r.keep(item)
		if err := r.requests.Send(r.Context(), item); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) keep(item []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, item)
}

// next is the next frame of the responses; "" is their end.
func (r *rig) next() string {
	r.Helper()
	for {
		item, err := r.responses.Next(r.Context())
		require.NoError(r, err)
		if item.End {
			require.NoError(r, r.joiner.Finish())
			return ""
		}
		r.keep(item.Value)
		if strings.HasPrefix(string(item.Value), `{"configuration"`) {
			return string(item.Value)
		}
		frame, ferr := r.joiner.Add(item.Value)
		require.NoError(r, ferr)
		if frame != nil {
			return string(frame.Bytes())
		}
	}
}

// lost waits until the responses fail, whatever comes before, and says with what.
func (r *rig) lost() fault.Code {
	for {
		item, err := r.responses.Next(r.Context())
		if err != nil {
			var f *fault.Error
			require.ErrorAs(r, err, &f)
			return f.Code
		}
		require.False(r, item.End, "the responses ended cleanly")
		r.keep(item.Value)
	}
}

const ready = `{"configuration":[],"cwd":"/work","kind":"ready","maxTurns":1,"protocolVersion":1}`

// ask sends a request and wants its answer next.
func (r *rig) ask(id int, method, params, want string) {
	r.Helper()
	r.send(request(id, method, params))
	require.JSONEq(r, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, want), r.next())
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

const (
	initialize = `{"protocolVersion":1,"clientCapabilities":{}}`
	newSession = `{"cwd":"/work","mcpServers":[]}`
	offered    = `"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"resume":{}}}}`
	cancel     = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + native + `"}}`
	session    = `{"sessionId":"` + native + `"}`
)

func prompt(text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, native, text)
}

// open does what precedes the first prompt.
func (r *rig) open() {
	r.Helper()
	require.NotEmpty(r, r.next(), "no ready record")
	r.ask(1, "initialize", initialize, offered)
	r.ask(2, "session/new", newSession, `"result":`+session)
}

// turn prompts and reads until the prompt's answer, which it returns with the text.
func (r *rig) turn(id int, text string) (answer, said string) {
	r.Helper()
	r.send(request(id, "session/prompt", prompt(text)))
	return r.settled(id)
}

func (r *rig) settled(id int) (answer, said string) {
	r.Helper()
	var all strings.Builder
	head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id)
	for {
		f := r.next()
		if f == "" {
			r.Fatal("the responses ended before the answer")
		}
		if rest, ok := strings.CutPrefix(f, head); ok {
			return strings.TrimSuffix(rest, "}"), all.String()
		}
		_, text, _ := strings.Cut(f, `"text":"`)
		text, _, _ = strings.Cut(text, `"}`)
		all.WriteString(text)
	}
}

// close ends the requests and reads the responses to their end.
func (r *rig) close() {
	r.Helper()
	require.NoError(r, r.requests.Close(false))
	require.Empty(r, r.next())
}

// wait is the result of the call.
func (r *rig) wait() (string, *fault.Error) {
	r.Helper()
	<-r.done
	require.True(r, r.scope == nil || r.scope.isClosed(), "the scope was not put away")
	return string(r.result), r.err
}

func (r *rig) succeeds(want string) {
	r.Helper()
	got, err := r.wait()
	require.Nil(r, err, "%v %s", err, r.notes())
	require.JSONEq(r, `{"outcome":"done","output":{`+want+`,"cleanup":"complete"}}`, got)
	_, cerr := finite(r.TB).CheckResult([]byte(got))
	require.NoError(r, cerr)
}

func (r *rig) fails(code fault.Code) *fault.Error {
	r.Helper()
	got, err := r.wait()
	require.NotNil(r, err, got)
	require.Equal(r, code, err.Code, "%s %s", err.Message, r.notes())
	return err
}

const exited = `"stopReason":"exited","exitCode":0,"signal":null`

// StartNative starts the rig's peer.
func (r *rig) StartNative(ctx context.Context, p *client.Plan) (acp.Scope, error) {
	r.starts++
	if r.unstarted != nil {
		return nil, r.unstarted
	}
	inHost, inPeer := net.Pipe()
	outHost, outPeer := net.Pipe()
	errHost, errPeer := net.Pipe()
	s := &scope{greet: r.greet, in: inHost, out: outHost, err: errHost, ended: make(chan struct{}), told: make(chan struct{})}
	r.scope = s
	p0 := &peer{TB: r.TB, s: s, conn: inPeer, in: bufio.NewReaderSize(inPeer, 1<<16), out: outPeer, err: errPeer}
	s.ends = []io.Closer{inPeer, outPeer, errPeer}
	go func() {
		defer s.dies()
		if f, err := launch.Read(p0.in); err == nil {
			s.frame = f
			r.peer(p0)
		}
	}()
	return s, nil
}
