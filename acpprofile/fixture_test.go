package acpprofile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

func yes() *bool { b := true; return &b }

// reviewed is the configuration that most tests use.
func reviewed() acpprofile.Config {
	return acpprofile.Config{
		Client: "codex", MaxTurns: 2, ModeID: "read-only",
		Configuration: []acpprofile.Setting{{ID: "model", Value: "m-1"}, {ID: "web", Boolean: yes()}},
	}
}

// plain has nothing to configure and one prompt.
func plain() acpprofile.Config { return acpprofile.Config{Client: "claude", MaxTurns: 1} }

// rig drives a machine and says in words what came of each frame.
type rig struct {
	*testing.T
	*acpprofile.Machine
	id int
}

func newRig(t *testing.T, c acpprofile.Config) *rig {
	t.Helper()
	m, err := acpprofile.New(c)
	require.NoError(t, err)
	return &rig{T: t, Machine: m}
}

func words(d acpprofile.Decision, err error) string {
	if err != nil {
		var f *acpprofile.Failure
		if errors.As(err, &f) {
			return "FAIL " + f.Side + " " + string(f.Reason)
		}
		return "CLOSED"
	}
	var all []string
	for _, b := range d.ToNative {
		all = append(all, "native "+string(b))
	}
	for _, b := range d.ToAdapter {
		all = append(all, "adapter "+string(b))
	}
	if d.Consumed {
		all = append(all, "consumed")
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, "\n")
}

// ask sends an adapter request with the next id.
func (r *rig) ask(method, params string) string {
	r.id++
	return r.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.id, method, params))
}

func (r *rig) raw(frame string) string   { return words(r.Adapter([]byte(frame))) }
func (r *rig) native(line string) string { return words(r.Machine.Native([]byte(line))) }
func (r *rig) result(value string) string {
	return r.native(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, r.id, value))
}

func (r *rig) mustAsk(method, params string) {
	r.Helper()
	require.Contains(r, r.ask(method, params), "native ", method)
}

func (r *rig) mustResult(value string) {
	r.Helper()
	require.Contains(r, r.result(value), "adapter ", value)
}

const (
	adapterFault = "FAIL adapter protocol"
	nativeFault  = "FAIL native protocol"
	capable      = `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"resume":{}}}}`
	hello        = `{"protocolVersion":1}`
	work         = `{"cwd":"/work","mcpServers":[]}`
	owned        = `{"sessionId":"s"}`
)

func prompt(text string) string {
	return fmt.Sprintf(`{"sessionId":"s","prompt":[{"type":"text","text":%s}]}`, text)
}

func update(body string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + body + `}}`
}

const cancel = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`

// initialized has its initialize answered.
func initialized(t *testing.T, c acpprofile.Config) *rig {
	r := newRig(t, c)
	r.mustAsk("initialize", hello)
	r.mustResult(capable)
	return r
}

// opened owns a session.
func opened(t *testing.T, c acpprofile.Config) *rig {
	r := initialized(t, c)
	r.mustAsk("session/new", work)
	r.mustResult(owned)
	return r
}

// ready may be prompted.
func ready(t *testing.T, c acpprofile.Config) *rig {
	r := opened(t, c)
	for _, s := range c.Configuration {
		if s.Boolean != nil {
			r.mustAsk("session/set_config_option", fmt.Sprintf(`{"sessionId":"s","configId":%q,"type":"boolean","value":%t}`, s.ID, *s.Boolean))
			r.mustResult(fmt.Sprintf(`{"configOptions":[{"id":%q,"currentValue":%t}]}`, s.ID, *s.Boolean))
			continue
		}
		r.mustAsk("session/set_config_option", fmt.Sprintf(`{"sessionId":"s","configId":%q,"value":%q}`, s.ID, s.Value))
		r.mustResult(fmt.Sprintf(`{"configOptions":[{"id":"other","currentValue":1},{"id":%q,"currentValue":%q}]}`, s.ID, s.Value))
	}
	if c.ModeID != "" {
		r.mustAsk("session/set_mode", fmt.Sprintf(`{"sessionId":"s","modeId":%q}`, c.ModeID))
		r.mustResult(`{}`)
	}
	return r
}

// prompted has a prompt under way.
func prompted(t *testing.T, c acpprofile.Config) *rig {
	r := ready(t, c)
	r.mustAsk("session/prompt", prompt(`"hi"`))
	return r
}

// settled has a prompt answered.
func settled(t *testing.T, c acpprofile.Config) *rig {
	r := prompted(t, c)
	r.mustResult(`{"stopReason":"end_turn"}`)
	return r
}

func (r *rig) isSettled(want bool) {
	r.Helper()
	got, err := r.Settled()
	require.NoError(r, err)
	require.Equal(r, want, got)
}

// closedNow asserts that a failure was final.
func (r *rig) closedNow() {
	r.Helper()
	require.Equal(r, "CLOSED", r.ask("session/prompt", prompt(`"x"`)))
	require.Equal(r, "CLOSED", r.native(update(`{"sessionUpdate":"usage_update"}`)))
	_, err := r.Settled()
	require.ErrorIs(r, err, acpprofile.ErrClosed)
	require.ErrorIs(r, r.AdapterEOF(), acpprofile.ErrClosed)
	require.ErrorIs(r, r.NativeEOF(), acpprofile.ErrClosed)
	require.Empty(r, r.Session())
}
