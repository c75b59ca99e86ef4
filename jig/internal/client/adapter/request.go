package adapter

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errHost is a line that the host never sends. The host has checked all it
// forwards, so that the end of the conversation is the only answer.
var errHost = errors.New("adapter: the host left the conversation it checks itself")

// message is a line of the host.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

type initializeParams struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Meta struct {
			JetBrains struct {
				Air struct {
					Version      int      `json:"version"`
					Capabilities []string `json:"capabilities"`
				} `json:"air"`
			} `json:"jetbrains"`
		} `json:"_meta"`
	} `json:"clientCapabilities"`
}

type sessionParams struct {
	SessionID string           `json:"sessionId"`
	Cwd       string           `json:"cwd"`
	Servers   []jsontext.Value `json:"mcpServers"`
	ConfigID  string           `json:"configId"`
	Type      string           `json:"type"`
	Value     jsontext.Value   `json:"value"`
	ModeID    string           `json:"modeId"`
	Prompt    []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"prompt"`
}

// kinds are the requests by method.
var kinds = map[string]Kind{
	"initialize": Initialize, "session/new": New, "session/resume": Resume, "session/set_config_option": Configure,
	"session/set_mode": Mode, "session/prompt": Prompt, "session/close": Close,
}

// line takes one line of the host.
func (f *face) line(b []byte) error {
	var m message
	if json.Unmarshal(b, &m) != nil || m.Version != "2.0" {
		return errHost
	}
	if m.Method == "" {
		return f.permitted(m)
	}
	if m.Method == "session/cancel" && m.ID == nil {
		return f.cancel(m)
	}
	kind, known := kinds[m.Method]
	if !known || m.ID == nil || f.pending != nil || (m.ID.Kind() != '"' && m.ID.Kind() != '0') {
		return errHost
	}
	r := Request{Kind: kind}
	if kind == Initialize {
		var p initializeParams
		if json.Unmarshal(m.Params, &p) != nil || p.Version != 1 {
			return errHost
		}
		air := p.Capabilities.Meta.JetBrains.Air
		for _, c := range air.Capabilities {
			f.typed = f.typed || air.Version == 1 && c == "sessionFailure"
		}
	} else if !f.read(&r, m.Params) {
		return errHost
	}
	f.pending = &call{m.ID.Clone(), r}
	f.greeted = f.greeted || kind == Initialize
	if f.over {
		if kind == Initialize && f.typed {
			f.diagnose("error") // there was nobody to tell before
		} else {
			f.refuse()
		}
		return nil
	}
	f.stopped = false
	if kind == Close {
		f.Done(Result{})
		return nil
	}
	f.client.Request(r)
	return nil
}

// read takes the params of a request about a session.
func (f *face) read(r *Request, params jsontext.Value) bool {
	var p sessionParams
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	switch r.Kind {
	case New:
		return f.session == "" && p.Cwd == "/work" && len(p.Servers) == 0
	case Resume:
		r.SessionID = p.SessionID
		return f.session == "" && p.SessionID != "" && p.Cwd == "/work" && len(p.Servers) == 0
	case Configure:
		r.ConfigID = p.ConfigID
		if p.Type != "" || json.Unmarshal(p.Value, &r.Value) != nil {
			return false // no client has a Boolean
		}
	case Mode:
		r.ModeID = p.ModeID
	case Prompt:
		if len(p.Prompt) != 1 || p.Prompt[0].Type != "text" {
			return false
		}
		r.Text = p.Prompt[0].Text
	}
	return f.session != "" && p.SessionID == f.session
}

// cancel stops the prompt in progress. One that has settled needs none: the reply
// and the cancel have crossed.
func (f *face) cancel(m message) error {
	var p sessionParams
	if json.Unmarshal(m.Params, &p) != nil || p.SessionID != f.session || f.session == "" {
		return errHost
	}
	if f.over || f.stopped || f.pending == nil || f.pending.Kind != Prompt {
		return nil
	}
	f.stopped = true
	f.client.Cancel()
	return nil
}

// permitted is the host's answer to a request for permission.
func (f *face) permitted(m message) error {
	id := string(m.ID)
	refuse, ok := f.permissions[id]
	if !ok || (m.Result == nil) == (m.Error == nil) {
		return errHost
	}
	delete(f.permissions, id)
	if !f.over {
		refuse()
	}
	return nil
}

// refuse answers a request that came when the client was gone.
func (f *face) refuse() {
	_, b := f.answer()
	f.host(append(b, `,"error":{"code":-32603,"message":"Internal error"}}`...))
}
