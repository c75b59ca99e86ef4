package codex

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

const (
	work          = "/work"
	modeReadOnly  = "read-only"
	configModel   = "model"
	loginTimeout  = 10 * time.Second
	configFailure = "failed to load configuration:"
	// What codex-acp 1.12.0 adds to that sentence, as far as anything depends on it.
	configSuffix = "\n\nCheck the configuration of this installation."
)

// client is one conversation with one app-server.
type client struct {
	h adapter.Host

	login        []byte // parameters of the login; zeroed when sent
	experimental bool   // the login needs the experimental API
	retain       bool   // the session is to be kept
	authorised   bool
	stopLogin    func()

	ids   int
	calls map[int]func(jsontext.Value, *failure) // by request id

	model  string // selected; empty: the client's default
	moded  bool
	thread string

	turns     int // prompts so far
	prompting bool
	turn      string          // the turn in progress, once known
	last      string          // the one before it
	running   bool            // the turn has begun
	cancelled bool            // a cancel waits until it has
	streamed  map[string]bool // items of the turn whose text came in pieces
	spoke     bool            // there was text in the turn
	broke     *failure        // an error of the turn that may not have ended it
	renew     bool            // a new login was asked for in the turn
}

// New is a client for one launch.
func New() adapter.Client {
	return &client{calls: map[int]func(jsontext.Value, *failure){}}
}

func (c *client) Offers() adapter.Offers { return adapter.Offers{Resume: true} }

func (c *client) Start(h adapter.Host) { c.h = h }

// request is a request to the app-server.
type request struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// ask sends a request; done gets its result or its error.
func (c *client) ask(method string, params any, done func(jsontext.Value, *failure)) {
	c.ids++
	line, err := json.Marshal(request{c.ids, method, params})
	if err != nil {
		done(nil, &failure{})
		return
	}
	c.calls[c.ids] = done
	c.h.Send(line)
}

func (c *client) Request(r adapter.Request) {
	switch r.Kind {
	case adapter.Initialize:
		c.initialize()
	case adapter.New:
		c.begin("thread/start", threadParams{Cwd: work, Approval: approval, Sandbox: "workspace-write", Ephemeral: !c.retain}, "")
	case adapter.Resume:
		c.begin("thread/resume", threadParams{ThreadID: r.SessionID, Cwd: work, Approval: approval, Sandbox: "workspace-write", ExcludeTurns: true}, r.SessionID)
	case adapter.Configure:
		if r.ConfigID != configModel || r.Value == "" {
			c.h.Fail(adapter.Failure{Invalid: true})
			return
		}
		c.model = r.Value
		c.h.Done(adapter.Result{})
	case adapter.Mode:
		if r.ModeID != modeReadOnly {
			c.h.Fail(adapter.Failure{Invalid: true})
			return
		}
		c.moded = true
		c.h.Done(adapter.Result{})
	case adapter.Prompt:
		c.prompt(r.Text)
	}
}

type initializeParams struct {
	Info struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	Capabilities *capabilities `json:"capabilities,omitzero"`
}

type capabilities struct {
	Experimental bool `json:"experimentalApi"`
	Attestation  bool `json:"requestAttestation"`
}

func (c *client) initialize() {
	var p initializeParams
	p.Info.Name, p.Info.Title, p.Info.Version = "jig", "jig", "0"
	if c.experimental {
		p.Capabilities = &capabilities{Experimental: true}
	}
	c.ask("initialize", p, func(_ jsontext.Value, x *failure) {
		if x != nil {
			c.h.Fail(adapter.Failure{Category: x.category()})
			return
		}
		c.h.Send([]byte(`{"method":"initialized"}`))
		c.authorise()
	})
}

// authorise hands the login over. Without one the conversation may begin, and no
// turn is sent.
func (c *client) authorise() {
	if c.login == nil {
		c.h.Done(adapter.Result{})
		return
	}
	c.stopLogin = c.h.After(loginTimeout, func() {
		c.h.Broken(launch.Auth)
	})
	c.ids++
	c.calls[c.ids] = func(_ jsontext.Value, x *failure) {
		c.stopLogin()
		if x != nil {
			c.h.Fail(adapter.Failure{Category: launch.Auth})
			return
		}
		c.authorised = true
		c.h.Done(adapter.Result{})
	}
	c.h.Send(loginLine(c.ids, c.login))
	clear(c.login)
	c.login = nil
}

// approval is when Codex has to ask. The answer is no, but asking keeps it from
// running what its sandbox refuses.
const approval = "on-request"

type threadParams struct {
	ThreadID     string `json:"threadId,omitzero"`
	Cwd          string `json:"cwd"`
	Approval     string `json:"approvalPolicy"`
	Sandbox      string `json:"sandbox"`
	ExcludeTurns bool   `json:"excludeTurns,omitzero"`
	Ephemeral    bool   `json:"ephemeral,omitzero"`
}

type threadResult struct {
	Thread struct {
		ID  string `json:"id"`
		Cwd string `json:"cwd"`
	} `json:"thread"`
	Sandbox struct {
		Type    string `json:"type"`
		Network bool   `json:"networkAccess"`
	} `json:"sandbox"`
}

// begin starts or resumes the thread. want is the thread that must come, if any.
func (c *client) begin(method string, p threadParams, want string) {
	c.ask(method, p, func(result jsontext.Value, x *failure) {
		if x != nil {
			c.h.Fail(x.session(method))
			return
		}
		var r threadResult
		if json.Unmarshal(result, &r) != nil || r.Thread.ID == "" || want != "" && r.Thread.ID != want || r.Thread.Cwd != work ||
			r.Sandbox.Type != "workspaceWrite" || r.Sandbox.Network {
			// Another session, or one with more power than was reviewed.
			c.h.Broken("")
			return
		}
		c.thread = r.Thread.ID
		c.h.Done(adapter.Result{SessionID: c.thread})
	})
}

type turnParams struct {
	ThreadID string         `json:"threadId"`
	Input    []input        `json:"input"`
	Model    string         `json:"model,omitzero"`
	Approval string         `json:"approvalPolicy,omitzero"`
	Sandbox  *sandboxPolicy `json:"sandboxPolicy,omitzero"`
}

type input struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type sandboxPolicy struct {
	Type             string   `json:"type"`
	Roots            []string `json:"writableRoots"`
	Network          bool     `json:"networkAccess"`
	WithoutTmpdirVar bool     `json:"excludeTmpdirEnvVar"`
	WithoutTmp       bool     `json:"excludeSlashTmp"`
}

func (c *client) prompt(text string) {
	if !c.authorised {
		c.h.Fail(adapter.Failure{Category: launch.Auth})
		return
	}
	c.settle()
	c.prompting, c.cancelled, c.streamed = true, false, map[string]bool{}
	p := turnParams{ThreadID: c.thread, Input: []input{{"text", text}}, Model: c.model}
	if c.moded {
		// With every turn: a resumed thread comes with the settings of its past.
		p.Approval, p.Sandbox = approval, &sandboxPolicy{Type: "workspaceWrite", Roots: []string{}}
	}
	c.turns++
	own := c.turns
	c.ask("turn/start", p, func(result jsontext.Value, x *failure) {
		var r struct {
			Turn turn `json:"turn"`
		}
		switch {
		case own != c.turns || !c.prompting:
			// The turn has ended already, and another one may have begun.
		case x != nil:
			c.settle()
			c.h.Fail(adapter.Failure{Category: x.category()})
		case json.Unmarshal(result, &r) != nil || r.Turn.ID == "":
			c.h.Broken("")
		case c.turn == "":
			c.turn, c.last = r.Turn.ID, "" // whatever it is called
		}
	})
}

// began learns from a notification that the turn has begun, and its id. The reply is
// no sign of it: an interrupt right behind that meets no turn, and the turn goes on.
func (c *client) began(id string) {
	if !c.prompting || c.running || id == "" || id == c.last || c.turn != "" && c.turn != id {
		return
	}
	c.turn, c.running = id, true
	if c.cancelled {
		c.interrupt()
	}
}

func (c *client) settle() {
	if c.turn != "" {
		c.last = c.turn
	}
	c.prompting, c.running, c.turn, c.streamed, c.spoke, c.broke, c.renew = false, false, "", nil, false, nil, false
}

func (c *client) Cancel() {
	if c.cancelled = true; c.running {
		c.interrupt()
	}
}

func (c *client) interrupt() {
	c.ask("turn/interrupt", struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
	}{c.thread, c.turn}, func(jsontext.Value, *failure) {
		// The turn's own end says what became of it; one that has just ended
		// cannot be interrupted, which is no failure.
	})
}
